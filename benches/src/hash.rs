//! The hashes to measure. Their time does not depend on the message, so one message serves all calls.

use std::hint::black_box;

use keccak::hazmat::{Level, keccak_p1600_on};
use keccak::{Sha3, Shake};

use crate::Operation;

/// Message lengths of the speed report.
pub const LENGTHS: [usize; 3] = [64, 1024, 16384];

/// Hashes a message; a SHAKE writes as many bytes as it is given room for.
pub type HashFn = Box<dyn Fn(&[u8], &mut [u8])>;

/// A hash: name, digest length (32 bytes for a SHAKE), and one call.
pub type Hash = (&'static str, usize, HashFn);

fn sha3<const N: usize>(level: Level) -> HashFn {
    Box::new(move |message, out| {
        let mut hash = Sha3::<N>::new_on(level);
        hash.update(message);
        out.copy_from_slice(&hash.finalize());
    })
}

fn shake<const RATE: usize>(level: Level) -> HashFn {
    Box::new(move |message, out| {
        let mut hash = Shake::<RATE>::new_on(level);
        hash.update(message);
        hash.finalize_xof().read(out);
    })
}

/// Our six hashes on a backend.
pub fn hashes(level: Level) -> Vec<Hash> {
    vec![
        ("SHA3-224", 28, sha3::<28>(level)),
        ("SHA3-256", 32, sha3::<32>(level)),
        ("SHA3-384", 48, sha3::<48>(level)),
        ("SHA3-512", 64, sha3::<64>(level)),
        ("SHAKE128", 32, shake::<168>(level)),
        ("SHAKE256", 32, shake::<136>(level)),
    ]
}

/// The operation of hashing one message of that length.
pub fn operation((set, digest, hash): Hash, length: usize) -> Operation {
    let message: Vec<u8> = (0..length).map(|i| i as u8).collect();
    let mut out = vec![0; digest];
    Operation {
        set,
        name: format!("({length} bytes)"),
        bytes: Some(length),
        run: Box::new(move |count| {
            for _ in 0..count {
                hash(black_box(&message), black_box(&mut out));
            }
        }),
    }
}

/// The operation of one permutation.
pub fn permutation(permute: impl Fn(&mut [u64; 25]) + 'static) -> Operation {
    let mut state = std::array::from_fn(|i| i as u64);
    Operation {
        set: "Keccak",
        name: "keccak-f1600".to_owned(),
        bytes: Some(200),
        run: Box::new(move |count| {
            for _ in 0..count {
                permute(black_box(&mut state));
            }
        }),
    }
}

/// Our permutation on a backend.
pub fn permute_on(level: Level) -> impl Fn(&mut [u64; 25]) + 'static {
    move |state| keccak_p1600_on(level, state, 24)
}

/// Every hash and message length of the speed report.
pub fn operations(level: Level) -> Vec<Operation> {
    let lengths = LENGTHS.iter();
    let of_length = |&length| hashes(level).into_iter().map(move |hash| operation(hash, length));
    let mut all: Vec<_> = lengths.flat_map(of_length).collect();
    all.sort_by_key(|operation| operation.set);
    all
}
