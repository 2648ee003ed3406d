//! R_q = Z_q\[X\]/(X^256 + 1) and T_q, its image under the NTT (FIPS 203 sections 2.4.4 and 4.3).
//!
//! NTT, NTT^-1, MultiplyNTTs. Coefficients are `i16`, any representative mod q; each function states
//! the bound that it needs and gives. Written over [`Vector`], of which `i16` itself is the portable
//! one: the loops are those that compilers turn into vector code by themselves. Products are
//! Montgomery products, a b R^-1 mod q with R = 2^16. All values may be secret.
//! Tests: every leaf over its whole domain, the transforms against schoolbook multiplication; the bounds
//! for all inputs in `range`.

use core::ops::{Add, Sub};

use crate::{
    constants::{
        BARRETT_FACTOR, Factor, GAMMAS, INVERSE_SCALE, INVERSE_SCALED_ZETA, PRODUCT_SCALE,
        Q_INVERSE, layer_zetas,
    },
    params::{N, Q},
};

/// A polynomial of R_q, coefficient of X^i at index i.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct Poly(pub(crate) [i16; N]);

/// An element of T_q: coefficients 2i and 2i + 1 are its image mod X^2 - zeta^(2 BitRev_7(i) + 1).
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct NttPoly(pub(crate) [i16; N]);

impl Poly {
    pub(crate) const ZERO: Self = Self([0; N]);
}

impl NttPoly {
    pub(crate) const ZERO: Self = Self([0; N]);
}

impl AsRef<[i16; N]> for NttPoly {
    #[inline(always)]
    fn as_ref(&self) -> &[i16; N] {
        &self.0
    }
}

impl subtle::ConstantTimeEq for NttPoly {
    /// Whether all representatives are equal.
    fn ct_eq(&self, other: &Self) -> subtle::Choice {
        let difference = self.0.iter().zip(&other.0).fold(0, |any, (x, y)| any | (x ^ y));
        difference.ct_eq(&0)
    }
}

/// What ring arithmetic needs of a coefficient, or of several at once. `add`, `sub` and `mul_low` wrap.
pub(crate) trait Vector: Copy {
    /// The same value in every lane; from a value in hand, since only a token makes the first one.
    fn splat(self, x: i16) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// Low half of the product.
    fn mul_low(self, other: Self) -> Self;
    /// High half of the signed product.
    fn mul_high(self, other: Self) -> Self;
    /// High half of `self` times `value` less that of `quotient` times q, where the low halves are equal:
    /// the end of a Montgomery product.
    #[inline(always)]
    fn montgomery(self, value: Self, quotient: Self, q: Self) -> Self {
        self.mul_high(value).sub(quotient.mul_high(q))
    }
    /// Arithmetic shift.
    fn shift_right<const BY: i32>(self) -> Self;
    fn and(self, other: Self) -> Self;

    /// The representative in \[-q/2, q/2\], for every i16 (Barrett).
    #[inline(always)]
    fn reduce(self) -> Self {
        let rounded =
            self.mul_high(self.splat(BARRETT_FACTOR)).add(self.splat(1 << 9)).shift_right::<10>();
        self.sub(rounded.mul_low(self.splat(Q)))
    }
    /// The representative in \[0, q), for every i16.
    #[inline(always)]
    fn canonical(self) -> Self {
        let centred = self.reduce();
        centred.add(centred.shift_right::<15>().and(self.splat(Q)))
    }
}

/// A [`Vector`] of `LANES` coefficients that lie beside each other in memory, on a backend `B`.
pub(crate) trait Row<B>: Vector {
    /// What memory holds: `i16`, or what a test makes of it.
    type Coefficient;
    const LANES: usize;
    /// Reads the first `LANES` coefficients.
    fn load(b: B, f: &[Self::Coefficient]) -> Self;
    /// Reads the first `LANES` constants of a table.
    fn constants(b: B, c: &[i16]) -> Self;
    fn store(self, f: &mut [Self::Coefficient]);
}

