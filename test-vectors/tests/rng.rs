//! What is drawn from a generator, and that its failure comes through.

use kyber::mlkem768::{DecapsulationKey, ENCAPSULATION_KEY_BYTES};
use kyber::{Seed, mlkem512, mlkem1024};
use rand_core::{TryCryptoRng, TryRng};

/// Counts up from 0, records the sizes of its calls, and fails from call `fails_at` on.
#[derive(Default)]
struct Counting {
    next: u8,
    calls: Vec<usize>,
    fails_at: Option<usize>,
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("call {0} failed")]
struct Failed(usize);

impl TryRng for Counting {
    type Error = Failed;

    fn try_next_u32(&mut self) -> Result<u32, Failed> {
        let mut out = [0; 4];
        self.try_fill_bytes(&mut out).map(|()| u32::from_le_bytes(out))
    }

    fn try_next_u64(&mut self) -> Result<u64, Failed> {
        let mut out = [0; 8];
        self.try_fill_bytes(&mut out).map(|()| u64::from_le_bytes(out))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Failed> {
        if self.fails_at.is_some_and(|call| self.calls.len() >= call) {
            return Err(Failed(self.calls.len()));
        }
        self.calls.push(out.len());
        for byte in out {
            *byte = self.next;
            self.next = self.next.wrapping_add(1);
        }
        Ok(())
    }
}

impl TryCryptoRng for Counting {}

/// The same without an error, for the functions that cannot fail.
struct Sure(Counting);

impl TryRng for Sure {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0.try_next_u32().expect("no failure was asked for"))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.try_next_u64().expect("no failure was asked for"))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.0.try_fill_bytes(out).expect("no failure was asked for");
        Ok(())
    }
}

impl TryCryptoRng for Sure {}

fn counting(from: u8) -> [u8; 64] {
    std::array::from_fn(|i| from + i as u8)
}

#[test]
fn key_generation_draws_d_then_z() {
    let mut rng = Sure(Counting::default());
    let key = DecapsulationKey::generate(&mut rng);
    assert_eq!(rng.0.calls.iter().sum::<usize>(), 64);
    assert_eq!(key.seed().map(|seed| *seed.as_bytes()), Some(counting(0)));
    let same = DecapsulationKey::from_seed(&Seed::from(&counting(0)));
    assert_eq!(key.encapsulation_key(), same.encapsulation_key());

    let mut rng = Counting::default();
    let key = DecapsulationKey::try_generate(&mut rng).expect("no failure was asked for");
    assert_eq!(rng.calls.iter().sum::<usize>(), 64);
    assert_eq!(key.encapsulation_key(), same.encapsulation_key());
}

#[test]
fn encapsulation_draws_m() {
    let key = DecapsulationKey::from_seed(&Seed::from(&counting(100)));
    let ek = key.encapsulation_key();
    let m = counting(0)[..32].try_into().expect("32 of 64");
    let expected = ek.encap_deterministic(&m);

    let mut rng = Sure(Counting::default());
    assert_eq!(ek.encap(&mut rng), expected);
    assert_eq!(rng.0.calls.iter().sum::<usize>(), 32);

    let mut rng = Counting::default();
    assert_eq!(ek.try_encap(&mut rng), Ok(expected));
    assert_eq!(rng.calls.iter().sum::<usize>(), 32);
}

#[test]
fn failures_come_through() {
    let fails_at = |call| Counting { fails_at: Some(call), ..Counting::default() };
    let error = |call| Some(Failed(call));
    assert_eq!(mlkem512::DecapsulationKey::try_generate(&mut fails_at(0)).err(), error(0));
    assert_eq!(DecapsulationKey::try_generate(&mut fails_at(0)).err(), error(0));
    assert_eq!(mlkem1024::DecapsulationKey::try_generate(&mut fails_at(0)).err(), error(0));

    let mut rng = fails_at(2);
    let key = DecapsulationKey::try_generate(&mut rng).expect("two calls are enough for d and z");
    let ek = key.encapsulation_key();
    assert_eq!(ek.as_bytes().len(), ENCAPSULATION_KEY_BYTES);
    assert_eq!(ek.try_encap(&mut fails_at(0)).err(), error(0));
    // A generator that breaks between two operations: the second one fails, if not the first.
    let mut rng = fails_at(1);
    let key = DecapsulationKey::try_generate(&mut rng);
    let failed = match key {
        Ok(key) => key.encapsulation_key().try_encap(&mut rng).err(),
        Err(error) => Some(error),
    };
    assert_eq!(failed, error(1));
}

#[test]
fn operating_system() {
    let key = DecapsulationKey::generate_os().expect("the system has randomness");
    let other = DecapsulationKey::generate_os().expect("the system has randomness");
    assert_ne!(key.encapsulation_key(), other.encapsulation_key());
    let (c, secret) = key.encapsulation_key().encap_os().expect("the system has randomness");
    assert_eq!(key.decap(&c), secret);
}
