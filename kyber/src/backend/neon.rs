//! NEON: eight coefficients in a 128-bit register, sixteen in two for transforms and products. With and
//! without the SHA3 instructions, which only the permutation has a use for.

#![allow(unsafe_code)]

mod codec;

use core::arch::aarch64::{
    int16x8_t, int16x8x2_t, int32x4_t, vaddq_s16, vaddq_s32, vandq_s16, vdupq_n_s16, vget_low_s16,
    vhsubq_s16, vld1q_s16, vld2q_s16, vmlal_high_s16, vmlal_s16, vmlsq_s16, vmull_high_s16,
    vmull_s16, vmulq_s16, vqdmulhq_s16, vreinterpretq_s16_s32, vreinterpretq_s16_s64,
    vreinterpretq_s32_s16, vreinterpretq_s64_s16, vrshrq_n_s16, vshrq_n_s16, vst1q_s16, vst2q_s16,
    vsubq_s16, vtrn1q_s16, vtrn1q_s32, vtrn1q_s64, vtrn2q_s16, vtrn2q_s32, vtrn2q_s64, vuzp1q_s16,
    vuzp2q_s16,
};

use keccak::backend::{Neon, NeonSha3};

use super::{Backend, array, array_mut};
use crate::{
    constants::BARRETT_FACTOR,
    lanes::{self, LaneZetas, Lanes, lane_zetas},
    params::Q,
    poly::{NttPoly, Poly, Row, Vector},
    sample::ENTRY_BYTES,
};

macro_rules! backend {
    ($token:ident) => {
        impl Backend for $token {
            type Row = I16x8;

            #[inline(never)]
            fn ntt(self, f: &Poly, out: &mut NttPoly) {
                lanes::ntt_lanes::<Self, I16x16, 16, 16>(self, &f.0, &mut out.0);
            }

            #[inline(never)]
            fn ntt_inverse(self, f: &NttPoly, out: &mut Poly) {
                lanes::ntt_inverse_lanes::<Self, I16x16, 16, 16>(self, &f.0, &mut out.0);
            }

            #[inline(never)]
            fn dot<const K: usize>(
                self,
                a: [&NttPoly; K],
                b: &[NttPoly; K],
                gb: &[NttPoly; K],
                out: &mut NttPoly,
            ) {
                lanes::dot_lanes::<Self, I16x16, NttPoly, K>(self, a, b, gb, &mut out.0);
            }

            #[inline(never)]
            fn sample_ntt(self, bytes: &[u8; ENTRY_BYTES], out: &mut NttPoly) -> usize {
                codec::accept_vartime(bytes, &mut out.0)
            }

            #[inline(never)]
            fn compress_and_encode(self, d: usize, f: &Poly, out: &mut [u8]) {
                match d {
                    1 => codec::compress_and_encode::<1, 2, 32>(&f.0, array_mut(out)),
                    4 => codec::compress_and_encode::<4, 8, 128>(&f.0, array_mut(out)),
                    5 => codec::compress_and_encode::<5, 10, 160>(&f.0, array_mut(out)),
                    10 => codec::compress_and_encode::<10, 20, 320>(&f.0, array_mut(out)),
                    _ => codec::compress_and_encode::<11, 22, 352>(&f.0, array_mut(out)),
                }
            }

            #[inline(never)]
            fn decode_and_decompress(self, d: usize, bytes: &[u8], out: &mut Poly) {
                match d {
                    1 => codec::decode_and_decompress::<1, 32>(array(bytes), &mut out.0),
                    4 => codec::decode_and_decompress::<4, 128>(array(bytes), &mut out.0),
                    5 => codec::decode_and_decompress::<5, 160>(array(bytes), &mut out.0),
                    10 => codec::decode_and_decompress::<10, 320>(array(bytes), &mut out.0),
                    _ => codec::decode_and_decompress::<11, 352>(array(bytes), &mut out.0),
                }
            }

            #[inline(never)]
            fn encode_12(self, f: &NttPoly, out: &mut [u8]) {
                codec::encode_12(&f.0, array_mut(out));
            }

            #[inline(never)]
            fn decode_12(self, bytes: &[u8], out: &mut NttPoly) -> bool {
                codec::decode_12(array(bytes), &mut out.0)
            }
        }
    };
}
backend!(Neon);
backend!(NeonSha3);