/// A single coefficient, with products of full width.
pub(crate) trait Coefficient: Vector {
    /// Its sums and differences must not overflow.
    type Wide: Copy + Default + Add<Output = Self::Wide> + Sub<Output = Self::Wide>;
    fn times(self, other: Self) -> Self::Wide;
    /// Low and high half.
    fn halves(wide: Self::Wide) -> (Self, Self);
}

impl Vector for i16 {
    #[inline(always)]
    fn splat(self, x: i16) -> Self {
        x
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        ((i32::from(self) * i32::from(other)) >> 16) as i16
    }
    #[inline(always)]
    fn shift_right<const BY: i32>(self) -> Self {
        self >> BY
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
}

impl Coefficient for i16 {
    type Wide = i32;
    #[inline(always)]
    fn times(self, other: Self) -> i32 {
        i32::from(self) * i32::from(other)
    }
    #[inline(always)]
    fn halves(wide: i32) -> (Self, Self) {
        (wide as i16, (wide >> 16) as i16)
    }
}

/// a c mod q; |result| <= |a| / 39 + q / 2, so below q for every i16.
#[inline(always)]
fn multiply<V: Vector>(a: V, c: Factor) -> V {
    multiply_lanes(a, a.splat(c.value), a.splat(c.times_q_inverse))
}

/// [`multiply`] by a constant of each lane's own, given as its two parts.
#[inline(always)]
pub(crate) fn multiply_lanes<V: Vector>(a: V, value: V, times_q_inverse: V) -> V {
    a.montgomery(value, a.mul_low(times_q_inverse), a.splat(Q))
}

/// NTT. |f| <= q gives |result| <= 5q: each of the seven layers adds at most |f| / 39 + q / 2.
#[inline(always)]
pub(crate) fn ntt<V: Vector>(f: &mut [V; N]) {
    forward_layers::<V, 1>(f);
    forward_layer::<V, 8, 1>(f);
    forward_layer::<V, 4, 1>(f);
    forward_layer::<V, 2, 1>(f);
}

/// The layers at distances 128 to 16, over rows of LANES coefficients, where those are between rows.
#[inline(always)]
pub(crate) fn forward_layers<V: Vector, const LANES: usize>(f: &mut [V]) {
    forward_layer::<V, 128, LANES>(f);
    forward_layer::<V, 64, LANES>(f);
    forward_layer::<V, 32, LANES>(f);
    if LANES <= 16 {
        forward_layer::<V, 16, LANES>(f);
    }
}

#[inline(always)]
fn forward_layer<V: Vector, const LEN: usize, const LANES: usize>(f: &mut [V]) {
    let rows = const { LEN >> LANES.trailing_zeros() };
    for (block, zeta) in f.chunks_exact_mut(2 * rows).zip(const { layer_zetas(LEN) }) {
        let (low, high) = block.split_at_mut(rows);
        for (low, high) in low.iter_mut().zip(high) {
            let product = multiply(*high, *zeta);
            *high = low.sub(product);
            *low = low.add(product);
        }
    }
}

/// NTT^-1 times R: for a sum of products, which still carries R^-1. |f| <= 4.4q gives |result| < q.
///
/// Differences become products, below q. Sums double in each layer; those of the first and of the
/// fourth layer are reduced, so that none exceeds 29,300.
#[inline(always)]
pub(crate) fn ntt_inverse<V: Vector>(f: &mut [V; N]) {
    inverse_layer::<V, 2, 1, true>(f);
    inverse_layer::<V, 4, 1, false>(f);
    inverse_layer::<V, 8, 1, false>(f);
    inverse_layers::<V, 1>(f);
}

/// The layers at distances 16 to 128, over rows of LANES coefficients, where those are between rows.
#[inline(always)]
pub(crate) fn inverse_layers<V: Vector, const LANES: usize>(f: &mut [V]) {
    if LANES <= 16 {
        inverse_layer::<V, 16, LANES, true>(f);
    }
    inverse_layer::<V, 32, LANES, false>(f);
    inverse_layer::<V, 64, LANES, false>(f);
    // The last layer, with its scale in both of its constants.
    let (low, high) = f.split_at_mut(const { 128 >> LANES.trailing_zeros() });
    for (low, high) in low.iter_mut().zip(high) {
        let difference = high.sub(*low);
        *low = multiply(low.add(*high), INVERSE_SCALE);
        *high = multiply(difference, INVERSE_SCALED_ZETA);
    }
}

#[inline(always)]
fn inverse_layer<V: Vector, const LEN: usize, const LANES: usize, const REDUCE: bool>(f: &mut [V]) {
    let rows = const { LEN >> LANES.trailing_zeros() };
    let zetas = const { layer_zetas(LEN) }.iter().rev();
    for (block, zeta) in f.chunks_exact_mut(2 * rows).zip(zetas) {
        let (low, high) = block.split_at_mut(rows);
        for (low, high) in low.iter_mut().zip(high) {
            let difference = high.sub(*low);
            let sum = low.add(*high);
            *low = if REDUCE { sum.reduce() } else { sum };
            *high = multiply(difference, *zeta);
        }
    }
}

/// Odd coefficients times gamma: the second operand of [`dot`]. For every i16; |result| < q.
#[inline(always)]
pub(crate) fn times_gammas<B: Copy, V: Row<B>>(
    b: B,
    f: &[V::Coefficient; N],
    out: &mut [V::Coefficient; N],
) {
    let mut at = 0;
    while at < N {
        let value = V::constants(b, &GAMMAS.value[at..]);
        let times_q_inverse = V::constants(b, &GAMMAS.times_q_inverse[at..]);
        let product = multiply_lanes(V::load(b, &f[at..]), value, times_q_inverse);
        product.store(&mut out[at..]);
        at += V::LANES;
    }
}

/// Pairs of coefficients that [`dot`] takes at a time.
const PAIRS: usize = 16;

/// Inner product over T_q times R^-1, by MultiplyNTTs: (a0 + a1 X)(b0 + b1 X) mod X^2 - gamma is
/// (a0 b0 + a1 gamma b1) + (a0 b1 + a1 b0) X. `gb` is `b` after [`times_gammas`].
///
/// |a| < q and |b| <= 5q: the sum of eight products stays below 2^29, and |result| <= 2.6q.
#[inline(always)]
pub(crate) fn dot<C: Coefficient, P: AsRef<[C; N]>, const K: usize>(
    a: [&P; K],
    b: &[P; K],
    gb: &[P; K],
    out: &mut [C; N],
) {
    for (i, out) in out.as_chunks_mut::<{ 2 * PAIRS }>().0.iter_mut().enumerate() {
        let (mut even, mut odd) = ([C::Wide::default(); PAIRS], [C::Wide::default(); PAIRS]);
        for l in 0..K {
            let (a, b, gb) = (chunk(a[l], i), chunk(&b[l], i), chunk(&gb[l], i));
            for p in 0..PAIRS {
                let (a0, a1) = (a[2 * p], a[2 * p + 1]);
                even[p] = even[p] + (a0.times(gb[2 * p]) + a1.times(gb[2 * p + 1]));
                odd[p] = odd[p] + (a0.times(b[2 * p + 1]) + a1.times(b[2 * p]));
            }
        }
        for p in 0..PAIRS {
            out[2 * p] = montgomery_reduce(even[p]);
            out[2 * p + 1] = montgomery_reduce(odd[p]);
        }
    }
}

/// The i-th run of the coefficients that [`dot`] takes at a time.
#[inline(always)]
fn chunk<C, P: AsRef<[C; N]>>(f: &P, i: usize) -> &[C; 2 * PAIRS] {
    &f.as_ref().as_chunks().0[i]
}

/// a R^-1 mod q; |result| <= |a| / R + q / 2.
#[inline(always)]
fn montgomery_reduce<C: Coefficient>(a: C::Wide) -> C {
    let (low, _) = C::halves(a);
    let quotient = low.mul_low(low.splat(Q_INVERSE));
    // The low halves cancel.
    let (_, high) = C::halves(a - quotient.times(low.splat(Q)));
    high
}

/// f becomes f R + e in \[0, q): ends a row of t = A s + e. |e| <= 5q.
#[inline(always)]
pub(crate) fn finish_row<B: Copy, V: Row<B>>(
    b: B,
    f: &mut [V::Coefficient; N],
    e: &[V::Coefficient; N],
) {
    zip::<B, V>(b, f, e, |x, e| multiply(x, PRODUCT_SCALE).add(e).canonical());
}

/// f += g. |f|, |g| <= 4.4q.
#[inline(always)]
pub(crate) fn add<B: Copy, V: Row<B>>(b: B, f: &mut [V::Coefficient; N], g: &[V::Coefficient; N]) {
    zip::<B, V>(b, f, g, Vector::add);
}

/// f becomes g - f. |f|, |g| <= 2q.
#[inline(always)]
pub(crate) fn subtract_from<B: Copy, V: Row<B>>(
    b: B,
    f: &mut [V::Coefficient; N],
    g: &[V::Coefficient; N],
) {
    zip::<B, V>(b, f, g, |x, y| y.sub(x));
}

/// All coefficients into \[0, q).
#[inline(always)]
pub(crate) fn make_canonical<B: Copy, V: Row<B>>(b: B, f: &mut [V::Coefficient; N]) {
    let mut at = 0;
    while at < N {
        V::load(b, &f[at..]).canonical().store(&mut f[at..]);
        at += V::LANES;
    }
}

/// f becomes `op` of f and g.
#[inline(always)]
fn zip<B: Copy, V: Row<B>>(
    b: B,
    f: &mut [V::Coefficient; N],
    g: &[V::Coefficient; N],
    op: impl Fn(V, V) -> V,
) {
    let mut at = 0;
    while at < N {
        op(V::load(b, &f[at..]), V::load(b, &g[at..])).store(&mut f[at..]);
        at += V::LANES;
    }
}

#[cfg(test)]
mod tests {
    use subtle::ConstantTimeEq as _;

