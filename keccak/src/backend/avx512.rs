//! AVX-512: one, four or eight messages, each in lanes of one 128-, 256- or 512-bit register, with
//! rotates and three-input logic in one instruction. A single message is faster in one lane of a vector
//! register than in plain registers or spread across vectors.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_andnot_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_rolv_epi64, _mm_set1_epi64x, _mm_ternarylogic_epi64, _mm_xor_si128, _mm256_andnot_si256,
    _mm256_loadu_si256, _mm256_rolv_epi64, _mm256_set1_epi64x, _mm256_storeu_si256,
    _mm256_ternarylogic_epi64, _mm256_xor_si256, _mm512_andnot_si512, _mm512_loadu_si512,
    _mm512_rolv_epi64, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_ternarylogic_epi64,
    _mm512_xor_si512,
};

use super::{Backend, COPIED_BYTES, Lane, Lanes, avx2, sealed::Sealed};
use crate::{
    permutation::{self, LANES},
    sponge::State,
};

/// Proof that the CPU has AVX2, BMI1, BMI2 and AVX-512 F, BW, DQ, VL, VBMI and VBMI2 (Ice Lake, Zen 4
/// and later) and that the operating system keeps 512-bit and mask registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if this machine gives it.
    #[inline]
    #[must_use]
    pub fn get() -> Option<Self> {
        (avx2::features() & avx2::AVX512 != 0).then_some(Self(()))
    }
}

impl Sealed for Avx512 {}

impl Backend for Avx512 {
    type One = U64x1;
    type Four = U64x4;
    type Eight = U64x8;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(
            enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"
        )]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token proves the features.
        unsafe { with_features(f) }
    }

    #[inline(always)]
    fn permute_one(self, state: &mut [U64x1; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_four(self, state: &mut [U64x4; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_eight(self, state: &mut [U64x8; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline]
    fn copy_four<const N: usize>(
        self,
        state: &State<N>,
        first: usize,
        out: [&mut [u8; COPIED_BYTES]; 4],
    ) {
        // SAFETY: the token proves AVX2.
        unsafe { avx2::copy_four(state, first, out) }
    }
}

/// a ^ b ^ c as a truth table.
const XOR3: i32 = 0x96;
/// a ^ (!b & c) as a truth table.
const CHI: i32 = 0xd2;
/// MemorySanitizer does not follow three-input logic: it would call every result of it a use of a secret.
const NO_THREE_INPUT: bool = cfg!(constant_time = "msan");

macro_rules! lane {
    ($(#[$doc:meta])* $type:ident($register:ty), $xor:ident, $and_not:ident, $ternary:ident, $rotate:ident, $splat:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $type($register);

        // Not `inline(always)`: unoptimised builds would have a frame of 187 KiB for a permutation.
        impl Lane for $type {
            const THREE_INPUT: bool = true;
            #[inline]
            fn xor(self, other: Self) -> Self {
                // SAFETY: a value proves AVX-512.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline]
            fn xor3(self, second: Self, third: Self) -> Self {
                if NO_THREE_INPUT {
                    return self.xor(second).xor(third);
                }
                // SAFETY: a value proves AVX-512.
                Self(unsafe { $ternary::<XOR3>(self.0, second.0, third.0) })
            }
            #[inline]
            fn rotate_left<const BY: u32>(self) -> Self {
                // SAFETY: a value proves AVX-512. With a constant count this is the immediate form.
                Self(unsafe { $rotate(self.0, $splat(BY as i64)) })
            }
            #[inline]
            fn chi(self, second: Self, third: Self) -> Self {
                if NO_THREE_INPUT {
                    // SAFETY: a value proves AVX-512.
                    return self.xor(Self(unsafe { $and_not(second.0, third.0) }));
                }
                // SAFETY: a value proves AVX-512.
                Self(unsafe { $ternary::<CHI>(self.0, second.0, third.0) })
            }
        }
    };
}

lane! {
    /// One lane. Only a token makes one, so that one in hand proves AVX-512.
    U64x1(__m128i), _mm_xor_si128, _mm_andnot_si128, _mm_ternarylogic_epi64, _mm_rolv_epi64, _mm_set1_epi64x
}
lane! {
    /// Four lanes. Only a token makes one, so that one in hand proves AVX-512.
    U64x4(__m256i), _mm256_xor_si256, _mm256_andnot_si256, _mm256_ternarylogic_epi64, _mm256_rolv_epi64, _mm256_set1_epi64x
}
lane! {
    /// Eight lanes. Only a token makes one, so that one in hand proves AVX-512.
    U64x8(__m512i), _mm512_xor_si512, _mm512_andnot_si512, _mm512_ternarylogic_epi64, _mm512_rolv_epi64, _mm512_set1_epi64
}

impl Lanes<Avx512> for U64x1 {
    const COUNT: usize = 1;
    #[inline(always)]
    fn load(_: Avx512, words: &[u64]) -> Self {
        // SAFETY: the token proves AVX-512.
        Self(unsafe { _mm_cvtsi64_si128(words[0] as i64) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: a value proves AVX-512.
        words[0] = unsafe { _mm_cvtsi128_si64(self.0) } as u64;
    }
    #[inline(always)]
    fn splat(_: Avx512, word: u64) -> Self {
        // SAFETY: the token proves AVX-512.
        Self(unsafe { _mm_set1_epi64x(word as i64) })
    }
}

impl Lanes<Avx512> for U64x4 {
    const COUNT: usize = 4;
    #[inline(always)]
    fn load(_: Avx512, words: &[u64]) -> Self {
        let words: &[u64; 4] = words.first_chunk().expect("four words");
        // SAFETY: the token proves AVX-512; the array has 32 bytes.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 4] = words.first_chunk_mut().expect("four words");
        // SAFETY: a value proves AVX-512; the array has 32 bytes.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn splat(_: Avx512, word: u64) -> Self {
        // SAFETY: the token proves AVX-512.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }
}

impl Lanes<Avx512> for U64x8 {
    const COUNT: usize = 8;
    #[inline(always)]
    fn load(_: Avx512, words: &[u64]) -> Self {
        let words: &[u64; 8] = words.first_chunk().expect("eight words");
        // SAFETY: the token proves AVX-512; the array has 64 bytes.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 8] = words.first_chunk_mut().expect("eight words");
        // SAFETY: a value proves AVX-512; the array has 64 bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn splat(_: Avx512, word: u64) -> Self {
        // SAFETY: the token proves AVX-512.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }
}
