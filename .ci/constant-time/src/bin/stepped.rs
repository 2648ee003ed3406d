//! Runs one operation between two breakpoints, for `trace` and `faults`: stepped BACKEND SET OPERATION VARIANT.
//! Variants differ in their secrets only, as far as an observer is concerned: `0` is the base, `1` has other
//! secrets throughout. For what decapsulates, the others are `0` with the ciphertext changed: a bit in its first
//! byte in `2`, in its last in `3`, bits all over in `4`. Each of them decrypts to the same m.
//!
//! An operation more: a line in `OPERATIONS`, an arm in `run`.

use std::hint::black_box;

use constant_time::{backend, find_d};
use kyber::{
    Bytes, Ciphertext, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem, ParameterSet,
    Seed, SmallDecapsulationKey, hazmat::Level,
};

/// What there is, and how many variants of it.
const OPERATIONS: [(&str, u8); 7] = [
    ("generate", 2),
    ("parse", 2),
    ("encap", 2),
    ("decap", 5),
    ("small-generate", 2),
    ("small-encap", 2),
    ("small-decap", 5),
];

/// Runs `f` between two breakpoints.
fn stepped<R>(f: impl FnOnce() -> R) -> R {
    backend::begin();
    let result = black_box(f());
    backend::end(&result);
    result
}

/// The ciphertext of this variant.
fn ciphertext<const K: usize>(key: &DecapsulationKey<K>, m: &[u8; 32], variant: u8) -> Ciphertext<K>
where
    MlKem<K>: ParameterSet,
{
    let mut bytes = key.encapsulation_key().encap_deterministic(m).0.as_bytes().clone();
    let last = bytes.as_ref().len() - 1;
    match variant {
        2 => bytes.as_mut()[0] ^= 1,
        3 => bytes.as_mut()[last] ^= 1,
        // The lowest bits of some coefficients of u (four in five bytes, eight in eleven).
        4 => bytes.as_mut()[..256 * K].iter_mut().step_by(55).for_each(|byte| *byte ^= 1),
        _ => {}
    }
    Ciphertext::parse(bytes.as_ref()).expect("the right length")
}

fn run<const K: usize>(level: Level, operation: &str, variant: u8)
where
    MlKem<K>: ParameterSet,
{
    let other = u8::from(variant == 1);
    // Matrices that need no fourth block: how many there are of those is public, and takes time.
    let mut seed = [other; 64];
    seed[..32].copy_from_slice(&find_d(K, if operation == "parse" { 0 } else { other }, false));
    let seed = Seed::from(&seed);
    let key = DecapsulationKey::<K>::from_seed_on(level, &seed);
    let m = [other; 32];
    match operation {
        "generate" => drop(stepped(|| DecapsulationKey::<K>::from_seed_on(level, &seed))),
        "parse" => {
            // The same public key with another s and z, which is all that may differ.
            let mut expanded = ExpandedBytes::<K>::ZERO;
            key.to_expanded_bytes(&mut expanded);
            if other == 1 {
                expanded.as_mut()[..384 * K].fill(0x11);
            }
            stepped(|| DecapsulationKey::<K>::parse_on(level, expanded.as_ref())).expect("a key");
        }
        "encap" => {
            let ek = key.encapsulation_key().to_bytes();
            let peer = EncapsulationKey::<K>::parse_on(level, ek.as_ref()).expect("our own key");
            stepped(|| peer.encap_deterministic(&m));
        }
        "decap" => {
            let ciphertext = ciphertext(&key, &m, variant);
            stepped(|| key.decap(&ciphertext));
        }
        _ => run_small::<K>(level, operation, &key, &m, variant),
    }
}

fn run_small<const K: usize>(
    level: Level,
    operation: &str,
    key: &DecapsulationKey<K>,
    m: &[u8; 32],
    variant: u8,
) where
    MlKem<K>: ParameterSet,
{
    let seed = key.seed().expect("a generated key");
    let small = SmallDecapsulationKey::<K>::from_seed_on(level, seed);
    match operation {
        "small-generate" => drop(stepped(|| small.encapsulation_key())),
        "small-encap" => {
            let peer = small.encapsulation_key();
            stepped(|| peer.encap_deterministic(m));
        }
        "small-decap" => {
            let ciphertext = ciphertext(key, m, variant);
            stepped(|| small.decap(&ciphertext));
        }
        _ => panic!("no such operation"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (level, set, operation, variant) = match arguments[..] {
        ["--list"] => return Level::available().for_each(|level| println!("{level}")),
        ["--operations"] => {
            return OPERATIONS.iter().for_each(|(name, variants)| println!("{name} {variants}"));
        }
        [backend, set, operation, variant] => (
            Level::named(backend).expect("a backend of this machine"),
            set,
            operation,
            variant.parse().expect("a number"),
        ),
        _ => panic!("four arguments, --list or --operations"),
    };
    match set {
        "768" => run::<3>(level, operation, variant),
        #[cfg(not(feature = "only-768"))]
        "512" => run::<2>(level, operation, variant),
        #[cfg(not(feature = "only-768"))]
        "1024" => run::<4>(level, operation, variant),
        _ => panic!("no such parameter set"),
    }
}