/// Eight coefficients. NEON is part of the target, so that they need no token.
#[derive(Clone, Copy)]
pub(crate) struct I16x8(int16x8_t);

impl Vector for I16x8 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vdupq_n_s16(x) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vaddq_s16(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vsubq_s16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vmulq_s16(self.0, other.0) })
    }
    /// The odd words of the products.
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        unsafe {
            let low = vmull_s16(vget_low_s16(self.0), vget_low_s16(other.0));
            let high = vmull_high_s16(self.0, other.0);
            Self(vuzp2q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high)))
        }
    }
    /// From twice the products: these are equal in their low halves too, so that the difference of the
    /// high halves is even, and halving it is exact. A product saturates only if both factors are the
    /// lowest i16, which neither a constant of a Montgomery product nor q is.
    #[inline(always)]
    fn montgomery(self, value: Self, quotient: Self, q: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vhsubq_s16(vqdmulhq_s16(self.0, value.0), vqdmulhq_s16(quotient.0, q.0)) })
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vshrq_n_s16::<BY>(self.0) })
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vandq_s16(self.0, other.0) })
    }
    /// The same quotient as by default: twice the product, and a shift that rounds by one bit more.
    #[inline(always)]
    fn reduce(self) -> Self {
        // SAFETY: NEON is part of the target.
        unsafe {
            let quotient = vrshrq_n_s16::<11>(vqdmulhq_s16(self.0, vdupq_n_s16(BARRETT_FACTOR)));
            Self(vmlsq_s16(self.0, quotient, vdupq_n_s16(Q)))
        }
    }
}

impl<B: Copy> Row<B> for I16x8 {
    type Coefficient = i16;
    const LANES: usize = 8;
    #[inline(always)]
    fn load(_: B, f: &[i16]) -> Self {
        let f: &[i16; 8] = f.first_chunk().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        Self(unsafe { vld1q_s16(f.as_ptr()) })
    }
    #[inline(always)]
    fn constants(b: B, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 8] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        unsafe { vst1q_s16(f.as_mut_ptr(), self.0) }
    }
}

/// Sixteen coefficients, the even ones in one register, the odd ones in the other: loads and stores can
/// take them apart, and sums of products of neighbours then need no shuffles.
#[derive(Clone, Copy)]
pub(crate) struct I16x16 {
    even: I16x8,
    odd: I16x8,
}

static LANE_ZETAS: [LaneZetas; 4] = lane_zetas(16);

impl Vector for I16x16 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        Self { even: self.even.splat(x), odd: self.odd.splat(x) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { even: self.even.add(other.even), odd: self.odd.add(other.odd) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { even: self.even.sub(other.even), odd: self.odd.sub(other.odd) }
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self { even: self.even.mul_low(other.even), odd: self.odd.mul_low(other.odd) }
    }
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        Self { even: self.even.mul_high(other.even), odd: self.odd.mul_high(other.odd) }
    }
    #[inline(always)]
    fn montgomery(self, value: Self, quotient: Self, q: Self) -> Self {
        Self {
            even: self.even.montgomery(value.even, quotient.even, q.even),
            odd: self.odd.montgomery(value.odd, quotient.odd, q.odd),
        }
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        Self { even: self.even.shift_right::<BY>(), odd: self.odd.shift_right::<BY>() }
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self { even: self.even.and(other.even), odd: self.odd.and(other.odd) }
    }
    #[inline(always)]
    fn reduce(self) -> Self {
        Self { even: self.even.reduce(), odd: self.odd.reduce() }
    }
}

