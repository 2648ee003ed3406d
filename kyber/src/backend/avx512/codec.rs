//! Sampling and coding (FIPS 203 section 4.2), 32 coefficients at a time.
//!
//! Bits move in two steps: whole bytes into the quadword that needs them (`vpermb`), then shifts or
//! rotates within it. Index tables come from formulas of the layout, at compile time. All values but
//! those of [`accept`] may be secret: no branch and no address depends on them (`vpermb` looks up in a
//! register). Tests: every value in every lane against the portable functions.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m512i, _bzhi_u32, _mm_set_epi64x, _mm512_add_epi16, _mm512_and_si512, _mm512_andnot_si512,
    _mm512_broadcast_i64x2, _mm512_cmpge_epu16_mask, _mm512_cmpgt_epi16_mask,
    _mm512_cmplt_epi16_mask, _mm512_loadu_si512, _mm512_madd_epi16, _mm512_mask_adds_epi16,
    _mm512_mask_storeu_epi8, _mm512_mask_storeu_epi16, _mm512_maskz_compress_epi16,
    _mm512_maskz_loadu_epi8, _mm512_maskz_set1_epi16, _mm512_max_epu16, _mm512_movepi16_mask,
    _mm512_mulhi_epi16, _mm512_mulhrs_epi16, _mm512_mullo_epi16, _mm512_multishift_epi64_epi8,
    _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_rolv_epi32, _mm512_rolv_epi64,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi16, _mm512_sllv_epi16, _mm512_srai_epi16, _mm512_srlv_epi16,
    _mm512_storeu_si512, _mm512_sub_epi16, _mm512_ternarylogic_epi32, _pext_u32, _tzcnt_u32,
};

use crate::{
    constants::HALF_Q,
    params::{N, Q},
};

/// Coefficients in a vector.
const LANES: usize = 32;
/// Vectors in a polynomial.
const VECTORS: usize = 8;
const _: () = assert!(LANES * VECTORS == N);

/// The bytes of a vector that is known at compile time.
#[repr(C, align(64))]
struct Table([u8; 64]);

#[allow(clippy::integer_division_remainder_used)]
impl Table {
    /// Byte indices that give quadword k of the result its four fields of d bits: the eight bytes from
    /// the one on where they begin, which is at bit 4 d k of the string.
    const fn quadwords(d: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            table[i] = (4 * d * (i / 8) / 8 + i % 8) as u8;
            i += 1;
        }
        Self(table)
    }

    /// Bit indices that put each of those four fields at bit 15 - d of its word.
    const fn fields(d: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            let field = 4 * d * (i / 8) % 8 + d * (i % 8 / 2);
            // Modulo 64, since a word may begin before the quadword: with bits that a mask drops.
            table[i] = ((field + 8 * (i % 2) + 64 - (15 - d)) % 64) as u8;
            i += 1;
        }
        Self(table)
    }

    /// Byte indices that give word i of the result the two bytes that hold bits 12 i to 12 i + 11.
    const fn twelve_bit_words() -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            table[i] = (12 * (i / 2) / 8 + i % 2) as u8;
            i += 1;
        }
        Self(table)
    }

    /// Byte indices that keep the low three bytes of each doubleword.
    const fn low_24_of_32() -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 48 {
            table[i] = (4 * (i / 3) + i % 3) as u8;
            i += 1;
        }
        Self(table)
    }

    /// Byte indices that lay the 4 d bits of the quadwords, which begin where [`aligned`] says, one
    /// after the other. Where a byte of the result spans two quadwords, its bit number `bit` decides.
    const fn joined(d: usize, bit: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 4 * d {
            let quadword = (8 * i + bit) / (4 * d);
            table[i] = (8 * quadword + (aligned(d, quadword) + 8 * i - 4 * d * quadword) / 8) as u8;
            i += 1;
        }
        Self(table)
    }

    /// Byte indices that give quadword k its eta bytes of a vector's first half, and then those of the
    /// second half: four coefficients of 2 eta bits each.
    const fn cbd_bytes(eta: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            let (quadword, byte) = (i / 8, i % 8);
            let half = if byte < eta { 0 } else { 8 * eta - eta };
            table[i] = if byte < 2 * eta { (half + eta * quadword + byte) as u8 } else { 0 };
            i += 1;
        }
        Self(table)
    }

    /// Bit indices that put the four coefficients of the first half into the low bytes of the words,
    /// and those of the second half into the high bytes.
    const fn cbd_fields(eta: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            table[i] = (2 * eta * (i % 8 / 2) + 8 * eta * (i % 2)) as u8;
            i += 1;
        }
        Self(table)
    }

    /// The coefficient for every value of its 2 eta bits, whatever the bits above them.
    const fn cbd_values(eta: usize) -> Self {
        let mut table = [0; 64];
        let mut i = 0;
        while i < 64 {
            let (x, y) = (i & ((1 << eta) - 1), i >> eta & ((1 << eta) - 1));
            table[i] = (x.count_ones() as u8).wrapping_sub(y.count_ones() as u8);
            i += 1;
        }
        Self(table)
    }
}

