//! NEON, which every AArch64 target but the soft-float ones has: two messages in a 128-bit register; one
//! message in plain registers, whose exclusive ors rotate an operand for free.
//!
//! And the same source compiled for the SHA3 instructions (FEAT_SHA3), which the compiler takes for the
//! steps of a round: EOR3 and RAX1 for theta, XAR for rho, BCAX for chi. One message is in a vector then too.
//! Which of the two is the default is said at [`Level::detect`](super::Level::detect).

#![allow(unsafe_code)]

use core::arch::aarch64::{
    uint64x2_t, vbicq_u64, vdupq_n_s64, vdupq_n_u64, veorq_u64, vgetq_lane_u64, vld1q_u64,
    vorrq_u64, vshlq_u64, vst1q_u64,
};

use super::{Backend, Lane, Lanes, sealed::Sealed};
use crate::permutation::{self, LANES};

/// NEON: part of the target, so that the token needs no proof.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Neon(());

impl Neon {
    /// The token, always.
    #[inline]
    #[must_use]
    pub const fn get() -> Option<Self> {
        Some(Self(()))
    }
}

/// Proof that the CPU has NEON and the SHA3 instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NeonSha3(());

impl NeonSha3 {
    /// The proof, if this machine gives it: only the operating system can, so through the feature `std`;
    /// without it, if the program is compiled for such CPUs alone.
    #[inline]
    #[must_use]
    pub fn get() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::arch::is_aarch64_feature_detected!("sha3");
        #[cfg(not(feature = "std"))]
        let found = cfg!(target_feature = "sha3");
        found.then_some(Self(()))
    }
}

impl Sealed for Neon {}

impl Backend for Neon {
    type One = u64;
    type Four = U64x2<2>;
    type Eight = [U64x2<2>; 2];

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }

    #[inline(always)]
    fn permute_one(self, state: &mut [u64; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_four(self, state: &mut [U64x2<2>; LANES], rounds: usize) {
        permutation::planes(self, state, rounds);
    }

    #[inline(always)]
    fn permute_eight(self, state: &mut [[U64x2<2>; 2]; LANES], rounds: usize) {
        permute_pairs(self, state, rounds);
    }
}

impl Sealed for NeonSha3 {}

/// In place: the 25 lanes and theta's five fit the 32 registers, and there are no exclusive ors left to save
/// by other forms (`.ci/instructions` counts both).
impl Backend for NeonSha3 {
    type One = U64x2<1>;
    type Four = U64x2<2>;
    type Eight = [U64x2<2>; 2];

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "neon,sha3")]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token proves the features.
        unsafe { with_features(f) }
    }

    #[inline(always)]
    fn permute_one(self, state: &mut [U64x2<1>; LANES], rounds: usize) {
        permutation::unrolled(self, state, rounds);
    }

    #[inline(always)]
    fn permute_four(self, state: &mut [U64x2<2>; LANES], rounds: usize) {
        permutation::unrolled(self, state, rounds);
    }

    #[inline(always)]
    fn permute_eight(self, state: &mut [[U64x2<2>; 2]; LANES], rounds: usize) {
        permute_pairs(self, state, rounds);
    }
}

/// One pair after the other: two at once do not fit the registers.
#[allow(clippy::needless_range_loop)] // indexed: see `sponge`
#[inline(always)]
fn permute_pairs<B: Backend>(b: B, state: &mut [[B::Four; 2]; LANES], rounds: usize) {
    for pair in 0..2 {
        let mut lanes = [state[0][pair]; LANES];
        for i in 0..LANES {
            lanes[i] = state[i][pair];
        }
        b.permute_four(&mut lanes, rounds);
        for i in 0..LANES {
            state[i][pair] = lanes[i];
        }
    }
}

impl<L: Lane> Lane for [L; 2] {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        [self[0].xor(other[0]), self[1].xor(other[1])]
    }
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        [self[0].rotate_left::<BY>(), self[1].rotate_left::<BY>()]
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        [self[0].chi(second[0], third[0]), self[1].chi(second[1], third[1])]
    }
}

impl<B: Copy, L: Lanes<B>> Lanes<B> for [L; 2] {
    const COUNT: usize = 2 * L::COUNT;
    #[inline(always)]
    fn load(b: B, words: &[u64]) -> Self {
        [L::load(b, words), L::load(b, &words[L::COUNT..])]
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        self[0].store(words);
        self[1].store(&mut words[L::COUNT..]);
    }
    #[inline(always)]
    fn splat(b: B, word: u64) -> Self {
        [L::splat(b, word); 2]
    }
}

/// Two lanes, of which `COUNT` are used.
#[derive(Clone, Copy)]
pub struct U64x2<const COUNT: usize>(uint64x2_t);

impl<const COUNT: usize> Lane for U64x2<COUNT> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { veorq_u64(self.0, other.0) })
    }
    /// A negative count shifts right; constant counts become the immediate forms.
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        // SAFETY: NEON is part of the target.
        unsafe {
            let left = vshlq_u64(self.0, vdupq_n_s64(i64::from(BY)));
            let right = vshlq_u64(self.0, vdupq_n_s64(i64::from(BY) - 64));
            Self(vorrq_u64(left, right))
        }
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { veorq_u64(self.0, vbicq_u64(third.0, second.0)) })
    }
}

impl<B: Copy, const COUNT: usize> Lanes<B> for U64x2<COUNT> {
    const COUNT: usize = COUNT;
    #[inline(always)]
    fn load(b: B, words: &[u64]) -> Self {
        if COUNT == 1 {
            return Self::splat(b, words[0]);
        }
        let words: &[u64; 2] = words.first_chunk().expect("two words");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        Self(unsafe { vld1q_u64(words.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        if COUNT == 1 {
            // SAFETY: NEON is part of the target.
            words[0] = unsafe { vgetq_lane_u64::<0>(self.0) };
            return;
        }
        let words: &mut [u64; 2] = words.first_chunk_mut().expect("two words");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        unsafe { vst1q_u64(words.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(_: B, word: u64) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vdupq_n_u64(word) })
    }
}
