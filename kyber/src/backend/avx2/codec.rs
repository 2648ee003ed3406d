//! Sampling and coding (FIPS 203 section 4.2), sixteen coefficients in a register.
//!
//! A half of a register holds eight coefficients, which are D bytes when encoded with D bits each: a
//! *run*. Shuffles do not cross halves, so that decoding brings two runs into the two halves first,
//! and encoding ends with one run at the start of each half. Shuffles and multipliers follow from the
//! place of coefficient k in its run: bit k D.
//!
//! Arrays are secret, except for those of [`accept`]: no branch, no address and no variable-time
//! instruction depends on them. Loads and stores take arrays of their own length.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_storeu_si128,
    _mm256_and_si256, _mm256_blend_epi32, _mm256_broadcastsi128_si256, _mm256_bsrli_epi128,
    _mm256_castsi256_si128, _mm256_cmpgt_epi8, _mm256_cmpgt_epi16, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_max_epi16,
    _mm256_movemask_epi8, _mm256_mulhi_epi16, _mm256_mulhrs_epi16, _mm256_mullo_epi16,
    _mm256_or_si256, _mm256_packs_epi16, _mm256_packus_epi16, _mm256_permute4x64_epi64,
    _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_sign_epi16, _mm256_slli_epi16, _mm256_slli_epi64,
    _mm256_sllv_epi32, _mm256_srli_epi16, _mm256_srli_epi64, _mm256_srlv_epi32, _mm256_srlv_epi64,
    _mm256_storeu_si256, _mm256_sub_epi16, _mm256_subs_epi16, _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi8,
};

use crate::{
    constants::{BARRETT_FACTOR, HALF_Q},
    params::{N, Q},
};

/// Shuffle index that gives a zero byte.
const ZERO: u8 = 0x80;
/// Registers that hold a polynomial, and the last of them.
const REGISTERS: usize = N >> 4;
const LAST: usize = REGISTERS - 1;
/// The last pair of them.
const LAST_PAIR: usize = LAST >> 1;

// Loads, stores

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn load(words: &[i16; 16]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn store(v: __m256i, words: &mut [i16; 16]) {
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), v) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn load_bytes(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn store_bytes(v: __m256i, bytes: &mut [u8; 32]) {
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), v) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn load_half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn store_half(v: __m128i, bytes: &mut [u8; 16]) {
    // SAFETY: the array has 16 bytes.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), v) }
}

/// The `L` bytes from `at` on, which are inside: all positions are compile-time constants or counters.
#[inline(always)]
fn bytes_at<const L: usize>(bytes: &[u8], at: usize) -> &[u8; L] {
    bytes[at..].first_chunk().expect("inside")
}

/// As [`bytes_at`].
#[inline(always)]
fn bytes_at_mut<const L: usize>(bytes: &mut [u8], at: usize) -> &mut [u8; L] {
    bytes[at..].first_chunk_mut().expect("inside")
}

/// Coefficients 16 i to 16 i + 15.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn coefficients(f: &[i16; N], i: usize) -> __m256i {
    load(&f.as_chunks().0[i])
}

/// The opposite of [`coefficients`].
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn set_coefficients(f: &mut [i16; N], i: usize, v: __m256i) {
    store(v, &mut f.as_chunks_mut().0[i]);
}

// Tables

/// First byte of coefficient k of a run, and its lowest bit in there.
#[allow(clippy::integer_division_remainder_used)]
const fn place(d: usize, k: usize) -> (usize, usize) {
    (d * k / 8, d * k % 8)
}

/// The shuffle that puts the bytes of coefficient k into word k, for runs that begin at byte `at[0]` of
/// the lower half and `at[1]` of the upper half. A coefficient of 11 bits in three bytes loses the last.
const fn spread(d: usize, at: [usize; 2]) -> [u8; 32] {
    let mut table = [ZERO; 32];
    let mut i = 0;
    while i < 16 {
        let (byte, bit) = place(d, i & 7);
        table[2 * i] = (at[i >> 3] + byte) as u8;
        if bit + d > 8 {
            table[2 * i + 1] = table[2 * i] + 1;
        }
        i += 1;
    }
    table
}

/// A mask of the d bits of each coefficient after [`spread`].
const fn field(d: usize) -> [i16; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = ((1 << d) - 1) << place(d, i & 7).1;
        i += 1;
    }
    table
}

/// Multipliers that move each coefficient after [`spread`] up to bit `to`.
const fn lift(d: usize, to: usize) -> [i16; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = 1 << (to - place(d, i & 7).1);
        i += 1;
    }
    table
}

/// Words a, b, a, b, ...: adding neighbours times these joins them.
const fn alternating(a: i16, b: i16) -> [i16; 16] {
    let mut table = [a; 16];
    let mut i = 1;
    while i < 16 {
        table[i] = b;
        i += 2;
    }
    table
}

// Decoding

/// Runs 2 i and 2 i + 1 of `D` bytes, 9 <= `D` <= 15, spread over words, for neither end of `bytes`:
/// one load serves both halves, since the first run ends where the lower half does.
///
/// ```text
/// byte       0       16 - D        16         16 + D    32
/// holds      | before  | run 2 i   | run 2 i + 1 | after |
/// ```
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn inner_runs<const D: usize>(bytes: &[u8], i: usize) -> __m256i {
    let v = load_bytes(bytes_at(bytes, 2 * D * i - (16 - D)));
    _mm256_shuffle_epi8(v, load_bytes(const { &spread(D, [16 - D, 0]) }))
}

