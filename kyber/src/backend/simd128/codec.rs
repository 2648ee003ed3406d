//! Sampling and coding (FIPS 203 section 4.2) on WebAssembly's vectors, eight coefficients at a time: `D` bytes
//! when encoded with `D` bits each.
//!
//! Arrays are secret, except for those of [`accept_vartime`]: no branch, no address and no variable-time
//! instruction depends on them. Coefficient k of a run of eight begins at bit k D; tables of bytes to look
//! up and of factors that shift follow from that.

#![allow(unsafe_code)]

use core::arch::wasm32::{
    i8x16, i8x16_add, i8x16_shuffle, i8x16_splat, i8x16_swizzle, i16x8_bitmask,
    i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i16x8_gt, i16x8_lt, i16x8_mul,
    i16x8_q15mulr_sat, i16x8_shuffle, i16x8_splat, i32x4_add, i32x4_dot_i16x8, i32x4_mul,
    i32x4_shl, i32x4_shr, i32x4_splat, u8x16_shr, u16x8_shr, u16x8_splat, u32x4_shr,
    u64x2_extract_lane, u64x2_shl, u64x2_shr, u64x2_splat, v128, v128_and, v128_any_true,
    v128_load, v128_or, v128_store,
};

use crate::{
    constants::HALF_Q,
    params::{N, Q},
    sample::{self, ENTRY_BYTES},
};

/// Coefficients 8 i to 8 i + 7.
#[inline(always)]
fn coefficients(f: &[i16; N], i: usize) -> v128 {
    let eight: &[i16; 8] = &f.as_chunks().0[i];
    // SAFETY: the array has 16 bytes.
    unsafe { v128_load(eight.as_ptr().cast()) }
}

/// The opposite of [`coefficients`].
#[inline(always)]
fn set_coefficients(f: &mut [i16; N], i: usize, v: v128) {
    store(v, &mut f.as_chunks_mut().0[i]);
}

#[inline(always)]
fn store(v: v128, eight: &mut [i16; 8]) {
    // SAFETY: the array has 16 bytes.
    unsafe { v128_store(eight.as_mut_ptr().cast(), v) }
}

#[inline(always)]
fn load_bytes(bytes: &[u8; 16]) -> v128 {
    // SAFETY: the array has 16 bytes.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

// Encoding

/// Values of `D` bits in each 32 bits to 8 `D` bits, which are `D` bytes.
///
/// ```text
/// even, odd         0             a | 0             b
/// pairs             0         b   a | 0         d   c
/// quads             0                   d   c   b   a
/// ```
#[inline(always)]
fn encode<const D: u32>(even: v128, odd: v128, out: &mut [u8]) {
    let pairs = v128_or(even, i32x4_shl(odd, D));
    let first = v128_and(pairs, u64x2_splat(0xffff_ffff));
    let quads = v128_or(first, u64x2_shl(u64x2_shr(pairs, 32), 2 * D));
    let bits = u128::from(u64x2_extract_lane::<0>(quads))
        | u128::from(u64x2_extract_lane::<1>(quads)) << (4 * D);
    out.copy_from_slice(&bits.to_le_bytes()[..D as usize]);
}

/// round(2^40 / q): less than 2^-4 off.
#[allow(clippy::integer_division_remainder_used)] // at compile time
const RECIPROCAL: i32 = (((1 << 40) + HALF_Q as i64) / Q as i64) as i32;
const _: () = assert!(((RECIPROCAL as i64 * Q as i64) - (1 << 40)).abs() < Q as i64 >> 4);
/// `RECIPROCAL` is `HIGH` 2^20 + `LOW`.
const HIGH: i16 = ((RECIPROCAL + (1 << 19)) >> 20) as i16;
const LOW: i16 = (RECIPROCAL - ((HIGH as i32) << 20)) as i16;
const _: () = assert!(((HIGH as i32) << 20) + LOW as i32 == RECIPROCAL);

/// Compress_D of the even or odd coefficients, by which half of `high` and `low` is zero. Any representatives.
///
/// x 2^32 / q mod 2^32 has the result in its top `D` bits, once half of their unit is added. It is off by
/// 2^-12 |x| + 1 <= 9 at most, which is 2^-17 of the unit if `D` is 11. The nearest tie is 1 / 2 q of it away, since
/// q is odd.
#[inline(always)]
fn compress<const D: u32>(x: v128, high: v128, low: v128) -> v128 {
    let high = i32x4_shl(i32x4_dot_i16x8(x, high), 12);
    let low = i32x4_shr(i32x4_dot_i16x8(x, low), 8);
    let y = i32x4_add(i32x4_add(high, low), i32x4_splat(1 << (31 - D)));
    u32x4_shr(y, 32 - D)
}

/// Compress_D, then ByteEncode_D. Any representatives.
#[inline(always)]
pub(super) fn compress_and_encode<const D: u32, const BYTES: usize>(
    f: &[i16; N],
    out: &mut [u8; BYTES],
) {
    const { assert!(BYTES == 32 * D as usize) };
    let even = |c: i16| i32x4_splat(i32::from(c as u16));
    let odd = |c: i16| i32x4_splat(i32::from(c) << 16);
    for (i, out) in out.chunks_exact_mut(D as usize).enumerate() {
        let x = coefficients(f, i);
        let evens = compress::<D>(x, even(HIGH), even(LOW));
        encode::<D>(evens, compress::<D>(x, odd(HIGH), odd(LOW)), out);
    }
}

/// ByteEncode_12. Coefficients in \[0, q).
#[inline(always)]
pub(super) fn encode_12(f: &[i16; N], out: &mut [u8; 384]) {
    for (i, out) in out.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        let x = coefficients(f, i);
        encode::<12>(v128_and(x, i32x4_splat(0xffff)), u32x4_shr(x, 16), out);
    }
}

