//! Plain Rust, no CPU features: `u64` lanes and the forms of the permutation over them.

#[cfg(feature = "hazmat")]
use core::hint::black_box;
use core::marker::PhantomData;

use super::{Backend, Lane, Lanes, U32x2, sealed::Sealed};
use crate::permutation::{self, LANES};
#[cfg(feature = "hazmat")]
use crate::permutation::{PI_CHAIN, RHO_CHAIN};

impl Lane for u64 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        u64::rotate_left(self, BY)
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        self ^ (!second & third)
    }
}

impl<B: Copy> Lanes<B> for u64 {
    const COUNT: usize = 1;
    #[inline(always)]
    fn load(_: B, words: &[u64]) -> Self {
        words[0]
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = self;
    }
    #[inline(always)]
    fn splat(_: B, word: u64) -> Self {
        word
    }
}

/// A form of the permutation in plain Rust, with the lane type that it needs.
pub trait Form: Copy + Sealed {
    /// Lane type of the form.
    type Lane: Lanes<Scalar<Self>>;
    /// The last `rounds` rounds.
    fn permute(b: Scalar<Self>, state: &mut [Self::Lane; LANES], rounds: usize);
}

/// Token of a form; needs no proof.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scalar<F>(PhantomData<F>);

impl<F> Scalar<F> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F: Form> Sealed for Scalar<F> {}

impl<F: Form> Backend for Scalar<F> {
    type One = F::Lane;
    type Four = F::Lane;
    type Eight = F::Lane;
    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
    #[inline(always)]
    fn permute_one(self, state: &mut [F::Lane; LANES], rounds: usize) {
        F::permute(self, state, rounds);
    }
    #[inline(always)]
    fn permute_four(self, state: &mut [F::Lane; LANES], rounds: usize) {
        F::permute(self, state, rounds);
    }
    #[inline(always)]
    fn permute_eight(self, state: &mut [F::Lane; LANES], rounds: usize) {
        F::permute(self, state, rounds);
    }
}

macro_rules! form {
    ($(#[$doc:meta])* $name:ident, $lane:ty, |$b:ident, $a:ident, $rounds:ident| $body:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name;

        impl Sealed for $name {}

        impl Form for $name {
            type Lane = $lane;
            #[inline(always)]
            fn permute($b: Scalar<Self>, $a: &mut [$lane; LANES], $rounds: usize) {
                $body
            }
        }
    };
}

/// Lane of the form [`Planes`]: does the CPU lack an and-not?
#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(target_feature = "bmi1")))]
type PlanesLane = super::Complemented;
/// Lane of the form [`Planes`]: does the CPU lack an and-not?
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "x86"), not(target_feature = "bmi1"))))]
type PlanesLane = u64;

form! {
    /// Plane by plane over `u64`.
    Planes, PlanesLane, |b, a, rounds| permutation::planes(b, a, rounds)
}
form! {
    /// Plane by plane over two `u32`, the form for 32-bit CPUs.
    Interleaved, U32x2, |b, a, rounds| permutation::planes(b, a, rounds)
}
form! {
    /// Rho and pi as one chain of 24 steps over `u64`.
    Unrolled, u64, |b, a, rounds| permutation::unrolled(b, a, rounds)
}
#[cfg(feature = "hazmat")]
form! {
    /// Rho and pi as a loop over tables, as written.
    Rolled, u64, |_b, a, rounds| permutation::rolled(a, rounds, &PI_CHAIN, &RHO_CHAIN)
}
#[cfg(feature = "hazmat")]
form! {
    /// The same loop over tables that the optimiser cannot see through, so that it stays a loop.
    RolledOpaque, u64,
    |_b, a, rounds| permutation::rolled(a, rounds, black_box(&PI_CHAIN), black_box(&RHO_CHAIN))
}