/// The bit of quadword k at which its 4 d bits begin when [`Table::joined`] moves them: the first from
/// 32 - 2 d on that is, modulo 8, where they go: 4 d k.
#[allow(clippy::integer_division_remainder_used)]
const fn aligned(d: usize, quadword: usize) -> usize {
    let least = 32 - 2 * d;
    least + (4 * d * quadword + 8 * d - least) % 8
}

/// A table as a vector; the compiler keeps it in a register or makes it a memory operand.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn constant(table: &Table) -> __m512i {
    // SAFETY: the 64 bytes behind the reference.
    unsafe { _mm512_loadu_si512(table.0.as_ptr().cast()) }
}

/// Coefficients 32 i to 32 i + 31.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn load_words(f: &[i16; N], i: usize) -> __m512i {
    let words: &[i16; LANES] = &f.as_chunks().0[i];
    // SAFETY: the 64 bytes behind the reference.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// The opposite of [`load_words`].
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn store_words(f: &mut [i16; N], i: usize, words: __m512i) {
    store_chunk(&mut f.as_chunks_mut().0[i], words);
}

/// A whole vector.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn store_chunk(out: &mut [i16; LANES], words: __m512i) {
    // SAFETY: the 64 bytes behind the reference.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), words) }
}

/// `COUNT` bytes from `start` on; what follows them in the vector is unspecified.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn load_bytes<const COUNT: usize>(bytes: &[u8], start: usize) -> __m512i {
    const { assert!(COUNT < 64) }
    if let Some(bytes) = bytes[start..].first_chunk::<64>() {
        // SAFETY: the 64 bytes behind the reference.
        return unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    }
    let bytes: &[u8; COUNT] = bytes[start..].first_chunk().expect("a vector's bytes");
    // SAFETY: the COUNT bytes behind the reference; the mask leaves out the others.
    unsafe { _mm512_maskz_loadu_epi8((1 << COUNT) - 1, bytes.as_ptr().cast()) }
}

/// `COUNT` bytes at `start`. May overwrite those after them: call in ascending order.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn store_bytes<const COUNT: usize>(out: &mut [u8], start: usize, vector: __m512i) {
    const { assert!(COUNT < 64) }
    if let Some(out) = out[start..].first_chunk_mut::<64>() {
        // SAFETY: the 64 bytes behind the reference.
        return unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), vector) };
    }
    let out: &mut [u8; COUNT] = out[start..].first_chunk_mut().expect("a vector's bytes");
    // SAFETY: the COUNT bytes behind the reference; the mask leaves out the others.
    unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), (1 << COUNT) - 1, vector) }
}

/// Words that alternate between two values.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn alternating_words(even: u16, odd: u16) -> __m512i {
    _mm512_set1_epi32((u32::from(even) | u32::from(odd) << 16) as i32)
}

/// The 32 values of 12 bits in the first 48 bytes.
///
/// ```text
/// bit      0           8     12    16          24
/// byte     |3 j        |3 j + 1    |3 j + 2    |
/// value    |2 j              |2 j + 1          |
/// ```
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn twelve_bit_words(bytes: __m512i) -> __m512i {
    let pairs = _mm512_permutexvar_epi8(constant(const { &Table::twelve_bit_words() }), bytes);
    // Even values are the low 12 bits of their two bytes, odd ones the high 12.
    let words = _mm512_srlv_epi16(pairs, alternating_words(0, 4));
    _mm512_and_si512(words, _mm512_set1_epi16(0xfff))
}

