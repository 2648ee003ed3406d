//! The hash functions on their own, on every backend: ML-KEM uses whole blocks and few lengths, so
//! it would not see most faults of streaming. Oracles are `sha3`, `shake` and the slow reference.

use digest::{Digest, ExtendableOutput, FixedOutput, FixedOutputReset, Reset, Update, XofReader};
use keccak::hazmat::{Level, TurboShake, keccak_p1600, keccak_p1600_on};
use keccak::{
    CShake, CShake128, Kmac, MultiShake, Reader, Sha3, Shake, Shake128, Shake256, keccak_f1600,
};
use proptest::prelude::*;
use test_vectors::case::{Function, HashInput, Message};
use test_vectors::digests::ZERO_STATE_PERMUTED;
use test_vectors::{ours, reference};

const FUNCTIONS: [&str; 14] = [
    "SHA3-224",
    "SHA3-256",
    "SHA3-384",
    "SHA3-512",
    "SHAKE128",
    "SHAKE256",
    "cSHAKE128",
    "cSHAKE256",
    "KMAC128",
    "KMAC256",
    "KMACXOF128",
    "KMACXOF256",
    "TurboSHAKE128",
    "TurboSHAKE256",
];

fn input(function: &str, len: usize, out_len: usize) -> HashInput {
    let function: Function = function.parse().expect("a known name");
    let mut input = HashInput::new(function, Message::Pattern(len), out_len);
    (input.name, input.key) = (b"name".to_vec(), vec![0x42; len % 200]);
    input.customization = Message::Pattern(len % 180);
    input.domain = 1 + (len % 127) as u8;
    input
}

/// Past three blocks of SHAKE128, so that each length modulo a block comes up, in the message and
/// in the output.
#[test]
fn every_length() {
    for function in FUNCTIONS {
        for len in 0..=600 {
            let digest_len = function
                .strip_prefix("SHA3-")
                .map(|bits| bits.parse::<usize>().expect("a number") / 8);
            let input = input(function, len, digest_len.unwrap_or((7 * len) % 601));
            let expected = reference::hash(&input).expect("a function of the reference");
            for level in Level::available() {
                assert_eq!(ours::hash(level, &input), expected, "{level}: {function}, {len} bytes");
            }
        }
    }
}

#[test]
fn every_length_against_rust_crypto() {
    let message: Vec<u8> = (0..600).map(|i| (i * 7 + i / 256) as u8).collect();
    for len in 0..=600 {
        let message = &message[..len];
        let digests: [(usize, Vec<u8>); 4] = [
            (224, sha3::Sha3_224::digest(message).to_vec()),
            (256, sha3::Sha3_256::digest(message).to_vec()),
            (384, sha3::Sha3_384::digest(message).to_vec()),
            (512, sha3::Sha3_512::digest(message).to_vec()),
        ];
        let mut outputs = [(128, vec![0; 601 - len]), (256, vec![0; 601 - len])];
        shake::Shake128::digest_xof(message, &mut outputs[0].1);
        shake::Shake256::digest_xof(message, &mut outputs[1].1);
        for level in Level::available() {
            for (bits, expected) in &digests {
                assert_eq!(
                    ours::sha3(level, *bits, message),
                    *expected,
                    "{level}: SHA3-{bits}, {len} bytes"
                );
            }
            for (bits, expected) in &outputs {
                let ours = ours::shake(level, *bits, message, expected.len());
                assert_eq!(ours, *expected, "{level}: SHAKE{bits}, {len} bytes");
            }
        }
        assert_eq!(
            keccak::Sha3_256::digest(message).to_vec(),
            digests[1].1,
            "one shot, {len} bytes"
        );
        let mut one_shot = vec![0; 601 - len];
        Shake128::digest(message, &mut one_shot);
        assert_eq!(one_shot, outputs[0].1, "one shot, {len} bytes");
    }
}

