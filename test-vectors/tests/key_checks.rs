//! The input checks of FIPS 203 section 7: every position and every bit that they must see, on
//! every backend.

use keccak::hazmat::Level;
use kyber::{Error, Seed};
use test_vectors::case::Key;
use test_vectors::ours::{check_dk, check_ek, decap, decapsulator, encap};
use test_vectors::reference::keccak::sha3;
use test_vectors::reference::mlkem::{
    ParameterSet, decaps_internal, encaps_internal, encapsulation_key_check, keygen_internal,
};

fn keys(k: usize) -> (ParameterSet, Vec<u8>, Vec<u8>) {
    let set = ParameterSet::of(k);
    let (ek, dk) = keygen_internal(&set, &[7; 32], &[9; 32]);
    (set, ek, dk)
}

/// Coefficient `i` of a vector in ByteEncode_12; two of them share three bytes.
fn with_coefficient(encoded: &[u8], i: usize, value: u16) -> Vec<u8> {
    let mut out = encoded.to_vec();
    let at = i / 2 * 3;
    let [low, high] = value.to_le_bytes();
    if i.is_multiple_of(2) {
        out[at] = low;
        out[at + 1] = out[at + 1] & 0xf0 | high;
    } else {
        out[at + 1] = out[at + 1] & 0x0f | low << 4;
        out[at + 2] = low >> 4 | high << 4;
    }
    out
}

/// dk with another ek inside and the hash that fits it.
fn with_embedded(set: &ParameterSet, dk: &[u8], ek: &[u8]) -> Vec<u8> {
    [&dk[..384 * set.k], ek, &sha3(256, ek), &dk[dk.len() - 32..]].concat()
}

#[test]
fn every_coefficient_of_ek() {
    for level in Level::available() {
        for k in 2..=4 {
            let (_, ek, _) = keys(k);
            for i in 0..256 * k {
                for (value, expected) in
                    [(3328, Ok(())), (3329, Err(Error::NotReduced)), (4095, Err(Error::NotReduced))]
                {
                    let changed = with_coefficient(&ek, i, value);
                    assert_eq!(
                        check_ek(k, level, &changed),
                        expected,
                        "{level}: k = {k}, t[{i}] = {value}"
                    );
                }
            }
            assert_eq!(
                check_ek(k, level, &vec![0xff; ek.len()]),
                Err(Error::NotReduced),
                "{level}: k = {k}"
            );
        }
    }
}

#[test]
fn lengths() {
    for level in Level::available() {
        for k in 2..=4 {
            let (_, ek, dk) = keys(k);
            let (c, _) = encap(k, level, &ek, &[1; 32]).expect("a good key");
            type Parse<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
            let parsers: [(&str, &[u8], Parse<'_>); 4] = [
                ("ek", &ek, &|bytes| check_ek(k, level, bytes)),
                ("dk", &dk, &|bytes| check_dk(k, level, bytes)),
                ("c", &c, &|bytes| decap(k, level, &dk, bytes).map(drop)),
                ("seed", &[3; 64], &|bytes| Seed::parse(bytes).map(drop)),
            ];
            for (what, good, parse) in parsers {
                assert_eq!(parse(good), Ok(()), "{level}: k = {k}, {what}");
                let expected = good.len();
                for actual in [0, 1, 32, expected - 1, expected + 1, 2 * expected] {
                    let bytes: Vec<u8> = good.iter().copied().cycle().take(actual).collect();
                    let error = Error::Length { expected, actual };
                    assert_eq!(parse(&bytes), Err(error), "{level}: k = {k}, {what}");
                }
            }
        }
    }
}

/// The embedded ek and its hash: 384k + 64 bytes.
#[test]
fn every_bit_of_the_key_in_dk() {
    for level in Level::available() {
        for k in 2..=4 {
            let (set, _, mut dk) = keys(k);
            let ek = 384 * k..768 * k + 32;
            for bit in 8 * ek.start..8 * (ek.end + 32) {
                dk[bit / 8] ^= 1 << (bit % 8);
                let result = check_dk(k, level, &dk);
                // A flip can also take a coefficient out of range; either error is right then.
                let seen = result == Err(Error::KeyHash)
                    || result == Err(Error::NotReduced)
                        && !encapsulation_key_check(&set, &dk[ek.clone()]);
                assert!(seen, "{level}: k = {k}, bit {bit}: {result:?}");
                dk[bit / 8] ^= 1 << (bit % 8);
            }
            assert_eq!(check_dk(k, level, &dk), Ok(()), "{level}: k = {k}");
        }
    }
}

/// Section 7.3 does not ask for it; the library checks the embedded ek as it does any other.
#[test]
fn embedded_ek_out_of_range_with_its_own_hash() {
    for level in Level::available() {
        for k in 2..=4 {
            let (set, ek, dk) = keys(k);
            for i in [0, 1, 128 * k, 256 * k - 1] {
                let dk = with_embedded(&set, &dk, &with_coefficient(&ek, i, 3329));
                assert_eq!(
                    check_dk(k, level, &dk),
                    Err(Error::NotReduced),
                    "{level}: k = {k}, t[{i}]"
                );
            }
            let other = with_coefficient(&ek, 0, 3328);
            assert_eq!(
                check_dk(k, level, &with_embedded(&set, &dk, &other)),
                Ok(()),
                "{level}: k = {k}"
            );
        }
    }
}

/// s is not checked by section 7.3 either: ByteDecode_12 reduces it modulo q, so the secret is that
/// of the reduced key.
#[test]
fn s_out_of_range() {
    for level in Level::available() {
        for k in 2..=4 {
            let (set, ek, dk) = keys(k);
            let (_, c) = encaps_internal(&set, &ek, &[5; 32]);
            for (i, value) in [(0, 3329), (255, 4095), (256 * k - 1, 3330)] {
                let dk = with_coefficient(&dk, i, value);
                let expected = decaps_internal(&set, &dk, &c);
                let ours = decap(k, level, &dk, &c);
                assert_eq!(ours, Ok(expected), "{level}: k = {k}, s[{i}] = {value}");
            }
        }
    }
}

/// A key from a seed, from its expanded form, and a clone that outlives its original are one key.
#[test]
fn forms_of_a_key_agree() {
    for level in Level::available() {
        for k in 2..=4 {
            let (set, ek, dk) = keys(k);
            let (secret, c) = encaps_internal(&set, &ek, &[5; 32]);
            let seed = Key::Seed([[7; 32], [9; 32]].concat());
            for key in [seed, Key::Expanded(dk)] {
                let (decap, ours) = decapsulator(k, level, &key).expect("a good key");
                assert_eq!((decap(&c), ours), (Ok(secret.clone()), ek.clone()), "{level}: k = {k}");
            }
        }
    }
    let key = kyber::mlkem768::DecapsulationKey::from_seed(&Seed::from(&[5; 64]));
    let (c, secret) = key.encapsulation_key().encap_deterministic(&[6; 32]);
    let clone = key.clone();
    assert_eq!(key.seed().map(|seed| *seed.as_bytes()), Some([5; 64]));
    drop(key);
    assert_eq!(clone.decap(&c), secret);
    let mut expanded = [0; kyber::mlkem768::DECAPSULATION_KEY_BYTES];
    clone.to_expanded_bytes(&mut expanded);
    let parsed = kyber::mlkem768::DecapsulationKey::parse(&expanded).expect("our own bytes");
    assert!(parsed.seed().is_none());
    assert_eq!(parsed.encapsulation_key(), clone.encapsulation_key());
}
