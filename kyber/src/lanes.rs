//! Ring arithmetic over vectors of 16 or 32 coefficients: the last layers of the NTT, whose butterflies lie
//! within two neighbouring vectors, and products by sums of pairs.
//!
//! The layers between vectors, the leaves and all bounds are those of `poly`, and so is the order of
//! coefficients in memory. All values may be secret. Tests: each backend's kernels against the portable
//! ones.

use crate::{
    constants::{LaneFactors, Q_INVERSE, layer_zetas},
    params::{N, Q},
    poly::{Row, forward_layers, inverse_layers, multiply_lanes},
};

/// A [`Row`] of 16 or more coefficients, with what the last layers of the NTT and products need.
///
/// Two neighbours x and y hold 2 LANES coefficients. [`Lanes::exchange`] transposes them as a 2 x 2
/// matrix of blocks of LEN: x gets the even blocks of both, y the odd ones, so that a butterfly at
/// distance LEN is one between x and y. It is its own inverse.
pub(crate) trait Lanes<B>: Row<B> {
    /// LEN is a power of two from 2 to LANES / 2.
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self);
    /// All exchanges from LANES / 2 down to 2: the order of coefficients in the last layer.
    #[inline(always)]
    fn scatter(x: Self, y: Self) -> (Self, Self) {
        let (mut x, mut y) = (x, y);
        if Self::LANES > 16 {
            (x, y) = Self::exchange::<16>(x, y);
        }
        (x, y) = Self::exchange::<8>(x, y);
        (x, y) = Self::exchange::<4>(x, y);
        Self::exchange::<2>(x, y)
    }
    /// The opposite of [`Lanes::scatter`].
    #[inline(always)]
    fn gather(x: Self, y: Self) -> (Self, Self) {
        let (mut x, mut y) = Self::exchange::<2>(x, y);
        (x, y) = Self::exchange::<4>(x, y);
        (x, y) = Self::exchange::<8>(x, y);
        if Self::LANES > 16 {
            (x, y) = Self::exchange::<16>(x, y);
        }
        (x, y)
    }
    /// The zetas of the layers at distances below LANES.
    fn lane_zetas() -> &'static [LaneZetas; 4];

    /// Sums of two products of `i16`, one for each pair of coefficients.
    type Sums: Copy;
    /// a0 b0 + a1 b1 for each pair.
    fn multiply_pairs(self, other: Self) -> Self::Sums;
    fn add_sums(a: Self::Sums, b: Self::Sums) -> Self::Sums;
    /// Low and high halves of the sums, those of `even` in the even lanes.
    fn halves(even: Self::Sums, odd: Self::Sums) -> (Self, Self);
    /// Swaps the coefficients of each pair.
    fn swap_pairs(self) -> Self;
}

/// [`ntt`] over rows of several coefficients: `LANES` and `ROWS` are those of `V`.
#[inline(always)]
pub(crate) fn ntt_lanes<B: Copy, V: Lanes<B>, const LANES: usize, const ROWS: usize>(
    b: B,
    f: &[V::Coefficient; N],
    out: &mut [V::Coefficient; N],
) {
    let mut rows = load::<B, V, ROWS>(b, f);
    forward_layers::<V, LANES>(&mut rows);
    for pair in 0..ROWS >> 1 {
        let (mut x, mut y) = (rows[2 * pair], rows[2 * pair + 1]);
        if LANES > 16 {
            (x, y) = forward_lanes::<B, V, 16>(b, pair, x, y);
        }
        (x, y) = forward_lanes::<B, V, 8>(b, pair, x, y);
        (x, y) = forward_lanes::<B, V, 4>(b, pair, x, y);
        (x, y) = forward_lanes::<B, V, 2>(b, pair, x, y);
        (rows[2 * pair], rows[2 * pair + 1]) = V::gather(x, y);
    }
    store(&rows, out);
}

#[inline(always)]
fn forward_lanes<B: Copy, V: Lanes<B>, const LEN: usize>(b: B, pair: usize, x: V, y: V) -> (V, V) {
    let zetas = &V::lane_zetas()[const { LEN.trailing_zeros() as usize - 1 }];
    let (x, y) = V::exchange::<LEN>(x, y);
    let zeta = V::constants(b, &zetas.forward[pair].value);
    let product = multiply_lanes(y, zeta, V::constants(b, &zetas.forward[pair].times_q_inverse));
    (x.add(product), x.sub(product))
}

/// [`ntt_inverse`] over rows of several coefficients: `LANES` and `ROWS` are those of `V`.
#[inline(always)]
pub(crate) fn ntt_inverse_lanes<B: Copy, V: Lanes<B>, const LANES: usize, const ROWS: usize>(
    b: B,
    f: &[V::Coefficient; N],
    out: &mut [V::Coefficient; N],
) {
    let mut rows = load::<B, V, ROWS>(b, f);
    for pair in 0..ROWS >> 1 {
        let (mut x, mut y) = V::scatter(rows[2 * pair], rows[2 * pair + 1]);
        (x, y) = inverse_lanes::<B, V, 2, true>(b, pair, x, y);
        (x, y) = inverse_lanes::<B, V, 4, false>(b, pair, x, y);
        (x, y) = inverse_lanes::<B, V, 8, false>(b, pair, x, y);
        if LANES > 16 {
            (x, y) = inverse_lanes::<B, V, 16, true>(b, pair, x, y);
        }
        (rows[2 * pair], rows[2 * pair + 1]) = (x, y);
    }
    inverse_layers::<V, LANES>(&mut rows);
    store(&rows, out);
}

