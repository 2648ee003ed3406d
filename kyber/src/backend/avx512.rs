//! AVX-512: thirty-two coefficients in a 512-bit register, a polynomial in eight of them.

#![allow(unsafe_code)]

mod codec;

use core::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_load_si512,
    _mm512_loadu_si512, _mm512_madd_epi16, _mm512_mask_blend_epi16, _mm512_mask_shuffle_epi32,
    _mm512_mulhi_epi16, _mm512_mullo_epi16, _mm512_permutex2var_epi32, _mm512_permutex2var_epi64,
    _mm512_rol_epi32, _mm512_set1_epi16, _mm512_shuffle_i64x2, _mm512_slli_epi32,
    _mm512_srav_epi16, _mm512_srli_epi32, _mm512_storeu_si512, _mm512_sub_epi16,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use keccak::backend::{Avx512, Backend as _};

use super::{Backend, array, array_mut, codec_kernels};
use crate::{
    lanes::{self, LaneZetas, Lanes, exchange_order, lane_zetas},
    poly::{NttPoly, Poly, Row, Vector},
    sample::ENTRY_BYTES,
};

impl Backend for Avx512 {
    type Row = I16x32;

    codec_kernels!();

    #[inline(never)]
    fn ntt(self, f: &Poly, out: &mut NttPoly) {
        self.vectorize(
            #[inline(always)]
            || lanes::ntt_lanes::<Self, I16x32, 32, 8>(self, &f.0, &mut out.0),
        );
    }

    #[inline(never)]
    fn ntt_inverse(self, f: &NttPoly, out: &mut Poly) {
        self.vectorize(
            #[inline(always)]
            || lanes::ntt_inverse_lanes::<Self, I16x32, 32, 8>(self, &f.0, &mut out.0),
        );
    }

    #[inline(never)]
    fn dot<const K: usize>(
        self,
        a: [&NttPoly; K],
        b: &[NttPoly; K],
        gb: &[NttPoly; K],
        out: &mut NttPoly,
    ) {
        self.vectorize(
            #[inline(always)]
            || lanes::dot_lanes::<Self, I16x32, NttPoly, K>(self, a, b, gb, &mut out.0),
        );
    }
}

/// Thirty-two coefficients. Only a token makes one, so that one in hand proves AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct I16x32(__m512i);

static LANE_ZETAS: [LaneZetas; 4] = lane_zetas(32);

/// Indices of a permutation of two vectors in one instruction.
#[repr(align(64))]
struct Indices<T, const COUNT: usize>([T; COUNT]);

/// Exchanges of blocks of 8 coefficients: of pairs of 64 bits.
static EXCHANGE_8: [Indices<u64, 8>; 2] =
    [Indices([0, 1, 8, 9, 4, 5, 12, 13]), Indices([2, 3, 10, 11, 6, 7, 14, 15])];
/// All exchanges down to pairs of coefficients, and back.
static SCATTER: [Indices<u32, 16>; 2] =
    [Indices(exchange_order(0, false)), Indices(exchange_order(1, false))];
static GATHER: [Indices<u32, 16>; 2] =
    [Indices(exchange_order(0, true)), Indices(exchange_order(1, true))];

impl I16x32 {
    #[inline(always)]
    fn permute_pairs(x: Self, y: Self, order: &[Indices<u32, 16>; 2]) -> (Self, Self) {
        // SAFETY: a value proves AVX-512; the indices are 64 bytes, aligned.
        unsafe {
            let first = _mm512_load_si512((&raw const order[0]).cast());
            let second = _mm512_load_si512((&raw const order[1]).cast());
            (
                Self(_mm512_permutex2var_epi32(x.0, first, y.0)),
                Self(_mm512_permutex2var_epi32(x.0, second, y.0)),
            )
        }
    }
}

impl Vector for I16x32 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_set1_epi16(x) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_add_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_sub_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_mullo_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_mulhi_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        // SAFETY: a value proves AVX-512. With a constant count this is the immediate form.
        Self(unsafe { _mm512_srav_epi16(self.0, _mm512_set1_epi16(BY as i16)) })
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }
}

impl Row<Avx512> for I16x32 {
    type Coefficient = i16;
    const LANES: usize = 32;
    #[inline(always)]
    fn load(_: Avx512, f: &[i16]) -> Self {
        let f: &[i16; 32] = f.first_chunk().expect("a whole row");
        // SAFETY: the token proves AVX-512; the array has 64 bytes.
        Self(unsafe { _mm512_loadu_si512(f.as_ptr().cast()) })
    }
    #[inline(always)]
    fn constants(b: Avx512, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 32] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: a value proves AVX-512; the array has 64 bytes.
        unsafe { _mm512_storeu_si512(f.as_mut_ptr().cast(), self.0) }
    }
}

impl Lanes<Avx512> for I16x32 {
    type Sums = __m512i;

    #[inline(always)]
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self) {
        let (x, y) = (x.0, y.0);
        // SAFETY: a value proves AVX-512; the indices are 64 bytes, aligned.
        let (even, odd) = unsafe {
            match LEN {
                16 => (_mm512_shuffle_i64x2::<0x44>(x, y), _mm512_shuffle_i64x2::<0xee>(x, y)),
                8 => {
                    let first = _mm512_load_si512((&raw const EXCHANGE_8[0]).cast());
                    let second = _mm512_load_si512((&raw const EXCHANGE_8[1]).cast());
                    (
                        _mm512_permutex2var_epi64(x, first, y),
                        _mm512_permutex2var_epi64(x, second, y),
                    )
                }
                4 => (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)),
                _ => (
                    _mm512_mask_shuffle_epi32::<0b10_10_00_00>(x, 0xaaaa, y),
                    _mm512_mask_shuffle_epi32::<0b11_11_01_01>(y, 0x5555, x),
                ),
            }
        };
        (Self(even), Self(odd))
    }
    #[inline(always)]
    fn scatter(x: Self, y: Self) -> (Self, Self) {
        Self::permute_pairs(x, y, &SCATTER)
    }
    #[inline(always)]
    fn gather(x: Self, y: Self) -> (Self, Self) {
        Self::permute_pairs(x, y, &GATHER)
    }
    #[inline(always)]
    fn lane_zetas() -> &'static [LaneZetas; 4] {
        &LANE_ZETAS
    }
    #[inline(always)]
    fn multiply_pairs(self, other: Self) -> __m512i {
        // SAFETY: a value proves AVX-512.
        unsafe { _mm512_madd_epi16(self.0, other.0) }
    }
    #[inline(always)]
    fn add_sums(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: sums come from values, which prove AVX-512.
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn halves(even: __m512i, odd: __m512i) -> (Self, Self) {
        // SAFETY: sums come from values, which prove AVX-512.
        unsafe {
            (
                Self(_mm512_mask_blend_epi16(0xaaaa_aaaa, even, _mm512_slli_epi32::<16>(odd))),
                Self(_mm512_mask_blend_epi16(0xaaaa_aaaa, _mm512_srli_epi32::<16>(even), odd)),
            )
        }
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        // SAFETY: a value proves AVX-512.
        Self(unsafe { _mm512_rol_epi32::<16>(self.0) })
    }
}
