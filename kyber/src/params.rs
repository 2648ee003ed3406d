//! Parameters of ML-KEM (FIPS 203 section 8) as functions of the rank k, and the lengths that follow.

/// Modulus q.
pub(crate) const Q: i16 = 3329;
/// Coefficients of a polynomial.
pub(crate) const N: usize = 256;
/// Bytes of a polynomial at 12 bits a coefficient.
pub(crate) const POLY_BYTES: usize = 384;
/// Bytes of a message, of a seed half and of every hash value but G's.
pub(crate) const SYM_BYTES: usize = 32;

/// Width of the centred binomial distribution of s, e and y.
pub(crate) const fn eta1(k: usize) -> usize {
    if k == 2 { 3 } else { 2 }
}

/// Width of the centred binomial distribution of e1 and e2.
pub(crate) const ETA2: usize = 2;

/// Bits of a coefficient of u in a ciphertext.
pub(crate) const fn du(k: usize) -> usize {
    if k == 4 { 11 } else { 10 }
}

/// Bits of a coefficient of v in a ciphertext.
pub(crate) const fn dv(k: usize) -> usize {
    if k == 4 { 5 } else { 4 }
}

/// Bytes of an encapsulation key: t, then rho.
pub(crate) const fn encapsulation_key_bytes(k: usize) -> usize {
    POLY_BYTES * k + SYM_BYTES
}

/// Bytes of an expanded decapsulation key: s, the encapsulation key, its hash, z.
pub(crate) const fn decapsulation_key_bytes(k: usize) -> usize {
    POLY_BYTES * k + encapsulation_key_bytes(k) + 2 * SYM_BYTES
}

/// Bytes of the compressed u.
pub(crate) const fn u_bytes(k: usize) -> usize {
    32 * du(k) * k
}

/// Bytes of a ciphertext: u, then v.
pub(crate) const fn ciphertext_bytes(k: usize) -> usize {
    u_bytes(k) + 32 * dv(k)
}

// FIPS 203 table 3.
const _: () = assert!(encapsulation_key_bytes(2) == 800 && decapsulation_key_bytes(2) == 1632);
const _: () = assert!(encapsulation_key_bytes(3) == 1184 && decapsulation_key_bytes(3) == 2400);
const _: () = assert!(encapsulation_key_bytes(4) == 1568 && decapsulation_key_bytes(4) == 3168);
const _: () = assert!(ciphertext_bytes(2) == 768);
const _: () = assert!(ciphertext_bytes(3) == 1088);
const _: () = assert!(ciphertext_bytes(4) == 1568);

// A sealed trait is public and cannot be named; some compilers call that unreachable.
#[allow(unreachable_pub)]
mod sealed {
    pub trait Sealed {}
}

/// A byte array whose length follows from the rank, for code that is generic over it; sealed.
pub trait Bytes:
    AsRef<[u8]> + AsMut<[u8]> + Clone + Eq + core::fmt::Debug + sealed::Sealed
{
    /// All zeros: a buffer to fill.
    const ZERO: Self;
}

impl<const N: usize> sealed::Sealed for [u8; N] {}

impl<const N: usize> Bytes for [u8; N] {
    const ZERO: Self = [0; N];
}

/// The rank as a type: `MlKem<2>`, `MlKem<3>` and `MlKem<4>` are ML-KEM-512, 768 and 1024.
#[derive(Debug)]
pub enum MlKem<const K: usize> {}

/// Byte-array types of a parameter set; sealed.
pub trait ParameterSet: sealed::Sealed {
    /// An encoded encapsulation key.
    type EncapsulationKeyBytes: Bytes;
    /// An expanded decapsulation key.
    type DecapsulationKeyBytes: Bytes;
    /// A ciphertext.
    type CiphertextBytes: Bytes;
}

/// `[u8; 800]`, `[u8; 1184]` or `[u8; 1568]`.
pub type EncapsulationKeyBytes<const K: usize> = <MlKem<K> as ParameterSet>::EncapsulationKeyBytes;
/// `[u8; 1632]`, `[u8; 2400]` or `[u8; 3168]`.
pub type ExpandedBytes<const K: usize> = <MlKem<K> as ParameterSet>::DecapsulationKeyBytes;
/// `[u8; 768]`, `[u8; 1088]` or `[u8; 1568]`.
pub type CiphertextBytes<const K: usize> = <MlKem<K> as ParameterSet>::CiphertextBytes;

macro_rules! parameter_set {
    ($k:literal, $module:ident, $name:literal) => {
        impl sealed::Sealed for MlKem<$k> {}

        impl ParameterSet for MlKem<$k> {
            type EncapsulationKeyBytes = [u8; encapsulation_key_bytes($k)];
            type DecapsulationKeyBytes = [u8; decapsulation_key_bytes($k)];
            type CiphertextBytes = [u8; ciphertext_bytes($k)];
        }

        #[doc = concat!($name, " (FIPS 203).")]
        pub mod $module {
            #[doc = concat!("Private key of ", $name, ".")]
            pub type DecapsulationKey = crate::DecapsulationKey<$k>;
            #[doc = concat!("Public key of ", $name, ".")]
            pub type EncapsulationKey = crate::EncapsulationKey<$k>;
            #[doc = concat!("Private key of ", $name, " in 64 bytes.")]
            pub type SmallDecapsulationKey = crate::SmallDecapsulationKey<$k>;
            #[doc = concat!("Public key of ", $name, " that is kept encoded.")]
            pub type SmallEncapsulationKey = crate::SmallEncapsulationKey<$k>;
            #[doc = concat!("Ciphertext of ", $name, ".")]
            pub type Ciphertext = crate::Ciphertext<$k>;

            /// Bytes of an encapsulation key.
            pub const ENCAPSULATION_KEY_BYTES: usize = super::encapsulation_key_bytes($k);
            /// Bytes of a decapsulation key in expanded form.
            pub const DECAPSULATION_KEY_BYTES: usize = super::decapsulation_key_bytes($k);
            /// Bytes of a ciphertext.
            pub const CIPHERTEXT_BYTES: usize = super::ciphertext_bytes($k);
        }
    };
}

parameter_set!(2, mlkem512, "ML-KEM-512");
parameter_set!(3, mlkem768, "ML-KEM-768");
parameter_set!(4, mlkem1024, "ML-KEM-1024");