/// What the types with a `Reader` have in common.
trait Xof: Clone {
    fn absorb(&mut self, data: &[u8]);
    fn squeeze(self) -> Reader;
}

macro_rules! xof {
    ($($name:ident),*) => {$(
        impl<const RATE: usize> Xof for $name<RATE> {
            fn absorb(&mut self, data: &[u8]) {
                self.update(data);
            }
            fn squeeze(self) -> Reader {
                self.finalize_xof()
            }
        }
    )*};
}

xof!(Shake, CShake, Kmac, TurboShake);

fn read(reader: &mut Reader, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    reader.read(&mut out);
    out
}

/// The pieces of 0..len between the cuts, empty ones included.
fn pieces(len: usize, cuts: &[prop::sample::Index]) -> Vec<std::ops::Range<usize>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(len + 1)).collect();
    ends.extend([0, len]);
    ends.sort_unstable();
    ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Absorb and squeeze in pieces; at each cut a clone takes another way, and must leave the original
/// as it was.
fn in_pieces<X: Xof>(
    mut hash: X,
    message: &[u8],
    out_len: usize,
    cuts: &[prop::sample::Index],
) -> Vec<u8> {
    for piece in pieces(message.len(), cuts) {
        let mut other = hash.clone();
        other.absorb(b"other");
        other.squeeze();
        hash.absorb(&message[piece]);
    }
    let (mut reader, mut out) = (hash.clone().squeeze(), Vec::new());
    for piece in pieces(out_len, cuts) {
        let mut other = reader.clone();
        out.extend(read(&mut reader, piece.len()));
        assert!(out.ends_with(&read(&mut other, piece.len())), "a clone of the reader differs");
    }
    out
}

fn split<const RATE: usize>(
    bits: usize,
    message: &[u8],
    out_len: usize,
    cuts: &[prop::sample::Index],
) {
    use reference::keccak::{cshake, kmac_xof, shake, turbo_shake};
    for level in Level::available() {
        let ours = in_pieces(Shake::<RATE>::new_on(level), message, out_len, cuts);
        assert_eq!(ours, shake(bits, message, out_len), "{level}: SHAKE{bits}");
        let ours = in_pieces(CShake::<RATE>::new_on(level, b"n", b"s"), message, out_len, cuts);
        assert_eq!(ours, cshake(bits, message, out_len, b"n", b"s"), "{level}: cSHAKE{bits}");
        let ours = in_pieces(Kmac::<RATE>::new_on(level, b"key", b"s"), message, out_len, cuts);
        assert_eq!(ours, kmac_xof(bits, b"key", message, out_len, b"s"), "{level}: KMACXOF{bits}");
        let ours = in_pieces(TurboShake::<RATE>::new_on(level, 0x42), message, out_len, cuts);
        assert_eq!(ours, turbo_shake(bits, message, 0x42, out_len), "{level}: TurboSHAKE{bits}");
    }
}

fn split_fixed<const N: usize>(message: &[u8], cuts: &[prop::sample::Index]) {
    for level in Level::available() {
        let mut hash = Sha3::<N>::new_on(level);
        for piece in pieces(message.len(), cuts) {
            let other = hash.clone();
            hash.update(&message[piece]);
            let _ = other.finalize();
        }
        assert_eq!(
            hash.finalize().to_vec(),
            reference::keccak::sha3(8 * N, message),
            "{level}: SHA3-{}",
            8 * N
        );
    }
}

