//! Sharp tools: reduced rounds, and backends by name.
//!
//! Nothing here checks that what you build is secure. The forced backends compute the same functions
//! as the default ones and exist for tests and measurements.

pub use crate::backend::Level;
use crate::{
    CShake, Kmac, MultiShake, Reader, Sha3, Shake,
    permutation::{LANES, ROUNDS},
    shake::{MultiReader, absorb},
    sponge::Sponge,
};

/// Rounds of TurboSHAKE.
const TURBO_ROUNDS: usize = 12;

/// TurboSHAKE128.
pub type TurboShake128 = TurboShake<168>;
/// TurboSHAKE256.
pub type TurboShake256 = TurboShake<136>;

/// Keccak-p\[1600, `rounds`\]: the last `rounds` of the 24 rounds.
///
/// # Panics
///
/// If `rounds` is above 24.
pub fn keccak_p1600(state: &mut [u64; LANES], rounds: usize) {
    keccak_p1600_on(Level::detect(), state, rounds);
}

/// [`keccak_p1600`] on a backend of your choice.
///
/// # Panics
///
/// If `rounds` is above 24.
pub fn keccak_p1600_on(level: Level, state: &mut [u64; LANES], rounds: usize) {
    assert!(rounds <= ROUNDS, "Keccak-f[1600] has 24 rounds");
    crate::keccak_p(level, state, rounds);
}

/// TurboSHAKE (RFC 9861 section 2): SHAKE with 12 rounds and a domain byte.
#[derive(Clone)]
pub struct TurboShake<const RATE: usize> {
    sponge: Sponge<1>,
    level: Level,
    domain: u8,
}

impl<const RATE: usize> TurboShake<RATE> {
    /// The empty message under a domain byte, 0x01 to 0x7f.
    ///
    /// # Panics
    ///
    /// If `domain` is outside that range.
    #[must_use]
    pub fn new(domain: u8) -> Self {
        Self::new_on(Level::detect(), domain)
    }

    /// [`TurboShake::new`] on a backend of your choice.
    ///
    /// # Panics
    ///
    /// If `domain` is not in 0x01 to 0x7f.
    #[must_use]
    pub fn new_on(level: Level, domain: u8) -> Self {
        const { assert!(RATE == 168 || RATE == 136, "TurboSHAKE has blocks of 168 or 136 bytes") };
        assert!(matches!(domain, 0x01..=0x7f), "TurboSHAKE domains are 0x01 to 0x7f");
        Self { sponge: Sponge::with_rounds(RATE, TURBO_ROUNDS), level, domain }
    }

    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) {
        absorb(&mut self.sponge, self.level, [data]);
    }

    /// Ends the message and starts its output.
    #[must_use]
    pub fn finalize_xof(self) -> Reader {
        Reader(MultiReader::finalize(self.sponge, self.level, self.domain))
    }
}

impl<const RATE: usize> core::fmt::Debug for TurboShake<RATE> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TurboShake<{RATE}> {{ .. }}")
    }
}

impl<const N: usize> Sha3<N> {
    /// [`Sha3::new`] on a backend of your choice.
    #[must_use]
    pub fn new_on(level: Level) -> Self {
        Self::on(level)
    }
}

impl<const RATE: usize> Shake<RATE> {
    /// [`Shake::new`] on a backend of your choice.
    #[must_use]
    pub fn new_on(level: Level) -> Self {
        Self::on(level)
    }
}

impl<const RATE: usize, const N: usize> MultiShake<RATE, N> {
    /// [`MultiShake::new`] on a backend of your choice.
    #[must_use]
    pub fn new_on(level: Level) -> Self {
        Self::on(level)
    }
}

impl<const RATE: usize> CShake<RATE> {
    /// [`CShake::new`] on a backend of your choice.
    #[must_use]
    pub fn new_on(level: Level, function_name: &[u8], customization: &[u8]) -> Self {
        Self::on(level, function_name, customization)
    }
}

impl<const RATE: usize> Kmac<RATE> {
    /// [`Kmac::new`] on a backend of your choice.
    #[must_use]
    pub fn new_on(level: Level, key: &[u8], customization: &[u8]) -> Self {
        Self::on(level, key, customization)
    }
}