// Decoding

/// First byte of coefficient k of a run, and its lowest bit in there.
#[allow(clippy::integer_division_remainder_used)] // at compile time
const fn place(d: usize, k: usize) -> (usize, usize) {
    (d * k / 8, d * k % 8)
}

/// The bytes of coefficients `first` on, `bytes` for each one.
const fn spread(d: usize, first: usize, bytes: usize) -> [u8; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (place(d, first + (i >> bytes.trailing_zeros())).0 + (i & (bytes - 1))) as u8;
        i += 1;
    }
    table
}

/// Two if every coefficient lies within two bytes, else four.
const fn width(d: usize) -> usize {
    let mut k = 0;
    while k < 8 {
        if place(d, k).1 + d > 16 {
            return 4;
        }
        k += 1;
    }
    2
}

/// Factors that bring the coefficients `first` on to the top of `bytes` bytes each, as bytes.
const fn factors(d: usize, first: usize, bytes: usize) -> [u8; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while bytes * i < 16 {
        let shift = 8 * bytes - d - place(d, first + i).1;
        table[bytes * i + (shift >> 3)] = 1 << (shift & 7);
        i += 1;
    }
    table
}

/// Gives `each` all runs of `bytes` by number, each coefficient at the top of its word. Bits below it are not
/// cleared.
#[inline(always)]
fn for_runs<const D: usize, const BYTES: usize>(
    bytes: &[u8; BYTES],
    mut each: impl FnMut(usize, v128),
) {
    const { assert!(BYTES == 32 * D) };
    let mut i = 0;
    while D * i <= BYTES - 16 {
        each(i, run::<D>(load_bytes(bytes[D * i..].first_chunk().expect("inside")), 0));
        i += 1;
    }
    // Sixteen bytes would end after the others.
    let last = load_bytes(bytes.last_chunk().expect("more than sixteen bytes"));
    while i < N >> 3 {
        each(i, run::<D>(last, (D * i - (BYTES - 16)) as u8));
        i += 1;
    }
}

/// The run that begins at byte `start` of `v`, as in [`for_runs`].
#[inline(always)]
fn run<const D: usize>(v: v128, start: u8) -> v128 {
    if const { width(D) == 2 } {
        let words = look_up(v, const { &spread(D, 0, width(D)) }, start);
        return i16x8_mul(words, load_bytes(const { &factors(D, 0, width(D)) }));
    }
    let low = look_up(v, const { &spread(D, 0, 4) }, start);
    let low = i32x4_mul(low, load_bytes(const { &factors(D, 0, 4) }));
    let high = look_up(v, const { &spread(D, 4, 4) }, start);
    let high = i32x4_mul(high, load_bytes(const { &factors(D, 4, 4) }));
    i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(low, high)
}

/// The bytes of `v` that a table names, counted from `start` on.
#[inline(always)]
fn look_up(v: v128, table: &[u8; 16], start: u8) -> v128 {
    i8x16_swizzle(v, i8x16_add(load_bytes(table), i8x16_splat(start as i8)))
}

