//! R_q = Z_q\[X\]/(X^256 + 1) and T_q, its image under the NTT (FIPS 203 sections 2.4.4 and 4.3).
//!
//! NTT, NTT^-1, MultiplyNTTs. Coefficients are `i16`, any representative mod q; each function states
//! the bound that it needs and gives. Written over [`Vector`], of which `i16` itself is the portable
//! one: the loops are those that compilers turn into vector code by themselves. Products are
//! Montgomery products, a b R^-1 mod q with R = 2^16. All values may be secret.
//! Tests: every leaf over its whole domain, the transforms against schoolbook multiplication.

use crate::params::{N, Q};

/// A polynomial of R_q, coefficient of X^i at index i. Wiped on drop.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct Poly(pub(crate) [i16; N]);

/// An element of T_q: coefficients 2i and 2i + 1 are its image mod X^2 - zeta^(2 BitRev_7(i) + 1).
/// Wiped on drop.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct NttPoly(pub(crate) [i16; N]);

macro_rules! polynomial {
    ($type:ident) => {
        impl $type {
            pub(crate) const ZERO: Self = Self([0; N]);
        }

        impl Drop for $type {
            #[inline]
            fn drop(&mut self) {
                self.0 = [0; N];
                zeroize::optimization_barrier(&self.0);
            }
        }
    };
}
polynomial!(Poly);
polynomial!(NttPoly);

impl subtle::ConstantTimeEq for NttPoly {
    /// Whether all representatives are equal.
    fn ct_eq(&self, other: &Self) -> subtle::Choice {
        let difference = self.0.iter().zip(&other.0).fold(0, |any, (x, y)| any | (x ^ y));
        difference.ct_eq(&0)
    }
}

/// What ring arithmetic needs of a coefficient, or of several at once. All but the high product wrap.
pub(crate) trait Vector: Copy {
    fn splat(x: i16) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// Low half of the product.
    fn mul_low(self, other: Self) -> Self;
    /// High half of the signed product.
    fn mul_high(self, other: Self) -> Self;
    /// Arithmetic shift.
    fn shift_right<const BY: u32>(self) -> Self;
    fn and(self, other: Self) -> Self;
}