/// Runs 0 and 1: there is nothing before them to load.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn first_runs<const D: usize>(bytes: &[u8]) -> __m256i {
    let v = _mm256_set_m128i(load_half(bytes_at(bytes, D)), load_half(bytes_at(bytes, 0)));
    _mm256_shuffle_epi8(v, load_bytes(const { &spread(D, [0, 0]) }))
}

/// The last two runs: there is nothing after them to load, so that both end their halves.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn last_runs<const D: usize>(bytes: &[u8]) -> __m256i {
    let end = bytes.len() - 16;
    let v = _mm256_set_m128i(load_half(bytes_at(bytes, end)), load_half(bytes_at(bytes, end - D)));
    _mm256_shuffle_epi8(v, load_bytes(const { &spread(D, [16 - D, 16 - D]) }))
}

/// As [`inner_runs`], for `D` <= 8 and any i: one half of a register holds both runs.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn short_runs<const D: usize>(bytes: &[u8], i: usize) -> __m256i {
    let at = 2 * D * i;
    let (at, shuffle) = if at + 16 <= bytes.len() {
        (at, const { &spread(D, [0, D]) })
    } else {
        (bytes.len() - 16, const { &spread(D, [16 - 2 * D, 16 - D]) })
    };
    let v = _mm256_broadcastsi128_si256(load_half(bytes_at(bytes, at)));
    _mm256_shuffle_epi8(v, load_bytes(shuffle))
}

/// round(q y / 2^D) from y 2^(15 - D): that product of words, halved, is rounded at bit 15.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn decompress(y: __m256i) -> __m256i {
    _mm256_mulhrs_epi16(y, _mm256_set1_epi16(Q))
}

/// ByteDecode_1, Decompress_1: 0 or round(q / 2).
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_and_decompress_1(bytes: &[u8; 32], f: &mut [i16; N]) {
    const ONE: i16 = HALF_Q as i16 + 1;
    let field = load(const { &field(1) });
    for (i, four) in bytes.as_chunks::<4>().0.iter().enumerate() {
        let v = _mm256_set1_epi32(i32::from_le_bytes(*four));
        let first = _mm256_shuffle_epi8(v, load_bytes(const { &spread(1, [0, 1]) }));
        let second = _mm256_shuffle_epi8(v, load_bytes(const { &spread(1, [2, 3]) }));
        // Bits 0 to 7: the words are never negative, and `sign` gives 0 or its first operand.
        let first = _mm256_and_si256(first, field);
        let second = _mm256_and_si256(second, field);
        set_coefficients(f, 2 * i, _mm256_sign_epi16(_mm256_set1_epi16(ONE), first));
        set_coefficients(f, 2 * i + 1, _mm256_sign_epi16(_mm256_set1_epi16(ONE), second));
    }
}

/// The values of 4 or 5 bits in words after [`spread`].
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn decompress_short<const D: usize>(v: __m256i) -> __m256i {
    let v = _mm256_and_si256(v, load(const { &field(D) }));
    decompress(_mm256_mullo_epi16(v, load(const { &lift(D, 15 - D) })))
}

/// ByteDecode_4, Decompress_4.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_and_decompress_4(bytes: &[u8; 128], f: &mut [i16; N]) {
    for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
        let v = _mm256_broadcastsi128_si256(load_half(sixteen));
        let first = _mm256_shuffle_epi8(v, load_bytes(const { &spread(4, [0, 4]) }));
        let second = _mm256_shuffle_epi8(v, load_bytes(const { &spread(4, [8, 12]) }));
        set_coefficients(f, 2 * i, decompress_short::<4>(first));
        set_coefficients(f, 2 * i + 1, decompress_short::<4>(second));
    }
}

/// ByteDecode_5, Decompress_5.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_and_decompress_5(bytes: &[u8; 160], f: &mut [i16; N]) {
    for i in 0..REGISTERS {
        set_coefficients(f, i, decompress_short::<5>(short_runs::<5>(bytes, i)));
    }
}

/// The values of `D` bits at the top of words, above bits of their neighbours.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn decompress_top<const D: usize>(v: __m256i) -> __m256i {
    let mask = _mm256_set1_epi16(const { ((1 << D) - 1) << (15 - D) });
    decompress(_mm256_and_si256(_mm256_srli_epi16::<1>(v), mask))
}

/// Values of 10 bits in words: every one lies within two bytes.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn decompress_10(v: __m256i) -> __m256i {
    decompress_top::<10>(_mm256_mullo_epi16(v, load(const { &lift(10, 6) })))
}

/// ByteDecode_10, Decompress_10.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_and_decompress_10(bytes: &[u8; 320], f: &mut [i16; N]) {
    set_coefficients(f, 0, decompress_10(first_runs::<10>(bytes)));
    for i in 1..LAST {
        set_coefficients(f, i, decompress_10(inner_runs::<10>(bytes, i)));
    }
    set_coefficients(f, LAST, decompress_10(last_runs::<10>(bytes)));
}