/// ByteDecode_D, then Decompress_D: round(q y / 2^D) is the rounded product of q and y 2^(15 - D) in units of 2^15.
#[inline(always)]
pub(super) fn decode_and_decompress<const D: usize, const BYTES: usize>(
    bytes: &[u8; BYTES],
    f: &mut [i16; N],
) {
    let mask = u16x8_splat(const { ((1 << D) - 1) << (15 - D) });
    for_runs::<D, BYTES>(bytes, |i, v| {
        let y = v128_and(u16x8_shr(v, 1), mask);
        set_coefficients(f, i, i16x8_q15mulr_sat(y, i16x8_splat(Q)));
    });
}

/// ByteDecode_12 without the reduction: the values as they are, and whether all are below q.
#[inline(always)]
pub(super) fn decode_12(bytes: &[u8; 384], f: &mut [i16; N]) -> bool {
    let mut too_large = i16x8_splat(0);
    for_runs::<12, 384>(bytes, |i, v| {
        let v = u16x8_shr(v, 4);
        too_large = v128_or(too_large, i16x8_gt(v, i16x8_splat(Q - 1)));
        set_coefficients(f, i, v);
    });
    !v128_any_true(too_large)
}

// Sampling

/// For each choice among eight words, the bytes that bring the chosen ones to the front; then zeros.
#[repr(align(64))]
struct Choices([[u8; 16]; 256]);

static CHOICES: Choices = {
    let mut table = [[0xff; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut from, mut to) = (0, 0);
        while from < 8 {
            if mask >> from & 1 == 1 {
                table[mask][2 * to] = 2 * from as u8;
                table[mask][2 * to + 1] = 2 * from as u8 + 1;
                to += 1;
            }
            from += 1;
        }
        mask += 1;
    }
    Choices(table)
};

/// SampleNTT over three blocks: the 12-bit values below q, in order; how many there are, at most 256.
/// What `out` holds after them is unspecified. Public: addresses and time depend on the values.
#[inline(always)]
pub(super) fn accept_vartime(bytes: &[u8; ENTRY_BYTES], out: &mut [i16; N]) -> usize {
    let (mut i, mut count) = (0, 0);
    // Sixteen bytes, of which the first twelve are a run.
    while let (Some(sixteen), Some(place)) =
        (bytes[12 * i..].first_chunk::<16>(), out[count..].first_chunk_mut::<8>())
    {
        let v = u16x8_shr(run::<12>(load_bytes(sixteen), 0), 4);
        let mask = i16x8_bitmask(i16x8_lt(v, i16x8_splat(Q)));
        let choice = load_bytes(&CHOICES.0[usize::from(mask)]);
        store(i8x16_swizzle(v, choice), place);
        count += mask.count_ones() as usize;
        i += 1;
    }
    // The last few places, or the last run, one by one.
    sample::accept_vartime(&bytes[12 * i..], out, count)
}

/// SamplePolyCBD_2. Four bits a coefficient: their sixteen values are looked up in a register.
#[inline(always)]
pub(super) fn sample_poly_cbd_2(bytes: &[u8; 128], f: &mut [i16; N]) {
    let values = i8x16(0, 1, 1, 2, -1, 0, 0, 1, -1, 0, 0, 1, -2, -1, -1, 0);
    for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
        let v = load_bytes(sixteen);
        let even = i8x16_swizzle(values, v128_and(v, i8x16_splat(15)));
        let odd = i8x16_swizzle(values, u8x16_shr(v, 4));
        let first = interleave_low(even, odd);
        let second = interleave_high(even, odd);
        set_coefficients(f, 4 * i, i16x8_extend_low_i8x16(first));
        set_coefficients(f, 4 * i + 1, i16x8_extend_high_i8x16(first));
        set_coefficients(f, 4 * i + 2, i16x8_extend_low_i8x16(second));
        set_coefficients(f, 4 * i + 3, i16x8_extend_high_i8x16(second));
    }
}

#[inline(always)]
fn interleave_low(x: v128, y: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(x, y)
}

#[inline(always)]
fn interleave_high(x: v128, y: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(x, y)
}
#[cfg(test)]
mod tests {
    use keccak::backend::Simd128;

    use super::*;
    use crate::{
        backend::{Backend, tests::rounds},
        encode,
        poly::{NttPoly, Poly},
    };

    /// Values of `d` bits: within 2^d turns every one at every position, and no pattern in the positions,
    /// so that none can be mistaken for another.
    fn scattered(d: usize, turn: usize, position: usize) -> usize {
        let place = (N * (turn >> d) + position) as u32;
        let hash = place.wrapping_mul(0x9e37_79b1);
        let hash = (hash ^ hash >> 15).wrapping_mul(0x85eb_ca77) >> 16;
        (turn + hash as usize) & ((1 << d) - 1)
    }