/// N messages of uneven lengths side by side, in uneven pieces, to outputs of uneven lengths.
fn lanes<const RATE: usize, const N: usize>(
    bits: usize,
    lens: &[(usize, usize)],
    cuts: &[prop::sample::Index],
) {
    let messages: [Vec<u8>; N] =
        std::array::from_fn(|lane| (0..lens[lane].0).map(|i| (i * 3 + lane) as u8).collect());
    for level in Level::available() {
        let mut hash = MultiShake::<RATE, N>::new_on(level);
        for step in 0..=cuts.len() + 1 {
            hash.update(std::array::from_fn(|lane| {
                pieces(messages[lane].len(), cuts)
                    .get(step)
                    .map_or(&[][..], |piece| &messages[lane][piece.clone()])
            }));
        }
        let mut reader = hash.finalize_xof();
        let mut outputs: [Vec<u8>; N] = std::array::from_fn(|lane| vec![0; lens[lane].1]);
        for step in 0..=cuts.len() {
            let mut rest = outputs.each_mut().into_iter();
            reader.read(std::array::from_fn(|lane| {
                let output = rest.next().expect("N outputs");
                &mut output[pieces(lens[lane].1, cuts)[step].clone()]
            }));
        }
        for lane in 0..N {
            let expected = reference::keccak::shake(bits, &messages[lane], lens[lane].1);
            assert_eq!(
                outputs[lane], expected,
                "{level}: lane {lane} of {N}, SHAKE{bits}, {lens:?}"
            );
        }
    }
}

