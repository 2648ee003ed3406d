//! What touches secrets as bytes: wiping, comparing, selecting. No branch or index depends on them.

// With the other unsafe code.
#[path = "backend/marks.rs"]
pub(crate) mod marks;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

pub(crate) use marks::{declassified, declassify, secret};

/// Secret bytes: wiped on drop, compared in constant time, not shown, not copied implicitly.
#[derive(Clone)]
pub(crate) struct SecretBytes<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> SecretBytes<N> {
    pub(crate) const ZERO: Self = Self([0; N]);
}

/// How much stack an operation needs at most; the test `residue` measures it.
#[derive(Clone, Copy)]
pub(crate) enum Frames {
    /// Moves bytes of a seed or a secret.
    Bytes,
    /// Works on a small key.
    Small,
    /// Works on a small key, and has a copy of what it returns in a `Result`.
    SmallResult,
    /// Works on a key.
    Use,
    /// Makes a private key in the caller's place for it.
    FillKey,
    /// Returns a private key, of which it has a copy.
    MakeKey,
}

impl Frames {
    #[inline(always)]
    fn wipe(self, k: usize) {
        use zeroize::zeroize_stack as wipe;
        match (self, k) {
            (Self::Bytes, _) => wipe::<{ 1 << 10 }>(),
            // Unoptimised code needs more.
            _ if cfg!(debug_assertions) => wipe::<{ 96 << 10 }>(),
            (Self::Small, 2) => wipe::<{ 7 << 10 }>(),
            (Self::Small, 3) => wipe::<{ 63 << 7 }>(),
            (Self::Small, _) => wipe::<{ 9 << 10 }>(),
            (Self::SmallResult, 2) => wipe::<{ 8 << 10 }>(),
            (Self::SmallResult, 3) => wipe::<{ 9 << 10 }>(),
            (Self::SmallResult, _) => wipe::<{ 11 << 10 }>(),
            (Self::Use, 2) => wipe::<{ 13 << 10 }>(),
            (Self::Use, 3) => wipe::<{ 15 << 10 }>(),
            (Self::Use, _) => wipe::<{ 17 << 10 }>(),
            (Self::FillKey, 2) => wipe::<{ 14 << 10 }>(),
            (Self::FillKey, 3) => wipe::<{ 126 << 7 }>(),
            (Self::FillKey, _) => wipe::<{ 18 << 10 }>(),
            (Self::MakeKey, 2) => wipe::<{ 19 << 10 }>(),
            (Self::MakeKey, 3) => wipe::<{ 25 << 10 }>(),
            (Self::MakeKey, _) => wipe::<{ 32 << 10 }>(),
        }
    }
}

/// Runs an operation of rank K and wipes the stack that it has used, also if it panics. What secrets leave
/// behind in frames that are gone (temporaries, spilled registers, moved values) has no owner that could wipe it.
#[inline(always)]
pub(crate) fn wiping_stack<const K: usize, R>(frames: Frames, operation: impl FnOnce() -> R) -> R {
    let _wipe = StackWipe::<K>(frames);
    in_own_frame(operation)
}

/// The result goes straight to the caller's place for it: no frame outside this one sees a copy.
#[inline(never)]
fn in_own_frame<R>(operation: impl FnOnce() -> R) -> R {
    operation()
}

struct StackWipe<const K: usize>(Frames);

impl<const K: usize> Drop for StackWipe<K> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.wipe(K);
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
