//! The bounds of the ring arithmetic for all inputs: the production code run on ranges of values.
//!
//! A [`Range`] is one more [`Vector`]: the kernels of `poly` and `lanes` are the very functions that
//! the backends call, with a range in the place of each coefficient. Sums and differences must not wrap;
//! products may, where Montgomery's method wants it. Only the two reductions are replaced, by what they
//! promise, which is looked up over all i16. A range holds every value that its inputs allow, so that what
//! is asserted here holds for all inputs.

extern crate std;

use core::{
    array,
    ops::{Add, Sub},
};

use keccak::{backend::Level, dispatch};

use crate::{
    Seed, k_pke,
    lanes::{LaneZetas, Lanes, dot_lanes, lane_zetas, ntt_inverse_lanes, ntt_lanes},
    mlkem512::DecapsulationKey,
    params::{ETA2, N, POLY_BYTES, Q, SYM_BYTES, eta1},
    poly::{self, Coefficient, NttPoly, Row, Vector},
    small,
};

/// All values from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    low: i16,
    high: i16,
    /// Largest magnitude of a sum or difference on the way here.
    peak: i32,
}

impl Range {
    const ANY: Self = Self { low: i16::MIN, high: i16::MAX, peak: 0 };

    /// Fails if a value would wrap.
    #[track_caller]
    fn new(low: i32, high: i32, peak: i32) -> Self {
        assert!(low <= high);
        let narrow = |x: i32| i16::try_from(x).unwrap_or_else(|_| panic!("{low}..={high} wraps"));
        Self { low: narrow(low), high: narrow(high), peak }
    }

    fn within(bound: i32) -> Self {
        Self::new(-bound, bound, bound)
    }

    fn only(x: i16) -> Self {
        Self { low: x, high: x, peak: 0 }
    }

    fn ends(self) -> [i32; 2] {
        [self.low.into(), self.high.into()]
    }

    fn contains(self, x: i16) -> bool {
        (self.low..=self.high).contains(&x)
    }

    /// Lowest and highest product; a bilinear function has both at ends of the ranges.
    fn products(self, other: Self) -> [i32; 2] {
        let products = self.ends().map(|x| other.ends().map(|y| x * y));
        let products = products.as_flattened();
        [
            products.iter().copied().fold(i32::MAX, i32::min),
            products.iter().copied().fold(i32::MIN, i32::max),
        ]
    }

    /// Every value of both.
    fn or(self, other: Self) -> Self {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        Self { low, high, peak: self.peak.max(other.peak) }
    }

    fn sum(self, low: i32, high: i32, other: Self) -> Self {
        let peak = low.abs().max(high.abs()).max(self.peak).max(other.peak);
        Self::new(low, high, peak)
    }
}

impl Vector for Range {
    fn splat(self, x: i16) -> Self {
        Self::only(x)
    }
    fn add(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.ends(), other.ends());
        self.sum(a + c, b + d, other)
    }
    fn sub(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.ends(), other.ends());
        self.sum(a - d, b - c, other)
    }
    /// May wrap, and then be anything.
    fn mul_low(self, other: Self) -> Self {
        let peak = self.peak.max(other.peak);
        match self.products(other).map(i16::try_from) {
            [Ok(low), Ok(high)] => Self { low, high, peak },
            _ => Self { peak, ..Self::ANY },
        }
    }
    fn mul_high(self, other: Self) -> Self {
        let [low, high] = self.products(other);
        Self::new(low >> 16, high >> 16, self.peak.max(other.peak))
    }
    fn shift_right<const BY: i32>(self) -> Self {
        unreachable!("only reductions shift")
    }
    fn and(self, _: Self) -> Self {
        unreachable!("only reductions mask")
    }
    /// What [`reductions_over_all_values`] finds for all i16.
    fn reduce(self) -> Self {
        Self { low: -(Q >> 1), high: Q >> 1, ..self }
    }
    /// The same.
    fn canonical(self) -> Self {
        Self { low: 0, high: Q - 1, ..self }
    }
}