fn every_count_of_lanes(lens: &[(usize, usize)], cuts: &[prop::sample::Index]) {
    macro_rules! with {
        ($($n:literal)*) => {$(
            lanes::<168, $n>(128, lens, cuts);
            lanes::<136, $n>(256, lens, cuts);
        )*};
    }
    with!(1 2 3 4 5 6 7 8 9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_split(
        message in prop::collection::vec(any::<u8>(), 0..700),
        out_len in 0..700usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        split::<168>(128, &message, out_len, &cuts);
        split::<136>(256, &message, out_len, &cuts);
        split_fixed::<28>(&message, &cuts);
        split_fixed::<32>(&message, &cuts);
        split_fixed::<48>(&message, &cuts);
        split_fixed::<64>(&message, &cuts);
    }

    #[test]
    fn uneven_lanes(
        lens in prop::collection::vec((0..500usize, 0..500usize), 9),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        every_count_of_lanes(&lens, &cuts);
    }

    #[test]
    fn reduced_rounds(state in any::<[[u64; 5]; 5]>(), rounds in 0..=24usize) {
        let state: [u64; 25] = state.as_flattened().try_into().expect("25 lanes");
        let mut expected = state;
        reference::keccak::keccak_p(&mut expected, rounds);
        for level in Level::available() {
            let mut ours = state;
            keccak_p1600_on(level, &mut ours, rounds);
            prop_assert_eq!(ours, expected, "{}: {} rounds", level, rounds);
        }
    }
}

/// Outputs of 1 to 7 bytes in each lane, and lengths on both sides of a block's end.
#[test]
fn lanes_at_the_edges() {
    for short in 0..=8 {
        let lens: Vec<_> = (0..9).map(|lane| (134 + lane + short, (short + lane) % 9)).collect();
        every_count_of_lanes(&lens, &[]);
    }
    let lens: Vec<_> = [135, 136, 137, 167, 168, 169, 335, 336, 337].map(|len| (len, len)).into();
    every_count_of_lanes(&lens, &[]);
}

#[test]
fn permutation_of_the_zero_state() {
    for level in Level::available() {
        let mut state = [0; 25];
        keccak_p1600_on(level, &mut state, 24);
        assert_eq!(state, ZERO_STATE_PERMUTED, "{level}");
    }
    let mut states = [[0; 25]; 2];
    keccak_f1600(&mut states[0]);
    keccak_p1600(&mut states[1], 24);
    assert_eq!(states, [ZERO_STATE_PERMUTED; 2]);
}

/// Reads that earlier libraries got wrong: across a block's end in one call, a few bytes then the
/// rest, exactly a block.
#[test]
fn reads_across_blocks() {
    for level in Level::available() {
        for (bits, rate) in [(128, 168), (256, 136)] {
            let expected = reference::keccak::shake(bits, b"x", 1000);
            let reads: [&[usize]; 9] = [
                &[137],
                &[169],
                &[1, 31],
                &[1, 2, 3, 4, 5, 6, 7],
                &[rate, 1, rate - 1, rate],
                &[2 * rate, 2 * rate],
                &[rate - 1, 2, rate],
                &[0, 1, 0, 200],
                &[1000],
            ];
            for lens in reads {
                let mut reader = if bits == 128 {
                    let mut hash = Shake128::new_on(level);
                    hash.update(b"x");
                    hash.finalize_xof()
                } else {
                    let mut hash = Shake256::new_on(level);
                    hash.update(b"x");
                    hash.finalize_xof()
                };
                let out: Vec<u8> = lens.iter().flat_map(|len| read(&mut reader, *len)).collect();
                assert_eq!(out, expected[..out.len()], "{level}: SHAKE{bits} read as {lens:?}");
            }
        }
    }
}

/// SP 800-185 section 3.3, and the prefix that fills a block to its end (debris/tiny-keccak issue
/// 63).
#[test]
fn cshake_prefixes() {
    for level in Level::available() {
        let mut plain = CShake128::new_on(level, b"", b"");
        plain.update(b"hello");
        let expected = reference::keccak::shake(128, b"hello", 400);
        assert_eq!(read(&mut plain.finalize_xof(), 400), expected, "{level}: N = S = \"\"");

        let mut full = CShake128::new_on(level, b"", &[0; 161]);
        full.update(b"hello");
        let expected = "dea803c5fcfd9d31669f57888e7d45ee9942823a009a185f28ae787183734083";
        assert_eq!(
            hex::encode(read(&mut full.finalize_xof(), 32)),
            expected,
            "{level}: S of 161 zeros"
        );
    }
}

/// The same code over the traits of `digest` with our type and with theirs.
fn through_digest<T: Digest + FixedOutputReset + Clone>(message: &[u8]) -> Vec<Vec<u8>> {
    let mut hash = T::new();
    Digest::update(&mut hash, message);
    let middle = hash.clone();
    Digest::update(&mut hash, b"more");
    let more = Digest::finalize_reset(&mut hash.clone());
    Reset::reset(&mut hash);
    Update::update(&mut hash, b"after reset");
    let mut into = digest::Output::<T>::default();
    FixedOutput::finalize_into(middle, &mut into);
    vec![more.to_vec(), into.to_vec(), hash.finalize_fixed().to_vec(), T::digest(message).to_vec()]
}

fn through_xof<T: ExtendableOutput + Update + Reset + Default + Clone>(
    message: &[u8],
) -> Vec<Vec<u8>> {
    let mut hash = T::default();
    hash.update(message);
    let mut reader = hash.clone().finalize_xof();
    let mut out = [vec![0; 3], vec![0; 200]];
    for part in &mut out {
        reader.read(part);
    }
    hash.reset();
    hash.update(b"after reset");
    let boxed = hash.finalize_boxed(50).to_vec();
    vec![out.concat(), boxed]
}

#[test]
fn traits_of_digest() {
    for len in [0, 1, 135, 136, 137, 400] {
        let message = vec![0x61; len];
        let m = &message[..];
        assert_eq!(
            through_digest::<keccak::Sha3_224>(m),
            through_digest::<sha3::Sha3_224>(m),
            "{len}"
        );
        assert_eq!(
            through_digest::<keccak::Sha3_256>(m),
            through_digest::<sha3::Sha3_256>(m),
            "{len}"
        );
        assert_eq!(
            through_digest::<keccak::Sha3_384>(m),
            through_digest::<sha3::Sha3_384>(m),
            "{len}"
        );
        assert_eq!(
            through_digest::<keccak::Sha3_512>(m),
            through_digest::<sha3::Sha3_512>(m),
            "{len}"
        );
        assert_eq!(through_xof::<Shake128>(m), through_xof::<shake::Shake128>(m), "{len}");
        assert_eq!(through_xof::<Shake256>(m), through_xof::<shake::Shake256>(m), "{len}");
    }
}
