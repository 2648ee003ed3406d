//! Runs one operation between two breakpoints, for `trace`: stepped BACKEND SET OPERATION VARIANT. Variants differ
//! in their secrets only, as far as an observer is concerned: `0` is the base, `1` has other secrets throughout.
//! For decap, `2` and `3` are `0` with the first and the last byte of the ciphertext changed.

use std::hint::black_box;

use constant_time::find_d;
use kyber::{
    Bytes, Ciphertext, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem, ParameterSet,
    Seed, hazmat::Level,
};

/// Runs `f` between two breakpoints.
fn stepped<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: the tracer passes over the instruction.
    unsafe { std::arch::asm!("int3") };
    let result = black_box(f());
    // SAFETY: the tracer ends here.
    unsafe { std::arch::asm!("int3") };
    result
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
    let ek = key.encapsulation_key().to_bytes();
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
            let peer = EncapsulationKey::<K>::parse_on(level, ek.as_ref()).expect("our own key");
            stepped(|| peer.encap_deterministic(&m));
        }
        "decap" => {
            let mut bytes = key.encapsulation_key().encap_deterministic(&m).0.as_bytes().clone();
            let last = bytes.as_ref().len() - 1;
            match variant {
                2 => bytes.as_mut()[0] ^= 1,
                3 => bytes.as_mut()[last] ^= 1,
                _ => {}
            }
            let ciphertext = Ciphertext::<K>::parse(bytes.as_ref()).expect("the right length");
            stepped(|| key.decap(&ciphertext));
        }
        _ => panic!("no such operation"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == "--list") {
        Level::available().for_each(|level| println!("{level}"));
        return;
    }
    let [_, backend, set, operation, variant] = &arguments[..] else { panic!("four arguments") };
    let level = Level::named(backend).expect("a backend of this machine");
    let variant = variant.parse().expect("a number");
    match set.as_str() {
        "768" => run::<3>(level, operation, variant),
        #[cfg(not(feature = "only-768"))]
        "512" => run::<2>(level, operation, variant),
        #[cfg(not(feature = "only-768"))]
        "1024" => run::<4>(level, operation, variant),
        _ => panic!("no such parameter set"),
    }
}
