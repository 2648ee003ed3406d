//! ByteEncode_d, ByteDecode_d, Compress_d and Decompress_d (FIPS 203 section 4.2.1).
//!
//! Eight coefficients of d bits are d bytes, the first coefficient in the lowest bits. Compression
//! divides by q, so by a multiplication and a shift: a division instruction takes a time that depends
//! on its operands. All values may be secret. Tests: every coefficient, for every d.

use crate::{
    constants::HALF_Q,
    params::{N, Q},
    poly::{NttPoly, Poly, Vector as _},
};

/// round(2^D x / q) mod 2^D, for x in \[0, q).
#[inline(always)]
fn compress<const D: usize>(x: i16) -> u16 {
    let numerator = ((x as u32) << D) + HALF_Q;
    let quotient = if D <= 5 {
        const RECIPROCAL: u32 = (1u32 << 26).div_ceil(Q as u32);
        (numerator * RECIPROCAL) >> 26
    } else {
        const RECIPROCAL: u64 = (1u64 << 36).div_ceil(Q as u64);
        ((u64::from(numerator) * RECIPROCAL) >> 36) as u32
    };
    quotient as u16 & ((1 << D) - 1)
}

/// round(q y / 2^D), for y in \[0, 2^D).
#[inline(always)]
fn decompress<const D: usize>(y: u16) -> i16 {
    ((u32::from(y) * Q as u32 + (1 << (D - 1))) >> D) as i16
}

/// ByteEncode_D of `map` of each coefficient; `out` has 32 D bytes.
#[inline(always)]
fn encode<const D: usize>(f: &[i16; N], out: &mut [u8], map: impl Fn(i16) -> u16) {
    for (eight, out) in f.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<D>().0) {
        let mut bits = 0u128;
        for (i, x) in eight.iter().enumerate() {
            bits |= u128::from(map(*x)) << (D * i);
        }
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = (bits >> (8 * i)) as u8;
        }
    }
}

/// `map` of each value of ByteDecode_D, with d = 12 not yet reduced; `bytes` has 32 D bytes.
#[inline(always)]
fn decode<const D: usize>(bytes: &[u8], f: &mut [i16; N], map: impl Fn(u16) -> i16) {
    for (eight, bytes) in f.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<D>().0) {
        let mut bits = 0u128;
        for (i, byte) in bytes.iter().enumerate() {
            bits |= u128::from(*byte) << (8 * i);
        }
        for (i, x) in eight.iter_mut().enumerate() {
            *x = map((bits >> (D * i)) as u16 & ((1 << D) - 1));
        }
    }
}

/// Compress_D, then ByteEncode_D. Any representatives.
#[inline(always)]
pub(crate) fn compress_and_encode<const D: usize>(f: &Poly, out: &mut [u8]) {
    encode::<D>(&f.0, out, |x| compress::<D>(x.canonical()));
}

/// ByteDecode_D, then Decompress_D. Results in \[0, q).
#[inline(always)]
pub(crate) fn decode_and_decompress<const D: usize>(bytes: &[u8], f: &mut Poly) {
    if D == 1 {
        decode::<D>(bytes, &mut f.0, |y| y as i16);
        // Else a compiler that knows them as bits may make a branch of their product with q: LLVM 22 does
        // at opt-level 1.
        for y in core::hint::black_box(&mut f.0) {
            *y = decompress::<D>(*y as u16);
        }
        return;
    }
    decode::<D>(bytes, &mut f.0, decompress::<D>);
}

/// ByteEncode_12. Coefficients in \[0, q).
#[inline(always)]
pub(crate) fn encode_12(f: &NttPoly, out: &mut [u8]) {
    encode::<12>(&f.0, out, |x| x as u16);
}

