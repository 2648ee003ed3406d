//! One exchange, of one parameter set, with one kind of keys.

use core::hint::black_box;

#[cfg(feature = "ml-kem-512")]
use kyber::mlkem512 as set;
#[cfg(feature = "ml-kem-768")]
use kyber::mlkem768 as set;
#[cfg(feature = "ml-kem-1024")]
use kyber::mlkem1024 as set;

/// Stands for a generator that a device has.
struct Counter(u8);

impl rand_core::TryRng for Counter {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        for byte in out {
            *byte = self.0;
            self.0 = self.0.wrapping_add(1);
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Counter {}

pub fn run() -> bool {
    #[cfg(not(feature = "small"))]
    use set::{DecapsulationKey, EncapsulationKey};
    #[cfg(feature = "small")]
    use set::{
        SmallDecapsulationKey as DecapsulationKey, SmallEncapsulationKey as EncapsulationKey,
    };
    let mut rng = Counter(black_box(0));
    let key = DecapsulationKey::generate(&mut rng);
    let ek = key.encapsulation_key();
    let Ok(ek) = EncapsulationKey::parse(black_box(ek.as_bytes())) else { return false };
    let (ciphertext, secret) = ek.encap(&mut rng);
    let Ok(ciphertext) = set::Ciphertext::parse(black_box(ciphertext.as_bytes())) else {
        return false;
    };
    key.decap(&ciphertext) == secret
}
