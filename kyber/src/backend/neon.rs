//! NEON: eight coefficients in a 128-bit register.

#![allow(unsafe_code)]

use core::arch::aarch64::{
    int16x8_t, vaddq_s16, vandq_s16, vdupq_n_s16, vget_low_s16, vld1q_s16, vmull_high_s16,
    vmull_s16, vmulq_s16, vreinterpretq_s16_s32, vshrq_n_s16, vst1q_s16, vsubq_s16, vuzp2q_s16,
};

use keccak::backend::{Neon, NeonSha3};

use super::Backend;
use crate::poly::{Row, Vector};

macro_rules! backend {
    ($token:ident) => {
        impl Backend for $token {
            type Row = I16x8;
        }
    };
}
backend!(Neon);
backend!(NeonSha3);

/// Eight coefficients. NEON is part of the target, so that they need no token.
#[derive(Clone, Copy)]
pub(crate) struct I16x8(int16x8_t);

impl Vector for I16x8 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vdupq_n_s16(x) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vaddq_s16(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vsubq_s16(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vmulq_s16(self.0, other.0) })
    }
    /// The odd words of the products.
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        unsafe {
            let low = vmull_s16(vget_low_s16(self.0), vget_low_s16(other.0));
            let high = vmull_high_s16(self.0, other.0);
            Self(vuzp2q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high)))
        }
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vshrq_n_s16::<BY>(self.0) })
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: NEON is part of the target.
        Self(unsafe { vandq_s16(self.0, other.0) })
    }
}

impl<B: Copy> Row<B> for I16x8 {
    const LANES: usize = 8;
    #[inline(always)]
    fn load(_: B, f: &[i16]) -> Self {
        let f: &[i16; 8] = f.first_chunk().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        Self(unsafe { vld1q_s16(f.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, f: &mut [i16]) {
        let f: &mut [i16; 8] = f.first_chunk_mut().expect("a whole row");
        // SAFETY: NEON is part of the target; the array has 16 bytes.
        unsafe { vst1q_s16(f.as_mut_ptr(), self.0) }
    }
}
