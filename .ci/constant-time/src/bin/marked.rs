//! Runs every operation with its secrets marked, on the backend that the argument names (`--list` names those
//! of this machine). MemorySanitizer or memcheck report what a secret decides; this program makes sure that
//! there is something to report: that every secret result is still marked and every public one is not.
//!
//! An operation more: a call in `check_exchange`, with its results; another way to decapsulate is another closure
//! for `check_decap`. In `../lib.rs` it is a function of `operations`.

use constant_time::find_d;
use kyber::{
    Bytes, Ciphertext, CiphertextBytes, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem,
    ParameterSet, Seed, SharedSecret, SmallDecapsulationKey, hazmat::Level,
};

#[path = "../../../../kyber/src/backend/marks.rs"]
#[allow(dead_code)] // Not all of it is used here.
mod marks;
// Where the macros look for it.
mod ct {
    pub(crate) use crate::marks;
    pub(crate) use crate::marks::{declassify, secret};
}

const TWELVE_BITS: usize = 384;

/// Whether each of these bytes has a secret bit.
#[cfg(constant_time = "msan")]
fn all_marked(bytes: &[u8]) -> bool {
    bytes.iter().all(constant_time::backend::is_marked)
}

/// Whether each of these bytes has a secret bit.
#[cfg(constant_time = "valgrind")]
fn all_marked(bytes: &[u8]) -> bool {
    const GET_VBITS: usize = 0x4d43_0008;
    bytes.iter().all(|byte| {
        let mut bits = 0u8;
        let known =
            ct::marks::request([GET_VBITS, (&raw const *byte).addr(), (&raw mut bits).addr(), 1]);
        assert_eq!(known, 1, "not under valgrind");
        // Valgrind wrote through the address.
        std::hint::black_box(bits) != 0
    })
}

#[cfg(not(any(constant_time = "msan", constant_time = "valgrind")))]
fn all_marked(_: &[u8]) -> bool {
    panic!("built without --cfg constant_time=\"msan\" or \"valgrind\"")
}

fn expect_secret(what: &str, bytes: &[u8]) {
    assert!(all_marked(bytes), "{what} has bytes that are not marked as secret");
}

fn expect_public(what: &str, bytes: &[u8]) {
    let marked = bytes.iter().any(|byte| all_marked(std::slice::from_ref(byte)));
    assert!(!marked, "{what} has bytes that are marked as secret");
}

/// A generator whose bytes are secret.
struct SecretRng(u8);

