//! Implicit rejection: any change of a ciphertext must give J(z || c). Random ciphertexts are no
//! test of it, since they change m as well; about 70 % of single-bit changes keep m, so every bit
//! is tried.

use keccak::hazmat::Level;
use kyber::Error;
use proptest::prelude::*;
use test_vectors::case::Key;
use test_vectors::ours::{check_dk, check_ek, decap, decapsulator, encap};
use test_vectors::reference::mlkem::{
    ParameterSet, decaps_internal, encaps_internal, j, keygen_internal,
};

fn every_bit(k: usize) {
    let set = ParameterSet::of(k);
    let z = [0x5a; 32];
    let (ek, dk) = keygen_internal(&set, &[0xa5; 32], &z);
    let (secret, mut c) = encaps_internal(&set, &ek, &[0x3c; 32]);
    let keys: Vec<_> = Level::available()
        .map(|level| {
            (level, decapsulator(k, level, &Key::Expanded(dk.clone())).expect("a good key").0)
        })
        .collect();
    for bit in 0..8 * c.len() {
        c[bit / 8] ^= 1 << (bit % 8);
        let expected = j(&[&z, &c[..]].concat());
        for (level, decap) in &keys {
            assert_eq!(decap(&c).as_ref(), Ok(&expected), "{level}: k = {k}, bit {bit} of c");
        }
        c[bit / 8] ^= 1 << (bit % 8);
    }
    for (level, decap) in &keys {
        assert_eq!(decap(&c).as_ref(), Ok(&secret), "{level}: k = {k}, c itself");
    }
}

#[test]
fn every_bit_512() {
    every_bit(2);
}

#[test]
fn every_bit_768() {
    every_bit(3);
}

#[test]
fn every_bit_1024() {
    every_bit(4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Several bytes changed at once, up to all of them.
    #[test]
    fn changed_ciphertexts(
        k in 2..=4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..40),
    ) {
        let set = ParameterSet::of(k);
        let (ek, dk) = keygen_internal(&set, &[1; 32], &[2; 32]);
        let (_, mut c) = encaps_internal(&set, &ek, &[3; 32]);
        for (at, mask) in changes {
            let at = at.index(c.len());
            c[at] ^= mask;
        }
        let expected = decaps_internal(&set, &dk, &c);
        for level in Level::available() {
            let ours = decap(k, level, &dk, &c);
            prop_assert_eq!(ours.as_ref(), Ok(&expected), "{}: k = {}", level, k);
        }
    }

    /// Bytes of any length and content: never a panic, and never another error than the length's
    /// when that is wrong.
    #[test]
    fn arbitrary_bytes(k in 2..=4usize, bytes in prop::collection::vec(any::<u8>(), 0..3300)) {
        let set = ParameterSet::of(k);
        let (_, dk) = keygen_internal(&set, &[1; 32], &[2; 32]);
        for level in Level::available() {
            for (expected, result) in [
                (set.ek_len(), encap(k, level, &bytes, &[0; 32]).map(drop)),
                (set.ek_len(), check_ek(k, level, &bytes)),
                (set.dk_len(), check_dk(k, level, &bytes)),
                (set.ciphertext_len(), decap(k, level, &dk, &bytes).map(drop)),
            ] {
                let wrong = result == Err(Error::Length { expected, actual: bytes.len() });
                prop_assert_eq!(wrong, bytes.len() != expected, "{}: k = {}", level, k);
            }
        }
    }
}
