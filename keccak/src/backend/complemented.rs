//! A `u64` lane for CPUs without an and-not instruction (x86-64 without BMI1): six lanes of the state
//! are kept complemented, which leaves one or no complement per plane of chi instead of five
//! ("lane complementing", section 2.2 of the Keccak implementation overview).
//!
//! De Morgan's laws turn `a ^ (!b & c)` into ands and ors of what is at hand. Which lanes are
//! complemented is the same before and after a round: theta, rho and iota keep it, and chi, plane by
//! plane below, takes it from where pi has moved it back to where it was.

use super::{Lane, Lanes};
use crate::permutation::LANES;

/// Bits of one lane, complemented or not by its place in the state.
#[derive(Clone, Copy)]
pub struct Complemented(u64);

/// Lanes \[1, 0\], \[2, 0\], \[3, 1\], \[2, 2\], \[2, 3\], \[0, 4\].
const COMPLEMENTED: [usize; 6] = [1, 2, 8, 12, 17, 20];

impl Lane for Complemented {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        Self(self.0.rotate_left(BY))
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        Self(self.0 ^ (!second.0 & third.0))
    }
    #[inline(always)]
    fn chi_row<const Y: usize>(p: &[Self; 5]) -> [Self; 5] {
        let [a, b, c, d, e] = p.map(|lane| lane.0);
        match Y {
            0 => [a ^ (b | c), b ^ (!c | d), c ^ (d & e), d ^ (e | a), e ^ (a & b)],
            1 => [a ^ (b | c), b ^ (c & d), c ^ (d | !e), d ^ (e | a), e ^ (a & b)],
            2 => [a ^ (b | c), b ^ (c & d), c ^ (!d & e), !d ^ (e | a), e ^ (a & b)],
            3 => [a ^ (b & c), b ^ (c | d), c ^ (!d | e), !d ^ (e & a), e ^ (a | b)],
            _ => [a ^ (!b & c), !b ^ (c | d), c ^ (d & e), d ^ (e | a), e ^ (a & b)],
        }
        .map(Self)
    }
    #[inline(always)]
    fn complement(state: &mut [Self; LANES]) {
        for i in COMPLEMENTED {
            state[i].0 = !state[i].0;
        }
    }
}

impl<B: Copy> Lanes<B> for Complemented {
    const COUNT: usize = 1;
    #[inline(always)]
    fn load(_: B, words: &[u64]) -> Self {
        Self(words[0])
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = self.0;
    }
    #[inline(always)]
    fn splat(_: B, word: u64) -> Self {
        Self(word)
    }
}
