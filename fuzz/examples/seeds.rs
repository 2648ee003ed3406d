//! Writes `fuzz/seeds`, the inputs that fuzzing starts from: `cargo run --manifest-path fuzz/Cargo.toml
//! --example seeds`. All of them follow from the slow reference and from the numbers below; running it
//! again changes nothing.

use std::path::Path;
use std::{fs, io};

use test_vectors::reference::keccak::shake;
use test_vectors::reference::mlkem::{ParameterSet, encaps_internal, keygen_internal};

fn main() -> io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    if seeds.exists() {
        fs::remove_dir_all(&seeds)?;
    }
    for (target, inputs) in [
        ("parse", parse()),
        ("decap", decap()),
        ("sponge", sponge()),
        ("differential", differential()),
    ] {
        let folder = seeds.join(target);
        fs::create_dir_all(&folder)?;
        for (name, input) in inputs {
            fs::write(folder.join(name), input)?;
        }
    }
    Ok(())
}

type Inputs = Vec<(String, Vec<u8>)>;

/// A good key of both kinds, with and without repaired hash, and a ciphertext, of each set; a seed.
fn parse() -> Inputs {
    let mut inputs = vec![("seed".into(), [vec![9], vec![7; 64]].concat())];
    for rank in 0..3 {
        let set = ParameterSet::of(usize::from(rank) + 2);
        let (ek, dk) = keygen_internal(&set, &[rank; 32], &[rank + 100; 32]);
        let (_, c) = encaps_internal(&set, &ek, &[rank + 200; 32]);
        for (what, bytes) in [(0, &ek), (1, &dk), (2, &dk), (3, &c)] {
            inputs.push((format!("{}-{what}", set.k), [&[rank + 3 * what], &bytes[..]].concat()));
        }
    }
    inputs
}

/// Of each set: the ciphertext itself, changes of it and of each part of the key, and other ciphertexts.
fn decap() -> Inputs {
    let mut inputs = Inputs::new();
    for rank in 0..3 {
        let plain = [rank, 1, 2, 0, 3, 5, 1, 0, 0, 0];
        let edits = [
            &[rank + 0x42, 1, 2, 3, 7, 1, 4][..],
            &[2, 1, 0, 3, 200, 0, 0xff],
            &[1, 9, 1, 5],
            &[3, 1, 1, 0, 7, 2, 1, 4, 3, 3],
        ];
        let raw = [&[rank + 0x81, 1, 2, 5, 9, 9, 2, 0, 0][..], &shake(128, &[rank], 1568)].concat();
        inputs.push((format!("{rank}-plain"), plain.to_vec()));
        inputs.push((format!("{rank}-edits"), edits.concat()));
        inputs.push((format!("{rank}-raw"), raw));
    }
    inputs
}

/// Each function, with pieces that end at, before and after the end of a block.
fn sponge() -> Inputs {
    let program = [4, 0xe0, 3, 0xe7, 1, 5, 0xe5, 1, 7, 0xe3, 31, 17, 5, 8, 161, 0x1f];
    [0, 1, 2, 3, 4, 0x84, 18, 19, 20, 21, 22, 23, 24, 25, 26, 0x92, 0x95, 0x99]
        .into_iter()
        .map(|head: u8| (format!("{head:02x}"), [&[head][..], &program.repeat(9)].concat()))
        .collect()
}

/// Coins of each set for each backend that there may be, then changes.
fn differential() -> Inputs {
    (0..24)
        .map(|head: u8| {
            let coins = shake(256, &[head], 96);
            let edits = [1, 0, head, 3, 1, 3, head, 2, 1, 2, head, 7];
            let head = if head.is_multiple_of(2) { head } else { head + 0x81 };
            (format!("{head:02x}"), [&[head], &coins[..], &edits].concat())
        })
        .collect()
}
