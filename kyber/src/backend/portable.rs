//! Plain Rust: every kernel is the default one, over single coefficients.

use keccak::backend::{Form, Scalar};

use super::Backend;
use crate::poly::Row;

impl<F: Form> Backend for Scalar<F> {
    type Row = i16;
}

impl<B: Copy> Row<B> for i16 {
    type Coefficient = i16;
    const LANES: usize = 1;
    #[inline(always)]
    fn load(_: B, f: &[i16]) -> Self {
        f[0]
    }
    #[inline(always)]
    fn constants(_: B, c: &[i16]) -> Self {
        c[0]
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        f[0] = self;
    }
}