#[inline(always)]
fn inverse_lanes<B: Copy, V: Lanes<B>, const LEN: usize, const REDUCE: bool>(
    b: B,
    pair: usize,
    x: V,
    y: V,
) -> (V, V) {
    let zetas = &V::lane_zetas()[const { LEN.trailing_zeros() as usize - 1 }];
    let sum = x.add(y);
    let zeta = V::constants(b, &zetas.inverse[pair].value);
    let times_q_inverse = V::constants(b, &zetas.inverse[pair].times_q_inverse);
    let product = multiply_lanes(y.sub(x), zeta, times_q_inverse);
    V::exchange::<LEN>(if REDUCE { sum.reduce() } else { sum }, product)
}

#[inline(always)]
fn load<B: Copy, V: Row<B>, const ROWS: usize>(b: B, f: &[V::Coefficient; N]) -> [V; ROWS] {
    let mut rows = [V::load(b, f); ROWS];
    for i in 0..ROWS {
        rows[i] = V::load(b, &f[V::LANES * i..]);
    }
    rows
}

#[inline(always)]
fn store<B: Copy, V: Row<B>, const ROWS: usize>(rows: &[V; ROWS], f: &mut [V::Coefficient; N]) {
    for i in 0..ROWS {
        rows[i].store(&mut f[V::LANES * i..]);
    }
}

/// [`dot`] over rows of several coefficients, with the same bounds.
#[inline(always)]
pub(crate) fn dot_lanes<B: Copy, V: Lanes<B>, P: AsRef<[V::Coefficient; N]>, const K: usize>(
    b: B,
    f: [&P; K],
    g: &[P; K],
    gg: &[P; K],
    out: &mut [V::Coefficient; N],
) {
    let mut at = 0;
    while at < N {
        let row = |f: &P| V::load(b, &f.as_ref()[at..]);
        let mut even = row(f[0]).multiply_pairs(row(&gg[0]));
        let mut odd = row(f[0]).multiply_pairs(row(&g[0]).swap_pairs());
        for l in 1..K {
            even = V::add_sums(even, row(f[l]).multiply_pairs(row(&gg[l])));
            odd = V::add_sums(odd, row(f[l]).multiply_pairs(row(&g[l]).swap_pairs()));
        }
        // As montgomery_reduce does: the low halves cancel.
        let (low, high) = V::halves(even, odd);
        let quotient = low.mul_low(low.splat(Q_INVERSE));
        high.sub(quotient.mul_high(low.splat(Q))).store(&mut out[at..]);
        at += V::LANES;
    }
}

/// Widest vector.
const MAX_LANES: usize = 32;

/// The zetas of one layer whose butterflies lie within two neighbouring vectors, for each such pair, in
/// the order that `Lanes::exchange` leaves the coefficients in.
pub(crate) struct LaneZetas {
    pub(crate) forward: [LaneFactors<MAX_LANES>; 8],
    pub(crate) inverse: [LaneFactors<MAX_LANES>; 8],
}

/// [`LaneZetas`] of the layers at distances 2, 4, 8 and, for 32 lanes, 16.
#[allow(clippy::integer_division_remainder_used)] // of a table, at compile time
pub(crate) const fn lane_zetas(lanes: usize) -> [LaneZetas; 4] {
    const ZERO: LaneFactors<MAX_LANES> = LaneFactors::ZERO;
    const NONE: LaneZetas = LaneZetas { forward: [ZERO; 8], inverse: [ZERO; 8] };
    let mut layers = [NONE; 4];
    let (mut x, mut y) = ([0; MAX_LANES], [0; MAX_LANES]);
    let mut lane = 0;
    while lane < lanes {
        (x[lane], y[lane]) = (lane, lanes + lane);
        lane += 1;
    }
    let mut len = lanes / 2;
    while len >= 2 {
        (x, y) = exchange(x, y, len);
        let layer = &mut layers[len.trailing_zeros() as usize - 1];
        let zetas = layer_zetas(len);
        let mut pair = 0;
        while pair < 128 / lanes {
            let mut lane = 0;
            while lane < lanes {
                let block = (2 * lanes * pair + x[lane]) / (2 * len);
                layer.forward[pair].set(lane, zetas[block]);
                layer.inverse[pair].set(lane, zetas[zetas.len() - 1 - block]);
                lane += 1;
            }
            pair += 1;
        }
        len /= 2;
    }
    layers
}

/// What `Lanes::exchange` does, on indices.
const fn exchange(
    x: [usize; MAX_LANES],
    y: [usize; MAX_LANES],
    len: usize,
) -> ([usize; MAX_LANES], [usize; MAX_LANES]) {
    let (mut even, mut odd) = (x, y);
    let mut lane = 0;
    while lane < MAX_LANES {
        if lane & len == 0 {
            odd[lane] = x[lane + len];
        } else {
            even[lane] = y[lane - len];
        }
        lane += 1;
    }
    (even, odd)
}

/// For 32 lanes, where all exchanges from 16 down to 2 take each pair of coefficients of the first or
/// second vector from; or, backwards, all of them in the opposite order.
#[allow(clippy::integer_division_remainder_used)] // of a table, at compile time
pub(crate) const fn exchange_order(vector: usize, backwards: bool) -> [u32; MAX_LANES / 2] {
    let (mut x, mut y) = ([0; MAX_LANES], [0; MAX_LANES]);
    let mut lane = 0;
    while lane < MAX_LANES {
        (x[lane], y[lane]) = (lane, MAX_LANES + lane);
        lane += 1;
    }
    let mut step = 1;
    while step <= 4 {
        (x, y) = exchange(x, y, if backwards { 1 << step } else { 32 >> step });
        step += 1;
    }
    let mut order = [0; MAX_LANES / 2];
    let mut pair = 0;
    while pair < order.len() {
        let from = if vector == 0 { x[2 * pair] } else { y[2 * pair] };
        order[pair] = (from / 2) as u32;
        pair += 1;
    }
    order
}