/// Right shifts that bring the coefficients of 11 bits that lie in three bytes into their words:
///
/// ```text
/// word k                   0  1  2  3  4  5  6  7
/// first byte               0  1  2  4  5  6  8  9
/// first bit in it          0  3  6  1  4  7  2  5
/// shift of 32 bits               1  1
/// shift of 64 bits                     2  2  2  2
/// first bit then           0  3  5  0  2  5  0  3
/// ```
///
/// Words 2 and 5 take in the low bits of words 3 and 6, which hold the bytes that follow theirs.
const fn shift_11(k: usize) -> usize {
    match k {
        0 | 1 => 0,
        2 | 3 => 1,
        _ => 2,
    }
}

/// Values of 11 bits in words.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn decompress_11(v: __m256i) -> __m256i {
    /// Multipliers that lift the values to the top after the shifts.
    const LIFT: [i16; 16] = {
        let mut table = [0; 16];
        let mut i = 0;
        while i < 16 {
            table[i] = 1 << (5 + shift_11(i & 7) - place(11, i & 7).1);
            i += 1;
        }
        table
    };
    let by_32 = _mm256_setr_epi32(0, shift_11(2) as i32, 0, 0, 0, shift_11(2) as i32, 0, 0);
    let by_64 = _mm256_setr_epi64x(0, shift_11(4) as i64, 0, shift_11(4) as i64);
    let shifted = _mm256_srlv_epi64(_mm256_srlv_epi32(v, by_32), by_64);
    decompress_top::<11>(_mm256_mullo_epi16(shifted, load(&LIFT)))
}

/// ByteDecode_11, Decompress_11.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_and_decompress_11(bytes: &[u8; 352], f: &mut [i16; N]) {
    set_coefficients(f, 0, decompress_11(first_runs::<11>(bytes)));
    for i in 1..LAST {
        set_coefficients(f, i, decompress_11(inner_runs::<11>(bytes, i)));
    }
    set_coefficients(f, LAST, decompress_11(last_runs::<11>(bytes)));
}

/// Values of 12 bits in words: even ones have four bits of their neighbour above them.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn values_12(v: __m256i) -> __m256i {
    _mm256_srli_epi16::<4>(_mm256_mullo_epi16(v, load(const { &lift(12, 4) })))
}

/// ByteDecode_12 without the reduction: the values as they are, and whether all are below q.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn decode_12(bytes: &[u8; 384], f: &mut [i16; N]) -> bool {
    let mut largest = values_12(first_runs::<12>(bytes));
    set_coefficients(f, 0, largest);
    for i in 1..LAST {
        let v = values_12(inner_runs::<12>(bytes, i));
        largest = _mm256_max_epi16(largest, v);
        set_coefficients(f, i, v);
    }
    let v = values_12(last_runs::<12>(bytes));
    largest = _mm256_max_epi16(largest, v);
    set_coefficients(f, LAST, v);
    _mm256_movemask_epi8(_mm256_cmpgt_epi16(largest, _mm256_set1_epi16(Q - 1))) == 0
}

// Encoding

/// The representative in \[-2160, 2160\], for every i16: 10 / 2^15 is 1 / q and 1.6 % more.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn reduce(x: __m256i) -> __m256i {
    #[allow(clippy::integer_division_remainder_used)] // At compile time.
    const RECIPROCAL: i16 = (((1 << 15) + HALF_Q) / Q as u32) as i16;
    let quotient = _mm256_mulhrs_epi16(x, _mm256_set1_epi16(RECIPROCAL));
    _mm256_sub_epi16(x, _mm256_mullo_epi16(quotient, _mm256_set1_epi16(Q)))
}

/// round(2^D x / q), not yet mod 2^D, for `D` <= 5; exact for `D` = 1 and every i16, and for |x| <= 2160.
///
/// The factor is 2^26 / q and 0.14 more, so that the product, before its floor, is 2^10 x / q but for
/// 0.14 |x| / 2^16: 0.07 for every i16, 0.0047 for |x| <= 2160. The nearest tie is 2^(10 - D) / 2 q away,
/// as q is odd: 0.076, 0.0096 and 0.0048 for D = 1, 4 and 5. What the floor takes away does not matter:
/// ties are at whole numbers.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn compress_short<const D: usize>(x: __m256i) -> __m256i {
    let floor = _mm256_mulhi_epi16(x, _mm256_set1_epi16(BARRETT_FACTOR));
    _mm256_mulhrs_epi16(floor, _mm256_set1_epi16(1 << (5 + D)))
}

/// Coefficients 32 i to 32 i + 31 compressed to `D` <= 5 bits, in bytes, in the order of a
/// pack: 0 to 7, 16 to 23, 8 to 15, 24 to 31. Bits above `D` are not cleared.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn compressed_bytes<const D: usize>(f: &[i16; N], i: usize) -> __m256i {
    let (mut first, mut second) = (coefficients(f, 2 * i), coefficients(f, 2 * i + 1));
    if D != 1 {
        (first, second) = (reduce(first), reduce(second));
    }
    _mm256_packs_epi16(compress_short::<D>(first), compress_short::<D>(second))
}

/// Quarters 0, 2, 1, 3: undoes the order of a pack of two registers.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn swap_middle(v: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(v)
}

