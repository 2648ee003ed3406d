//! Byte for byte equal to the slow reference, to RustCrypto's `ml-kem` and to `libcrux-ml-kem`, on
//! every backend.

use keccak::hazmat::Level;
use proptest::prelude::*;
use test_vectors::ours::{decap, encap, keygen};
use test_vectors::reference::keccak::{sha3, shake};
use test_vectors::reference::mlkem::{
    ParameterSet, byte_encode, decaps_internal, encaps_internal, keygen_internal,
};

/// ek, dk, c and K.
type Run = [Vec<u8>; 4];

fn reference(k: usize, seed: &[u8; 64], m: &[u8; 32]) -> Run {
    let set = ParameterSet::of(k);
    let (ek, dk) = keygen_internal(&set, &seed[..32], &seed[32..]);
    let (secret, c) = encaps_internal(&set, &ek, m);
    [ek, dk, c, secret]
}

fn ours(k: usize, level: Level, seed: &[u8; 64], m: &[u8; 32]) -> Run {
    let (ek, dk) = keygen(k, level, seed).expect("64 bytes");
    let (c, secret) = encap(k, level, &ek, m).expect("a good key");
    [ek, dk, c, secret]
}

#[allow(deprecated, reason = "the expanded form is what is compared")]
fn rust_crypto(k: usize, seed: &[u8; 64], m: &[u8; 32]) -> Run {
    use ml_kem::{DecapsulationKey, ExpandedKeyEncoding as _, KeyExport as _};
    macro_rules! with {
        ($set:ident) => {{
            let key = DecapsulationKey::<ml_kem::$set>::from_seed((*seed).into());
            let ek = key.encapsulation_key();
            let (c, secret) = ek.encapsulate_deterministic(&(*m).into());
            [ek.to_bytes().to_vec(), key.to_expanded_bytes().to_vec(), c.to_vec(), secret.to_vec()]
        }};
    }
    match k {
        2 => with!(MlKem512),
        3 => with!(MlKem768),
        _ => with!(MlKem1024),
    }
}

fn libcrux(k: usize, seed: &[u8; 64], m: &[u8; 32]) -> Run {
    macro_rules! with {
        ($set:ident) => {{
            let key = libcrux_ml_kem::$set::generate_key_pair(*seed);
            let (c, secret) = libcrux_ml_kem::$set::encapsulate(key.public_key(), *m);
            assert_eq!(libcrux_ml_kem::$set::decapsulate(key.private_key(), &c), secret);
            [key.pk().to_vec(), key.sk().to_vec(), c.as_ref().to_vec(), secret.to_vec()]
        }};
    }
    match k {
        2 => with!(mlkem512),
        3 => with!(mlkem768),
        _ => with!(mlkem1024),
    }
}

