//! One trait for every ML-KEM, ours behind it, and the operations to measure, written once for all.

use std::hint::black_box;
use std::rc::Rc;

use keccak::hazmat::Level;
use kyber::{Seed, SharedSecret};
use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

use crate::{Operation, among};

/// How many keys take turns.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Encoded public keys.
    pub public: usize,
    /// Key pairs with a ciphertext each, the owners of the first public keys.
    pub pairs: usize,
}

impl Keys {
    /// For time: enough public keys that no predictor remembers their rejection sampling, and fewer pairs, so that
    /// keys which keep their matrix stay in the cache.
    pub const MANY: Self = Self { public: 256, pairs: 32 };
    /// For counts of instructions, which no predictor changes: each key takes an emulator long to make.
    pub const FEW: Self = Self { public: 2, pairs: 1 };
}

/// An implementation of one parameter set. Bytes are those of FIPS 203, so all take the same inputs.
pub trait Kem: 'static {
    /// The implementation's name.
    const NAME: &'static str;
    /// Whether [`Kem::generate`] computes the key from the seed; otherwise it draws its own.
    const SEEDED_KEYGEN: bool = true;
    /// Whether [`Kem::encap`] uses the message given; otherwise it draws its own.
    const SEEDED_ENCAP: bool = true;
    /// Whether it can read the expanded form of a private key.
    const EXPANDED: bool = true;
    /// A private key, ready for use.
    type Secret;
    /// A public key, ready for use.
    type Public;
    /// A ciphertext as decap takes it and encap gives it.
    type Ciphertext;
    /// A shared secret.
    type Shared;

    /// Which of its backends runs.
    fn backend(&self) -> &'static str;
    /// A new key pair.
    fn generate(&self, seed: &[u8; 64]) -> Self::Secret;
    /// The public key's bytes.
    fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]>;
    /// A public key from its bytes.
    fn parse_public(&self, bytes: &[u8]) -> Self::Public;
    /// Encapsulates.
    fn encap(&self, public: &Self::Public, m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared);
    /// A private key from its expanded bytes.
    fn parse_secret(&self, expanded: &[u8]) -> Self::Secret;
    /// Decapsulates.
    fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared;
    /// A ciphertext from its bytes.
    fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext;
    /// A ciphertext's bytes, for checks.
    fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8>;
    /// A shared secret's bytes, for checks.
    fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8>;

    /// Encapsulates to an encoded public key; for libraries where a parsed key can be used only once.
    fn parse_encap(&self, bytes: &[u8], m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
        self.encap(&self.parse_public(bytes), m)
    }

    /// Decapsulates with the bytes of an expanded private key; for libraries that keep less than a pair.
    fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
        self.decap(&self.parse_secret(expanded), ciphertext)
    }
}

/// ML-KEM of this workspace on a chosen backend.
#[derive(Clone, Copy, Debug)]
pub struct Ours<const K: usize> {
    /// The backend.
    pub level: Level,
}

/// What only the maker of the inputs must have.
pub trait Maker: Kem {
    /// The parameter set's name.
    const SET: &'static str;
    /// The private key in expanded form.
    fn expanded_bytes(&self, secret: &Self::Secret) -> Vec<u8>;
}

macro_rules! ours {
    ($k:literal, $set:literal, $module:ident) => {
        impl Maker for Ours<$k> {
            const SET: &'static str = $set;
            fn expanded_bytes(&self, secret: &Self::Secret) -> Vec<u8> {
                let mut out = [0; kyber::$module::DECAPSULATION_KEY_BYTES];
                secret.to_expanded_bytes(&mut out);
                out.to_vec()
            }
        }

        impl Kem for Ours<$k> {
            const NAME: &'static str = "kyber";
            type Secret = kyber::$module::DecapsulationKey;
            type Public = kyber::$module::EncapsulationKey;
            type Ciphertext = kyber::$module::Ciphertext;
            type Shared = SharedSecret;

            fn backend(&self) -> &'static str {
                self.level.name()
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                <Self::Secret>::from_seed_on(self.level, &Seed::from(seed))
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                secret.encapsulation_key().to_bytes()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                <Self::Public>::parse_on(self.level, bytes).expect("a valid public key")
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                public.encap_deterministic(m)
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                <Self::Secret>::parse_on(self.level, expanded).expect("a valid private key")
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                secret.decap(ciphertext)
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                <Self::Ciphertext>::parse(bytes).expect("a ciphertext's length")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_bytes().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.as_bytes().to_vec()
            }
        }
    };
}