/// Bytes of a vector of 12-bit values.
const TWELVE: usize = 48;

/// SampleNTT over three SHAKE128 blocks, 336 candidates: the first values below q, in order. Returns
/// how many there are, up to 256; coefficients after them are unspecified. Public input.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn accept(bytes: &[u8; 504], out: &mut [i16; N]) -> usize {
    let mut count = 0;
    // 10.5 vectors.
    for i in 0..10 {
        let (values, accepted) = below_q(load_bytes::<TWELVE>(bytes, TWELVE * i), !0);
        if i < VECTORS {
            // No more than 32 i values so far: the minimum is `count`, and spares a bounds check.
            let start = count.min(N - LANES);
            store_chunk(out[start..].first_chunk_mut().expect("32 words"), values);
        } else {
            store_what_fits(&mut out[count.min(N)..], values);
        }
        count += accepted;
    }
    let (values, accepted) = below_q(load_bytes::<{ TWELVE >> 1 }>(bytes, TWELVE * 10), 0xffff);
    store_what_fits(&mut out[count.min(N)..], values);
    count += accepted;
    count.min(N)
}

/// As many of the words as there is room for.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn store_what_fits(out: &mut [i16], words: __m512i) {
    let room = _bzhi_u32(!0, out.len().min(LANES) as u32);
    // SAFETY: the words of the slice, up to 32; the mask leaves out the others.
    unsafe { _mm512_mask_storeu_epi16(out.as_mut_ptr().cast(), room, words) }
}

/// Those 12-bit values of a vector's `candidates` that are below q, in order, and how many they are.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn below_q(bytes: __m512i, candidates: u32) -> (__m512i, usize) {
    let values = twelve_bit_words(bytes);
    let accepted = candidates & _mm512_cmplt_epi16_mask(values, _mm512_set1_epi16(Q));
    // The number of ones. POPCNT is not among the features.
    let count = _tzcnt_u32(!_pext_u32(!0, accepted));
    (_mm512_maskz_compress_epi16(accepted, values), count as usize)
}

/// SamplePolyCBD_2.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn sample_poly_cbd_2(bytes: &[u8; 128], out: &mut [i16; N]) {
    for i in 0..VECTORS >> 1 {
        sample_cbd::<2>(load_bytes::<32>(bytes, 32 * i), out, i);
    }
}

/// SamplePolyCBD_3.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn sample_poly_cbd_3(bytes: &[u8; 192], out: &mut [i16; N]) {
    for i in 0..VECTORS >> 1 {
        sample_cbd::<3>(load_bytes::<48>(bytes, 48 * i), out, i);
    }
}

/// The 64 coefficients from 64 i on, out of 16 ETA bytes.
///
/// Both of two vectors at a time: a word's low byte is for the first, its high byte for the second.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn sample_cbd<const ETA: usize>(bytes: __m512i, out: &mut [i16; N], i: usize) {
    let quadwords = _mm512_permutexvar_epi8(constant(const { &Table::cbd_bytes(ETA) }), bytes);
    let fields =
        _mm512_multishift_epi64_epi8(constant(const { &Table::cbd_fields(ETA) }), quadwords);
    // The look-up takes six bits of each byte.
    let values = _mm512_permutexvar_epi8(fields, constant(const { &Table::cbd_values(ETA) }));
    store_words(out, 2 * i, _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(values)));
    store_words(out, 2 * i + 1, _mm512_srai_epi16::<8>(values));
}

/// 2^32 / q, rounded down, in two parts: HIGH 2^16 + LOW.
#[allow(clippy::integer_division_remainder_used)]
const RECIPROCAL: u32 = ((1u64 << 32) / Q as u64) as u32;
const RECIPROCAL_HIGH: i16 = ((RECIPROCAL + (1 << 15)) >> 16) as i16;
const RECIPROCAL_LOW: i16 = RECIPROCAL as i16;

