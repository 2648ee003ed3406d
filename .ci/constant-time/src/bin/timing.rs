//! Whether the time of an operation tells two classes of secrets apart: Welch's t-test over many runs, as in
//! "Dude, is my code constant time?" (Reparaz, Balasch and Verbauwhede, 2017). ML-KEM-768 on the backend that
//! the variable BACKEND names, else on the fastest. `planted` compares with an early exit: it must stand out.

use dudect_bencher::{BenchRng, Class, CtRunner, ctbench_main, rand::Rng};
use kyber::{
    Seed,
    hazmat::Level,
    mlkem768::{CIPHERTEXT_BYTES, Ciphertext, DecapsulationKey},
};

fn key() -> DecapsulationKey {
    let name = std::env::var("BACKEND");
    let level = name
        .map_or(Level::detect(), |name| Level::named(&name).expect("a backend of this machine"));
    DecapsulationKey::from_seed_on(level, &Seed::from(&[5; 64]))
}

fn samples() -> usize {
    std::env::var("SAMPLES").map_or(200_000, |samples| samples.parse().expect("a number"))
}

/// Runs `f` on inputs of two classes in random order. The input is copied to the same place each time, so
/// that the classes do not differ in what is cached.
fn compare<const N: usize, R>(
    runner: &mut CtRunner,
    rng: &mut BenchRng,
    left: impl Fn(&mut BenchRng) -> [u8; N],
    right: impl Fn(&mut BenchRng) -> [u8; N],
    f: impl Fn(&[u8; N]) -> R,
) {
    let mut place = Box::new([0; N]);
    for _ in 0..samples() {
        // Both are made, so that the classes do not differ in what ran before.
        let inputs = [left(rng), right(rng)];
        let choice = rng.next_u32() & 1;
        // Both are read, so that the classes do not differ in where the input came from either.
        let mask = 0u8.wrapping_sub(choice as u8);
        for (i, place) in place.iter_mut().enumerate() {
            *place = std::hint::black_box(inputs[0][i] & !mask | inputs[1][i] & mask);
        }
        let class = if choice == 0 { Class::Left } else { Class::Right };
        runner.run_one(class, || f(&place));
    }
}

fn encapsulate(key: &DecapsulationKey, m: &[u8; 32]) -> [u8; CIPHERTEXT_BYTES] {
    *key.encapsulation_key().encap_deterministic(m).0.as_bytes()
}

fn random_message(rng: &mut BenchRng) -> [u8; 32] {
    let mut m = [0; 32];
    rng.fill_bytes(&mut m);
    m
}

/// Implicit rejection against success.
fn decap_valid_or_invalid(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = key();
    let valid = encapsulate(&key, &[7; 32]);
    let mut invalid = valid;
    invalid[0] ^= 1;
    compare(runner, rng, |_| valid, |_| invalid, |bytes| key.decap(&Ciphertext::from(*bytes)));
}

/// One message again and again against new ones.
fn decap_fixed_or_random(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = key();
    let fixed = [7; 32];
    compare(
        runner,
        rng,
        |_| encapsulate(&key, &fixed),
        |rng| encapsulate(&key, &random_message(rng)),
        |bytes| key.decap(&Ciphertext::from(*bytes)),
    );
}

/// The same class twice: what the measurement itself makes of it.
fn control(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = key();
    let random = |rng: &mut BenchRng| encapsulate(&key, &random_message(rng));
    compare(runner, rng, random, random, |bytes| key.decap(&Ciphertext::from(*bytes)));
}

fn encap_fixed_or_random(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = key();
    let ek = key.encapsulation_key();
    compare(runner, rng, |_| [7; 32], random_message, |m| ek.encap_deterministic(m));
}

/// A comparison that ends at the first difference.
fn planted(runner: &mut CtRunner, rng: &mut BenchRng) {
    let (same, mut other) = ([1u8; CIPHERTEXT_BYTES], [1u8; CIPHERTEXT_BYTES]);
    other[0] = 2;
    let equal = |bytes: &[u8; CIPHERTEXT_BYTES]| {
        bytes.iter().zip(&same).all(|(x, y)| std::hint::black_box(x) == y)
    };
    compare(runner, rng, |_| same, |_| other, equal);
}

ctbench_main!(
    decap_valid_or_invalid,
    decap_fixed_or_random,
    encap_fixed_or_random,
    control,
    planted
);