/// All values of a sum of products from `low` to `high`.
#[derive(Clone, Copy, Debug, Default)]
struct WideRange {
    low: i64,
    high: i64,
    peak: i32,
}

impl WideRange {
    #[track_caller]
    fn new(low: i64, high: i64, peak: i32) -> Self {
        assert!(i32::try_from(low).is_ok() && i32::try_from(high).is_ok(), "{low}..={high} wraps");
        Self { low, high, peak }
    }
}

impl Add for WideRange {
    type Output = Self;
    /// Within the bound that [`poly::dot`] states.
    fn add(self, other: Self) -> Self {
        let sum =
            Self::new(self.low + other.low, self.high + other.high, self.peak.max(other.peak));
        assert!(sum.low > -(1 << 29) && sum.high < 1 << 29, "{sum:?} is not below 2^29");
        sum
    }
}

impl Sub for WideRange {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.low - other.high, self.high - other.low, self.peak.max(other.peak))
    }
}

impl Coefficient for Range {
    type Wide = WideRange;
    fn times(self, other: Self) -> WideRange {
        let [low, high] = self.products(other).map(i64::from);
        WideRange::new(low, high, self.peak.max(other.peak))
    }
    /// The low half may be anything.
    fn halves(wide: WideRange) -> (Self, Self) {
        let low = Self { peak: wide.peak, ..Self::ANY };
        (low, Self::new((wide.low >> 16) as i32, (wide.high >> 16) as i32, wide.peak))
    }
}

/// One coefficient, as on the portable backend.
impl Row<()> for Range {
    type Coefficient = Self;
    const LANES: usize = 1;
    fn load((): (), f: &[Self]) -> Self {
        f[0]
    }
    fn constants((): (), c: &[i16]) -> Self {
        Self::only(c[0])
    }
    fn store(self, f: &mut [Self]) {
        f[0] = self;
    }
}

/// `L` ranges, as the vectors of the other backends.
#[derive(Clone, Copy)]
struct Ranges<const L: usize>([Range; L]);

impl<const L: usize> Ranges<L> {
    fn zip(self, other: Self, op: impl Fn(Range, Range) -> Range) -> Self {
        Self(array::from_fn(|i| op(self.0[i], other.0[i])))
    }
}

impl<const L: usize> Vector for Ranges<L> {
    fn splat(self, x: i16) -> Self {
        Self([Range::only(x); L])
    }
    fn add(self, other: Self) -> Self {
        self.zip(other, Vector::add)
    }
    fn sub(self, other: Self) -> Self {
        self.zip(other, Vector::sub)
    }
    fn mul_low(self, other: Self) -> Self {
        self.zip(other, Vector::mul_low)
    }
    fn mul_high(self, other: Self) -> Self {
        self.zip(other, Vector::mul_high)
    }
    fn shift_right<const BY: i32>(self) -> Self {
        unreachable!("only reductions shift")
    }
    fn and(self, _: Self) -> Self {
        unreachable!("only reductions mask")
    }
    fn reduce(self) -> Self {
        Self(self.0.map(Vector::reduce))
    }
    fn canonical(self) -> Self {
        Self(self.0.map(Vector::canonical))
    }
}

impl<const L: usize> Row<()> for Ranges<L> {
    type Coefficient = Range;
    const LANES: usize = L;
    fn load((): (), f: &[Range]) -> Self {
        Self(array::from_fn(|i| f[i]))
    }
    fn constants((): (), c: &[i16]) -> Self {
        Self(array::from_fn(|i| Range::only(c[i])))
    }
    fn store(self, f: &mut [Range]) {
        f[..L].copy_from_slice(&self.0);
    }
}

static LANE_ZETAS: [[LaneZetas; 4]; 2] = [lane_zetas(16), lane_zetas(32)];