/// Compress_1, ByteEncode_1.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn compress_and_encode_1(f: &[i16; N], out: &mut [u8; 32]) {
    for (i, four) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let lowest_bit_on_top = _mm256_slli_epi16::<7>(compressed_bytes::<1>(f, i));
        *four = _mm256_movemask_epi8(swap_middle(lowest_bit_on_top)).to_le_bytes();
    }
}

/// Neighbouring bytes of `D` bits joined to words of 2 `D` bits.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn join_bytes<const D: usize>(v: __m256i) -> __m256i {
    let values = _mm256_and_si256(v, _mm256_set1_epi8((1 << D) - 1));
    // The first operand is unsigned, the second signed: bytes 1, 2^D.
    _mm256_maddubs_epi16(_mm256_set1_epi16(1 | 1 << (8 + D)), values)
}

/// Compress_4, ByteEncode_4.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn compress_and_encode_4(f: &[i16; N], out: &mut [u8; 128]) {
    // Four bytes are a run. Two levels of packing leave runs 0 2 4 6 in the lower half and 1 3 5 7 in
    // the upper half.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (i, bytes) in out.as_chunks_mut().0.iter_mut().enumerate() {
        let first = join_bytes::<4>(compressed_bytes::<4>(f, 2 * i));
        let second = join_bytes::<4>(compressed_bytes::<4>(f, 2 * i + 1));
        let packed = _mm256_packus_epi16(first, second);
        store_bytes(_mm256_permutevar8x32_epi32(packed, order), bytes);
    }
}

/// Four words of `D` bits joined to 4 `D` bits in each 64 bits, from bit 32 - 2 `D` on.
///
/// ```text
/// bit                63           32 31            0
/// words              0 d    0 c      0 b    0 a
/// sums of products   0        d c    0        b a
/// left shift         0        d c    b a        0
/// ```
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn join_words<const D: usize>(v: __m256i) -> __m256i {
    let pairs = _mm256_madd_epi16(v, load(const { &alternating(1, 1 << D) }));
    let up = const { 32 - 2 * D as i32 };
    _mm256_sllv_epi32(pairs, _mm256_setr_epi32(up, 0, up, 0, up, 0, up, 0))
}

/// Eight words of 10 bits in each half to ten bytes at its start.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn pack_10(v: __m256i) -> __m256i {
    // Five of eight bytes.
    let joined = _mm256_srli_epi64::<12>(join_words::<10>(v));
    _mm256_shuffle_epi8(joined, load_bytes(const { &close_up(5, 8) }))
}

/// The shuffle that keeps the first `used` bytes of every `of`, in each half.
const fn close_up(used: usize, of: usize) -> [u8; 32] {
    let mut table = [ZERO; 32];
    let (mut from, mut to) = (0, 0);
    while from < 16 {
        let mut k = 0;
        while k < used {
            table[to] = (from + k) as u8;
            table[16 + to] = table[to];
            to += 1;
            k += 1;
        }
        from += of;
    }
    table
}

/// Eight words of 11 bits in each half to eleven bytes at its start. What follows them is junk.
///
/// After [`join_words`] both 64-bit words hold 44 bits from bit 10 on. The upper one is needed twice:
/// its low 20 bits fill up the lower one, its other 24 are what is left of it.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn pack_11(v: __m256i) -> __m256i {
    let joined = join_words::<11>(v);
    let down = _mm256_setr_epi64x(10, 10 + 20, 10, 10 + 20);
    let upper_in_lower = _mm256_slli_epi64::<{ 44 - 10 }>(_mm256_bsrli_epi128::<8>(joined));
    _mm256_or_si256(_mm256_srlv_epi64(joined, down), upper_in_lower)
}

/// Writes the `L` bytes at the start of each half: runs 2 i and 2 i + 1 of `L` bytes, not the last ones.
/// Sixteen bytes are written each time; the next run overwrites what is too much.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn store_runs<const L: usize>(v: __m256i, out: &mut [u8], i: usize) {
    let at = 2 * L * i;
    store_half(_mm256_castsi256_si128(v), bytes_at_mut(out, at));
    store_half(_mm256_extracti128_si256::<1>(v), bytes_at_mut(out, at + L));
}

/// The last two runs of `L` bytes: the last one is written together with the end of the one before.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn store_last_runs<const L: usize>(v: __m256i, out: &mut [u8]) {
    /// The end of the first run, then zeros; zeros, then the second run.
    const fn shuffles<const L: usize>() -> [[u8; 16]; 2] {
        let mut table = [[ZERO; 16]; 2];
        let mut k = 0;
        while k < 16 {
            if k < 16 - L {
                table[0][k] = (2 * L - 16 + k) as u8;
            } else {
                table[1][k] = (k - (16 - L)) as u8;
            }
            k += 1;
        }
        table
    }
    let [end, run] = const { &shuffles::<L>() };
    let (lower, upper) = (_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
    let end = _mm_shuffle_epi8(lower, load_half(end));
    let run = _mm_shuffle_epi8(upper, load_half(run));
    let len = out.len();
    store_half(lower, bytes_at_mut(out, len - 2 * L));
    store_half(_mm_or_si128(end, run), bytes_at_mut(out, len - 16));
}

