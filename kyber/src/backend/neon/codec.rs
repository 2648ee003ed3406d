//! Sampling and coding (FIPS 203 section 4.2) on NEON, eight coefficients at a time: `D` bytes when encoded
//! with `D` bits each.
//!
//! Arrays are secret, except for those of [`accept_vartime`]: no branch, no address and no variable-time
//! instruction depends on them. Coefficient k of a run of eight begins at bit k D; tables of bytes to look
//! up and of shifts follow from that.

#![allow(unsafe_code)]

use core::arch::aarch64::{
    int16x8_t, uint8x16_t, uint16x8_t, uint32x4_t, vaddq_u8, vaddvq_u16, vandq_u16, vcgtq_s16,
    vdupq_n_s16, vdupq_n_s32, vdupq_n_u8, vdupq_n_u16, vgetq_lane_u64, vld1q_s16, vld1q_s32,
    vld1q_u8, vld1q_u16, vmaxq_s16, vmaxvq_s16, vqrdmulhq_s16, vqrdmulhq_s32, vqtbl1q_u8,
    vreinterpretq_s16_u8, vreinterpretq_s16_u16, vreinterpretq_s32_s16, vreinterpretq_u8_s16,
    vreinterpretq_u16_u8, vreinterpretq_u16_u32, vreinterpretq_u32_s32, vreinterpretq_u32_u8,
    vreinterpretq_u64_u32, vshlq_n_s32, vshlq_u16, vshlq_u32, vshrq_n_s32, vshrq_n_u64,
    vsliq_n_u32, vsliq_n_u64, vst1q_s16, vuzp1q_u16,
};

use crate::{
    constants::HALF_Q,
    params::{N, Q},
    sample::{self, ENTRY_BYTES},
};

/// Coefficients 8 i to 8 i + 7.
#[inline(always)]
fn coefficients(f: &[i16; N], i: usize) -> int16x8_t {
    let eight: &[i16; 8] = &f.as_chunks().0[i];
    // SAFETY: NEON is part of the target; the array has 16 bytes.
    unsafe { vld1q_s16(eight.as_ptr()) }
}

/// The opposite of [`coefficients`].
#[inline(always)]
fn set_coefficients(f: &mut [i16; N], i: usize, v: int16x8_t) {
    let eight: &mut [i16; 8] = &mut f.as_chunks_mut().0[i];
    // SAFETY: NEON is part of the target; the array has 16 bytes.
    unsafe { vst1q_s16(eight.as_mut_ptr(), v) }
}

