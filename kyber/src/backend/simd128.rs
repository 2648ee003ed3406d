//! WebAssembly's 128-bit vectors: eight coefficients in one, sixteen in two for transforms and products.

#![allow(unsafe_code)]

mod codec;

use core::arch::wasm32::{
    i16x8_add, i16x8_mul, i16x8_q15mulr_sat, i16x8_shr, i16x8_shuffle, i16x8_splat, i16x8_sub,
    i32x4_add, i32x4_dot_i16x8, i32x4_extmul_high_i16x8, i32x4_extmul_low_i16x8, i32x4_shl,
    i32x4_shuffle, i32x4_splat, i64x2_shuffle, u32x4_shr, v128, v128_and, v128_andnot, v128_load,
    v128_or, v128_store,
};

use keccak::backend::Simd128;

use super::{Backend, array, array_mut};
use crate::{
    lanes::{self, LaneZetas, Lanes, lane_zetas},
    poly::{NttPoly, Poly, Row, Vector},
    sample,
};

impl Backend for Simd128 {
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
    fn sample_poly_cbd(self, eta: usize, bytes: &[u8], out: &mut Poly) {
        match eta {
            2 => codec::sample_poly_cbd_2(array(bytes), &mut out.0),
            _ => sample::sample_poly_cbd::<3>(bytes, out),
        }
    }

    #[inline(never)]
    fn compress_and_encode(self, d: usize, f: &Poly, out: &mut [u8]) {
        match d {
            1 => codec::compress_and_encode::<1, 32>(&f.0, array_mut(out)),
            4 => codec::compress_and_encode::<4, 128>(&f.0, array_mut(out)),
            5 => codec::compress_and_encode::<5, 160>(&f.0, array_mut(out)),
            10 => codec::compress_and_encode::<10, 320>(&f.0, array_mut(out)),
            _ => codec::compress_and_encode::<11, 352>(&f.0, array_mut(out)),
        }
    }

    #[inline(never)]
    fn encode_12(self, f: &NttPoly, out: &mut [u8]) {
        codec::encode_12(&f.0, array_mut(out));
    }
}

/// Eight coefficients. Vectors are part of the target, so that they need no token.
#[derive(Clone, Copy)]
pub(crate) struct I16x8(v128);

impl Vector for I16x8 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        Self(i16x8_splat(x))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(i16x8_add(self.0, other.0))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(i16x8_sub(self.0, other.0))
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self(i16x8_mul(self.0, other.0))
    }
    /// The odd words of the products.
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        let low = i32x4_extmul_low_i16x8(self.0, other.0);
        let high = i32x4_extmul_high_i16x8(self.0, other.0);
        Self(i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(low, high))
    }
    /// From half the products, rounded, in units of 2^14: 2 h + (l + 2^14 >> 15) of a product 2^16 h + l with l >= 0.
    /// What comes of l is equal in both and the difference is even, so that halving it is exact. A product
    /// saturates only if both factors are the lowest i16, which neither a constant of a Montgomery product nor q is.
    #[inline(always)]
    fn montgomery(self, value: Self, quotient: Self, q: Self) -> Self {
        let product = i16x8_q15mulr_sat(self.0, value.0);
        Self(i16x8_shr(i16x8_sub(product, i16x8_q15mulr_sat(quotient.0, q.0)), 1))
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        Self(i16x8_shr(self.0, BY as u32))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(v128_and(self.0, other.0))
    }
}

impl<B: Copy> Row<B> for I16x8 {
    type Coefficient = i16;
    const LANES: usize = 8;
    #[inline(always)]
    fn load(_: B, f: &[i16]) -> Self {
        let f: &[i16; 8] = f.first_chunk().expect("a whole row");
        // SAFETY: the array has 16 bytes.
        Self(unsafe { v128_load(f.as_ptr().cast()) })
    }
    #[inline(always)]
    fn constants(b: B, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 8] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: the array has 16 bytes.
        unsafe { v128_store(f.as_mut_ptr().cast(), self.0) }
    }
}