/// round(2^D x / q) mod 2^D in the D high bits of each word, for D <= 5 and every i16; the bits below
/// are unspecified.
///
/// The fraction of x / q in 16 bits, plus half a unit of the D bits. It is off by |x| / 2^16 times the
/// reciprocal's error, 0.41: at most 0.21. No multiple of a unit of 2^(16 - D) is nearer to the exact
/// value than 2^(15 - D) / q >= 0.3, since 2^(D + 1) x + q is odd.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn compress_high<const D: u32>(x: __m512i) -> __m512i {
    const { assert!(D <= 5) }
    let whole = _mm512_mullo_epi16(x, _mm512_set1_epi16(RECIPROCAL_HIGH));
    let part = _mm512_mulhi_epi16(x, _mm512_set1_epi16(RECIPROCAL_LOW));
    let half = _mm512_set1_epi16(1 << (15 - D));
    _mm512_add_epi16(_mm512_add_epi16(whole, part), half)
}

/// round(2^(16 + d) / q), for d = 11 less 2^16: the low word.
#[allow(clippy::integer_division_remainder_used)]
const fn multiplier(d: u32) -> i16 {
    (((1 << (16 + d)) + HALF_Q) / Q as u32) as i16
}

/// round(2^D x / q) mod 2^D in the D low bits of each word, for D <= 11 and every i16; the bits above
/// are unspecified.
///
/// A guess below, and one more if the remainder is above q / 2. The multiplier's error, below 1/2,
/// makes 2^D x / q - guess at least -1/4 and below 5/4: the remainder fits, and one more is enough.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn compress_low<const D: u32>(x: __m512i) -> __m512i {
    const { assert!(D <= 11) }
    let multiplier = const { multiplier(D) };
    let mut guess = _mm512_mulhi_epi16(x, _mm512_set1_epi16(multiplier));
    if D == 11 {
        // The 2^16 that its multiplier lacks.
        guess = _mm512_add_epi16(guess, x);
    }
    let multiple = _mm512_mullo_epi16(guess, _mm512_set1_epi16(Q));
    let remainder = _mm512_sub_epi16(_mm512_slli_epi16::<D>(x), multiple);
    let up = _mm512_cmpgt_epi16_mask(remainder, _mm512_set1_epi16(HALF_Q as i16));
    // Cannot saturate; without saturation LLVM makes two instructions of this one.
    _mm512_mask_adds_epi16(guess, up, guess, _mm512_set1_epi16(1))
}

/// The D-bit fields of 32 words, at their high end for D <= 5 and else at their low end, as 4 D bytes.
///
/// Neighbours meet where they meet with the least movement, at the middle: fields 0 and 1 around
/// bit 16 of their doubleword, those pairs around bit 32 of their quadword. `*` is anything:
///
/// ```text
/// word               |*  field 0|field 1  *|*  field 2|field 3  *|
/// quadword           |*           fields 0 to 3                 *|
/// ```
///
/// Then whole bytes move. A quadword has 4 D bits: for odd D every second one begins within a byte, and
/// takes the high half of that byte where its neighbour has the low half.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn pack<const D: u32>(words: __m512i) -> __m512i {
    let gap = 16 - D as u16;
    let pairs = if D <= 5 {
        _mm512_srlv_epi16(words, alternating_words(0, gap))
    } else {
        _mm512_sllv_epi16(words, alternating_words(gap, 0))
    };
    // Left by the gap and right by the gap.
    let rotation = i64::from(gap) | i64::from(32 - gap) << 32;
    let mut fours = _mm512_rolv_epi32(pairs, _mm512_set1_epi64(rotation));
    let (even, odd) = const { (aligned(D as usize, 0), aligned(D as usize, 1)) };
    let start = 32 - 2 * D as usize;
    if (even, odd) != (start, start) {
        let rotation = _mm_set_epi64x((odd - start) as i64, (even - start) as i64);
        fours = _mm512_rolv_epi64(fours, _mm512_broadcast_i64x2(rotation));
    }
    let first = constant(const { &Table::joined(D as usize, 0) });
    let bytes = _mm512_permutexvar_epi8(first, fours);
    if even == odd {
        return bytes;
    }
    let last = constant(const { &Table::joined(D as usize, 7) });
    let high_halves = _mm512_permutexvar_epi8(last, fours);
    /// first ? second : third, as a truth table.
    const SELECT: i32 = 0xca;
    let mask = _mm512_set1_epi32(0xf0f0_f0f0_u32 as i32);
    if cfg!(constant_time = "msan") {
        // MemorySanitizer does not follow three-input logic.
        let low_halves = _mm512_andnot_si512(mask, bytes);
        return _mm512_or_si512(_mm512_and_si512(mask, high_halves), low_halves);
    }
    _mm512_ternarylogic_epi32::<SELECT>(mask, high_halves, bytes)
}