impl<B: Copy> Row<B> for I16x16 {
    type Coefficient = i16;
    const LANES: usize = 16;
    #[inline(always)]
    fn load(_: B, f: &[i16]) -> Self {
        let f: &[i16; 16] = f.first_chunk().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 32 bytes.
        let int16x8x2_t(even, odd) = unsafe { vld2q_s16(f.as_ptr()) };
        Self { even: I16x8(even), odd: I16x8(odd) }
    }
    #[inline(always)]
    fn constants(b: B, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 16] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 32 bytes.
        unsafe { vst2q_s16(f.as_mut_ptr(), int16x8x2_t(self.even.0, self.odd.0)) }
    }
}

/// Blocks of LEN coefficients are blocks of LEN / 2 even ones and of as many odd ones.
#[inline(always)]
fn exchange<const LEN: usize>(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
    let (x, y) = (x.0, y.0);
    // SAFETY: NEON is part of the target.
    let (first, second) = unsafe {
        match LEN {
            8 => {
                let (x, y) = (vreinterpretq_s64_s16(x), vreinterpretq_s64_s16(y));
                (vreinterpretq_s16_s64(vtrn1q_s64(x, y)), vreinterpretq_s16_s64(vtrn2q_s64(x, y)))
            }
            4 => {
                let (x, y) = (vreinterpretq_s32_s16(x), vreinterpretq_s32_s16(y));
                (vreinterpretq_s16_s32(vtrn1q_s32(x, y)), vreinterpretq_s16_s32(vtrn2q_s32(x, y)))
            }
            _ => (vtrn1q_s16(x, y), vtrn2q_s16(x, y)),
        }
    };
    (I16x8(first), I16x8(second))
}

impl<B: Copy> Lanes<B> for I16x16 {
    #[inline(always)]
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self) {
        let (even, odd) = (exchange::<LEN>(x.even, y.even), exchange::<LEN>(x.odd, y.odd));
        (Self { even: even.0, odd: odd.0 }, Self { even: even.1, odd: odd.1 })
    }
    #[inline(always)]
    fn lane_zetas() -> &'static [LaneZetas; 4] {
        &LANE_ZETAS
    }

    type Sums = [int32x4_t; 2];
    #[inline(always)]
    fn multiply_pairs(self, other: Self) -> [int32x4_t; 2] {
        let (a0, a1, b0, b1) = (self.even.0, self.odd.0, other.even.0, other.odd.0);
        // SAFETY: NEON is part of the target.
        unsafe {
            let low = vmull_s16(vget_low_s16(a0), vget_low_s16(b0));
            let high = vmull_high_s16(a0, b0);
            [vmlal_s16(low, vget_low_s16(a1), vget_low_s16(b1)), vmlal_high_s16(high, a1, b1)]
        }
    }
    #[inline(always)]
    fn add_sums(a: [int32x4_t; 2], b: [int32x4_t; 2]) -> [int32x4_t; 2] {
        // SAFETY: NEON is part of the target.
        unsafe { [vaddq_s32(a[0], b[0]), vaddq_s32(a[1], b[1])] }
    }
    #[inline(always)]
    fn halves(even: [int32x4_t; 2], odd: [int32x4_t; 2]) -> (Self, Self) {
        // SAFETY: NEON is part of the target.
        unsafe {
            let even = even.map(|sums| vreinterpretq_s16_s32(sums));
            let odd = odd.map(|sums| vreinterpretq_s16_s32(sums));
            let low = Self {
                even: I16x8(vuzp1q_s16(even[0], even[1])),
                odd: I16x8(vuzp1q_s16(odd[0], odd[1])),
            };
            let high = Self {
                even: I16x8(vuzp2q_s16(even[0], even[1])),
                odd: I16x8(vuzp2q_s16(odd[0], odd[1])),
            };
            (low, high)
        }
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        Self { even: self.odd, odd: self.even }
    }
}