impl<const L: usize> Lanes<()> for Ranges<L> {
    fn exchange<const LEN: usize>(x: Self, y: Self) -> (Self, Self) {
        let even = array::from_fn(|i| if i & LEN == 0 { x.0[i] } else { y.0[i - LEN] });
        let odd = array::from_fn(|i| if i & LEN == 0 { x.0[i + LEN] } else { y.0[i] });
        (Self(even), Self(odd))
    }
    fn lane_zetas() -> &'static [LaneZetas; 4] {
        &LANE_ZETAS[L >> 5]
    }

    /// Of each pair at both its lanes.
    type Sums = [WideRange; L];
    fn multiply_pairs(self, other: Self) -> [WideRange; L] {
        let product = |i: usize| self.0[i].times(other.0[i]);
        array::from_fn(|i| product(i & !1) + product(i | 1))
    }
    fn add_sums(a: [WideRange; L], b: [WideRange; L]) -> [WideRange; L] {
        array::from_fn(|i| a[i] + b[i])
    }
    fn halves(even: [WideRange; L], odd: [WideRange; L]) -> (Self, Self) {
        let halves: [_; L] = array::from_fn(|i| Range::halves([even[i], odd[i]][i & 1]));
        (Self(halves.map(|x| x.0)), Self(halves.map(|x| x.1)))
    }
    fn swap_pairs(self) -> Self {
        Self(array::from_fn(|i| self.0[i ^ 1]))
    }
}

/// A polynomial of ranges.
#[derive(Clone, Copy, PartialEq)]
struct RangePoly([Range; N]);

impl AsRef<[Range; N]> for RangePoly {
    fn as_ref(&self) -> &[Range; N] {
        &self.0
    }
}

const CANONICAL: Range = Range { low: 0, high: Q - 1, peak: 0 };

impl RangePoly {
    fn filled(x: Range) -> Self {
        Self([x; N])
    }

    fn within(bound: i32) -> Self {
        Self::filled(Range::within(bound))
    }

    #[track_caller]
    fn assert_within(&self, bound: i32) {
        for (i, x) in self.0.iter().enumerate() {
            assert!(x.ends().map(i32::abs).iter().all(|x| *x <= bound), "{x:?} at {i}, {bound}");
        }
    }

    #[track_caller]
    fn assert_canonical(&self) {
        assert!(self.0.iter().all(|x| x.low >= 0 && x.high < Q));
    }

    /// How large sums and differences get.
    fn peak(&self) -> i32 {
        self.0.iter().map(|x| x.peak).max().unwrap_or(0)
    }
}

const Q32: i32 = Q as i32;
/// 2.6 q, what [`poly::dot`] gives.
const DOT_BOUND: i32 = 26 * Q32 / 10;
/// 4.4 q, what [`poly::add`] and [`poly::ntt_inverse`] take: four products.
const SUM_BOUND: i32 = 44 * Q32 / 10;
/// What [`poly::ntt_inverse`] says that no sum within it exceeds.
const PEAK: i32 = 29_300;

// The kernels on ranges: one coefficient at a time and in rows of 16 and 32, with the same result.

fn ntt(f: &RangePoly) -> RangePoly {
    let (mut out, mut lanes) = (*f, *f);
    poly::ntt(&mut out.0);
    ntt_lanes::<(), Ranges<16>, 16, 16>((), &f.0, &mut lanes.0);
    assert!(lanes == out, "16 lanes");
    ntt_lanes::<(), Ranges<32>, 32, 8>((), &f.0, &mut lanes.0);
    assert!(lanes == out, "32 lanes");
    out
}