/// Compress_1, then ByteEncode_1. Every i16.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn compress_and_encode_1(f: &[i16; N], out: &mut [u8; 32]) {
    for i in 0..VECTORS {
        let bits = _mm512_movepi16_mask(compress_high::<1>(load_words(f, i)));
        out.as_chunks_mut().0[i] = bits.to_le_bytes();
    }
}

/// Compress_4, then ByteEncode_4. Every i16.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn compress_and_encode_4(f: &[i16; N], out: &mut [u8; 128]) {
    for i in 0..VECTORS {
        let bytes = pack::<4>(compress_high::<4>(load_words(f, i)));
        store_bytes::<16>(out, 16 * i, bytes);
    }
}

/// Compress_5, then ByteEncode_5. Every i16.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn compress_and_encode_5(f: &[i16; N], out: &mut [u8; 160]) {
    for i in 0..VECTORS {
        let bytes = pack::<5>(compress_high::<5>(load_words(f, i)));
        store_bytes::<20>(out, 20 * i, bytes);
    }
}

/// Compress_10, then ByteEncode_10. Every i16.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn compress_and_encode_10(f: &[i16; N], out: &mut [u8; 320]) {
    for i in 0..VECTORS {
        let bytes = pack::<10>(compress_low::<10>(load_words(f, i)));
        store_bytes::<40>(out, 40 * i, bytes);
    }
}

/// Compress_11, then ByteEncode_11. Every i16.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn compress_and_encode_11(f: &[i16; N], out: &mut [u8; 352]) {
    for i in 0..VECTORS {
        let bytes = pack::<11>(compress_low::<11>(load_words(f, i)));
        store_bytes::<44>(out, 44 * i, bytes);
    }
}

/// round(q y / 2^D) of the 32 values y of D bits, D <= 11, in the first 4 D bytes.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
fn decompress<const D: usize>(bytes: __m512i) -> __m512i {
    let quadwords = _mm512_permutexvar_epi8(constant(const { &Table::quadwords(D) }), bytes);
    let fields = _mm512_multishift_epi64_epi8(constant(const { &Table::fields(D) }), quadwords);
    // 2^(15 - D) y; the multiplication takes (a b + 2^14) >> 15.
    let mask = ((1 << D) - 1) << (15 - D);
    let values = _mm512_and_si512(fields, _mm512_set1_epi16(mask));
    _mm512_mulhrs_epi16(values, _mm512_set1_epi16(Q))
}

/// ByteDecode_1, then Decompress_1.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_and_decompress_1(bytes: &[u8; 32], f: &mut [i16; N]) {
    for i in 0..VECTORS {
        let bits = u32::from_le_bytes(bytes.as_chunks().0[i]);
        store_words(f, i, _mm512_maskz_set1_epi16(bits, HALF_Q as i16 + 1));
    }
}

/// ByteDecode_4, then Decompress_4. Results in \[0, q).
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_and_decompress_4(bytes: &[u8; 128], f: &mut [i16; N]) {
    for i in 0..VECTORS {
        store_words(f, i, decompress::<4>(load_bytes::<16>(bytes, 16 * i)));
    }
}

/// ByteDecode_5, then Decompress_5. Results in \[0, q).
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_and_decompress_5(bytes: &[u8; 160], f: &mut [i16; N]) {
    for i in 0..VECTORS {
        store_words(f, i, decompress::<5>(load_bytes::<20>(bytes, 20 * i)));
    }
}

/// ByteDecode_10, then Decompress_10. Results in \[0, q).
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_and_decompress_10(bytes: &[u8; 320], f: &mut [i16; N]) {
    for i in 0..VECTORS {
        store_words(f, i, decompress::<10>(load_bytes::<40>(bytes, 40 * i)));
    }
}

/// ByteDecode_11, then Decompress_11. Results in \[0, q).
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_and_decompress_11(bytes: &[u8; 352], f: &mut [i16; N]) {
    for i in 0..VECTORS {
        store_words(f, i, decompress::<11>(load_bytes::<44>(bytes, 44 * i)));
    }
}

