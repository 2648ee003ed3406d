//! AVX2: sixteen coefficients in a 256-bit register.

#![allow(unsafe_code)]

mod codec;

use core::arch::x86_64::{
    __m256i, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi16,
    _mm256_blend_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_mulhi_epi16,
    _mm256_mullo_epi16, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi16,
    _mm256_slli_epi32, _mm256_slli_epi64, _mm256_srai_epi16, _mm256_srli_epi32, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi16, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};

use keccak::backend::{Avx2, Backend as _};

use super::{Backend, array, array_mut, codec_kernels};
use crate::{
    lanes::{self, LaneZetas, Lanes, lane_zetas},
    poly::{NttPoly, Poly, Row, Vector},
    sample::ENTRY_BYTES,
};

impl Backend for Avx2 {
    type Row = I16x16;

    codec_kernels!();

    #[inline(never)]
    fn ntt(self, f: &Poly, out: &mut NttPoly) {
        self.vectorize(
            #[inline(always)]
            || lanes::ntt_lanes::<Self, I16x16, 16, 16>(self, &f.0, &mut out.0),
        );
    }

    #[inline(never)]
    fn ntt_inverse(self, f: &NttPoly, out: &mut Poly) {
        self.vectorize(
            #[inline(always)]
            || lanes::ntt_inverse_lanes::<Self, I16x16, 16, 16>(self, &f.0, &mut out.0),
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
            || lanes::dot_lanes::<Self, I16x16, NttPoly, K>(self, a, b, gb, &mut out.0),
        );
    }
}

/// Sixteen coefficients. Only a token makes one, so that one in hand proves AVX2.
#[derive(Clone, Copy)]
pub(crate) struct I16x16(__m256i);

static LANE_ZETAS: [LaneZetas; 4] = lane_zetas(16);

impl Vector for I16x16 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_set1_epi16(x) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_add_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_sub_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_mullo_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_mulhi_epi16(self.0, other.0) })
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_srai_epi16::<BY>(self.0) })
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }
}

impl Row<Avx2> for I16x16 {
    type Coefficient = i16;
    const LANES: usize = 16;
    #[inline(always)]
    fn load(_: Avx2, f: &[i16]) -> Self {
        let f: &[i16; 16] = f.first_chunk().expect("a whole row");
        // SAFETY: the token proves AVX2; the array has 32 bytes.
        Self(unsafe { _mm256_loadu_si256(f.as_ptr().cast()) })
    }
    #[inline(always)]
    fn constants(b: Avx2, c: &[i16]) -> Self {
        Self::load(b, c)
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 16] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: a value proves AVX2; the array has 32 bytes.
        unsafe { _mm256_storeu_si256(f.as_mut_ptr().cast(), self.0) }
    }
}

impl Lanes<Avx2> for I16x16 {
    type Sums = __m256i;

    #[inline(always)]
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self) {
        let (x, y) = (x.0, y.0);
        // SAFETY: a value proves AVX2.
        let (even, odd) = unsafe {
            match LEN {
                8 => (
                    _mm256_permute2x128_si256::<0x20>(x, y),
                    _mm256_permute2x128_si256::<0x31>(x, y),
                ),
                4 => (_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y)),
                _ => (
                    _mm256_blend_epi32::<0xaa>(x, _mm256_slli_epi64::<32>(y)),
                    _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(x), y),
                ),
            }
        };
        (Self(even), Self(odd))
    }
    #[inline(always)]
    fn lane_zetas() -> &'static [LaneZetas; 4] {
        &LANE_ZETAS
    }
    #[inline(always)]
    fn multiply_pairs(self, other: Self) -> __m256i {
        // SAFETY: a value proves AVX2.
        unsafe { _mm256_madd_epi16(self.0, other.0) }
    }
    #[inline(always)]
    fn add_sums(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: sums come from values, which prove AVX2.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn halves(even: __m256i, odd: __m256i) -> (Self, Self) {
        // SAFETY: sums come from values, which prove AVX2.
        unsafe {
            (
                Self(_mm256_blend_epi16::<0xaa>(even, _mm256_slli_epi32::<16>(odd))),
                Self(_mm256_blend_epi16::<0xaa>(_mm256_srli_epi32::<16>(even), odd)),
            )
        }
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe {
            _mm256_or_si256(_mm256_slli_epi32::<16>(self.0), _mm256_srli_epi32::<16>(self.0))
        })
    }
}
