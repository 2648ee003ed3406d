//! `counted BACKEND WHAT TIMES`: does one thing some times, so that the difference between two runs is
//! that thing alone. `counted list`: the backends, with how many states `permute-four` and
//! `permute-eight` permute.

use std::hint::black_box;

use keccak::backend::{Backend, Lanes, Level};
use keccak::hazmat::keccak_p1600_on;
use keccak::sponge::{State, permute_eight, permute_four};
use kyber::Seed;
use kyber::hazmat::{Stage, StageBench};
use kyber::mlkem768::{Ciphertext, DecapsulationKey, EncapsulationKey};

fn counts<B: Backend>(_: B) -> [usize; 2] {
    [B::Four::COUNT, B::Eight::COUNT]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        for level in Level::available() {
            let [four, eight] = keccak::dispatch!(level, b => counts(b));
            println!("{level} {four} {eight}");
        }
        return;
    }
    let [backend, what, times] = &arguments[..] else { panic!("counted BACKEND WHAT TIMES") };
    let level = Level::named(backend).expect("a backend of this machine");
    let times = times.parse().expect("a number");
    run(level, what, times);
}

fn run(level: Level, what: &str, times: usize) {
    let mut state = State::<8>::ZERO;
    let mut words = [0; 25];
    let key = DecapsulationKey::from_seed_on(level, &Seed::from(&[1; 64]));
    let bytes = key.encapsulation_key().to_bytes();
    let (ciphertext, _) = key.encapsulation_key().encap_deterministic(&[2; 32]);
    let mut stages = StageBench::<3>::new(level, &[3; 32]);
    let stage = Stage::ALL.into_iter().find(|stage| format!("{stage:?}") == what);
    for _ in 0..times {
        match what {
            "permute-one" => keccak_p1600_on(level, black_box(&mut words), 24),
            "permute-four" => {
                keccak::dispatch!(level, b => permute_four(b, black_box(&mut state), 24, 0))
            }
            "permute-eight" => {
                keccak::dispatch!(level, b => permute_eight(b, black_box(&mut state), 24, 0))
            }
            "keygen" => {
                black_box(DecapsulationKey::from_seed_on(level, &Seed::from(&[1; 64])));
            }
            "parse+encap" => {
                let key = EncapsulationKey::parse_on(level, &bytes).expect("a good key");
                black_box(key.encap_deterministic(&[2; 32]));
            }
            "encap" => {
                black_box(key.encapsulation_key().encap_deterministic(&[2; 32]));
            }
            "decap" => {
                let ciphertext = Ciphertext::parse(ciphertext.as_bytes()).expect("its length");
                black_box(key.decap(&ciphertext));
            }
            _ => stages.run(stage.expect("one of the things to count")),
        }
    }
}
