//! Known answers at run time, and the pairwise consistency test (FIPS 140-3, implementation guidance 10.3.A).
//!
//! Sets run one after the other and a key is dropped before the next is made, so that the stack holds one
//! key at a time. All values here are public: the coins stand below.

// `hazmat` exports what is not exported always.
#![cfg_attr(not(feature = "hazmat"), allow(unreachable_pub))]

use core::fmt;

use keccak::{backend::Level, dispatch, sponge::Sponge};

use crate::{
    Bytes, Ciphertext, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem, ParameterSet,
    Seed, SharedSecret,
    backend::Backend,
    ct::{Frames, wiping_stack},
    params::{POLY_BYTES, SYM_BYTES, encapsulation_key_bytes},
};

/// The part of a test that gave a wrong result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelfTestStep {
    /// Generating a key pair from a seed.
    KeyGen,
    /// Parsing the encapsulation key, and encapsulating.
    Encap,
    /// Parsing the decapsulation key, and decapsulating what was encapsulated.
    Decap,
    /// Decapsulating changed ciphertexts.
    Rejection,
    /// [`DecapsulationKey::check_pair`].
    Pair,
}

/// The machine, or this build, computes something else than ML-KEM: use none of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelfTestError {
    /// The parameter set, such as `ML-KEM-768`.
    pub set: &'static str,
    /// What went wrong.
    pub step: SelfTestStep,
}

impl fmt::Display for SelfTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            SelfTestStep::KeyGen => "key generation",
            SelfTestStep::Encap => "encapsulation",
            SelfTestStep::Decap => "decapsulation",
            SelfTestStep::Rejection => "implicit rejection",
            SelfTestStep::Pair => "the pairwise test",
        };
        write!(f, "self-test of {}: {step} is wrong", self.set)
    }
}

impl core::error::Error for SelfTestError {}

/// d, z and m of the self-tests: the bytes 0 to 95.
pub const SELF_TEST_COINS: [u8; 96] = {
    let mut coins = [0; 96];
    let mut i = 0;
    while i < coins.len() {
        coins[i] = i as u8;
        i += 1;
    }
    coins
};

/// What the self-test of a parameter set must find, as SHA3-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfTestAnswers {
    /// Of the expanded decapsulation key of d and z.
    pub key_gen: [u8; 32],
    /// Of the ciphertext of m, then its secret.
    pub encap: [u8; 32],
    /// Of the three secrets from that ciphertext with the lowest bit changed in its first byte, in the
    /// byte at half its length, and in its last byte.
    pub rejection: [u8; 32],
}

/// From the slow reference; `test-vectors/tests/self_test.rs` computes them again.
const ANSWERS: [SelfTestAnswers; 3] = [
    SelfTestAnswers {
        key_gen: from_hex(b"0bd3f5df01098ac9c29d687c7f1bd0588a5573feeef8f1e3b4573fa7f6ab57c8"),
        encap: from_hex(b"20b5e83adb1045bad65b9e95017636930819c79740d09682235bab9eb6551df4"),
        rejection: from_hex(b"ceeb62689b5373cc689d4bdc920630ea30b3dd3094854e32e422a52eff29053a"),
    },
    SelfTestAnswers {
        key_gen: from_hex(b"1149f17c3c4ac6ab1e3e2d9d8bd0171355ac0fa31bb8855c48ceade874c0864b"),
        encap: from_hex(b"4ed0545cb1f59ae471121a16d7fd2586c8d6425da079b0f05e87335cfc7c299b"),
        rejection: from_hex(b"e80f49adc90892e239b5f428892824d530b1e0308782a346e1d70908eb5720e6"),
    },
    SelfTestAnswers {
        key_gen: from_hex(b"f0db5d938027fcd9bad87847d52c14cf0c4abcf0703b749793f212111ffb303b"),
        encap: from_hex(b"2553acbe89d0e835e2dbd4f2fa39989591615ddeaddac11d263d20653d322fb4"),
        rejection: from_hex(b"4297e39b9856e4a5becd07f472224ba6c72bde18e29ebc88a9dfa071fd1481ed"),
    },
];

const fn from_hex(digits: &[u8; 64]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < digits.len() {
        let digit = digits[i] - if digits[i] < b'a' { b'0' } else { b'a' - 10 };
        bytes[i >> 1] = bytes[i >> 1] << 4 | digit;
        i += 1;
    }
    bytes
}

/// The answers for rank `K`.
#[must_use]
pub const fn self_test_answers<const K: usize>() -> SelfTestAnswers
where
    MlKem<K>: ParameterSet,
{
    ANSWERS[K - 2]
}

