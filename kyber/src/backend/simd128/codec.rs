//! Encoding, compression and the narrower noise (FIPS 203 section 4.2) on WebAssembly's vectors: what they do
//! several times faster than plain code. Decoding and rejection sampling gain an operation a hundredth or less.
//!
//! Arrays are secret: no branch, no address and no variable-time instruction depends on them.

#![allow(unsafe_code)]

use core::arch::wasm32::{
    i8x16_shuffle, i8x16_splat, i8x16_swizzle, i16x8_extend_high_i8x16, i16x8_extend_low_i8x16,
    i32x4_add, i32x4_dot_i16x8, i32x4_shl, i32x4_shr, i32x4_splat, u8x16_shr, u32x4_shr,
    u64x2_extract_lane, u64x2_shl, u64x2_shr, u64x2_splat, v128, v128_and, v128_load, v128_or,
    v128_store,
};

use crate::{
    constants::HALF_Q,
    params::{N, Q},
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
    let eight: &mut [i16; 8] = &mut f.as_chunks_mut().0[i];
    // SAFETY: the array has 16 bytes.
    unsafe { v128_store(eight.as_mut_ptr().cast(), v) }
}

#[inline(always)]
fn load_bytes(bytes: &[u8; 16]) -> v128 {
    // SAFETY: the array has 16 bytes.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

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

/// SamplePolyCBD_2. Four bits a coefficient: their sixteen values are looked up in a register.
#[inline(always)]
pub(super) fn sample_poly_cbd_2(bytes: &[u8; 128], f: &mut [i16; N]) {
    const DIFFERENCES: [u8; 16] = {
        let mut table = [0; 16];
        let mut i = 0usize;
        while i < 16 {
            table[i] = ((i & 3).count_ones() as i8 - (i >> 2).count_ones() as i8) as u8;
            i += 1;
        }
        table
    };
    let differences = load_bytes(&DIFFERENCES);
    for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
        let v = load_bytes(sixteen);
        let even = i8x16_swizzle(differences, v128_and(v, i8x16_splat(15)));
        let odd = i8x16_swizzle(differences, u8x16_shr(v, 4));
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
        backend::Backend,
        encode,
        poly::{NttPoly, Poly},
        sample,
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
        }
    }

    #[test]
    fn cbd_every_value_at_every_position() {
        for turn in 0..1 << 6 {
            let mut bytes = [0; 128];
            for i in 0..N {
                bytes[i >> 1] |= (scattered(4, turn, i) << (4 * (i & 1))) as u8;
            }
            let (mut expected, mut actual) = (Poly::ZERO, Poly([-9; N]));
            sample::sample_poly_cbd::<2>(&bytes, &mut expected);
            simd128().sample_poly_cbd(2, &bytes, &mut actual);
            assert_eq!(actual.0, expected.0, "turn {turn}");
        }
    }
}
