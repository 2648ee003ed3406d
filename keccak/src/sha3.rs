//! SHA3-224, SHA3-256, SHA3-384 and SHA3-512 (FIPS 202 section 6.1).

use crate::{
    backend::Level,
    dispatch,
    sponge::{STATE_BYTES, Sponge},
};

/// Domain bits 01 and the first bit of pad10*1.
const SUFFIX: u8 = 0x06;

/// SHA3-224.
pub type Sha3_224 = Sha3<28>;
/// SHA3-256.
pub type Sha3_256 = Sha3<32>;
/// SHA3-384.
pub type Sha3_384 = Sha3<48>;
/// SHA3-512.
pub type Sha3_512 = Sha3<64>;

/// SHA-3 with a digest of `N` bytes: 28, 32, 48 or 64. Its capacity is twice the digest.
#[derive(Clone)]
pub struct Sha3<const N: usize> {
    sponge: Sponge<1>,
    level: Level,
}

impl<const N: usize> Sha3<N> {
    /// Bytes per block.
    pub const RATE: usize = {
        assert!(matches!(N, 28 | 32 | 48 | 64), "SHA-3 has digests of 28, 32, 48 and 64 bytes");
        STATE_BYTES - 2 * N
    };

    /// The empty message, on the fastest backend.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Level::detect())
    }

    pub(crate) fn on(level: Level) -> Self {
        Self { sponge: Sponge::new(Self::RATE), level }
    }

    #[cfg(feature = "digest")]
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) {
        let Self { sponge, level } = self;
        dispatch!(*level, b => sponge.absorb(b, [data]));
    }

    /// The digest of the message.
    #[must_use]
    pub fn finalize(mut self) -> [u8; N] {
        let mut digest = [0; N];
        self.finish(&mut digest);
        digest
    }

    pub(crate) fn finish(&mut self, digest: &mut [u8]) {
        let Self { sponge, level } = self;
        dispatch!(*level, b => {
            sponge.pad(b, SUFFIX);
            sponge.squeeze(b, [digest]);
        });
    }

    /// The digest of `data`.
    #[must_use]
    pub fn digest(data: &[u8]) -> [u8; N] {
        let mut hash = Self::new();
        hash.update(data);
        hash.finalize()
    }
}

impl<const N: usize> Default for Sha3<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> core::fmt::Debug for Sha3<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Sha3_{} {{ .. }}", 8 * N)
    }
}