/// Coefficients 32 i to 32 i + 31 as two runs of ten bytes: sixteen values of 5 bits.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn runs_5(f: &[i16; N], i: usize) -> __m256i {
    pack_10(join_bytes::<5>(swap_middle(compressed_bytes::<5>(f, i))))
}

/// Compress_5, ByteEncode_5.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn compress_and_encode_5(f: &[i16; N], out: &mut [u8; 160]) {
    for i in 0..LAST_PAIR {
        store_runs::<10>(runs_5(f, i), out, i);
    }
    store_last_runs::<10>(runs_5(f, LAST_PAIR), out);
}

/// `floor`, or one more if 2^D x / q is nearer to that, mod 2^D. For `floor` - 2^D x / q between -1.5
/// and 0.5: then the remainder fits a word and decides, since q is odd.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn round<const D: usize>(shifted: __m256i, floor: __m256i) -> __m256i {
    let multiple = _mm256_mullo_epi16(floor, _mm256_set1_epi16(Q));
    let remainder = _mm256_sub_epi16(shifted, multiple);
    // Minus one where true.
    let up = _mm256_cmpgt_epi16(remainder, _mm256_set1_epi16(HALF_Q as i16));
    _mm256_and_si256(_mm256_sub_epi16(floor, up), _mm256_set1_epi16((1 << D) - 1))
}

/// Coefficients 16 i to 16 i + 15 as two runs of ten bytes.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn runs_10(f: &[i16; N], i: usize) -> __m256i {
    let x = coefficients(f, i);
    // The factor is 2^26 / q and 0.14 more: before the floor less than 0.07 off, after it -1.07 to 0.07.
    let floor = _mm256_mulhi_epi16(x, _mm256_set1_epi16(BARRETT_FACTOR));
    pack_10(round::<10>(_mm256_slli_epi16::<10>(x), floor))
}

/// Compress_10, ByteEncode_10.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn compress_and_encode_10(f: &[i16; N], out: &mut [u8; 320]) {
    for i in 0..LAST {
        store_runs::<10>(runs_10(f, i), out, i);
    }
    store_last_runs::<10>(runs_10(f, LAST), out);
}

/// Coefficients 16 i to 16 i + 15 as two runs of eleven bytes.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn runs_11(f: &[i16; N], i: usize) -> __m256i {
    let x = coefficients(f, i);
    // Twice that product, rounded, is -0.64 to 0.64 off; that of x - 1 is 2^11 / q = 0.62 less, so -1.26
    // to 0.03. The lowest x stays and gives a whole number: -0.14.
    let below = _mm256_subs_epi16(x, _mm256_set1_epi16(1));
    let floor = _mm256_mulhrs_epi16(below, _mm256_set1_epi16(BARRETT_FACTOR));
    pack_11(round::<11>(_mm256_slli_epi16::<11>(x), floor))
}

/// Compress_11, ByteEncode_11.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn compress_and_encode_11(f: &[i16; N], out: &mut [u8; 352]) {
    for i in 0..LAST {
        store_runs::<11>(runs_11(f, i), out, i);
    }
    store_last_runs::<11>(runs_11(f, LAST), out);
}

/// Coefficients 16 i to 16 i + 15 as two runs of twelve bytes: three 32-bit words at the start of each
/// half. These six go where they belong among those of three registers, without regard to which.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn runs_12<const J: usize>(f: &[i16; N], i: usize) -> __m256i {
    /// Word k of the j-th of four goes to place 6 j + k.
    const fn order(j: usize) -> [i16; 16] {
        let mut table = [0; 16];
        let mut k = 0;
        while k < 6 {
            table[2 * ((6 * j + k) & 7)] = if k < 3 { k } else { k + 1 } as i16;
            k += 1;
        }
        table
    }
    let pairs = _mm256_madd_epi16(coefficients(f, i), load(const { &alternating(1, 1 << 12) }));
    let runs = _mm256_shuffle_epi8(pairs, load_bytes(const { &close_up(3, 4) }));
    _mm256_permutevar8x32_epi32(runs, load(const { &order(J) }))
}

/// ByteEncode_12. Coefficients in \[0, q).
///
/// Four times six words of 32 bits are three registers:
///
/// ```text
/// a a a a a a b b | b b b b c c c c | c c d d d d d d
/// ```
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn encode_12(f: &[i16; N], out: &mut [u8; 384]) {
    for (i, [first, second, third]) in
        out.as_chunks_mut().0.as_chunks_mut().0.iter_mut().enumerate()
    {
        let (a, b) = (runs_12::<0>(f, 4 * i), runs_12::<1>(f, 4 * i + 1));
        let (c, d) = (runs_12::<2>(f, 4 * i + 2), runs_12::<3>(f, 4 * i + 3));
        store_bytes(_mm256_blend_epi32::<0b1100_0000>(a, b), first);
        store_bytes(_mm256_blend_epi32::<0b1111_0000>(b, c), second);
        store_bytes(_mm256_blend_epi32::<0b1111_1100>(c, d), third);
    }
}

// Sampling

/// Number of ones in i.
const fn ones(i: usize) -> i8 {
    i.count_ones() as i8
}