    fn simd128() -> Simd128 {
        Simd128::get().expect("vectors are part of the target")
    }

    fn check_compress<const D: usize>() {
        for turn in 0..1 << 16 {
            let mut f = Poly::ZERO;
            for i in 0..N {
                f.0[i] = scattered(16, turn, i) as u16 as i16;
            }
            let (mut expected, mut actual) = ([0; 384], [0; 384]);
            encode::compress_and_encode::<D>(&f, &mut expected[..32 * D]);
            simd128().compress_and_encode(D, &f, &mut actual[..32 * D]);
            assert_eq!(actual, expected, "d = {D}, turn {turn}");
        }
    }

    #[test]
    fn compress_every_i16_at_every_position() {
        check_compress::<1>();
        check_compress::<4>();
        check_compress::<5>();
        check_compress::<10>();
        check_compress::<11>();
    }

    fn check_decompress<const D: usize>() {
        for turn in 0..1 << 13 {
            let mut bytes = [0; 384];
            for bit in 0..N * D {
                let value = scattered(D, turn, bit / D) >> (bit % D) & 1;
                bytes[bit / 8] |= (value as u8) << (bit % 8);
            }
            let (mut expected, mut actual) = (Poly::ZERO, Poly([-1; N]));
            encode::decode_and_decompress::<D>(&bytes[..32 * D], &mut expected);
            simd128().decode_and_decompress(D, &bytes[..32 * D], &mut actual);
            assert_eq!(actual.0, expected.0, "d = {D}, turn {turn}");
        }
    }

    #[test]
    fn decompress_every_value_at_every_position() {
        check_decompress::<1>();
        check_decompress::<4>();
        check_decompress::<5>();
        check_decompress::<10>();
        check_decompress::<11>();
    }

    #[test]
    fn twelve_bits_every_value_at_every_position() {
        for turn in 0..1 << 13 {
            let mut f = NttPoly::ZERO;
            for i in 0..N {
                f.0[i] = scattered(12, turn, i) as i16;
            }
            let (mut expected, mut actual) = ([0; 384], [0xa5; 384]);
            encode::encode_12(&f, &mut expected);
            simd128().encode_12(&f, &mut actual);
            assert_eq!(actual, expected, "turn {turn}");
            let mut decoded = NttPoly([-1; N]);
            let in_range = simd128().decode_12(&actual, &mut decoded);
            assert_eq!(decoded.0, f.0, "turn {turn}");
            assert_eq!(in_range, f.0.iter().all(|x| *x < Q));
        }
    }

    #[test]
    fn range_check_at_every_position() {
        for position in 0..N {
            for (value, others) in [(0, Q - 1), (Q - 1, 0), (Q, 0), (Q, Q - 1), (4095, 0)] {
                let mut f = NttPoly([others; N]);
                f.0[position] = value;
                let (mut bytes, mut decoded) = ([0; 384], NttPoly::ZERO);
                encode::encode_12(&f, &mut bytes);
                let in_range = simd128().decode_12(&bytes, &mut decoded);
                assert_eq!(in_range, value < Q, "{value} at {position}");
            }
        }
    }

    fn check_accept(bytes: &[u8; ENTRY_BYTES]) {
        let (mut expected, mut actual) = ([0; N], NttPoly([-1; N]));
        let count = sample::accept_vartime(bytes, &mut expected, 0);
        assert_eq!(simd128().sample_ntt(bytes, &mut actual), count);
        assert_eq!(actual.0[..count], expected[..count]);
    }

    /// Each value at each place; streams that accept nothing, all, or anything between; random ones.
    #[test]
    fn accepts_what_the_portable_one_does() {
        let pack = |values: &dyn Fn(usize) -> usize| {
            let mut bytes = [0; ENTRY_BYTES];
            for bit in 0..8 * ENTRY_BYTES {
                bytes[bit / 8] |= ((values(bit / 12) >> (bit % 12) & 1) as u8) << (bit % 8);
            }
            bytes
        };
        for turn in 0..1 << 13 {
            check_accept(&pack(&|i| scattered(12, turn, i)));
        }
        for period in 1..=64 {
            for accepted in 0..=period {
                let value = |i| if i % period < accepted { 9 * i + 5 } else { 3329 + 2 * i };
                check_accept(&pack(&|i| value(i)));
            }
        }
        for round in 0..rounds(10_000) {
            let mut bytes = [0; ENTRY_BYTES];
            keccak::Shake128::digest(&round.to_le_bytes(), &mut bytes);
            check_accept(&bytes);
        }
    }
}