impl Vector for i16 {
    #[inline(always)]
    fn splat(x: i16) -> Self {
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
    fn shift_right<const BY: u32>(self) -> Self {
        self >> BY
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
}

/// R mod q, and q^-1 mod R.
const R: u32 = (1 << 16) % Q as u32;
const Q_INVERSE: i16 = {
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
    value: i16,
    times_q_inverse: i16,
}

impl Factor {
    pub(crate) const fn new(c: u32) -> Self {
        let residue = (c % Q as u32 * R % Q as u32) as i16;
        let value = if residue > Q / 2 { residue - Q } else { residue };
        Self { value, times_q_inverse: value.wrapping_mul(Q_INVERSE) }
    }
}

const fn power(base: u32, exponent: u32) -> u32 {
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

static ZETAS: [Factor; 128] = {
    let mut zetas = [Factor::new(0); 128];
    let mut i = 0;
    while i < 128 {
        zetas[i] = Factor::new(zeta_power(i as u32));
        i += 1;
    }
    zetas
};

/// zeta^(2 BitRev_7(i) + 1) at index 2i + 1, and 1 before it.
static GAMMAS: [Factor; N] = {
    let mut gammas = [Factor::new(1); N];
    let mut i = 0;
    while i < 128 {
        let zeta = zeta_power(i as u32);
        gammas[2 * i + 1] = Factor::new(zeta * zeta % Q as u32 * 17);
        i += 1;
    }
    gammas
};

/// Ends NTT^-1: 1/128, and R for the R^-1 that a sum of products still carries.
const INVERSE_SCALE: Factor = Factor::new(power(128, Q as u32 - 2) * R);
/// Undoes the R^-1 of a sum of products.
const PRODUCT_SCALE: Factor = Factor::new(R);

/// a c mod q; |result| <= |a| / 39 + q / 2, so below q for every i16.
#[inline(always)]
fn multiply<V: Vector>(a: V, c: Factor) -> V {
    let quotient = a.mul_low(V::splat(c.times_q_inverse));
    a.mul_high(V::splat(c.value)).sub(quotient.mul_high(V::splat(Q)))
}

/// The representative of a in \[-q/2, q/2\], for every i16 (Barrett).
#[inline(always)]
fn reduce<V: Vector>(a: V) -> V {
    const FACTOR: i16 = ((1 << 26) + Q as i32 / 2).div_euclid(Q as i32) as i16;
    let rounded = a.mul_high(V::splat(FACTOR)).add(V::splat(1 << 9)).shift_right::<10>();
    a.sub(rounded.mul_low(V::splat(Q)))
}

/// The representative of a in \[0, q), for every i16.
#[inline(always)]
pub(crate) fn canonical<V: Vector>(a: V) -> V {
    let centred = reduce(a);
    centred.add(centred.shift_right::<15>().and(V::splat(Q)))
}

/// NTT. |f| <= q gives |result| <= 5q: each of the seven layers adds at most |f| / 39 + q / 2.
#[inline(always)]
pub(crate) fn ntt<V: Vector>(f: &mut [V; N]) {
    forward_layer::<V, 128>(f);
    forward_layer::<V, 64>(f);
    forward_layer::<V, 32>(f);
    forward_layer::<V, 16>(f);
    forward_layer::<V, 8>(f);
    forward_layer::<V, 4>(f);
    forward_layer::<V, 2>(f);
}

#[inline(always)]
fn forward_layer<V: Vector, const LEN: usize>(f: &mut [V; N]) {
    let zetas = &ZETAS[const { 128 / LEN }..const { 256 / LEN }];
    for (block, zeta) in f.chunks_exact_mut(2 * LEN).zip(zetas) {
        let (low, high) = block.split_at_mut(LEN);
        for (low, high) in low.iter_mut().zip(high) {
            let product = multiply(*high, *zeta);
            *high = low.sub(product);
            *low = low.add(product);
        }
    }
}

/// NTT^-1 times R: for a sum of products, which still carries R^-1. |f| <= 2.6q gives |result| < q.
///
/// Differences become products, below q. Sums double in each layer; those of the first and of the
/// fourth layer are reduced, so that none exceeds 17,400.
#[inline(always)]
pub(crate) fn ntt_inverse<V: Vector>(f: &mut [V; N]) {
    inverse_layer::<V, 2, true>(f);
    inverse_layer::<V, 4, false>(f);
    inverse_layer::<V, 8, false>(f);
    inverse_layer::<V, 16, true>(f);
    inverse_layer::<V, 32, false>(f);
    inverse_layer::<V, 64, false>(f);
    inverse_layer::<V, 128, false>(f);
    for x in f {
        *x = multiply(*x, INVERSE_SCALE);
    }
}

#[inline(always)]
fn inverse_layer<V: Vector, const LEN: usize, const REDUCE: bool>(f: &mut [V; N]) {
    let zetas = &ZETAS[const { 128 / LEN }..const { 256 / LEN }];
    for (block, zeta) in f.chunks_exact_mut(2 * LEN).zip(zetas.iter().rev()) {
        let (low, high) = block.split_at_mut(LEN);
        for (low, high) in low.iter_mut().zip(high) {
            let difference = high.sub(*low);
            let sum = low.add(*high);
            *low = if REDUCE { reduce(sum) } else { sum };
            *high = multiply(difference, *zeta);
        }
    }
}

/// Odd coefficients times gamma: the second operand of [`dot`]. For every i16; |result| < q.
#[inline(always)]
pub(crate) fn times_gammas(f: &NttPoly, out: &mut NttPoly) {
    for ((out, x), gamma) in out.0.iter_mut().zip(&f.0).zip(&GAMMAS) {
        *out = multiply(*x, *gamma);
    }
}

/// Inner product over T_q times R^-1, by MultiplyNTTs: (a0 + a1 X)(b0 + b1 X) mod X^2 - gamma is
/// (a0 b0 + a1 gamma b1) + (a0 b1 + a1 b0) X. `gb` is `b` after [`times_gammas`].
///
/// |a| < q and |b| <= 5q: the sum of eight products stays below 2^29, and |result| <= 2.6q.
#[inline(always)]
pub(crate) fn dot<const K: usize>(
    a: [&NttPoly; K],
    b: &[NttPoly; K],
    gb: &[NttPoly; K],
    out: &mut [i16; N],
) {
    let mut even = [0i32; N / 2];
    let mut odd = [0i32; N / 2];
    for l in 0..K {
        let (a, b, gb) =
            (a[l].0.as_chunks::<2>().0, b[l].0.as_chunks::<2>().0, gb[l].0.as_chunks::<2>().0);
        for i in 0..N / 2 {
            let (a0, a1) = (i32::from(a[i][0]), i32::from(a[i][1]));
            even[i] += a0 * i32::from(gb[i][0]) + a1 * i32::from(gb[i][1]);
            odd[i] += a0 * i32::from(b[i][1]) + a1 * i32::from(b[i][0]);
        }
    }
    for (i, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        *out = [montgomery_reduce(even[i]), montgomery_reduce(odd[i])];
    }
}

/// a R^-1 mod q; |result| <= |a| / R + q / 2.
#[inline(always)]
fn montgomery_reduce(a: i32) -> i16 {
    let quotient = (a as i16).wrapping_mul(Q_INVERSE);
    ((a - i32::from(quotient) * i32::from(Q)) >> 16) as i16
}

/// f becomes f R + e in \[0, q): ends a row of t = A s + e. |e| <= 5q.
#[inline(always)]
pub(crate) fn finish_row(f: &mut NttPoly, e: &NttPoly) {
    for (x, e) in f.0.iter_mut().zip(&e.0) {
        *x = canonical(multiply(*x, PRODUCT_SCALE).add(*e));
    }
}

/// f += g. |f|, |g| <= 2q.
#[inline(always)]
pub(crate) fn add(f: &mut Poly, g: &Poly) {
    for (x, y) in f.0.iter_mut().zip(&g.0) {
        *x = Vector::add(*x, *y);
    }
}

/// f becomes g - f. |f|, |g| <= 2q.
#[inline(always)]
pub(crate) fn subtract_from(f: &mut Poly, g: &Poly) {
    for (x, y) in f.0.iter_mut().zip(&g.0) {
        *x = Vector::sub(*y, *x);
    }
}

/// All coefficients into \[0, q).
#[inline(always)]
pub(crate) fn make_canonical(f: &mut [i16; N]) {
    for x in f {
        *x = canonical(*x);
    }
}