impl rand_core::TryRng for SecretRng {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.0 += 1;
        out.fill(self.0);
        ct::secret!(out);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for SecretRng {}

/// A decapsulation, by whatever form of private key, of a ciphertext as it should be and of wrong ones.
fn check_decap<const K: usize>(
    decap: impl Fn(&Ciphertext<K>) -> SharedSecret,
    ciphertext: &CiphertextBytes<K>,
    expected: &SharedSecret,
) where
    MlKem<K>: ParameterSet,
{
    let accepts = |bytes: &CiphertextBytes<K>| {
        let secret = decap(&Ciphertext::parse(bytes.as_ref()).expect("the right length"));
        expect_secret("the result of decap", secret.as_bytes());
        secret == *expected
    };
    assert!(accepts(ciphertext), "a valid ciphertext");
    let last = ciphertext.as_ref().len() - 1;
    for place in [0, last / 2, last] {
        let mut invalid = ciphertext.clone();
        invalid.as_mut()[place] ^= 1;
        assert!(!accepts(&invalid), "an invalid ciphertext");
    }
}

fn check_exchange<const K: usize>(level: Level, d: [u8; 32])
where
    MlKem<K>: ParameterSet,
{
    let mut seed = [0x5a; 64];
    seed[..32].copy_from_slice(&d);
    let key = DecapsulationKey::<K>::from_seed_on(level, &Seed::from(&seed));
    let ek = key.encapsulation_key().to_bytes();
    expect_public("the encapsulation key", ek.as_ref());

    let mut expanded = ExpandedBytes::<K>::ZERO;
    key.to_expanded_bytes(&mut expanded);
    let (s, rest) = expanded.as_ref().split_at(TWELVE_BITS * K);
    let (public, z) = rest.split_at(rest.len() - 32);
    expect_secret("s", s);
    expect_secret("z", z);
    expect_public("the public part of an expanded key", public);
    // Parsing has to mark them by itself.
    ct::declassify!(&expanded);
    let parsed = DecapsulationKey::<K>::parse_on(level, expanded.as_ref()).expect("our own key");
    expect_secret("s in a parsed key", &expanded.as_ref()[..TWELVE_BITS * K]);
    assert!(parsed == key, "a parsed key");

    let peer = EncapsulationKey::<K>::parse_on(level, ek.as_ref()).expect("our own key");
    let (ciphertext, secret) = peer.encap_deterministic(&[7; 32]);
    expect_secret("the secret of encap", secret.as_bytes());
    let ciphertext: CiphertextBytes<K> = ciphertext.as_bytes().clone();
    expect_public("the ciphertext", ciphertext.as_ref());

    for key in [&key, &parsed, &key.clone()] {
        check_decap(|ciphertext| key.decap(ciphertext), &ciphertext, &secret);
    }

    let small = SmallDecapsulationKey::<K>::from_seed_on(level, &Seed::from(&seed));
    let peer = small.encapsulation_key();
    expect_public("the encapsulation key of a small key", peer.as_bytes().as_ref());
    let (again, small_secret) = peer.encap_deterministic(&[7; 32]);
    expect_secret("the secret of encap with a small key", small_secret.as_bytes());
    expect_public("the ciphertext from a small key", again.as_ref());
    assert!(again.as_bytes() == &ciphertext && small_secret == secret, "both kinds of keys agree");
    check_decap(|ciphertext| small.decap(ciphertext), &ciphertext, &secret);
}

/// The calls that take a generator; they run on the fastest backend.
fn check_generators<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let mut rng = SecretRng(0);
    let key = DecapsulationKey::<K>::generate(&mut rng);
    let (ciphertext, secret) = key.encapsulation_key().encap(&mut rng);
    check_decap(|ciphertext| key.decap(ciphertext), ciphertext.as_bytes(), &secret);
    expect_secret("the seed", key.seed().expect("a generated key").as_bytes());
}

fn check_set<const K: usize>(level: Level)
where
    MlKem<K>: ParameterSet,
{
    check_exchange::<K>(level, find_d(K, 0, false));
    check_exchange::<K>(level, find_d(K, 0, true));
    if level == Level::detect() {
        check_generators::<K>();
    }
}

/// Hashes of secret messages, beside a public one where messages share a permutation.
fn check_hashes(level: Level) {
    let message = [3u8; 300];
    ct::secret!(&message);
    let mut sha3 = keccak::Sha3_256::new_on(level);
    sha3.update(&message);
    expect_secret("SHA3-256", &sha3.finalize());

    let mut kmac = keccak::Kmac256::new_on(level, &message[..32], b"");
    kmac.update(b"message");
    let mut tag = [0; 32];
    kmac.finalize(&mut tag);
    expect_secret("KMAC256", &tag);

    let mut shake = keccak::MultiShake128::<5>::new_on(level);
    shake.update([&message, b"public", &message[..100], &message, &message[..1]]);
    let mut outputs = [[0; 200]; 5];
    let [a, b, c, d, e] = &mut outputs;
    shake.finalize_xof().read([a, b, c, d, e]);
    for (l, output) in outputs.iter().enumerate() {
        match l {
            1 => expect_public("SHAKE128 beside secrets", output),
            _ => expect_secret("SHAKE128", output),
        }
    }
}

fn main() {
    let name = std::env::args().nth(1).expect("the name of a backend, or --list");
    if name == "--list" {
        Level::available().for_each(|level| println!("{level}"));
        return;
    }
    let level = Level::named(&name).expect("a backend of this machine");
    check_set::<3>(level);
    #[cfg(not(feature = "only-768"))]
    {
        check_set::<2>(level);
        check_set::<4>(level);
    }
    check_hashes(level);
    println!("{level}: all secrets stayed marked");
}