    use super::*;
    use crate::constants::{R, power};

    const Q32: i32 = Q as i32;

    fn residue(x: impl Into<i64>) -> i64 {
        x.into().rem_euclid(i64::from(Q))
    }

    /// A fixed sequence of values in [-bound, bound], the extremes included.
    fn sequence(seed: u32, bound: i16) -> [i16; N] {
        let mut state = seed;
        core::array::from_fn(|i| match i % 16 {
            0 => bound,
            1 => -bound,
            _ => {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 8) as i64 % (2 * i64::from(bound) + 1) - i64::from(bound)) as i16
            }
        })
    }

    /// Multiplication in R_q as it is defined: X^256 = -1.
    fn schoolbook(f: &[i16; N], g: &[i16; N]) -> [i64; N] {
        let mut product = [0; N];
        for i in 0..N {
            for j in 0..N {
                let term = i64::from(f[i]) * i64::from(g[j]);
                product[(i + j) % N] += if i + j < N { term } else { -term };
            }
        }
        product.map(residue)
    }

    #[test]
    fn multiply_over_all_values_and_constants() {
        for c in 0..Q as u32 {
            let factor = Factor::new(c);
            for a in i16::MIN..=i16::MAX {
                let product = i32::from(multiply(a, factor));
                assert_eq!((product - i32::from(a) * c as i32) % Q32, 0, "{a} * {c}");
                assert!(product.abs() <= i32::from(a).abs() / 39 + Q32 / 2 + 1, "{a} * {c}");
                assert!(product.abs() < Q32);
            }
        }
    }

    /// One bit at every position, and two of the same.
    #[test]
    fn equality_sees_every_bit() {
        let f = NttPoly(sequence(3, Q));
        assert!(bool::from(f.ct_eq(&f)));
        for bit in 0..16 {
            for i in 0..N {
                let mut g = f.clone();
                g.0[i] ^= 1 << bit;
                assert!(!bool::from(f.ct_eq(&g)), "bit {bit} of {i}");
                g.0[(i + 1) % N] ^= 1 << bit;
                assert!(!bool::from(f.ct_eq(&g)), "bit {bit} of {i} and the next");
            }
        }
    }

    #[test]
    fn reductions_over_all_values() {
        for a in i16::MIN..=i16::MAX {
            let centred = a.reduce();
            assert!((-Q / 2..=Q / 2).contains(&centred) && residue(centred) == residue(a), "{a}");
            assert_eq!(i64::from(a.canonical()), residue(a));
        }
    }

    /// Every quotient digit, beside every high half that `dot` can reach.
    #[test]
    fn montgomery_reduction() {
        let check = |a: i32| {
            let result = i64::from(montgomery_reduce::<i16>(a));
            assert_eq!(residue(result << 16), residue(a), "{a}");
            assert!(result.abs() <= i64::from(a).abs() / 65536 + i64::from(Q) / 2 + 1, "{a}");
        };
        for low in 0..1 << 16 {
            for high in [-(1 << 13), -1, 0, 1, (1 << 13) - 1] {
                check(high << 16 | low);
            }
        }
        for high in -(1 << 13)..1 << 13 {
            for low in [0, 1, 0x7fff, 0x8000, 0xffff] {
                check(high << 16 | low);
            }
        }
    }

    #[test]
    fn transform_and_back() {
        for bound in [1, 3, Q] {
            let f = sequence(7, bound);
            let mut t = f;
            ntt(&mut t);
            assert!(t.iter().all(|x| x.abs() <= 5 * Q));
            t.iter_mut().for_each(|x| *x = x.reduce());
            ntt_inverse(&mut t);
            for i in 0..N {
                // ntt_inverse gives the R-fold.
                assert_eq!(residue(t[i]), residue(i64::from(f[i]) * i64::from(R)));
                assert!(t[i].abs() < Q);
            }
        }
    }

    fn check_dot<const K: usize>() {
        let a: [_; K] = core::array::from_fn(|l| NttPoly(sequence(l as u32, Q - 1)));
        let f: [_; K] = core::array::from_fn(|l| Poly(sequence(100 + l as u32, Q)));
        let b = f.each_ref().map(|f| {
            let mut t = NttPoly(f.0);
            ntt(&mut t.0);
            t
        });
        let gb = b.each_ref().map(|b| {
            let mut g = NttPoly::ZERO;
            times_gammas::<(), i16>((), &b.0, &mut g.0);
            g
        });
        let mut product = NttPoly::ZERO;
        dot(a.each_ref(), &b, &gb, &mut product.0);
        assert!(product.0.iter().all(|x| i32::from(x.abs()) <= 26 * Q32 / 10));

        let mut expected = [0; N];
        for l in 0..K {
            let mut a_plain = a[l].0;
            ntt_inverse(&mut a_plain);
            // ntt_inverse gives the R-fold.
            let inverse_r = power(R, Q as u32 - 2);
            for (e, p) in expected.iter_mut().zip(schoolbook(&a_plain, &f[l].0)) {
                *e = residue(*e + p * i64::from(inverse_r));
            }
        }
        ntt_inverse(&mut product.0);
        assert!(product.0.iter().all(|x| x.abs() < Q));
        assert_eq!(product.0.map(residue), expected, "K = {K}");
    }

    #[test]
    fn dot_is_a_sum_of_schoolbook_products() {
        check_dot::<2>();
        check_dot::<3>();
        check_dot::<4>();
    }

    #[test]
    fn row_ends_canonical() {
        let f = sequence(1, 26 * (Q / 10));
        let e = sequence(2, 5 * (Q - 1));
        let mut row = NttPoly(f);
        finish_row::<(), i16>((), &mut row.0, &e);
        for i in 0..N {
            let expected = residue(i64::from(f[i]) * i64::from(R) + i64::from(e[i]));
            assert_eq!(i64::from(row.0[i]), expected);
        }
    }
}
