//! AVX2 with BMI1 and BMI2: four messages in a 256-bit register; one message in plain registers, where
//! and-not and rotate-to-another-register (BMI) are what it needs.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __cpuid, __cpuid_count, __m256i, _mm_cvtsi32_si128, _mm256_andnot_si256, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_sll_epi64, _mm256_srl_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi64, _mm256_xor_si256, _xgetbv,
};

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::{Backend, COPIED_BYTES, Lane, Lanes, sealed::Sealed};
use crate::{
    permutation::{self, LANES},
    sponge::State,
};

/// Proof that the CPU has AVX2, BMI1 and BMI2 and that the operating system keeps 256-bit registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if this machine gives it.
    #[inline]
    #[must_use]
    pub fn get() -> Option<Self> {
        (features() & AVX2 != 0).then_some(Self(()))
    }
}

/// Bits of [`features`].
const KNOWN: u8 = 1;
const AVX2: u8 = 2;
pub(super) const AVX512: u8 = 4;

/// What this machine has, asked once: CPUID is slow under some hypervisors.
#[inline]
pub(super) fn features() -> u8 {
    static FEATURES: AtomicU8 = AtomicU8::new(0);
    match FEATURES.load(Relaxed) {
        0 => {
            let found = KNOWN | read_features();
            FEATURES.store(found, Relaxed);
            found
        }
        found => found,
    }
}

#[cold]
fn read_features() -> u8 {
    // CPUID 1 ECX: OSXSAVE and AVX.
    const XSAVE_AND_AVX: u32 = 1 << 27 | 1 << 28;
    // CPUID 7.0 EBX: BMI1, AVX2, BMI2. XCR0: SSE and AVX state.
    const AVX2_EBX: u32 = 1 << 3 | 1 << 5 | 1 << 8;
    const AVX2_XCR0: u64 = 0b110;
    // EBX: F, DQ, BW, VL. ECX: VBMI, VBMI2. XCR0: masks, upper halves and upper registers.
    const AVX512_EBX: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
    const AVX512_ECX: u32 = 1 << 1 | 1 << 6;
    const AVX512_XCR0: u64 = 0b1110_0000;

    // CPUID is a safe function from some compiler version on.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 CPU has CPUID; leaf 7 is read only if leaf 0 says that it is there, and
    // XGETBV runs only if OSXSAVE says that it may.
    let (leaf, xcr0) = unsafe {
        if __cpuid(0).eax < 7 || __cpuid(1).ecx & XSAVE_AND_AVX != XSAVE_AND_AVX {
            return 0;
        }
        (__cpuid_count(7, 0), read_xcr0())
    };
    let mut found = 0;
    if leaf.ebx & AVX2_EBX == AVX2_EBX && xcr0 & AVX2_XCR0 == AVX2_XCR0 {
        found |= AVX2;
        let cpu = leaf.ebx & AVX512_EBX == AVX512_EBX && leaf.ecx & AVX512_ECX == AVX512_ECX;
        if cpu && xcr0 & AVX512_XCR0 == AVX512_XCR0 {
            found |= AVX512;
        }
    }
    found
}

/// # Safety
///
/// The CPU has XGETBV and the operating system has enabled it.
#[target_feature(enable = "xsave")]
unsafe fn read_xcr0() -> u64 {
    // SAFETY: as the caller promises.
    unsafe { _xgetbv(0) }
}

impl Sealed for Avx2 {}

impl Backend for Avx2 {
    type One = u64;
    type Four = U64x4;
    type Eight = U64x4;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token proves the features.
        unsafe { with_features(f) }
    }

    /// Without AVX2: the compiler would put the lanes into vectors, which is several times slower.
    #[inline(always)]
    fn vectorize_one<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "bmi1,bmi2")]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token proves the features.
        unsafe { with_features(f) }
    }

    #[inline(always)]
    fn permute_one(self, state: &mut [u64; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_four(self, state: &mut [U64x4; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_eight(self, state: &mut [U64x4; LANES], rounds: usize) {
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
        unsafe { copy_four(state, first, out) }
    }
}

/// Four words of four messages at a time, as the rows of a 4 x 4 matrix, transposed.
#[target_feature(enable = "avx2")]
pub(super) fn copy_four<const N: usize>(
    state: &State<N>,
    first: usize,
    out: [&mut [u8; COPIED_BYTES]; 4],
) {
    for (i, rows) in state.0.as_chunks::<4>().0.iter().enumerate() {
        let mut r = [_mm256_setzero_si256(); 4];
        for j in 0..4 {
            let words: &[u64; 4] = rows[j][first..].first_chunk().expect("four messages");
            // SAFETY: the array has 32 bytes.
            r[j] = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        }
        let low = [_mm256_unpacklo_epi64(r[0], r[1]), _mm256_unpacklo_epi64(r[2], r[3])];
        let high = [_mm256_unpackhi_epi64(r[0], r[1]), _mm256_unpackhi_epi64(r[2], r[3])];
        let columns = [
            _mm256_permute2x128_si256::<0x20>(low[0], low[1]),
            _mm256_permute2x128_si256::<0x20>(high[0], high[1]),
            _mm256_permute2x128_si256::<0x31>(low[0], low[1]),
            _mm256_permute2x128_si256::<0x31>(high[0], high[1]),
        ];
        for l in 0..4 {
            let bytes: &mut [u8; 32] = &mut out[l].as_chunks_mut().0[i];
            // SAFETY: the array has 32 bytes.
            unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), columns[l]) };
        }
    }
}

/// Four lanes. Only a token makes one, so that one in hand proves AVX2.
#[derive(Clone, Copy)]
pub struct U64x4(__m256i);

impl Lane for U64x4 {
    const FRESH_PARITIES: bool = true;
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        // SAFETY: a value proves AVX2. With constant counts these are the immediate forms.
        unsafe {
            let left = _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(BY as i32));
            let right = _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(64 - BY as i32));
            Self(_mm256_or_si256(left, right))
        }
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        // SAFETY: a value proves AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_andnot_si256(second.0, third.0)) })
    }
}

impl Lanes<Avx2> for U64x4 {
    const COUNT: usize = 4;
    #[inline(always)]
    fn load(_: Avx2, words: &[u64]) -> Self {
        let words: &[u64; 4] = words.first_chunk().expect("four words");
        // SAFETY: the token proves AVX2; the array has 32 bytes.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 4] = words.first_chunk_mut().expect("four words");
        // SAFETY: a value proves AVX2; the array has 32 bytes.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn splat(_: Avx2, word: u64) -> Self {
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }
}