/// SamplePolyCBD_2. Four bits a coefficient: their sixteen values are looked up in a register.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn sample_poly_cbd_2(bytes: &[u8; 128], out: &mut [i16; N]) {
    const DIFFERENCE: [u8; 32] = {
        let mut table = [0; 32];
        let mut i = 0;
        while i < 32 {
            table[i] = (ones(i & 3) - ones(i >> 2 & 3)) as u8;
            i += 1;
        }
        table
    };
    let difference = load_bytes(&DIFFERENCE);
    let nibble = _mm256_set1_epi8(15);
    // Interleaving works within halves, twice: runs of four bytes that end in lower halves go to the
    // lower half.
    let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (i, bytes) in bytes.as_chunks().0.iter().enumerate() {
        let v = _mm256_permutevar8x32_epi32(load_bytes(bytes), order);
        let even = _mm256_and_si256(v, nibble);
        let odd = _mm256_and_si256(_mm256_srli_epi16::<4>(v), nibble);
        let even = _mm256_shuffle_epi8(difference, even);
        let odd = _mm256_shuffle_epi8(difference, odd);
        let halves = [_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd)];
        for (h, v) in halves.into_iter().enumerate() {
            let signs = _mm256_cmpgt_epi8(_mm256_setzero_si256(), v);
            set_coefficients(out, 4 * i + 2 * h, _mm256_unpacklo_epi8(v, signs));
            set_coefficients(out, 4 * i + 2 * h + 1, _mm256_unpackhi_epi8(v, signs));
        }
    }
}

/// SamplePolyCBD_3. Six bits a coefficient: three are looked up at a time.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn sample_poly_cbd_3(bytes: &[u8; 192], out: &mut [i16; N]) {
    /// Of the lowest three bits; a shuffle looks at four. Zero for the zero bytes of words.
    const ONES: [u8; 32] = {
        let mut table = [0; 32];
        let mut i = 0;
        while i < 32 {
            table[i] = ones(i & 7) as u8;
            i += 1;
        }
        table
    };
    let ones = load_bytes(&ONES);
    for i in 0..REGISTERS {
        let top = _mm256_mullo_epi16(short_runs::<6>(bytes, i), load(const { &lift(6, 10) }));
        let six = _mm256_srli_epi16::<10>(top);
        let plus = _mm256_shuffle_epi8(ones, six);
        let minus = _mm256_shuffle_epi8(ones, _mm256_srli_epi16::<3>(six));
        set_coefficients(out, i, _mm256_sub_epi16(plus, minus));
    }
}

/// For each choice among eight words, the shuffle that brings the chosen ones to the front.
#[repr(align(64))]
struct Choices([[u8; 16]; 256]);

static CHOICES: Choices = {
    let mut table = [[ZERO; 16]; 256];
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

/// How many words a choice takes. AVX2 does not promise a population count.
static CHOSEN: [u8; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        table[mask] = ones(mask) as u8;
        mask += 1;
    }
    table
};

/// Appends those of eight words that `mask` names; returns the new count.
///
/// # Safety
///
/// `count` + 8 <= `L`: all eight words are written, whatever they are.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
unsafe fn append<const L: usize>(
    words: __m128i,
    mask: u8,
    out: &mut [i16; L],
    count: usize,
) -> usize {
    let chosen = _mm_shuffle_epi8(words, load_half(&CHOICES.0[usize::from(mask)]));
    debug_assert!(count + 8 <= L);
    // SAFETY: the eight words are inside, as the caller promises.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().add(count).cast(), chosen) };
    count + usize::from(CHOSEN[usize::from(mask)])
}

/// Appends those of 32 candidates that are below q; returns the new count.
///
/// # Safety
///
/// `count` + 32 <= `L`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
unsafe fn append_accepted<const L: usize>(
    candidates: [__m256i; 2],
    out: &mut [i16; L],
    mut count: usize,
) -> usize {
    let [first, second] = candidates;
    let q = _mm256_set1_epi16(Q);
    // Negative if below q; candidates 0 to 7, 16 to 23, 8 to 15, 24 to 31.
    let signs = _mm256_packs_epi16(_mm256_sub_epi16(first, q), _mm256_sub_epi16(second, q));
    let [m0, m2, m1, m3] = _mm256_movemask_epi8(signs).to_le_bytes();
    // SAFETY: n times eight candidates raise the count by 8 n or less.
    unsafe {
        count = append(_mm256_castsi256_si128(first), m0, out, count);
        count = append(_mm256_extracti128_si256::<1>(first), m1, out, count);
        count = append(_mm256_castsi256_si128(second), m2, out, count);
        append(_mm256_extracti128_si256::<1>(second), m3, out, count)
    }
}

/// Sixteen candidates of [`accept`], neither the first nor the last.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn candidates(bytes: &[u8; 504], i: usize) -> __m256i {
    values_12(inner_runs::<12>(bytes, i))
}

