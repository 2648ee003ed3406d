//! WebAssembly's 128-bit vectors: two messages in a register, one in plain words, which have a rotation. The round
//! in place, which keeps the fewest values alive: engines do not order instructions anew to spare registers.

#![allow(unsafe_code)]

use core::arch::wasm32::{
    u64x2_shl, u64x2_shr, u64x2_splat, v128, v128_andnot, v128_load, v128_or, v128_store, v128_xor,
};

use super::{Backend, Lane, Lanes, sealed::Sealed};
use crate::permutation::{self, LANES};

/// Vectors of 128 bits: part of the target, so that the token needs no proof.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Simd128(());

impl Simd128 {
    /// The token, always.
    #[inline]
    #[must_use]
    pub const fn get() -> Option<Self> {
        Some(Self(()))
    }
}

impl Sealed for Simd128 {}

impl Backend for Simd128 {
    type One = u64;
    type Four = U64x2;
    type Eight = U64x2;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }

    #[inline(always)]
    fn permute_one(self, state: &mut [u64; LANES], rounds: usize) {
        permutation::unrolled(self, state, rounds);
    }

    #[inline(always)]
    fn permute_four(self, state: &mut [U64x2; LANES], rounds: usize) {
        permutation::unrolled(self, state, rounds);
    }

    #[inline(always)]
    fn permute_eight(self, state: &mut [U64x2; LANES], rounds: usize) {
        permutation::unrolled(self, state, rounds);
    }
}

/// Two lanes.
#[derive(Clone, Copy)]
pub struct U64x2(v128);

/// The functions are safe: a module that holds one runs only where there are such vectors.
impl Lane for U64x2 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        Self(v128_or(u64x2_shl(self.0, BY), u64x2_shr(self.0, 64 - BY)))
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        Self(v128_xor(self.0, v128_andnot(third.0, second.0)))
    }
}

impl<B: Copy> Lanes<B> for U64x2 {
    const COUNT: usize = 2;
    #[inline(always)]
    fn load(_: B, words: &[u64]) -> Self {
        let words: &[u64; 2] = words.first_chunk().expect("two words");
        // SAFETY: the array has 16 bytes.
        Self(unsafe { v128_load(words.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 2] = words.first_chunk_mut().expect("two words");
        // SAFETY: the array has 16 bytes.
        unsafe { v128_store(words.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn splat(_: B, word: u64) -> Self {
        Self(u64x2_splat(word))
    }
}