ours!(2, "ML-KEM-512", mlkem512);
ours!(3, "ML-KEM-768", mlkem768);
ours!(4, "ML-KEM-1024", mlkem1024);

/// One key pair in encoded form, with a ciphertext and its secret.
pub struct Pair {
    /// The seed, d first.
    pub seed: [u8; 64],
    /// The expanded private key.
    pub expanded: Vec<u8>,
    /// The message that the ciphertext was made from.
    pub message: [u8; 32],
    /// A ciphertext to this key.
    pub ciphertext: Vec<u8>,
    /// What the ciphertext decapsulates to.
    pub shared: Vec<u8>,
}

/// Inputs of one parameter set, the same for every implementation; made by ours.
pub struct Inputs {
    /// The parameter set's name.
    pub set: &'static str,
    /// Encoded public keys; the first are those of `pairs`.
    pub public: Vec<Vec<u8>>,
    /// Key pairs.
    pub pairs: Vec<Pair>,
}

/// A stream of random bytes.
pub type Source = Box<dyn FnMut(&mut [u8])>;

/// A stream from a CSPRNG that the operating system seeds once: no system call per key.
pub fn csprng() -> Source {
    let mut rng = StdRng::try_from_rng(&mut SysRng).expect("randomness of the operating system");
    Box::new(move |out| rng.fill_bytes(out))
}

/// Random bytes for 4096 key generations. A weak generator with a constant seed: nothing here is secret,
/// and every run measures the same inputs.
pub fn random_pool() -> Vec<u8> {
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut word = || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..4096 * 8).flat_map(|_| word().to_le_bytes()).collect()
}

/// A stream that goes round the pool.
pub fn stream(pool: &Rc<Vec<u8>>) -> Source {
    let (pool, mut at) = (pool.clone(), 0);
    Box::new(move |out| {
        if at + out.len() > pool.len() {
            at = 0;
        }
        out.copy_from_slice(&pool[at..at + out.len()]);
        at += out.len();
    })
}

impl Inputs {
    /// Draws the inputs of a parameter set.
    pub fn new<T: Maker>(maker: &T, source: &mut Source, keys: Keys) -> Self {
        let (mut public, mut pairs) = (Vec::new(), Vec::new());
        for i in 0..keys.public {
            let (mut seed, mut message) = ([0; 64], [0; 32]);
            source(&mut seed);
            source(&mut message);
            let secret = maker.generate(&seed);
            let encoded = maker.encode_public(&secret);
            public.push(encoded.as_ref().to_vec());
            if i < keys.pairs {
                let (ciphertext, shared) = maker.parse_encap(encoded.as_ref(), &message);
                pairs.push(Pair {
                    seed,
                    expanded: maker.expanded_bytes(&secret),
                    message,
                    ciphertext: maker.ciphertext_bytes(&ciphertext),
                    shared: maker.shared_bytes(&shared),
                });
            }
        }
        Self { set: T::SET, public, pairs }
    }
}

/// Our operations of one parameter set on inputs of their own, if `sets` selects it.
pub fn operations_of<T: Maker>(
    maker: T,
    source: &dyn Fn() -> Source,
    keys: Keys,
    sets: &[String],
) -> Vec<Operation> {
    if !among(sets, T::SET) {
        return Vec::new();
    }
    let inputs = Rc::new(Inputs::new(&maker, &mut source(), keys));
    operations(&Rc::new(maker), &inputs, source)
}

/// Our operations on a backend of the parameter sets that `sets` selects.
pub fn all_operations(
    level: Level,
    source: &dyn Fn() -> Source,
    keys: Keys,
    sets: &[String],
) -> Vec<Operation> {
    let mut all = operations_of(Ours::<2> { level }, source, keys, sets);
    all.extend(operations_of(Ours::<3> { level }, source, keys, sets));
    all.extend(operations_of(Ours::<4> { level }, source, keys, sets));
    all
}

/// A private key of the implementation under test for a pair of the inputs.
pub fn secret_of<T: Kem>(kem: &T, pair: &Pair) -> T::Secret {
    if T::SEEDED_KEYGEN { kem.generate(&pair.seed) } else { kem.parse_secret(&pair.expanded) }
}