/// Checks all three parameter sets against known answers, on the backend that this machine uses: key
/// generation, both parsers, encapsulation, decapsulation, and decapsulation of changed ciphertexts.
///
/// Takes about as long as ten key exchanges. Optional: nothing calls it.
///
/// # Errors
///
/// The first step that gives a wrong result.
pub fn self_test() -> Result<(), SelfTestError> {
    self_test_on(Level::detect())
}

/// [`self_test`] on a backend of your choice.
///
/// # Errors
///
/// As [`self_test`].
pub fn self_test_on(level: Level) -> Result<(), SelfTestError> {
    known_answers::<2>(level, &ANSWERS[0])?;
    known_answers::<3>(level, &ANSWERS[1])?;
    known_answers::<4>(level, &ANSWERS[2])
}

impl<const K: usize> DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// [`self_test`] of this parameter set alone.
    ///
    /// # Errors
    ///
    /// As [`self_test`].
    pub fn self_test() -> Result<(), SelfTestError> {
        known_answers::<K>(Level::detect(), &self_test_answers::<K>())
    }

    /// The pairwise consistency test that FIPS 140-3 asks for after key generation: expands the encoded
    /// encapsulation key anew, as its receiver will, encapsulates `m` to it and decapsulates.
    ///
    /// Any 32 bytes will do for `m`; fresh random ones are the custom. The secret is wiped. Optional:
    /// nothing calls it. It costs a parsed encapsulation key on the stack, and the time of parsing it,
    /// encapsulating and decapsulating.
    ///
    /// Finds whatever makes the two halves disagree, in memory too: s, the matrix, t, the encoded key and
    /// its hash. It cannot find a wrong z, which matters for changed ciphertexts only.
    ///
    /// # Errors
    ///
    /// [`SelfTestStep::Pair`].
    pub fn check_pair(&self, m: &[u8; 32]) -> Result<(), SelfTestError> {
        let agreed = wiping_stack::<K, _>(Frames::MakeKey, || {
            let ours = self.encapsulation_key();
            let theirs = EncapsulationKey::<K>::parse_at(ours.level, ours.as_bytes().as_ref());
            theirs.as_ref().is_ok_and(|theirs| {
                let (ciphertext, secret) = theirs.encap_message(m);
                self.decap(&ciphertext) == secret
            })
        });
        check::<K>(agreed, SelfTestStep::Pair)
    }
}

fn check<const K: usize>(right: bool, step: SelfTestStep) -> Result<(), SelfTestError> {
    let set = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"][K - 2];
    if right { Ok(()) } else { Err(SelfTestError { set, step }) }
}

fn known_answers<const K: usize>(
    level: Level,
    answers: &SelfTestAnswers,
) -> Result<(), SelfTestError>
where
    MlKem<K>: ParameterSet,
{
    let mut expanded = ExpandedBytes::<K>::ZERO;
    key_gen::<K>(level, &mut expanded);
    let expanded = expanded.as_ref();
    check::<K>(sha3_256(level, [expanded]) == answers.key_gen, SelfTestStep::KeyGen)?;

    let from = POLY_BYTES * K;
    let ek = &expanded[from..from + encapsulation_key_bytes(K)];
    let Some((ciphertext, secret)) = encap::<K>(level, ek) else {
        return check::<K>(false, SelfTestStep::Encap);
    };
    let digest = sha3_256(level, [ciphertext.as_ref(), secret.as_bytes()]);
    check::<K>(digest == answers.encap, SelfTestStep::Encap)?;

    decap(level, expanded, &ciphertext, &secret, answers)
}

#[inline(never)]
fn key_gen<const K: usize>(level: Level, expanded: &mut ExpandedBytes<K>)
where
    MlKem<K>: ParameterSet,
{
    let mut seed = [0; 64];
    seed.copy_from_slice(&SELF_TEST_COINS[..64]);
    DecapsulationKey::<K>::from_seed_at(level, &Seed::from(&seed)).to_expanded_bytes(expanded);
}

#[inline(never)]
fn encap<const K: usize>(level: Level, ek: &[u8]) -> Option<(Ciphertext<K>, SharedSecret)>
where
    MlKem<K>: ParameterSet,
{
    let m = SELF_TEST_COINS[64..].first_chunk::<SYM_BYTES>()?;
    // By reference, here and below: moving a key out of a result would make two of it.
    let key = EncapsulationKey::<K>::parse_at(level, ek);
    key.as_ref().ok().map(|key| key.encap_message(m))
}

