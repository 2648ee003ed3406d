//! What touches secrets as bytes: wiping, comparing, selecting. No branch or index depends on them.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::params::Bytes;

/// Secret bytes: wiped on drop, compared in constant time, not shown, not copied implicitly.
#[derive(Clone)]
pub(crate) struct SecretBytes<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> SecretBytes<N> {
    pub(crate) const ZERO: Self = Self([0; N]);
}

/// An array whose length follows from the rank; wiped on drop.
pub(crate) struct Wiped<T: Bytes>(pub(crate) T);

impl<T: Bytes> Drop for Wiped<T> {
    #[inline]
    fn drop(&mut self) {
        self.0 = T::ZERO;
        zeroize::optimization_barrier(&self.0);
    }
}

impl SecretBytes<64> {
    /// The first and the last 32 bytes.
    pub(crate) fn halves(&self) -> (&[u8; 32], &[u8; 32]) {
        let halves = self.0.as_chunks::<32>().0;
        (&halves[0], &halves[1])
    }
}

impl<const N: usize> Drop for SecretBytes<N> {
    #[inline]
    fn drop(&mut self) {
        self.0 = [0; N];
        zeroize::optimization_barrier(&self.0);
    }
}

impl<const N: usize> ConstantTimeEq for SecretBytes<N> {
    fn ct_eq(&self, other: &Self) -> Choice {
        equal(&self.0, &other.0)
    }
}

/// Whether two strings of the same length are equal. Gathers all differences first, eight bytes at a
/// time, and asks `subtle` once.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> Choice {
    debug_assert_eq!(a.len(), b.len());
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut difference = 0;
    for (a, b) in a.iter().zip(b) {
        difference |= u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        difference |= u64::from(a ^ b);
    }
    difference.ct_eq(&0)
}

/// `a` becomes `b` if `choice` is set.
pub(crate) fn assign_if(choice: Choice, a: &mut [u8], b: &[u8]) {
    debug_assert_eq!(a.len(), b.len());
    for (a, b) in a.iter_mut().zip(b) {
        a.conditional_assign(b, choice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sees_every_bit() {
        for length in [0, 1, 7, 8, 9, 64, 67] {
            let a = [0x5a; 67];
            assert!(bool::from(equal(&a[..length], &a[..length])));
            for bit in 0..8 * length {
                let mut b = a;
                b[bit / 8] ^= 1 << (bit % 8);
                assert!(!bool::from(equal(&a[..length], &b[..length])), "bit {bit} of {length}");
            }
        }
    }

    #[test]
    fn assign_if_takes_all_or_nothing() {
        let (mut a, b) = ([1, 2, 3], [0xff, 0, 7]);
        assign_if(Choice::from(0), &mut a, &b);
        assert_eq!(a, [1, 2, 3]);
        assign_if(Choice::from(1), &mut a, &b);
        assert_eq!(a, b);
    }
}
