//! The one error type.

/// Why bytes are not a key, a ciphertext or a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Wrong number of bytes.
    Length {
        /// Bytes that the type has.
        expected: usize,
        /// Bytes that were passed.
        actual: usize,
    },
    /// A coefficient of the encapsulation key is q or more (FIPS 203 section 7.2, modulus check).
    NotReduced,
    /// The hash inside the decapsulation key is not that of the encapsulation key inside it
    /// (FIPS 203 section 7.3, hash check).
    KeyHash,
}

impl Error {
    /// `bytes` as an array, or the length error.
    pub(crate) fn check_length(bytes: &[u8], expected: usize) -> Result<(), Self> {
        let actual = bytes.len();
        if actual == expected { Ok(()) } else { Err(Self::Length { expected, actual }) }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length { expected, actual } => {
                write!(f, "expected {expected} bytes, got {actual}")
            }
            Self::NotReduced => f.write_str("encapsulation key has a coefficient not below q"),
            Self::KeyHash => f.write_str("decapsulation key does not match its hash"),
        }
    }
}

impl core::error::Error for Error {}