fn ntt_inverse(f: &RangePoly) -> RangePoly {
    let (mut out, mut lanes) = (*f, *f);
    poly::ntt_inverse(&mut out.0);
    ntt_inverse_lanes::<(), Ranges<16>, 16, 16>((), &f.0, &mut lanes.0);
    assert!(lanes == out, "16 lanes");
    ntt_inverse_lanes::<(), Ranges<32>, 32, 8>((), &f.0, &mut lanes.0);
    assert!(lanes == out, "32 lanes");
    out
}

/// The dot product with [`poly::times_gammas`] before it.
fn dot<const K: usize>(a: [&RangePoly; K], b: &[RangePoly; K]) -> RangePoly {
    let mut gb = *b;
    for l in 0..K {
        poly::times_gammas::<(), Range>((), &b[l].0, &mut gb[l].0);
        gb[l].assert_within(Q32 - 1);
    }
    let (mut out, mut lanes) = (b[0], b[0]);
    poly::dot(a, b, &gb, &mut out.0);
    dot_lanes::<(), Ranges<16>, _, K>((), a, b, &gb, &mut lanes.0);
    let narrow = lanes;
    dot_lanes::<(), Ranges<32>, _, K>((), a, b, &gb, &mut lanes.0);
    assert!(lanes == narrow, "16 and 32 lanes");
    // Not equal: of a high half alone it is not known what the low halves add to it, 0 or 1.
    for (i, (x, y)) in out.0.iter().zip(&lanes.0).enumerate() {
        assert!(x.low.abs_diff(y.low) <= 1 && x.high.abs_diff(y.high) <= 1, "{x:?}, {y:?} at {i}");
    }
    RangePoly(array::from_fn(|i| out.0[i].or(lanes.0[i])))
}

fn canonical(mut f: RangePoly) -> RangePoly {
    poly::make_canonical::<(), Range>((), &mut f.0);
    f.assert_canonical();
    f
}

fn add(f: &mut RangePoly, g: &RangePoly) {
    f.assert_within(SUM_BOUND);
    g.assert_within(SUM_BOUND);
    poly::add::<(), Range>((), &mut f.0, &g.0);
}

fn subtract_from(f: &mut RangePoly, g: &RangePoly) {
    f.assert_within(2 * Q32);
    g.assert_within(2 * Q32);
    poly::subtract_from::<(), Range>((), &mut f.0, &g.0);
}

// Ranges themselves

/// That they keep the residue, `poly` tests.
#[test]
fn reductions_over_all_values() {
    for a in i16::MIN..=i16::MAX {
        let range = Range::only(a);
        assert!(range.reduce().contains(a.reduce()), "{a}");
        assert!(range.canonical().contains(a.canonical()), "{a}");
    }
}

/// A fixed sequence of all magnitudes.
fn sequence() -> impl FnMut() -> i16 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 48) as i16) >> (state >> 40 & 15)
    }
}

