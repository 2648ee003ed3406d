//! SHAKE128 and SHAKE256 (FIPS 202 section 6.2), for one message or for several side by side.

use crate::{backend::Level, dispatch, sponge::Sponge};

/// Domain bits 1111 and the first bit of pad10*1.
const SUFFIX: u8 = 0x1f;

/// SHAKE128.
pub type Shake128 = Shake<168>;
/// SHAKE256.
pub type Shake256 = Shake<136>;
/// SHAKE128 over `N` messages side by side.
pub type MultiShake128<const N: usize> = MultiShake<168, N>;
/// SHAKE256 over `N` messages side by side.
pub type MultiShake256<const N: usize> = MultiShake<136, N>;

/// SHAKE with blocks of `RATE` bytes: 168 (SHAKE128) or 136 (SHAKE256).
#[derive(Clone, Debug, Default)]
pub struct Shake<const RATE: usize>(MultiShake<RATE, 1>);

impl<const RATE: usize> Shake<RATE> {
    /// The empty message, on the fastest backend.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Level::detect())
    }

    pub(crate) fn on(level: Level) -> Self {
        Self(MultiShake::on(level))
    }

    #[cfg(feature = "digest")]
    pub(crate) fn level(&self) -> Level {
        self.0.level
    }

    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update([data]);
    }

    /// Ends the message and starts its output.
    #[must_use]
    pub fn finalize_xof(self) -> Reader {
        Reader(self.0.finalize_xof())
    }

    /// Fills `out` with the output for `data`.
    pub fn digest(data: &[u8], out: &mut [u8]) {
        let mut shake = Self::new();
        shake.update(data);
        shake.finalize_xof().read(out);
    }
}

/// Output of one message, in pieces of any length. A clone continues from the same place.
#[derive(Clone, Debug)]
pub struct Reader(pub(crate) MultiReader<1>);

impl Reader {
    /// The next `out.len()` bytes.
    pub fn read(&mut self, out: &mut [u8]) {
        self.0.read([out]);
    }
}

/// SHAKE over `N` messages side by side, as many at a time as the CPU's registers hold. The messages
/// may differ in length, and so may what is read of their outputs.
///
/// ```
/// let mut shake = keccak::MultiShake128::<2>::new();
/// shake.update([b"one", b"another"]);
/// let (mut first, mut second) = ([0; 32], [0; 500]);
/// shake.finalize_xof().read([&mut first, &mut second]);
///
/// let mut expected = [0; 500];
/// keccak::Shake128::digest(b"another", &mut expected);
/// assert_eq!(second, expected);
/// ```
#[derive(Clone)]
pub struct MultiShake<const RATE: usize, const N: usize> {
    sponge: Sponge<N>,
    level: Level,
}

impl<const RATE: usize, const N: usize> MultiShake<RATE, N> {
    /// `N` empty messages, on the fastest backend.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Level::detect())
    }

    pub(crate) fn on(level: Level) -> Self {
        const { assert!(RATE == 168 || RATE == 136, "SHAKE has blocks of 168 or 136 bytes") };
        Self { sponge: Sponge::new(RATE), level }
    }

    /// Appends to each message its own bytes.
    pub fn update(&mut self, messages: [&[u8]; N]) {
        absorb(&mut self.sponge, self.level, messages);
    }

    /// Ends the messages and starts their outputs.
    #[must_use]
    pub fn finalize_xof(self) -> MultiReader<N> {
        MultiReader::finalize(self.sponge, self.level, SUFFIX)
    }
}

impl<const RATE: usize, const N: usize> Default for MultiShake<RATE, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const RATE: usize, const N: usize> core::fmt::Debug for MultiShake<RATE, N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "MultiShake<{RATE}, {N}> {{ .. }}")
    }
}

/// Outputs of `N` messages, in pieces of any length.
#[derive(Clone)]
pub struct MultiReader<const N: usize> {
    sponge: Sponge<N>,
    level: Level,
}

impl<const N: usize> MultiReader<N> {
    pub(crate) fn finalize(mut sponge: Sponge<N>, level: Level, suffix: u8) -> Self {
        dispatch!(level, b => sponge.pad(b, suffix));
        Self { sponge, level }
    }

    /// The next bytes of each output.
    pub fn read(&mut self, outputs: [&mut [u8]; N]) {
        let Self { sponge, level } = self;
        dispatch!(*level, b => sponge.squeeze(b, outputs));
    }
}

impl<const N: usize> core::fmt::Debug for MultiReader<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "MultiReader<{N}> {{ .. }}")
    }
}

pub(crate) fn absorb<const N: usize>(sponge: &mut Sponge<N>, level: Level, messages: [&[u8]; N]) {
    dispatch!(level, b => sponge.absorb(b, messages));
}