#[inline(never)]
fn decap<const K: usize>(
    level: Level,
    expanded: &[u8],
    ciphertext: &Ciphertext<K>,
    secret: &SharedSecret,
    answers: &SelfTestAnswers,
) -> Result<(), SelfTestError>
where
    MlKem<K>: ParameterSet,
{
    let key = DecapsulationKey::<K>::parse_at(level, expanded);
    let Ok(key) = &key else { return check::<K>(false, SelfTestStep::Decap) };
    check::<K>(key.decap(ciphertext) == *secret, SelfTestStep::Decap)?;
    check::<K>(reject(level, key, ciphertext) == answers.rejection, SelfTestStep::Rejection)
}

fn reject<const K: usize>(
    level: Level,
    key: &DecapsulationKey<K>,
    ciphertext: &Ciphertext<K>,
) -> [u8; 32]
where
    MlKem<K>: ParameterSet,
{
    let mut bytes = ciphertext.as_bytes().clone();
    let last = bytes.as_ref().len() - 1;
    let mut secrets = [[0; 32]; 3];
    for (secret, at) in secrets.iter_mut().zip([0, (last + 1) >> 1, last]) {
        bytes.as_mut()[at] ^= 1;
        if let Ok(changed) = Ciphertext::parse(bytes.as_ref()) {
            *secret = *key.decap(&changed).as_bytes();
        }
        bytes.as_mut()[at] ^= 1;
    }
    sha3_256(level, secrets.each_ref().map(|secret| &secret[..]))
}

/// On the backend under test too.
fn sha3_256<const PARTS: usize>(level: Level, parts: [&[u8]; PARTS]) -> [u8; 32] {
    fn on<B: Backend>(b: B, parts: &[&[u8]], digest: &mut [u8; 32]) {
        let mut sponge = Sponge::<1>::new(136);
        for part in parts {
            sponge.absorb(b, [part]);
        }
        sponge.pad(b, 0x06);
        sponge.squeeze(b, [digest]);
    }
    let mut digest = [0; 32];
    dispatch!(level, b => on(b, &parts, &mut digest));
    digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::N;

    fn failure<const K: usize>(answers: &SelfTestAnswers) -> Option<SelfTestStep>
    where
        MlKem<K>: ParameterSet,
    {
        known_answers::<K>(Level::detect(), answers).err().map(|error| error.step)
    }

    fn every_bit_of_an_answer_counts<const K: usize>()
    where
        MlKem<K>: ParameterSet,
    {
        let right = self_test_answers::<K>();
        assert_eq!(failure::<K>(&right), None);
        for bit in 0..256 {
            let mut wrong = [right; 3];
            let mask = 1 << (bit % 8);
            wrong[0].key_gen[bit / 8] ^= mask;
            wrong[1].encap[bit / 8] ^= mask;
            wrong[2].rejection[bit / 8] ^= mask;
            assert_eq!(failure::<K>(&wrong[0]), Some(SelfTestStep::KeyGen));
            assert_eq!(failure::<K>(&wrong[1]), Some(SelfTestStep::Encap));
            assert_eq!(failure::<K>(&wrong[2]), Some(SelfTestStep::Rejection));
        }
    }

    #[test]
    fn wrong_answers_are_seen() {
        every_bit_of_an_answer_counts::<2>();
        every_bit_of_an_answer_counts::<3>();
        every_bit_of_an_answer_counts::<4>();
    }

    fn damage_is_seen<const K: usize>()
    where
        MlKem<K>: ParameterSet,
    {
        let key = DecapsulationKey::<K>::from_seed(&Seed::from(&[0x42; 64]));
        assert_eq!(key.check_pair(&[7; 32]), Ok(()));
        let is_seen = |what: &str, damage: &dyn Fn(&mut DecapsulationKey<K>)| {
            let mut damaged = key.clone();
            damage(&mut damaged);
            let step = damaged.check_pair(&[7; 32]).err().map(|error| error.step);
            assert_eq!(step, Some(SelfTestStep::Pair), "{what}");
        };
        for i in (0..N).step_by(5) {
            for row in 0..K {
                is_seen("matrix", &|key| key.encapsulation_key.public.matrix[row][K - 1].0[i] ^= 1);
                is_seen("t", &|key| key.encapsulation_key.public.t[row].0[i] ^= 1);
                is_seen("s", &|key| key.s.0[row].0[i] ^= 1);
            }
        }
        for bit in 0..256 {
            is_seen("hash", &|key| key.encapsulation_key.hash[bit / 8] ^= 1 << (bit % 8));
        }
        for byte in (0..encapsulation_key_bytes(K)).step_by(7) {
            is_seen("encoded", &|key| key.encapsulation_key.bytes.as_mut()[byte] ^= 0x10);
        }
    }

    #[test]
    fn damage_in_memory_is_seen() {
        damage_is_seen::<2>();
        damage_is_seen::<3>();
        damage_is_seen::<4>();
    }
}
