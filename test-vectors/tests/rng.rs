//! What is drawn from a generator, and that its failure comes through.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kyber::mlkem768::ENCAPSULATION_KEY_BYTES;
use kyber::{DecapsulationKey, MlKem, ParameterSet, Seed, mlkem512, mlkem768, mlkem1024};
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
    let key = mlkem768::DecapsulationKey::generate(&mut rng);
    assert_eq!(rng.0.calls.iter().sum::<usize>(), 64);
    assert_eq!(key.seed().map(|seed| *seed.as_bytes()), Some(counting(0)));
    let same = mlkem768::DecapsulationKey::from_seed(&Seed::from(&counting(0)));
    assert_eq!(key.encapsulation_key(), same.encapsulation_key());

    let mut rng = Counting::default();
    let key = mlkem768::DecapsulationKey::try_generate(&mut rng).expect("no failure was asked for");
    assert_eq!(rng.calls.iter().sum::<usize>(), 64);
    assert_eq!(key.encapsulation_key(), same.encapsulation_key());
}

#[test]
fn encapsulation_draws_m() {
    let key = mlkem768::DecapsulationKey::from_seed(&Seed::from(&counting(100)));
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
    assert_eq!(mlkem768::DecapsulationKey::try_generate(&mut fails_at(0)).err(), error(0));
    assert_eq!(mlkem1024::DecapsulationKey::try_generate(&mut fails_at(0)).err(), error(0));

    let mut rng = fails_at(2);
    let key = mlkem768::DecapsulationKey::try_generate(&mut rng)
        .expect("two calls are enough for d and z");
    let ek = key.encapsulation_key();
    assert_eq!(ek.as_bytes().len(), ENCAPSULATION_KEY_BYTES);
    assert_eq!(ek.try_encap(&mut fails_at(0)).err(), error(0));
    // A generator that breaks between two operations: the second one fails, if not the first.
    let mut rng = fails_at(1);
    let key = mlkem768::DecapsulationKey::try_generate(&mut rng);
    let failed = match key {
        Ok(key) => key.encapsulation_key().try_encap(&mut rng).err(),
        Err(error) => Some(error),
    };
    assert_eq!(failed, error(1));
}

/// Gives good bytes up to byte `at` of all that is asked for, then fails for good: by an error or by a
/// panic. What it has written before stays in the caller's buffer.
struct Breaking {
    given: usize,
    at: usize,
    panics: bool,
    failures: usize,
}

impl Breaking {
    fn at(at: usize, panics: bool) -> Self {
        Self { given: 0, at, panics, failures: 0 }
    }
}

impl TryRng for Breaking {
    type Error = Failed;

    fn try_next_u32(&mut self) -> Result<u32, Failed> {
        unreachable!("secrets are drawn as bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Failed> {
        unreachable!("secrets are drawn as bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Failed> {
        for byte in out {
            if self.given == self.at {
                self.failures += 1;
                assert!(!self.panics, "broken at byte {}", self.at);
                return Err(Failed(self.at));
            }
            *byte = self.given as u8;
            self.given += 1;
        }
        Ok(())
    }
}

impl TryCryptoRng for Breaking {}

/// Of d, z and m, 96 bytes, each may be the one that does not come.
fn broken_at_every_byte<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let whole = DecapsulationKey::<K>::from_seed(&Seed::from(&counting(0)));
    let good = whole.encapsulation_key();
    let m: [u8; 32] = std::array::from_fn(|i| 64 + i as u8);
    for at in 0..=96 {
        let mut rng = Breaking::at(at, false);
        let key = DecapsulationKey::<K>::try_generate(&mut rng);
        assert_eq!(key.as_ref().err(), (at < 64).then_some(&Failed(at)));
        let Ok(key) = key else {
            assert_eq!((rng.given, rng.failures), (at, 1), "it is asked once and not again");
            continue;
        };
        assert!(key == whole);
        let before = key.clone();
        let pair = key.encapsulation_key().try_encap(&mut rng);
        assert_eq!(pair.as_ref().err(), (at < 96).then_some(&Failed(at)));
        assert_eq!(rng.failures, usize::from(at < 96), "it is asked once and not again");
        if let Ok(pair) = pair {
            assert_eq!(pair, good.encap_deterministic(&m));
        }
        // The key is as it was, and goes on with a generator that works.
        assert!(key == before);
        let again = key.encapsulation_key().try_encap(&mut Counting::default());
        assert_eq!(again, Ok(good.encap_deterministic(&std::array::from_fn(|i| i as u8))));
    }
}

#[test]
fn errors_at_every_byte() {
    broken_at_every_byte::<2>();
    broken_at_every_byte::<3>();
    broken_at_every_byte::<4>();
}

/// A panic of the generator reaches the caller as it is, and leaves keys that can be used.
fn panics_at_every_byte<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let message = |result: std::thread::Result<()>| {
        let payload = result.expect_err("the generator panics");
        payload.downcast_ref::<String>().expect("a formatted message").clone()
    };
    let key = DecapsulationKey::<K>::from_seed(&Seed::from(&counting(0)));
    let before = key.clone();
    for at in 0..64 {
        let mut rng = Breaking::at(at, true);
        let result = catch_unwind(AssertUnwindSafe(|| {
            drop(DecapsulationKey::<K>::try_generate(&mut rng));
        }));
        assert_eq!(message(result), format!("broken at byte {at}"));
        assert_eq!((rng.given, rng.failures), (at, 1));
    }
    for at in 0..32 {
        let mut rng = Breaking::at(at, true);
        let result = catch_unwind(AssertUnwindSafe(|| {
            drop(key.encapsulation_key().try_encap(&mut rng));
        }));
        assert_eq!(message(result), format!("broken at byte {at}"));
        assert_eq!((rng.given, rng.failures), (at, 1));
        assert!(key == before);
    }
    let (c, secret) = key.encapsulation_key().encap_deterministic(&[1; 32]);
    assert_eq!(key.decap(&c), secret);
}

#[test]
fn panics_come_through() {
    // Without a message for each of the panics, which are meant.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let broken = info.payload().downcast_ref::<String>();
        if !broken.is_some_and(|message| message.starts_with("broken at byte")) {
            hook(info);
        }
    }));
    panics_at_every_byte::<2>();
    panics_at_every_byte::<3>();
    panics_at_every_byte::<4>();
}

#[test]
fn operating_system() {
    let key = mlkem768::DecapsulationKey::generate_os().expect("the system has randomness");
    let other = mlkem768::DecapsulationKey::generate_os().expect("the system has randomness");
    assert_ne!(key.encapsulation_key(), other.encapsulation_key());
    let (c, secret) = key.encapsulation_key().encap_os().expect("the system has randomness");
    assert_eq!(key.decap(&c), secret);
}
