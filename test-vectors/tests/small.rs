//! Keys that are kept as bytes: the same results as those of the other keys, on every backend.

use keccak::Shake128;
use keccak::hazmat::Level;
use kyber::{
    Bytes, Ciphertext, CiphertextBytes, DecapsulationKey, Error, MlKem, ParameterSet, Seed,
    SmallDecapsulationKey, SmallEncapsulationKey,
};
use rand_core::{TryCryptoRng, TryRng};
use test_vectors::digests::ACCUMULATED;

/// Tests of an accumulated digest.
const TESTS: usize = 100;

/// The published digest over ek, c, K, and what a random ciphertext decapsulates to.
fn accumulated<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let row = ACCUMULATED.iter().find(|row| (row.0, row.1) == (K, TESTS)).expect("a row for this");
    for level in Level::available() {
        let mut rng = Shake128::new().finalize_xof();
        let mut all = Shake128::new();
        for _ in 0..TESTS {
            let (mut seed, mut m) = ([0; 64], [0; 32]);
            let mut random = <CiphertextBytes<K> as Bytes>::ZERO;
            rng.read(&mut seed);
            rng.read(&mut m);
            rng.read(random.as_mut());
            let key = SmallDecapsulationKey::<K>::from_seed_on(level, &Seed::from(&seed));
            let ek = key.encapsulation_key();
            let parsed = SmallEncapsulationKey::parse_on(level, ek.as_bytes().as_ref());
            assert_eq!(parsed.as_ref(), Ok(&ek));
            let (ciphertext, secret) = ek.encap_deterministic(&m);
            assert_eq!(key.decap(&ciphertext), secret, "{level}: decap of a fresh ciphertext");
            let random = Ciphertext::parse(random.as_ref()).expect("of the right length");
            all.update(ek.as_bytes().as_ref());
            all.update(ciphertext.as_ref());
            all.update(secret.as_bytes());
            all.update(key.decap(&random).as_bytes());
        }
        let mut digest = [0; 32];
        all.finalize_xof().read(&mut digest);
        assert_eq!(hex::encode(digest), row.2, "{level}: ML-KEM-{}", 256 * K);
    }
}

#[test]
fn accumulated_digests() {
    accumulated::<2>();
    accumulated::<3>();
    accumulated::<4>();
}

/// A changed bit in each byte of a ciphertext gives the secret that the other kind of key gives.
fn rejection<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let seed = Seed::from(&[K as u8; 64]);
    let expanded = DecapsulationKey::<K>::from_seed(&seed);
    let (good, secret) = expanded.encapsulation_key().encap_deterministic(&[9; 32]);
    for level in [Level::portable(), Level::detect()] {
        let key = SmallDecapsulationKey::<K>::from_seed_on(level, &seed);
        assert_eq!(key.decap(&good), secret);
        let mut bytes = good.as_ref().to_vec();
        for i in 0..bytes.len() {
            bytes[i] ^= 1 << (i % 8);
            let bad = Ciphertext::parse(&bytes).expect("of the right length");
            let rejected = key.decap(&bad);
            assert_eq!(rejected, expanded.decap(&bad), "{level}: ML-KEM-{}, byte {i}", 256 * K);
            assert_ne!(rejected, secret);
            bytes[i] ^= 1 << (i % 8);
        }
    }
}

#[test]
fn rejections() {
    rejection::<2>();
    rejection::<3>();
    rejection::<4>();
}

fn parsing<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let good = SmallDecapsulationKey::<K>::from_seed(&Seed::from(&[7; 64])).encapsulation_key();
    let good = good.as_bytes().as_ref();
    let length = good.len();
    for level in Level::available() {
        let parse = |bytes: &[u8]| SmallEncapsulationKey::<K>::parse_on(level, bytes).map(drop);
        assert_eq!(parse(good), Ok(()));
        for actual in [0, 1, length - 1, length + 1] {
            let bytes = vec![0; actual];
            assert_eq!(parse(&bytes), Err(Error::Length { expected: length, actual }));
        }
        for coefficient in 0..256 * K {
            // q, into the low or the high 12 bits of three bytes.
            let mut bytes = good.to_vec();
            let three = &mut bytes[coefficient / 2 * 3..][..3];
            if coefficient % 2 == 0 {
                (three[0], three[1]) = (0x01, three[1] & 0xf0 | 0x0d);
            } else {
                (three[1], three[2]) = (three[1] & 0x0f | 0x10, 0xd0);
            }
            assert_eq!(parse(&bytes), Err(Error::NotReduced), "{level}: coefficient {coefficient}");
        }
    }
}

#[test]
fn encoded_keys_are_checked() {
    parsing::<2>();
    parsing::<3>();
    parsing::<4>();
}

/// Counts up, and fails after `left` bytes.
struct Counting {
    next: u8,
    left: usize,
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("no more bytes")]
struct Failed;

impl TryRng for Counting {
    type Error = Failed;
    fn try_next_u32(&mut self) -> Result<u32, Failed> {
        unreachable!("secrets are drawn as bytes")
    }
    fn try_next_u64(&mut self) -> Result<u64, Failed> {
        unreachable!("secrets are drawn as bytes")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Failed> {
        self.left = self.left.checked_sub(out.len()).ok_or(Failed)?;
        for byte in out {
            *byte = self.next;
            self.next += 1;
        }
        Ok(())
    }
}

impl TryCryptoRng for Counting {}

#[test]
fn draws_what_the_other_keys_draw() {
    let coins: [u8; 96] = std::array::from_fn(|i| i as u8);
    let mut rng = Counting { next: 0, left: 96 };
    let key = SmallDecapsulationKey::<3>::try_generate(&mut rng).expect("64 bytes");
    assert_eq!(key.seed().as_bytes()[..], coins[..64]);
    let ek = key.encapsulation_key();
    let (ciphertext, secret) = ek.try_encap(&mut rng).expect("32 bytes");
    let m = coins[64..].try_into().expect("32 bytes");
    assert_eq!((ciphertext, secret), ek.encap_deterministic(&m));
    assert_eq!(rng.left, 0);
    assert_eq!(SmallDecapsulationKey::<3>::try_generate(&mut rng).err(), Some(Failed));
    assert_eq!(ek.try_encap(&mut rng).err(), Some(Failed));
}

/// An expanded key in the caller's place: what an error leaves there.
#[test]
fn places_after_errors() {
    let seed = Seed::from(&[5; 64]);
    let mut place = None;
    let key = DecapsulationKey::<2>::from_seed_in(&mut place, &seed).clone();
    let mut expanded = [0; 1632];
    key.to_expanded_bytes(&mut expanded);
    let length = Error::Length { expected: 1632, actual: 7 };
    assert_eq!(DecapsulationKey::parse_in(&mut place, &expanded[..7]).err(), Some(length));
    assert_eq!(place.as_ref(), Some(&key));
    assert_eq!(DecapsulationKey::parse_in(&mut place, &expanded), Ok(&mut key.clone()));
    expanded[1632 - 33] ^= 1;
    assert_eq!(DecapsulationKey::parse_in(&mut place, &expanded).err(), Some(Error::KeyHash));
    assert_eq!(place, None);
}

#[test]
fn debug_shows_no_seed() {
    let key = SmallDecapsulationKey::<2>::from_seed(&Seed::from(&[0x77; 64]));
    assert_eq!(format!("{key:?}"), "SmallDecapsulationKey { .. }");
}