#[inline(always)]
fn load_bytes(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: NEON is part of the target; the array has 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

// Encoding

/// Two coefficients in each 32 bits, the even ones in the lower half, to 8 `D` bits, which are `D` bytes.
/// `D2` is 2 `D`. Each step keeps as many low bits of the first operand as the second is moved up by, so
/// that what is above the bits that count does not matter.
///
/// ```text
/// even, odd         0             a | 0             b
/// pairs             0         b   a | 0         d   c
/// quads             0                   d   c   b   a
/// ```
#[inline(always)]
fn encode<const D: i32, const D2: i32>(even: uint32x4_t, odd: uint32x4_t, out: &mut [u8]) {
    // SAFETY: NEON is part of the target.
    let [low, high] = unsafe {
        let pairs = vreinterpretq_u64_u32(vsliq_n_u32::<D>(even, odd));
        let quads = vsliq_n_u64::<D2>(pairs, vshrq_n_u64::<32>(pairs));
        [vgetq_lane_u64::<0>(quads), vgetq_lane_u64::<1>(quads)]
    };
    let low = low & ((1 << (4 * D)) - 1);
    let bits = u128::from(low) | u128::from(high) << (4 * D);
    out.copy_from_slice(&bits.to_le_bytes()[..D as usize]);
}

/// Compress_D, then ByteEncode_D. Any representatives.
///
/// round(2^D x / q) mod 2^D is one rounding multiplication by 2^D / q in units of 2^-31, which is off by
/// half a unit at most: by |x| / 2^32 < 2^-17 after the product. The nearest tie is 1 / 2 q away, since q is odd.
/// A multiple of q adds a multiple of 2^D, so that x need not be reduced.
#[inline(always)]
pub(super) fn compress_and_encode<const D: i32, const D2: i32, const BYTES: usize>(
    f: &[i16; N],
    out: &mut [u8; BYTES],
) {
    const { assert!(D2 == 2 * D && BYTES == 32 * D as usize) };
    let factor = const { reciprocal(1 << (31 + D)) };
    for (i, out) in out.chunks_exact_mut(D as usize).enumerate() {
        // SAFETY: NEON is part of the target.
        let [even, odd] = unsafe {
            let x = vreinterpretq_s32_s16(coefficients(f, i));
            let factor = vdupq_n_s32(factor);
            let even = vqrdmulhq_s32(vshrq_n_s32::<16>(vshlq_n_s32::<16>(x)), factor);
            let odd = vqrdmulhq_s32(vshrq_n_s32::<16>(x), factor);
            [vreinterpretq_u32_s32(even), vreinterpretq_u32_s32(odd)]
        };
        encode::<D, D2>(even, odd, out);
    }
}

/// round(power / q).
#[allow(clippy::integer_division_remainder_used)] // at compile time
const fn reciprocal(power: u64) -> i32 {
    ((power + HALF_Q as u64) / Q as u64) as i32
}

/// ByteEncode_12. Coefficients in \[0, q).
#[inline(always)]
pub(super) fn encode_12(f: &[i16; N], out: &mut [u8; 384]) {
    for (i, out) in out.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        // SAFETY: NEON is part of the target.
        let [even, odd] = unsafe {
            let x = vreinterpretq_s32_s16(coefficients(f, i));
            [vreinterpretq_u32_s32(x), vreinterpretq_u32_s32(vshrq_n_s32::<16>(x))]
        };
        encode::<12, 24>(even, odd, out);
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

/// Whether every coefficient lies within two bytes.
const fn two_bytes(d: usize) -> bool {
    let mut k = 0;
    while k < 8 {
        if place(d, k).1 + d > 16 {
            return false;
        }
        k += 1;
    }
    true
}

/// Shifts to the left that bring the lowest bits of coefficients `first` on to bit `to`.
const fn shifts_16(d: usize, to: usize) -> [i16; 8] {
    let mut table = [0; 8];
    let mut k = 0;
    while k < 8 {
        table[k] = to as i16 - place(d, k).1 as i16;
        k += 1;
    }
    table
}

/// As [`shifts_16`].
const fn shifts_32(d: usize, first: usize, to: usize) -> [i32; 4] {
    let mut table = [0; 4];
    let mut k = 0;
    while k < 4 {
        table[k] = to as i32 - place(d, first + k).1 as i32;
        k += 1;
    }
    table
}

/// Run i of `bytes`, each coefficient in its word, from bit 15 - `D` on if `UP`, else from bit 0 on. Other
/// bits are not cleared.
#[inline(always)]
fn run<const D: usize, const UP: bool>(bytes: &[u8], i: usize) -> uint16x8_t {
    // At the end of `bytes` the sixteen bytes begin before the run.
    let at = usize::min(D * i, bytes.len() - 16);
    let v = load_bytes(bytes[at..].first_chunk().expect("inside"));
    let start = (D * i - at) as u8;
    if const { two_bytes(D) } {
        // SAFETY: NEON is part of the target; arrays have 16 bytes.
        unsafe {
            let words = look_up(v, const { &spread(D, 0, 2) }, start);
            let shifts = const { &shifts_16(D, if UP { 15 - D } else { 0 }) };
            return vshlq_u16(vreinterpretq_u16_u8(words), vld1q_s16(shifts.as_ptr()));
        }
    }
    // SAFETY: as above.
    unsafe {
        let low = look_up(v, const { &spread(D, 0, 4) }, start);
        let high = look_up(v, const { &spread(D, 4, 4) }, start);
        let shifts = const { &shifts_32(D, 0, if UP { 15 - D } else { 0 }) };
        let low = vshlq_u32(vreinterpretq_u32_u8(low), vld1q_s32(shifts.as_ptr()));
        let shifts = const { &shifts_32(D, 4, if UP { 15 - D } else { 0 }) };
        let high = vshlq_u32(vreinterpretq_u32_u8(high), vld1q_s32(shifts.as_ptr()));
        vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high))
    }
}

/// The bytes of `v` that a table names, counted from `start` on.
#[inline(always)]
fn look_up(v: uint8x16_t, table: &[u8; 16], start: u8) -> uint8x16_t {
    // SAFETY: NEON is part of the target.
    unsafe { vqtbl1q_u8(v, vaddq_u8(load_bytes(table), vdupq_n_u8(start))) }
}