/// SampleNTT over three blocks: the 12-bit values below q, in order; how many there are, at most 256.
/// What `out` holds after them is unspecified. Public: addresses depend on the values; branches do not.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
pub(super) fn accept(bytes: &[u8; 504], out: &mut [i16; N]) -> usize {
    /// Candidates that may be too many.
    const REST: usize = 336 - N;
    /// Words of a register, and how many of these the rest is.
    const PIECE: usize = 16;
    const PIECES: usize = 5;
    const _: () = assert!(PIECES * PIECE == REST);
    // The first 256 candidates have room, however many of them are accepted.
    let first = [values_12(first_runs::<12>(bytes)), candidates(bytes, 1)];
    // SAFETY: after 32 i candidates the count is at most 32 i, and 32 i + 32 <= 256.
    let mut count = unsafe { append_accepted(first, out, 0) };
    for i in 1..=LAST_PAIR {
        let next = [candidates(bytes, 2 * i), candidates(bytes, 2 * i + 1)];
        // SAFETY: as above.
        count = unsafe { append_accepted(next, out, count) };
    }

    // The others go elsewhere first. In front of them is what the end of `out` holds already, if that
    // is anything.
    let mut rest = [0; PIECE + REST + 16];
    rest[..PIECE].copy_from_slice(&out[N - PIECE..]);
    let held = count.saturating_sub(N - PIECE);
    // SAFETY: `held` is at most 16, and three times 32 more are the length of `rest`.
    let end = unsafe {
        let next = [candidates(bytes, 16), candidates(bytes, 17)];
        let mut end = append_accepted(next, &mut rest, held);
        let next = [candidates(bytes, 18), candidates(bytes, 19)];
        end = append_accepted(next, &mut rest, end);
        let next = [values_12(last_runs::<12>(bytes)), _mm256_set1_epi16(Q)];
        append_accepted(next, &mut rest, end)
    };
    // Piece by piece; past the end of `out`, its last piece again.
    for i in 0..PIECES {
        let to = usize::min(count + PIECE * i, N - PIECE);
        let from = to + held - count;
        out[to..to + PIECE].copy_from_slice(&rest[from..from + PIECE]);
    }
    usize::min(count + end - held, N)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use keccak::backend::Avx2;

    use super::*;
    use crate::{
        backend::tests::rounds,
        encode,
        poly::{NttPoly, Poly},
        sample,
    };

    /// Twice as many as the most values, so that neighbours change.
    const TURNS: usize = 1 << 13;

    /// Whether the kernels can run; says so if not.
    fn available(test: &str) -> bool {
        let available = Avx2::get().is_some();
        if !available {
            std::println!("{test}: skipped, no AVX2");
        }
        available
    }

    /// A fixed sequence of pseudo-random bits.
    struct Bits(u64);

    impl Bits {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((self.0 >> 33) as usize) % bound
        }
    }

    /// Values of `d` bits: within 2^d turns every one at every position, and no pattern in the positions,
    /// so that none can be mistaken for another.
    fn scattered(d: usize, turn: usize, position: usize) -> usize {
        let place = (N * (turn >> d) + position) as u32;
        let hash = place.wrapping_mul(0x9e37_79b1);
        let hash = (hash ^ hash >> 15).wrapping_mul(0x85eb_ca77) >> 16;
        (turn + hash as usize) & ((1 << d) - 1)
    }

    /// `d` bits of each value, the lowest first.
    fn pack(d: usize, value: impl Fn(usize) -> usize, bytes: &mut [u8]) {
        bytes.fill(0);
        for bit in 0..8 * bytes.len() {
            let bit_value = value(bit / d) >> (bit % d) & 1;
            bytes[bit / 8] |= (bit_value as u8) << (bit % 8);
        }
    }

    fn check_compress<const D: usize, const BYTES: usize>(
        kernel: unsafe fn(&[i16; N], &mut [u8; BYTES]),
    ) {
        if !available("compress") {
            return;
        }
        for turn in 0..1 << 16 {
            let mut f = Poly::ZERO;
            for i in 0..N {
                f.0[i] = scattered(16, turn, i) as u16 as i16;
            }
            let (mut expected, mut actual) = ([0; BYTES], [0xa5; BYTES]);
            encode::compress_and_encode::<D>(&f, &mut expected);
            // SAFETY: the CPU has the features.
            unsafe { kernel(&f.0, &mut actual) };
            assert_eq!(actual, expected, "d = {D}, turn {turn}");
        }
    }

    #[test]
    fn compress_every_i16_at_every_position() {
        check_compress::<1, 32>(compress_and_encode_1);
        check_compress::<4, 128>(compress_and_encode_4);
        check_compress::<5, 160>(compress_and_encode_5);
        check_compress::<10, 320>(compress_and_encode_10);
        check_compress::<11, 352>(compress_and_encode_11);
    }

    fn check_decompress<const D: usize, const BYTES: usize>(
        kernel: unsafe fn(&[u8; BYTES], &mut [i16; N]),
    ) {
        if !available("decompress") {
            return;
        }
        for turn in 0..TURNS {
            let mut bytes = [0; BYTES];
            pack(D, |i| scattered(D, turn, i), &mut bytes);
            let (mut expected, mut actual) = (Poly::ZERO, [-1; N]);
            encode::decode_and_decompress::<D>(&bytes, &mut expected);
            // SAFETY: the CPU has the features.
            unsafe { kernel(&bytes, &mut actual) };
            assert_eq!(actual, expected.0, "d = {D}, turn {turn}");
        }
    }

    #[test]
    fn decompress_every_value_at_every_position() {
        check_decompress::<1, 32>(decode_and_decompress_1);
        check_decompress::<4, 128>(decode_and_decompress_4);
        check_decompress::<5, 160>(decode_and_decompress_5);
        check_decompress::<10, 320>(decode_and_decompress_10);
        check_decompress::<11, 352>(decode_and_decompress_11);
    }

    #[test]
    fn twelve_bits_every_value_at_every_position() {
        if !available("twelve bits") {
            return;
        }
        for turn in 0..TURNS {
            let mut f = NttPoly::ZERO;
            for i in 0..N {
                f.0[i] = scattered(12, turn, i) as i16;
            }
            let (mut expected, mut actual) = ([0; 384], [0xa5; 384]);
            encode::encode_12(&f, &mut expected);
            // SAFETY: the CPU has the features.
            unsafe { encode_12(&f.0, &mut actual) };
            assert_eq!(actual, expected, "turn {turn}");
            let mut decoded = [-1; N];
            // SAFETY: the CPU has the features.
            let in_range = unsafe { decode_12(&actual, &mut decoded) };
            assert_eq!(decoded, f.0, "turn {turn}");
            assert_eq!(in_range, f.0.iter().all(|x| *x < Q));
        }
    }

    #[test]
    fn range_check_at_every_position() {
        if !available("range check") {
            return;
        }
        for position in 0..N {
            for (value, others) in [(0, Q - 1), (Q - 1, 0), (Q, 0), (Q, Q - 1), (4095, 0)] {
                let mut f = NttPoly([others; N]);
                f.0[position] = value;
                let (mut bytes, mut decoded) = ([0; 384], [-1; N]);
                encode::encode_12(&f, &mut bytes);
                // SAFETY: the CPU has the features.
                let in_range = unsafe { decode_12(&bytes, &mut decoded) };
                assert_eq!(in_range, value < Q, "{value} at {position}");
                assert_eq!(decoded, f.0);
            }
        }
    }

    fn check_cbd<const ETA: usize, const BYTES: usize>(
        kernel: unsafe fn(&[u8; BYTES], &mut [i16; N]),
    ) {
        if !available("cbd") {
            return;
        }
        for turn in 0..TURNS {
            let mut bytes = [0; BYTES];
            pack(2 * ETA, |i| scattered(2 * ETA, turn, i), &mut bytes);
            let (mut expected, mut actual) = (Poly::ZERO, [77; N]);
            sample::sample_poly_cbd::<ETA>(&bytes, &mut expected);
            // SAFETY: the CPU has the features.
            unsafe { kernel(&bytes, &mut actual) };
            assert_eq!(actual, expected.0, "eta = {ETA}, turn {turn}");
        }
    }

    #[test]
    fn cbd_every_value_at_every_position() {
        check_cbd::<2, 128>(sample_poly_cbd_2);
        check_cbd::<3, 192>(sample_poly_cbd_3);
    }

    /// Against a loop over single candidates.
    fn check_accept(bytes: &[u8; 504]) {
        let (mut expected, mut count) = ([0; N], 0);
        for [b0, b1, b2] in bytes.as_chunks::<3>().0 {
            let bits = i32::from_le_bytes([*b0, *b1, *b2, 0]);
            for value in [(bits & 0xfff) as i16, (bits >> 12) as i16] {
                if value < Q && count < N {
                    expected[count] = value;
                    count += 1;
                }
            }
        }
        let mut actual = [-1; N];
        // SAFETY: the CPU has the features.
        assert_eq!(unsafe { accept(bytes, &mut actual) }, count);
        assert_eq!(actual[..count], expected[..count]);
    }

    /// Accepted candidates are distinct enough to tell their positions.
    fn check_choice(accepted: impl Fn(usize) -> bool) {
        let mut bytes = [0; 504];
        let value = |i| if accepted(i) { (9 * i + 5) % 3329 } else { 3329 + 2 * i };
        pack(12, value, &mut bytes);
        check_accept(&bytes);
    }

    #[test]
    fn accept_random_bytes() {
        if !available("accept") {
            return;
        }
        let mut random = Bits(1);
        for _ in 0..rounds(10_000) {
            let mut bytes = [0; 504];
            bytes.fill_with(|| random.below(256) as u8);
            check_accept(&bytes);
        }
    }

    #[test]
    fn accept_every_value_at_every_position() {
        if !available("accept") {
            return;
        }
        for turn in 0..TURNS {
            let mut bytes = [0; 504];
            pack(12, |i| scattered(12, turn, i), &mut bytes);
            check_accept(&bytes);
        }
    }

    #[test]
    fn accept_chosen_positions() {
        if !available("accept") {
            return;
        }
        const CANDIDATES: usize = 336;
        check_choice(|_| true);
        check_choice(|_| false);
        for position in 0..CANDIDATES {
            check_choice(|i| i != position);
            check_choice(|i| i == position);
        }
        // Every total, 255 to 257 among them: at the start, at the end, anywhere.
        let mut random = Bits(2);
        for total in 0..=CANDIDATES {
            check_choice(|i| i < total);
            check_choice(|i| i >= CANDIDATES - total);
            for _ in 0..8 {
                let mut chosen = [false; CANDIDATES];
                chosen[..total].fill(true);
                for i in (1..CANDIDATES).rev() {
                    chosen.swap(i, random.below(i + 1));
                }
                check_choice(|i| chosen[i]);
            }
        }
    }
}
