//! Sharp tools (feature `hazmat`): encapsulation with randomness of your choice, and keys on a backend
//! of your choice.
//!
//! A message m must be 32 secret random bytes, used once: who knows or can repeat m knows the secret.

pub use keccak::hazmat::Level;

use crate::{
    Ciphertext, DecapsulationKey, EncapsulationKey, Error, MlKem, ParameterSet, Seed, SharedSecret,
};

impl<const K: usize> EncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// ML-KEM.Encaps_internal (FIPS 203 section 6.2), for known answers and protocols that derive m.
    #[must_use]
    pub fn encap_deterministic(&self, m: &[u8; 32]) -> (Ciphertext<K>, SharedSecret) {
        self.encap_message(m)
    }

    /// [`EncapsulationKey::parse`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`EncapsulationKey::parse`].
    pub fn parse_on(level: Level, bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_at(level, bytes)
    }
}

impl<const K: usize> DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// [`DecapsulationKey::from_seed`] on a backend of your choice, which the key then stays on.
    #[must_use]
    pub fn from_seed_on(level: Level, seed: &Seed) -> Self {
        Self::from_seed_at(level, seed)
    }

    /// [`DecapsulationKey::parse`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`DecapsulationKey::parse`].
    pub fn parse_on(level: Level, expanded: &[u8]) -> Result<Self, Error> {
        Self::parse_at(level, expanded)
    }

    /// The backend that the key is on.
    #[must_use]
    pub fn level(&self) -> Level {
        self.encapsulation_key().level
    }
}