/// ByteEncode_12. Coefficients in \[0, q).
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn encode_12(f: &[i16; N], out: &mut [u8; 384]) {
    for i in 0..VECTORS {
        // Pairs are 24 bits of a doubleword.
        let factors = alternating_words(1, 1 << 12);
        let pairs = _mm512_madd_epi16(load_words(f, i), factors);
        let bytes = _mm512_permutexvar_epi8(constant(const { &Table::low_24_of_32() }), pairs);
        store_bytes::<TWELVE>(out, TWELVE * i, bytes);
    }
}

/// The 12-bit values, and whether all were below q already. Takes the same time for any values.
#[target_feature(
    enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
)]
#[inline]
pub(super) fn decode_12(bytes: &[u8; 384], f: &mut [i16; N]) -> bool {
    let mut greatest = _mm512_setzero_si512();
    for i in 0..VECTORS {
        let values = twelve_bit_words(load_bytes::<TWELVE>(bytes, TWELVE * i));
        greatest = _mm512_max_epu16(greatest, values);
        store_words(f, i, values);
    }
    _mm512_cmpge_epu16_mask(greatest, _mm512_set1_epi16(Q)) == 0
}

#[cfg(test)]
mod tests {
    extern crate std;

    use keccak::backend::Avx512;

    use super::*;
    use crate::{
        backend::tests::rounds,
        encode,
        poly::{NttPoly, Poly},
        sample,
    };

    /// Whether the kernels may be called.
    fn available() -> bool {
        let available = Avx512::get().is_some();
        if !available {
            std::println!("skipped: no AVX-512");
        }
        available
    }