/// The 12-bit values, and whether all were below q already. Takes the same time for any values.
#[inline(always)]
pub(crate) fn decode_12(bytes: &[u8], f: &mut NttPoly) -> bool {
    decode::<12>(bytes, &mut f.0, |y| y as i16);
    f.0.iter().fold(0, |any, x| any | ((Q - 1 - x) >> 15)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_compression<const D: usize>() {
        let (q, power) = (u32::from(Q as u16), 1u32 << D);
        for x in 0..q {
            let expected = (2 * power * x + q) / (2 * q) % power;
            assert_eq!(u32::from(compress::<D>(x as i16)), expected, "compress {x} to {D} bits");
        }
        for y in 0..power {
            let expected = (2 * q * y + power) / (2 * power);
            assert_eq!(decompress::<D>(y as u16) as u32, expected, "decompress {y} from {D} bits");
            assert!(expected < q);
            assert_eq!(u32::from(compress::<D>(decompress::<D>(y as u16))), y, "{y} at {D} bits");
        }
    }

    #[test]
    fn compression_over_all_values() {
        check_compression::<1>();
        check_compression::<4>();
        check_compression::<5>();
        check_compression::<10>();
        check_compression::<11>();
    }

    fn check_representatives<const D: usize>() {
        for start in (i16::MIN..=i16::MAX).step_by(N) {
            let f = Poly(core::array::from_fn(|i| start + i as i16));
            let (mut bytes, mut expected) = ([0; 32 * 11], [0; 32 * 11]);
            compress_and_encode::<D>(&f, &mut bytes[..32 * D]);
            for i in 0..N {
                let x = i32::from(f.0[i]).rem_euclid(i32::from(Q)) as usize;
                // Rounded exactly; q is odd, so that nothing lies halfway.
                let value = ((x << (D + 1)) + Q as usize) / (2 * Q as usize) % (1 << D);
                for bit in 0..D {
                    expected[(D * i + bit) / 8] |=
                        ((value >> bit & 1) as u8) << ((D * i + bit) % 8);
                }
            }
            assert_eq!(bytes, expected, "d = {D}, from {start}");
        }
    }

    #[test]
    fn compression_over_all_representatives() {
        check_representatives::<1>();
        check_representatives::<4>();
        check_representatives::<5>();
        check_representatives::<10>();
        check_representatives::<11>();
    }

    /// Every value of D bits at every place of a group of eight, against one bit at a time.
    fn check_encoding<const D: usize>() {
        for start in (0..1 << D).step_by(8) {
            let mut f = [0; N];
            for (i, x) in f.iter_mut().enumerate() {
                *x = ((start + i + (i >> 3)) & ((1 << D) - 1)) as i16;
            }
            let mut bytes = [0; 32 * 12];
            let bytes = &mut bytes[..32 * D];
            encode::<D>(&f, bytes, |x| x as u16);
            for bit in 0..N * D {
                let expected = f[bit / D] as usize >> (bit % D) & 1;
                assert_eq!(
                    bytes[bit / 8] as usize >> (bit % 8) & 1,
                    expected,
                    "bit {bit}, d = {D}"
                );
            }
            let mut decoded = [0; N];
            decode::<D>(bytes, &mut decoded, |y| y as i16);
            assert_eq!(decoded, f, "d = {D}");
            let mut decompressed = Poly([-1; N]);
            decode_and_decompress::<D>(bytes, &mut decompressed);
            assert_eq!(decompressed.0, f.map(|y| decompress::<D>(y as u16)), "d = {D}");
        }
    }

    #[test]
    fn encoding_over_all_values() {
        check_encoding::<1>();
        check_encoding::<4>();
        check_encoding::<5>();
        check_encoding::<10>();
        check_encoding::<11>();
        check_encoding::<12>();
    }

    #[test]
    fn range_check_at_every_position() {
        for position in 0..N {
            for value in 0..4096 {
                let mut f = NttPoly([Q - 1; N]);
                f.0[position] = value;
                let mut bytes = [0; 384];
                encode_12(&f, &mut bytes);
                let mut decoded = NttPoly::ZERO;
                assert_eq!(decode_12(&bytes, &mut decoded), value < Q, "{value} at {position}");
                assert_eq!(decoded.0, f.0);
            }
        }
    }

    /// Two do not make up for each other.
    #[test]
    fn range_check_with_several_values_too_large() {
        for first in 0..N {
            for second in first + 1..N {
                let mut f = NttPoly::ZERO;
                (f.0[first], f.0[second]) = (Q, 4095);
                let mut bytes = [0; 384];
                encode_12(&f, &mut bytes);
                assert!(!decode_12(&bytes, &mut f), "{first} and {second}");
            }
        }
    }
}
