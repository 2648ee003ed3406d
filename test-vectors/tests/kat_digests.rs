//! Published digests over many keys, on every backend: NIST's KAT files, accumulated digests,
//! mlkem-native's chain.

use keccak::hazmat::Level;
use test_vectors::digests::{ACCUMULATED, CHAIN, KAT, accumulated, chain_text, kat_text, sha256};

/// Tests of an accumulated digest. The levels that differ from "portable" in the form of Keccak
/// alone, not in arithmetic, run the short one; 1,000,000 are for `kat --accumulated`.
fn tests_on(level: Level) -> usize {
    const FORMS_OF_KECCAK: [&str; 4] = ["unrolled", "rolled", "rolled-opaque", "interleaved"];
    if FORMS_OF_KECCAK.contains(&level.name()) { 100 } else { 10_000 }
}

#[test]
fn nist_kat() {
    for level in Level::available() {
        for (k, (single, all)) in (2..).zip(KAT) {
            assert_eq!(sha256(&kat_text(k, level, 1)), single, "{level}: k = {k}, count 0");
            assert_eq!(sha256(&kat_text(k, level, 100)), all, "{level}: k = {k}, 100 counts");
        }
    }
}

#[test]
fn chain_of_mlkem_native() {
    for level in Level::available() {
        for (k, expected) in (2..).zip(CHAIN) {
            assert_eq!(sha256(&chain_text(k, level)), expected, "{level}: k = {k}");
        }
    }
}

fn accumulated_digest(set: usize) {
    for level in Level::available() {
        let row = ACCUMULATED
            .iter()
            .find(|row| (row.0, row.1) == (set, tests_on(level)))
            .expect("a row for this");
        let ours = accumulated(set, level, tests_on(level), || {});
        assert_eq!(ours, (row.2.into(), row.3.into()), "{level}: k = {set}");
    }
}

#[test]
fn accumulated_512() {
    accumulated_digest(2);
}

#[test]
fn accumulated_768() {
    accumulated_digest(3);
}

#[test]
fn accumulated_1024() {
    accumulated_digest(4);
}