/// For ranges and values in them, at their ends and within: the result for the values is in the result
/// for the ranges.
#[test]
fn ranges_hold_what_values_give() {
    let mut next = sequence();
    for _ in 0..100_000 {
        let mut some = || {
            let mut ends = [next(), next(), next()];
            ends.sort_unstable();
            let [low, x, high] = ends;
            (Range { low, high, peak: 0 }, [low, x, high])
        };
        let ((f, xs), (g, ys)) = (some(), some());
        let fits = |[a, b]: [i32; 2]| i16::try_from(a).is_ok() && i16::try_from(b).is_ok();
        for (x, y) in xs.into_iter().flat_map(|x| ys.map(|y| (x, y))) {
            assert!(f.mul_low(g).contains(x.mul_low(y)), "{x} * {y}");
            assert!(f.mul_high(g).contains(x.mul_high(y)), "{x} * {y}");
            let (wide, product) = (f.times(g), i64::from(x.times(y)));
            assert!((wide.low..=wide.high).contains(&product), "{x} * {y}");
            let (low, high) = Range::halves(wide);
            let (x_low, x_high) = i16::halves(x.times(y));
            assert!(low.contains(x_low) && high.contains(x_high), "{x} * {y}");
            let ([a, b], [c, d]) = (f.ends(), g.ends());
            if fits([a + c, b + d]) {
                assert!(f.add(g).contains(Vector::add(x, y)), "{x} + {y}");
            }
            if fits([a - d, b - c]) {
                assert!(f.sub(g).contains(Vector::sub(x, y)), "{x} - {y}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "wraps")]
fn a_range_that_wraps_is_found() {
    // The sums of the last layers.
    ntt_inverse(&RangePoly::within(5 * Q32));
}

#[test]
#[should_panic(expected = "not below 2^29")]
fn a_range_of_sums_that_are_too_large_is_found() {
    let b = [RangePoly::filled(Range::ANY); 4];
    dot([&RangePoly::within(Q32 - 1); 4], &b);
}

/// A wider range at each position than at the one before: none can be taken for another.
fn widening(step: i32) -> RangePoly {
    RangePoly(array::from_fn(|i| Range::within(step * i as i32)))
}

/// `ntt`, `ntt_inverse` and `dot` compare them.
#[test]
fn rows_of_ranges_equal_single_ranges() {
    let single = |step: i16| RangePoly(array::from_fn(|i| Range::only(step * i as i16)));
    ntt(&widening(13));
    ntt(&single(13));
    ntt_inverse(&widening(33));
    ntt_inverse(&single(33));
    let (f, g) = (widening(13), widening(65));
    dot([&f; 3], &[g, f, g]);
}

// What the functions state

#[test]
fn range_of_ntt() {
    ntt(&RangePoly::within(Q32)).assert_within(5 * Q32);
}

#[test]
fn range_of_ntt_inverse() {
    let f = ntt_inverse(&RangePoly::within(SUM_BOUND));
    f.assert_within(Q32 - 1);
    assert!(f.peak() <= PEAK, "sums up to {}", f.peak());
}

fn check_dot<const K: usize>() {
    let a = RangePoly::within(Q32 - 1);
    dot([&a; K], &[RangePoly::within(5 * Q32); K]).assert_within(DOT_BOUND);
}

#[test]
fn range_of_dot() {
    check_dot::<2>();
    check_dot::<3>();
    check_dot::<4>();
}

#[test]
fn range_of_elementwise_kernels() {
    let any = RangePoly::filled(Range::ANY);
    let mut products = any;
    poly::times_gammas::<(), Range>((), &any.0, &mut products.0);
    products.assert_within(Q32 - 1);
    canonical(any);
    let mut row = any;
    poly::finish_row::<(), Range>((), &mut row.0, &RangePoly::within(5 * Q32).0);
    row.assert_canonical();
    let mut sum = RangePoly::within(SUM_BOUND);
    add(&mut sum, &RangePoly::within(SUM_BOUND));
    let mut difference = RangePoly::within(2 * Q32);
    subtract_from(&mut difference, &RangePoly::within(2 * Q32));
    for i in 0..N {
        assert_eq!(sum.0[i].ends(), [-2 * SUM_BOUND, 2 * SUM_BOUND]);
        assert_eq!(difference.0[i].ends(), [-4 * Q32, 4 * Q32]);
    }
}

// K-PKE, step by step as in `k_pke`

/// What sampling, decoding with its check, and decompression give.
fn public() -> RangePoly {
    RangePoly::filled(CANONICAL)
}

fn noise(eta: usize) -> RangePoly {
    RangePoly::within(eta as i32)
}

fn check_key_gen<const K: usize>() {
    let s = canonical(ntt(&noise(eta1(K))));
    let e = ntt(&noise(eta1(K)));
    e.assert_within(5 * Q32);
    let mut t = dot([&public(); K], &[s; K]);
    poly::finish_row::<(), Range>((), &mut t.0, &e.0);
    t.assert_canonical();
}

fn check_encrypt<const K: usize>() {
    let y = [ntt(&noise(eta1(K))); K];
    y[0].assert_within(5 * Q32);
    let mut sum = ntt_inverse(&dot([&public(); K], &y));
    add(&mut sum, &noise(ETA2));
    add(&mut sum, &public());
}

fn check_decrypt<const K: usize>() {
    let u = [ntt(&public()); K];
    u[0].assert_within(5 * Q32);
    let mut w = ntt_inverse(&dot([&public(); K], &u));
    subtract_from(&mut w, &public());
}

fn check_k_pke<const K: usize>() {
    check_key_gen::<K>();
    check_encrypt::<K>();
    check_decrypt::<K>();
    check_small::<K>();
}

/// In `small`: K products, added one by one, of what its operations multiply.
fn check_small<const K: usize>() {
    let y = ntt(&noise(eta1(K)));
    let u = ntt(&public());
    for factor in [canonical(y), y, u] {
        let product = dot([&public()], &[factor]);
        let mut sum = RangePoly::filled(Range::only(0));
        for _ in 0..K {
            add(&mut sum, &product);
        }
        sum.assert_within(SUM_BOUND);
        let mut f = ntt_inverse(&sum);
        add(&mut f, &noise(ETA2));
        add(&mut f, &public());
        subtract_from(&mut ntt_inverse(&sum), &public());
        poly::finish_row::<(), Range>((), &mut sum.0, &y.0);
        sum.assert_canonical();
    }
}

#[test]
fn range_of_k_pke() {
    check_k_pke::<2>();
    check_k_pke::<3>();
    check_k_pke::<4>();
}

/// That s, t and the matrix are in memory as [`public`] has it: from key generation, and s from bytes that
/// hold the largest values of 12 bits.
fn check_memory_form<const K: usize>(level: Level) {
    let (mut s, mut key) = (k_pke::zero_vector::<K>(), k_pke::PublicKey::<K>::ZERO);
    let (mut encoded, mut hash) = ([0; POLY_BYTES * 4 + SYM_BYTES], [0; SYM_BYTES]);
    let encoded = &mut encoded[..POLY_BYTES * K + SYM_BYTES];
    dispatch!(level, b => k_pke::key_gen(b, &[7; 32], &mut s, &mut key, encoded, &mut hash));
    let in_range = |f: &NttPoly| f.0.iter().all(|x| (0..Q).contains(x));
    let (mut small_s, mut small_encoded) =
        (k_pke::zero_vector::<K>(), [0; POLY_BYTES * 4 + SYM_BYTES]);
    let small_encoded = &mut small_encoded[..POLY_BYTES * K + SYM_BYTES];
    let mut scratch = small::Scratch::ZERO;
    dispatch!(level, b => small::key_gen(b, &[7; 32], &mut small_s, small_encoded, &mut scratch));
    assert!(small_s.iter().zip(&s).all(|(x, y)| x.0 == y.0) && small_encoded == encoded);
    assert!(s.iter().all(in_range) && key.t.iter().all(in_range));
    assert!(key.matrix.iter().flatten().all(in_range));
}

#[test]
fn range_of_keys_in_memory() {
    for level in [Level::portable(), Level::detect()] {
        check_memory_form::<2>(level);
        check_memory_form::<3>(level);
        check_memory_form::<4>(level);
    }
}

/// s of a key from bytes is reduced, if its bytes are not.
#[test]
fn range_of_a_parsed_key() {
    let mut bytes = [0; 1632];
    DecapsulationKey::from_seed(&Seed::from(&[3; 64])).to_expanded_bytes(&mut bytes);
    bytes[..768].fill(0xff);
    let mut again = [0; 1632];
    DecapsulationKey::parse(&bytes).expect("an honest public key").to_expanded_bytes(&mut again);
    for bytes in again[..768].as_chunks::<3>().0 {
        let value = 4095 - Q as u32;
        assert_eq!(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]), value << 12 | value);
    }
}
