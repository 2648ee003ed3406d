//! A lane as two `u32`, its even and its odd bits: every rotation of the 64-bit lane is two 32-bit
//! rotations, where a pair of halves would need shifts and ors across them.

use super::{Lane, Lanes};
use crate::permutation::{ROUND_CONSTANTS, ROUNDS};

/// Even bits, odd bits; in memory a `u64` with the even bits in its low half.
#[derive(Clone, Copy)]
pub struct U32x2(u32, u32);

/// Moves the even bits to the low half and the odd bits to the high half, both in order, by swapping
/// the middle two quarters of ever larger groups.
const fn interleave(mut x: u64) -> u64 {
    x = swap(x, 0x2222_2222_2222_2222, 1);
    x = swap(x, 0x0c0c_0c0c_0c0c_0c0c, 2);
    x = swap(x, 0x00f0_00f0_00f0_00f0, 4);
    x = swap(x, 0x0000_ff00_0000_ff00, 8);
    swap(x, 0x0000_0000_ffff_0000, 16)
}

const fn deinterleave(mut x: u64) -> u64 {
    x = swap(x, 0x0000_0000_ffff_0000, 16);
    x = swap(x, 0x0000_ff00_0000_ff00, 8);
    x = swap(x, 0x00f0_00f0_00f0_00f0, 4);
    x = swap(x, 0x0c0c_0c0c_0c0c_0c0c, 2);
    swap(x, 0x2222_2222_2222_2222, 1)
}

/// Swaps the bits under `mask` with those `by` positions above.
const fn swap(x: u64, mask: u64, by: u32) -> u64 {
    let t = (x ^ (x >> by)) & mask;
    x ^ t ^ (t << by)
}

static INTERLEAVED_CONSTANTS: [u64; ROUNDS] = {
    let mut constants = ROUND_CONSTANTS;
    let mut round = 0;
    while round < ROUNDS {
        constants[round] = interleave(constants[round]);
        round += 1;
    }
    constants
};

impl Lane for U32x2 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
    /// An odd distance swaps the roles of the two words, and one of them moves a bit further.
    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        if BY & 1 == 0 {
            Self(self.0.rotate_left(BY >> 1), self.1.rotate_left(BY >> 1))
        } else {
            Self(self.1.rotate_left((BY >> 1) + 1), self.0.rotate_left(BY >> 1))
        }
    }
    #[inline(always)]
    fn chi(self, second: Self, third: Self) -> Self {
        Self(self.0 ^ (!second.0 & third.0), self.1 ^ (!second.1 & third.1))
    }
}

impl<B: Copy> Lanes<B> for U32x2 {
    const COUNT: usize = 1;
    #[inline(always)]
    fn load(_: B, words: &[u64]) -> Self {
        Self(words[0] as u32, (words[0] >> 32) as u32)
    }
    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = u64::from(self.0) | u64::from(self.1) << 32;
    }
    #[inline(always)]
    fn splat(_: B, word: u64) -> Self {
        Self(word as u32, (word >> 32) as u32)
    }
    #[inline(always)]
    fn encode(word: u64) -> u64 {
        interleave(word)
    }
    #[inline(always)]
    fn decode(word: u64) -> u64 {
        deinterleave(word)
    }
    #[inline(always)]
    fn round_constants() -> &'static [u64; ROUNDS] {
        &INTERLEAVED_CONSTANTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaving_matches_its_definition() {
        for bit in 0..64 {
            let expected = if bit % 2 == 0 { bit / 2 } else { 32 + bit / 2 };
            assert_eq!(interleave(1 << bit), 1 << expected);
            assert_eq!(deinterleave(1 << expected), 1 << bit);
        }
    }
}
