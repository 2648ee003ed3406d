//! cSHAKE128, cSHAKE256, KMAC128, KMAC256 and the XOF forms of KMAC (NIST SP 800-185).

use crate::{
    backend::Level,
    dispatch,
    shake::{MultiReader, Reader, absorb},
    sponge::Sponge,
};

/// Domain bits 00 and the first bit of pad10*1.
const SUFFIX: u8 = 0x04;
/// With neither name nor customization cSHAKE is SHAKE (section 3.3).
const SHAKE_SUFFIX: u8 = 0x1f;

/// cSHAKE128.
pub type CShake128 = CShake<168>;
/// cSHAKE256.
pub type CShake256 = CShake<136>;
/// KMAC128 and KMACXOF128.
pub type Kmac128 = Kmac<168>;
/// KMAC256 and KMACXOF256.
pub type Kmac256 = Kmac<136>;

/// cSHAKE with blocks of `RATE` bytes: 168 (cSHAKE128) or 136 (cSHAKE256).
#[derive(Clone)]
pub struct CShake<const RATE: usize> {
    sponge: Sponge<1>,
    level: Level,
    suffix: u8,
}

impl<const RATE: usize> CShake<RATE> {
    /// The empty message under a function name (defined by NIST; else empty) and a customization.
    #[must_use]
    pub fn new(function_name: &[u8], customization: &[u8]) -> Self {
        Self::on(Level::detect(), function_name, customization)
    }

    pub(crate) fn on(level: Level, function_name: &[u8], customization: &[u8]) -> Self {
        const { assert!(RATE == 168 || RATE == 136, "cSHAKE has blocks of 168 or 136 bytes") };
        let mut cshake = Self { sponge: Sponge::new(RATE), level, suffix: SHAKE_SUFFIX };
        if !(function_name.is_empty() && customization.is_empty()) {
            cshake.suffix = SUFFIX;
            cshake.bytepad(&[function_name, customization]);
        }
        cshake
    }

    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) {
        absorb(&mut self.sponge, self.level, [data]);
    }

    /// Ends the message and starts its output.
    #[must_use]
    pub fn finalize_xof(self) -> Reader {
        Reader(MultiReader::finalize(self.sponge, self.level, self.suffix))
    }

    /// bytepad(encode_string(s1) || encode_string(s2) .., rate), section 2.3.
    fn bytepad(&mut self, strings: &[&[u8]]) {
        self.update(Encoded::new(RATE as u128).left());
        for string in strings {
            self.update(Encoded::new(8 * string.len() as u128).left());
            self.update(string);
        }
        let Self { sponge, level, .. } = self;
        dispatch!(*level, b => sponge.fill_block(b));
    }
}

impl<const RATE: usize> core::fmt::Debug for CShake<RATE> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CShake<{RATE}> {{ .. }}")
    }
}

/// KMAC with blocks of `RATE` bytes: 168 (KMAC128) or 136 (KMAC256).
///
/// Compare tags in constant time.
#[derive(Clone)]
pub struct Kmac<const RATE: usize>(CShake<RATE>);

impl<const RATE: usize> Kmac<RATE> {
    /// The empty message under a key and a customization, which may be empty.
    #[must_use]
    pub fn new(key: &[u8], customization: &[u8]) -> Self {
        Self::on(Level::detect(), key, customization)
    }

    pub(crate) fn on(level: Level, key: &[u8], customization: &[u8]) -> Self {
        let mut cshake = CShake::on(level, b"KMAC", customization);
        cshake.bytepad(&[key]);
        Self(cshake)
    }

    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The tag; its length enters the tag, so that a shorter one is not a prefix of a longer one.
    pub fn finalize(mut self, tag: &mut [u8]) {
        self.0.update(Encoded::new(8 * tag.len() as u128).right());
        self.0.finalize_xof().read(tag);
    }

    /// Ends the message and starts the output of KMACXOF.
    #[must_use]
    pub fn finalize_xof(mut self) -> Reader {
        self.0.update(Encoded::new(0).right());
        self.0.finalize_xof()
    }
}

impl<const RATE: usize> core::fmt::Debug for Kmac<RATE> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Kmac<{RATE}> {{ .. }}")
    }
}

/// left_encode and right_encode of an integer (section 2.3.1): its bytes, at least one, big-endian,
/// with their number in front or behind.
struct Encoded {
    /// Number of bytes, the 16 bytes big-endian, number of bytes.
    bytes: [u8; 18],
    leading_zeros: usize,
}

impl Encoded {
    fn new(value: u128) -> Self {
        let leading_zeros = (value.leading_zeros() as usize >> 3).min(15);
        let count = (16 - leading_zeros) as u8;
        let mut bytes = [count; 18];
        bytes[1..17].copy_from_slice(&value.to_be_bytes());
        bytes[leading_zeros] = count;
        Self { bytes, leading_zeros }
    }

    fn left(&self) -> &[u8] {
        &self.bytes[self.leading_zeros..17]
    }

    fn right(&self) -> &[u8] {
        &self.bytes[self.leading_zeros + 1..]
    }
}

#[cfg(test)]
mod tests {
    use super::Encoded;

    #[test]
    fn encodes_integers_as_the_standard_shows() {
        assert_eq!(Encoded::new(0).left(), [1, 0]);
        assert_eq!(Encoded::new(0).right(), [0, 1]);
        assert_eq!(Encoded::new(255).left(), [1, 255]);
        assert_eq!(Encoded::new(256).right(), [1, 0, 2]);
        assert_eq!(Encoded::new(1 << 64).left(), [9, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Encoded::new(u128::MAX).right(), [[255; 16].as_slice(), &[16]].concat_array());
    }

    trait ConcatArray {
        fn concat_array(self) -> [u8; 17];
    }

    impl ConcatArray for [&[u8]; 2] {
        fn concat_array(self) -> [u8; 17] {
            let mut all = [0; 17];
            all[..16].copy_from_slice(self[0]);
            all[16..].copy_from_slice(self[1]);
            all
        }
    }
}