/// Sixteen coefficients, the first eight and the last eight.
#[derive(Clone, Copy)]
pub(crate) struct I16x16([I16x8; 2]);

static LANE_ZETAS: [LaneZetas; 4] = lane_zetas(16);

impl Vector for I16x16 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        Self([self.0[0].splat(x); 2])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self([self.0[0].add(other.0[0]), self.0[1].add(other.0[1])])
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self([self.0[0].sub(other.0[0]), self.0[1].sub(other.0[1])])
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self([self.0[0].mul_low(other.0[0]), self.0[1].mul_low(other.0[1])])
    }
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        Self([self.0[0].mul_high(other.0[0]), self.0[1].mul_high(other.0[1])])
    }
    #[inline(always)]
    fn montgomery(self, value: Self, quotient: Self, q: Self) -> Self {
        let half = |i: usize| self.0[i].montgomery(value.0[i], quotient.0[i], q.0[i]);
        Self([half(0), half(1)])
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        Self([self.0[0].shift_right::<BY>(), self.0[1].shift_right::<BY>()])
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self([self.0[0].and(other.0[0]), self.0[1].and(other.0[1])])
    }
}

impl<B: Copy> Row<B> for I16x16 {
    type Coefficient = i16;
    const LANES: usize = 16;
    #[inline(always)]
    fn load(b: B, f: &[i16]) -> Self {
        Self([I16x8::load(b, f), I16x8::load(b, &f[8..])])
    }
    #[inline(always)]
    fn constants(b: B, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        Row::<()>::store(self.0[0], f);
        Row::<()>::store(self.0[1], &mut f[8..]);
    }
}

/// For blocks within a register.
#[inline(always)]
fn exchange<const LEN: usize>(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
    let (x, y) = (x.0, y.0);
    let (first, second) = if LEN == 4 {
        (i64x2_shuffle::<0, 2>(x, y), i64x2_shuffle::<1, 3>(x, y))
    } else {
        (i32x4_shuffle::<0, 4, 2, 6>(x, y), i32x4_shuffle::<1, 5, 3, 7>(x, y))
    };
    (I16x8(first), I16x8(second))
}

impl<B: Copy> Lanes<B> for I16x16 {
    #[inline(always)]
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self) {
        let (Self([x0, x1]), Self([y0, y1])) = (x, y);
        if LEN == 8 {
            return (Self([x0, y0]), Self([x1, y1]));
        }
        let (first, second) = (exchange::<LEN>(x0, y0), exchange::<LEN>(x1, y1));
        (Self([first.0, second.0]), Self([first.1, second.1]))
    }
    #[inline(always)]
    fn lane_zetas() -> &'static [LaneZetas; 4] {
        &LANE_ZETAS
    }

    type Sums = [v128; 2];
    #[inline(always)]
    fn multiply_pairs(self, other: Self) -> [v128; 2] {
        let half = |i: usize| i32x4_dot_i16x8(self.0[i].0, other.0[i].0);
        [half(0), half(1)]
    }
    #[inline(always)]
    fn add_sums(a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [i32x4_add(a[0], b[0]), i32x4_add(a[1], b[1])]
    }
    #[inline(always)]
    fn halves(even: [v128; 2], odd: [v128; 2]) -> (Self, Self) {
        let mask = i32x4_splat(0xffff);
        let low = |i: usize| I16x8(v128_or(v128_and(even[i], mask), i32x4_shl(odd[i], 16)));
        let high = |i: usize| I16x8(v128_or(u32x4_shr(even[i], 16), v128_andnot(odd[i], mask)));
        (Self([low(0), low(1)]), Self([high(0), high(1)]))
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        let half =
            |i: usize| I16x8(i16x8_shuffle::<1, 0, 3, 2, 5, 4, 7, 6>(self.0[i].0, self.0[i].0));
        Self([half(0), half(1)])
    }
}
