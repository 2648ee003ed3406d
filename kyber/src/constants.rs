//! Constants of the ring arithmetic, computed from q = 3329 and zeta = 17 at compile time. The only
//! divisions by q: none of this runs.

#![allow(clippy::integer_division_remainder_used)]

use crate::params::{N, Q};

/// q / 2, rounded down.
pub(crate) const HALF_Q: u32 = Q as u32 / 2;

/// round(2^26 / q): Barrett.
pub(crate) const BARRETT_FACTOR: i16 = (((1 << 26) + HALF_Q) / Q as u32) as i16;

/// R mod q, and q^-1 mod R.
pub(crate) const R: u32 = (1 << 16) % Q as u32;
pub(crate) const Q_INVERSE: i16 = {
    let mut inverse = Q;
    let mut bits = 3;
    while bits < 16 {
        inverse = inverse.wrapping_mul(2i16.wrapping_sub(Q.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
};
const _: () = assert!(Q.wrapping_mul(Q_INVERSE) == 1);

/// A constant c as c R mod q, centred, and that times q^-1 mod R: what a Montgomery product by c needs.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) value: i16,
    pub(crate) times_q_inverse: i16,
}

impl Factor {
    pub(crate) const fn new(c: u32) -> Self {
        let residue = (c % Q as u32 * R % Q as u32) as i16;
        let value = if residue > HALF_Q as i16 { residue - Q } else { residue };
        Self { value, times_q_inverse: value.wrapping_mul(Q_INVERSE) }
    }
}

pub(crate) const fn power(base: u32, exponent: u32) -> u32 {
    let mut result = 1;
    let mut i = 0;
    while i < exponent {
        result = result * base % Q as u32;
        i += 1;
    }
    result
}

/// zeta^BitRev_7(i), where zeta = 17 is a primitive 256-th root of unity.
const fn zeta_power(i: u32) -> u32 {
    power(17, i.reverse_bits() >> 25)
}

const ZETAS: &[Factor; 128] = &{
    let mut zetas = [Factor::new(0); 128];
    let mut i = 0;
    while i < 128 {
        zetas[i] = Factor::new(zeta_power(i as u32));
        i += 1;
    }
    zetas
};

/// The zetas of the layer of butterflies at distance `len`.
pub(crate) const fn layer_zetas(len: usize) -> &'static [Factor] {
    ZETAS.split_at(256 / len).0.split_at(128 / len).1
}

/// Constants of each lane's own, in the two parts that a Montgomery product takes.
#[repr(align(64))]
pub(crate) struct LaneFactors<const LANES: usize> {
    pub(crate) value: [i16; LANES],
    pub(crate) times_q_inverse: [i16; LANES],
}

impl<const LANES: usize> LaneFactors<LANES> {
    pub(crate) const ZERO: Self = Self { value: [0; LANES], times_q_inverse: [0; LANES] };

    pub(crate) const fn set(&mut self, lane: usize, factor: Factor) {
        self.value[lane] = factor.value;
        self.times_q_inverse[lane] = factor.times_q_inverse;
    }
}

/// zeta^(2 BitRev_7(i) + 1) at index 2i + 1, and 1 before it.
pub(crate) static GAMMAS: LaneFactors<N> = {
    let mut gammas = LaneFactors::ZERO;
    let mut i = 0;
    while i < 128 {
        let zeta = zeta_power(i as u32);
        gammas.set(2 * i, Factor::new(1));
        gammas.set(2 * i + 1, Factor::new(zeta * zeta % Q as u32 * 17));
        i += 1;
    }
    gammas
};

/// Ends NTT^-1: 1/128, and R for the R^-1 that a sum of products still carries.
pub(crate) const INVERSE_SCALE: Factor = Factor::new(power(128, Q as u32 - 2) * R);
/// The same for what the last layer multiplies by its one zeta.
pub(crate) const INVERSE_SCALED_ZETA: Factor =
    Factor::new(power(128, Q as u32 - 2) * R % Q as u32 * zeta_power(1));
/// Undoes the R^-1 of a sum of products.
pub(crate) const PRODUCT_SCALE: Factor = Factor::new(R);
