//! Messages absorbed and outputs squeezed in pieces of any length, alone and up to nine side by side, on
//! every backend, against the slow reference.

#![no_main]

use fuzz::{byte, levels};
use keccak::hazmat::TurboShake;
use keccak::{CShake, Kmac, MultiShake, Reader, Sha3, Shake};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use test_vectors::reference::keccak::{cshake, kmac_xof, rate, sha3, shake, turbo_shake};

/// Lengths of pieces: single bytes, or whole blocks and one byte more or less.
type Pieces = Vec<usize>;

fuzz_target!(|data: &[u8]| {
    // An error says that the input has ended.
    let _ = run(&mut Unstructured::new(data));
});

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let head = byte(u)?;
    let bits = if head & 0x80 == 0 { 128 } else { 256 };
    match head & 0x7f {
        0 => fixed::<28>(u),
        1 => fixed::<32>(u),
        2 => fixed::<48>(u),
        3 => fixed::<64>(u),
        4..=15 if bits == 128 => one::<168>(bits, u),
        4..=15 => one::<136>(bits, u),
        n if bits == 128 => side_by_side::<168>(bits, n % 9, u),
        n => side_by_side::<136>(bits, n % 9, u),
    }
}

fn pieces(bits: usize, u: &mut Unstructured<'_>) -> Result<Pieces> {
    let count = byte(u)? % 6;
    let length = |code: usize| match code {
        0xe0.. => rate(bits) * (code % 3 + 1) + code / 3 % 3 - 1,
        _ => code,
    };
    (0..count).map(|_| byte(u).map(length)).collect()
}

/// As many bytes as the pieces have, which differ from one lane to another and hardly repeat.
fn message(u: &mut Unstructured<'_>, pieces: &Pieces, lane: usize) -> Result<Vec<u8>> {
    let (first, step) = (byte(u)?, byte(u)? | 1);
    let byte = |i| (first + lane * 0x35 + i * step + i / 256) as u8;
    Ok((0..pieces.iter().sum()).map(byte).collect())
}

/// The pieces of a slice, in order.
fn cut<'a>(bytes: &'a [u8], pieces: &Pieces) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut take = |len: &usize| {
        let (piece, later) = rest.split_at(*len);
        rest = later;
        piece
    };
    pieces.iter().map(&mut take).collect()
}

fn fixed<const N: usize>(u: &mut Unstructured<'_>) -> Result<()> {
    let pieces = pieces(8 * N, u)?;
    let message = message(u, &pieces, 0)?;
    let expected = sha3(8 * N, &message);
    for level in levels() {
        let mut hash = Sha3::<N>::new_on(level);
        for piece in cut(&message, &pieces) {
            // The original goes on from where the clone was taken.
            let mut clone = hash.clone();
            clone.update(b"another way");
            hash.update(piece);
        }
        assert_eq!(hash.finalize()[..], expected, "{level}: {pieces:?}");
    }
    Ok(())
}

fn squeeze(mut reader: Reader, pieces: &Pieces) -> Vec<u8> {
    let mut out = Vec::new();
    for len in pieces {
        let mut piece = vec![0; *len];
        reader.clone().read(&mut piece);
        let ahead = piece.clone();
        reader.read(&mut piece);
        assert_eq!(piece, ahead, "a clone of the reader differs");
        out.extend(piece);
    }
    out
}

fn one<const RATE: usize>(bits: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let (absorbed, squeezed) = (pieces(bits, u)?, pieces(bits, u)?);
    let message = message(u, &absorbed, 0)?;
    let (name, key) = (vec![0x6e; byte(u)?], vec![0x6b; byte(u)?]);
    let domain = 1 + u.arbitrary::<u8>()? % 127;
    let d = squeezed.iter().sum();
    for level in levels() {
        macro_rules! check {
            ($hash:expr, $expected:expr) => {{
                let mut hash = $hash;
                cut(&message, &absorbed).into_iter().for_each(|piece| hash.update(piece));
                let ours = squeeze(hash.finalize_xof(), &squeezed);
                assert_eq!(ours, $expected, "{level}: {} {absorbed:?}", stringify!($hash));
            }};
        }
        check!(Shake::<RATE>::new_on(level), shake(bits, &message, d));
        check!(CShake::<RATE>::new_on(level, &name, &key), cshake(bits, &message, d, &name, &key));
        check!(Kmac::<RATE>::new_on(level, &key, &name), kmac_xof(bits, &key, &message, d, &name));
        check!(TurboShake::<RATE>::new_on(level, domain), turbo_shake(bits, &message, domain, d));
    }
    Ok(())
}

fn side_by_side<const RATE: usize>(bits: usize, n: usize, u: &mut Unstructured<'_>) -> Result<()> {
    match n {
        0 => lanes::<RATE, 1>(bits, u),
        1 => lanes::<RATE, 2>(bits, u),
        2 => lanes::<RATE, 3>(bits, u),
        3 => lanes::<RATE, 4>(bits, u),
        4 => lanes::<RATE, 5>(bits, u),
        5 => lanes::<RATE, 6>(bits, u),
        6 => lanes::<RATE, 7>(bits, u),
        7 => lanes::<RATE, 8>(bits, u),
        _ => lanes::<RATE, 9>(bits, u),
    }
}

struct Program {
    absorbed: Pieces,
    squeezed: Pieces,
    message: Vec<u8>,
    expected: Vec<u8>,
}

fn program(bits: usize, lane: usize, u: &mut Unstructured<'_>) -> Result<Program> {
    let (absorbed, squeezed) = (pieces(bits, u)?, pieces(bits, u)?);
    let message = message(u, &absorbed, lane)?;
    let expected = shake(bits, &message, squeezed.iter().sum());
    Ok(Program { absorbed, squeezed, message, expected })
}

fn lanes<const RATE: usize, const N: usize>(bits: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let programs: Vec<Program> =
        (0..N).map(|lane| program(bits, lane, u)).collect::<Result<_>>()?;
    for level in levels() {
        let mut hash = MultiShake::<RATE, N>::new_on(level);
        let cuts: Vec<_> = programs.iter().map(|p| cut(&p.message, &p.absorbed)).collect();
        for step in 0..cuts.iter().map(Vec::len).max().unwrap_or(0) {
            let piece = |lane: usize| cuts[lane].get(step).copied().unwrap_or(&[]);
            hash.update(std::array::from_fn(piece));
        }
        let mut reader = hash.finalize_xof();
        let mut outputs = vec![Vec::new(); N];
        for step in 0..programs.iter().map(|p| p.squeezed.len()).max().unwrap_or(0) {
            let length = |lane: usize| programs[lane].squeezed.get(step).copied().unwrap_or(0);
            let mut read: [Vec<u8>; N] = std::array::from_fn(|lane| vec![0; length(lane)]);
            reader.read(read.each_mut().map(|out| &mut out[..]));
            outputs.iter_mut().zip(read).for_each(|(output, piece)| output.extend(piece));
        }
        for (lane, (output, program)) in outputs.iter().zip(&programs).enumerate() {
            assert_eq!(output, &program.expected, "{level}: lane {lane} of {N}, SHAKE{bits}");
        }
    }
    Ok(())
}