fn check(k: usize, seed: &[u8; 64], m: &[u8; 32]) {
    let expected = reference(k, seed, m);
    assert!(
        expected == rust_crypto(k, seed, m),
        "the reference and ml-kem differ: k = {k}, {seed:?}"
    );
    assert!(expected == libcrux(k, seed, m), "the reference and libcrux differ: k = {k}, {seed:?}");
    let [_, dk, c, secret] = &expected;
    for level in Level::available() {
        for (what, (ours, theirs)) in
            ["ek", "dk", "c", "K"].iter().zip(ours(k, level, seed, m).iter().zip(&expected))
        {
            assert_eq!(ours, theirs, "{level}: k = {k}, {what}, seed {seed:?}, m {m:?}");
        }
        assert_eq!(decap(k, level, dk, c).as_ref(), Ok(secret), "{level}: k = {k}, decap");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_seeds(k in 2..=4usize, seed in any::<[[u8; 32]; 2]>(), m in any::<[u8; 32]>()) {
        check(k, seed.as_flattened().try_into().expect("64 bytes"), &m);
    }
}

#[test]
fn seeds_of_one_value() {
    for k in 2..=4 {
        for byte in [0, 1, 0x55, 0x80, 0xff] {
            check(k, &[byte; 64], &[byte; 32]);
            check(k, &[byte; 64], &[!byte; 32]);
        }
    }
}

/// Vectors in the NTT domain at the ends of their range, where lazy reductions overflow first.
fn extreme_vectors(k: usize) -> Vec<Vec<u8>> {
    let patterns: [fn(usize) -> u32; 8] = [
        |_| 0,
        |_| 1,
        |_| 3328,
        |_| 1664,
        |_| 1665,
        |i| if i % 2 == 0 { 3328 } else { 0 },
        |i| if i % 2 == 0 { 1664 } else { 1665 },
        |i| if i / 128 % 2 == 0 { 0 } else { 3328 },
    ];
    let encode = |pattern: &fn(usize) -> u32| {
        byte_encode(12, &(0..256 * k).map(pattern).collect::<Vec<_>>())
    };
    patterns.iter().map(encode).collect()
}

#[test]
fn extreme_keys() {
    for k in 2..=4 {
        let set = ParameterSet::of(k);
        for t in extreme_vectors(k) {
            for rho in [[0; 32], [0xff; 32], [0x21; 32]] {
                let ek = [&t[..], &rho].concat();
                let m = [rho[0] ^ 0x66; 32];
                let (secret, c) = encaps_internal(&set, &ek, &m);
                for level in Level::available() {
                    let ours = encap(k, level, &ek, &m);
                    assert_eq!(
                        ours,
                        Ok((c.clone(), secret.clone())),
                        "{level}: k = {k}, t {:?}",
                        &t[..6]
                    );
                }
            }
        }
    }
}

/// s, t and c at the ends of their ranges, all with all.
#[test]
fn extreme_decapsulations() {
    for k in 2..=4 {
        let set = ParameterSet::of(k);
        let vectors = extreme_vectors(k);
        for (s, t) in vectors.iter().flat_map(|s| vectors.iter().map(move |t| (s, t))) {
            let ek = [&t[..], &[0x21; 32]].concat();
            let dk = [&s[..], &ek, &sha3(256, &ek), &[9; 32]].concat();
            for byte in [0, 0xff, 0xaa] {
                let c = vec![byte; set.ciphertext_len()];
                let expected = decaps_internal(&set, &dk, &c);
                for level in Level::available() {
                    let ours = decap(k, level, &dk, &c);
                    assert_eq!(
                        ours.as_ref(),
                        Ok(&expected),
                        "{level}: k = {k}, s {:?}, t {:?}",
                        &s[..6],
                        &t[..6]
                    );
                }
            }
        }
    }
}

/// One polynomial in 120 needs more of SHAKE128 than three blocks, 504 bytes: here the first entry
/// of the matrix does.
#[test]
fn long_rejection_sampling() {
    let accepted = |rho: &[u8]| {
        let stream = shake(128, &[rho, &[0, 0]].concat(), 504);
        let pair = |c: &[u8]| {
            let [c0, c1, c2] = [c[0], c[1], c[2]].map(u32::from);
            [c0 | (c1 & 15) << 8, c1 >> 4 | c2 << 4]
        };
        stream.chunks(3).flat_map(pair).filter(|d| *d < 3329).count()
    };
    let rhos = (0u32..).map(|i| shake(256, &i.to_le_bytes(), 32)).filter(|rho| accepted(rho) < 256);
    for rho in rhos.take(8) {
        for k in 2..=4 {
            let ek = [&vec![0; 384 * k][..], &rho].concat();
            let (secret, c) = encaps_internal(&ParameterSet::of(k), &ek, &[1; 32]);
            for level in Level::available() {
                let ours = encap(k, level, &ek, &[1; 32]);
                assert_eq!(ours, Ok((c.clone(), secret.clone())), "{level}: k = {k}, rho {rho:?}");
            }
        }
    }
}