/// Calls `body` with 0, 1, 2.. modulo `len`, going on where the call before stopped.
fn rotating(len: usize, mut body: impl FnMut(usize) + 'static) -> Box<dyn FnMut(usize)> {
    let mut next = 0;
    Box::new(move |count| {
        for _ in 0..count {
            body(next);
            next = if next + 1 == len { 0 } else { next + 1 };
        }
    })
}

/// The operations of one implementation. `source` makes one stream of random bytes for each.
///
/// - `generate + decap`: new key pair, encode its public key, decapsulate a fixed ciphertext;
/// - `parse + encap`: parse an encoded public key, encapsulate to it;
/// - `keygen`, `encap`, `decap` alone, the last two with keys that are ready for use;
/// - `decap from bytes`: parse an expanded private key, decapsulate.
pub fn operations<T: Kem>(
    kem: &Rc<T>,
    inputs: &Rc<Inputs>,
    source: &dyn Fn() -> Source,
) -> Vec<Operation> {
    let mut all = encapsulating(kem, inputs, source);
    all.extend(decapsulating(kem, inputs));
    all.into_iter()
        .map(|(name, run)| Operation { set: inputs.set, name: name.to_owned(), bytes: None, run })
        .collect()
}

type Named = (&'static str, Box<dyn FnMut(usize)>);

fn encapsulating<T: Kem>(
    kem: &Rc<T>,
    inputs: &Rc<Inputs>,
    source: &dyn Fn() -> Source,
) -> Vec<Named> {
    let generate_decap = {
        let (kem, mut random, mut seed) = (kem.clone(), source(), [0; 64]);
        let ciphertext = kem.parse_ciphertext(&inputs.pairs[0].ciphertext);
        move |_| {
            random(&mut seed);
            let secret = kem.generate(black_box(&seed));
            black_box(kem.encode_public(&secret));
            black_box(kem.decap(&secret, black_box(&ciphertext)));
        }
    };
    let parse_encap = {
        let (kem, inputs, mut random, mut m) = (kem.clone(), inputs.clone(), source(), [0; 32]);
        move |i: usize| {
            random(&mut m);
            black_box(kem.parse_encap(black_box(&inputs.public[i]), black_box(&m)));
        }
    };
    let keygen = {
        let (kem, mut random, mut seed) = (kem.clone(), source(), [0; 64]);
        move |_| {
            random(&mut seed);
            black_box(kem.generate(black_box(&seed)));
        }
    };
    let encap = {
        let (kem, mut random, mut m) = (kem.clone(), source(), [0; 32]);
        let parse = |bytes: &Vec<u8>| kem.parse_public(bytes);
        let public: Vec<_> = inputs.public[..inputs.pairs.len()].iter().map(parse).collect();
        move |i: usize| {
            random(&mut m);
            black_box(kem.encap(black_box(&public[i]), black_box(&m)));
        }
    };
    vec![
        ("generate + decap", rotating(1, generate_decap)),
        ("parse + encap", rotating(inputs.public.len(), parse_encap)),
        ("keygen", rotating(1, keygen)),
        ("encap", rotating(inputs.pairs.len(), encap)),
    ]
}

fn decapsulating<T: Kem>(kem: &Rc<T>, inputs: &Rc<Inputs>) -> Vec<Named> {
    let ciphertexts = || -> Vec<_> {
        let parse = |pair: &Pair| kem.parse_ciphertext(&pair.ciphertext);
        inputs.pairs.iter().map(parse).collect()
    };
    let decap = {
        let (kem, ciphertexts) = (kem.clone(), ciphertexts());
        let secrets: Vec<_> = inputs.pairs.iter().map(|pair| secret_of(&*kem, pair)).collect();
        move |i: usize| {
            black_box(kem.decap(black_box(&secrets[i]), black_box(&ciphertexts[i])));
        }
    };
    let mut all: Vec<Named> = vec![("decap", rotating(inputs.pairs.len(), decap))];
    if T::EXPANDED {
        let (kem, inputs, ciphertexts) = (kem.clone(), inputs.clone(), ciphertexts());
        let pairs = inputs.pairs.len();
        let from_bytes = move |i: usize| {
            let expanded = black_box(&inputs.pairs[i].expanded);
            black_box(kem.decap_bytes(expanded, black_box(&ciphertexts[i])));
        };
        all.push(("decap from bytes", rotating(pairs, from_bytes)));
    }
    all
}