/// ByteDecode_D, then Decompress_D: round(q y / 2^D) is the rounded high half of twice the product of q and
/// y 2^(15 - D).
#[inline(always)]
pub(super) fn decode_and_decompress<const D: usize, const BYTES: usize>(
    bytes: &[u8; BYTES],
    f: &mut [i16; N],
) {
    const { assert!(BYTES == 32 * D) };
    for i in 0..N >> 3 {
        // SAFETY: NEON is part of the target.
        let x = unsafe {
            let mask = vdupq_n_u16(const { ((1 << D) - 1) << (15 - D) });
            let y = vandq_u16(run::<D, true>(bytes, i), mask);
            vqrdmulhq_s16(vreinterpretq_s16_u16(y), vdupq_n_s16(Q))
        };
        set_coefficients(f, i, x);
    }
}

/// Run i of 12-bit values.
#[inline(always)]
fn values_12(bytes: &[u8], i: usize) -> int16x8_t {
    // SAFETY: NEON is part of the target.
    unsafe {
        let v = vandq_u16(run::<12, false>(bytes, i), vdupq_n_u16(0xfff));
        vreinterpretq_s16_u16(v)
    }
}

/// ByteDecode_12 without the reduction: the values as they are, and whether all are below q.
#[inline(always)]
pub(super) fn decode_12(bytes: &[u8; 384], f: &mut [i16; N]) -> bool {
    let mut largest = values_12(bytes, 0);
    for i in 0..N >> 3 {
        let v = values_12(bytes, i);
        // SAFETY: NEON is part of the target.
        largest = unsafe { vmaxq_s16(largest, v) };
        set_coefficients(f, i, v);
    }
    // SAFETY: NEON is part of the target.
    unsafe { vmaxvq_s16(largest) < Q }
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
    /// Of the accepted ones: their mask in the low byte of the sum, their number in the high byte.
    const WEIGHTS: [u16; 8] = [0x101, 0x102, 0x104, 0x108, 0x110, 0x120, 0x140, 0x180];
    let (mut i, mut count) = (0, 0);
    // Sixteen bytes, of which the first twelve are a run.
    while let (Some(sixteen), Some(place)) =
        (bytes[12 * i..].first_chunk::<16>(), out[count..].first_chunk_mut::<8>())
    {
        let v = values_12(sixteen, 0);
        // SAFETY: NEON is part of the target; arrays have 16 bytes.
        let number = unsafe {
            let below = vcgtq_s16(vdupq_n_s16(Q), v);
            let sum = vaddvq_u16(vandq_u16(below, vld1q_u16(WEIGHTS.as_ptr())));
            let [mask, number] = sum.to_le_bytes();
            let choice = load_bytes(&CHOICES.0[usize::from(mask)]);
            let chosen = vqtbl1q_u8(vreinterpretq_u8_s16(v), choice);
            vst1q_s16(place.as_mut_ptr(), vreinterpretq_s16_u8(chosen));
            number
        };
        count += usize::from(number);
        i += 1;
    }
    // The last few places, or the last run, one by one.
    sample::accept_vartime(&bytes[12 * i..], out, count)
}

#[cfg(test)]
mod tests {
    use keccak::backend::Neon;

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

    fn neon() -> Neon {
        Neon::get().expect("NEON is part of the target")
    }

    fn check_compress<const D: usize>() {
        for turn in 0..1 << 16 {
            let mut f = Poly::ZERO;
            for i in 0..N {
                f.0[i] = scattered(16, turn, i) as u16 as i16;
            }
            let (mut expected, mut actual) = ([0; 384], [0; 384]);
            encode::compress_and_encode::<D>(&f, &mut expected[..32 * D]);
            neon().compress_and_encode(D, &f, &mut actual[..32 * D]);
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
            neon().decode_and_decompress(D, &bytes[..32 * D], &mut actual);
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
            neon().encode_12(&f, &mut actual);
            assert_eq!(actual, expected, "turn {turn}");
            let mut decoded = NttPoly([-1; N]);
            let in_range = neon().decode_12(&actual, &mut decoded);
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
                let in_range = neon().decode_12(&bytes, &mut decoded);
                assert_eq!(in_range, value < Q, "{value} at {position}");
            }
        }
    }

    fn check_accept(bytes: &[u8; ENTRY_BYTES]) {
        let (mut expected, mut actual) = ([0; N], NttPoly([-1; N]));
        let count = sample::accept_vartime(bytes, &mut expected, 0);
        assert_eq!(neon().sample_ntt(bytes, &mut actual), count);
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