    /// The bits of a string whose i-th field of D bits is field(i).
    fn fields<const LEN: usize>(d: usize, field: impl Fn(usize) -> usize) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        for bit in 0..8 * LEN {
            bytes[bit / 8] |= ((field(bit / d) >> (bit % d) & 1) as u8) << (bit % 8);
        }
        bytes
    }

    fn sequence() -> impl FnMut() -> usize {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        }
    }

    /// Every i16 at every position.
    fn check_compress<const D: usize, const LEN: usize>(
        kernel: unsafe fn(&[i16; N], &mut [u8; LEN]),
    ) {
        if !available() {
            return;
        }
        let mut f = Poly::ZERO;
        for start in 0..=u16::MAX {
            for (i, x) in f.0.iter_mut().enumerate() {
                *x = start.wrapping_add(12345u16.wrapping_mul(i as u16)) as i16;
            }
            let (mut expected, mut actual) = ([0; LEN], [0; LEN]);
            encode::compress_and_encode::<D>(&f, &mut expected);
            // SAFETY: `available`.
            unsafe { kernel(&f.0, &mut actual) };
            assert_eq!(actual, expected, "d = {D}, first coefficient {}", f.0[0]);
        }
    }

    #[test]
    fn compress_over_all_values_and_positions() {
        check_compress::<1, 32>(compress_and_encode_1);
        check_compress::<4, 128>(compress_and_encode_4);
        check_compress::<5, 160>(compress_and_encode_5);
        check_compress::<10, 320>(compress_and_encode_10);
        check_compress::<11, 352>(compress_and_encode_11);
    }

    /// Every value of D bits at every position.
    fn check_decompress<const D: usize, const LEN: usize>(
        kernel: unsafe fn(&[u8; LEN], &mut [i16; N]),
    ) {
        if !available() {
            return;
        }
        for start in 0..1 << D {
            let bytes = fields::<LEN>(D, |i| start + 1237 * i);
            let (mut expected, mut actual) = (Poly::ZERO, [-1; N]);
            encode::decode_and_decompress::<D>(&bytes, &mut expected);
            // SAFETY: `available`.
            unsafe { kernel(&bytes, &mut actual) };
            assert_eq!(actual, expected.0, "d = {D}, first value {start}");
        }
    }

    #[test]
    fn decompress_over_all_values_and_positions() {
        check_decompress::<1, 32>(decode_and_decompress_1);
        check_decompress::<4, 128>(decode_and_decompress_4);
        check_decompress::<5, 160>(decode_and_decompress_5);
        check_decompress::<10, 320>(decode_and_decompress_10);
        check_decompress::<11, 352>(decode_and_decompress_11);
    }

    #[test]
    fn twelve_bits_over_all_values_and_positions() {
        if !available() {
            return;
        }
        for start in 0..4096 {
            let f = NttPoly(core::array::from_fn(|i| ((start + 1237 * i) & 0xfff) as i16));
            let (mut expected, mut bytes, mut decoded) = ([0; 384], [0; 384], [-1; N]);
            encode::encode_12(&f, &mut expected);
            // SAFETY: `available`.
            let in_range = unsafe {
                encode_12(&f.0, &mut bytes);
                decode_12(&bytes, &mut decoded)
            };
            assert_eq!(bytes, expected, "first value {start}");
            assert_eq!(decoded, f.0, "first value {start}");
            assert!(!in_range);
        }
    }

    #[test]
    fn range_check_at_every_position() {
        if !available() {
            return;
        }
        for position in 0..N {
            for (value, filler) in [(Q - 1, 0), (0, Q - 1), (Q, 0), (Q, Q - 1), (4095, 0)] {
                let mut f = NttPoly([filler; N]);
                f.0[position] = value;
                let (mut bytes, mut decoded) = ([0; 384], [-1; N]);
                encode::encode_12(&f, &mut bytes);
                // SAFETY: `available`.
                let in_range = unsafe { decode_12(&bytes, &mut decoded) };
                assert_eq!(in_range, value < Q, "{value} at {position}");
                assert_eq!(decoded, f.0);
            }
        }
    }

    /// Every value of 2 ETA bits at every position.
    fn check_cbd<const ETA: usize, const LEN: usize>(kernel: unsafe fn(&[u8; LEN], &mut [i16; N])) {
        if !available() {
            return;
        }
        for start in 0..1 << (2 * ETA) {
            for step in [1, 5] {
                let bytes = fields::<LEN>(2 * ETA, |i| start + step * i);
                let (mut expected, mut actual) = (Poly::ZERO, [-9; N]);
                sample::sample_poly_cbd::<ETA>(&bytes, &mut expected);
                // SAFETY: `available`.
                unsafe { kernel(&bytes, &mut actual) };
                assert_eq!(actual, expected.0, "eta = {ETA}, first value {start}");
            }
        }
    }

    #[test]
    fn cbd_over_all_values_and_positions() {
        check_cbd::<2, 128>(sample_poly_cbd_2);
        check_cbd::<3, 192>(sample_poly_cbd_3);
    }

    fn check_accept(candidates: impl Fn(usize) -> usize) {
        let bytes = fields(12, &candidates);
        let expected: std::vec::Vec<i16> =
            (0..336).map(|i| candidates(i) as i16).filter(|x| *x < Q).take(N).collect();
        let mut actual = [-1; N];
        // SAFETY: the callers ask `available`.
        let count = unsafe { accept(&bytes, &mut actual) };
        assert_eq!(actual[..count], expected);
    }

    #[test]
    fn accept_random_candidates() {
        if !available() {
            return;
        }
        let mut next = sequence();
        for round in 0..rounds(10_000) {
            // From the probabilities of SHAKE's output to mostly rejected.
            let candidates: [usize; 336] = core::array::from_fn(|_| {
                let value = next() & 0xfff;
                if next() % 16 < round % 16 { value | 0xe00 } else { value }
            });
            check_accept(|i| candidates[i]);
        }
    }

    #[test]
    fn accept_at_the_limits() {
        if !available() {
            return;
        }
        let q = Q as usize;
        for i in 0..336 {
            // One rejected, one accepted, the first i accepted (255, 256 and 257 are among them), the
            // first i rejected.
            check_accept(|j| if j == i { q } else { j });
            check_accept(|j| if j == i { q - 1 } else { 4095 - j });
            check_accept(|j| if j < i { q - 1 - j } else { q + j });
            check_accept(|j| if j < i { q + j } else { j });
        }
        check_accept(|j| j);
        check_accept(|_| q - 1);
        check_accept(|_| q);
        check_accept(|_| 4095);
        for value in 0..4096 {
            check_accept(|j| if j == value % 336 { value } else { 4095 });
        }
    }
}
