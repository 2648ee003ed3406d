//! The kernels of ML-KEM, one method each, with the portable algorithm as the default body.
//!
//! A backend is a token of the crate `keccak`; its file under `backend/` overrides what its
//! instructions do faster. Every kernel is its own function (`inline(never)`): inlining whole
//! operations is no faster and several times the code.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// The kernels of sampling and coding, from the module `codec` of a backend whose functions need the
/// features that its token proves.
#[cfg(target_arch = "x86_64")]
macro_rules! codec_kernels {
    () => {
        #[inline(never)]
        fn sample_ntt(self, bytes: &[u8; ENTRY_BYTES], out: &mut NttPoly) -> usize {
            // SAFETY: the token proves the features.
            unsafe { codec::accept(bytes, &mut out.0) }
        }

        #[inline(never)]
        fn sample_poly_cbd(self, eta: usize, bytes: &[u8], out: &mut Poly) {
            // SAFETY: the token proves the features.
            unsafe {
                match eta {
                    2 => codec::sample_poly_cbd_2(array(bytes), &mut out.0),
                    _ => codec::sample_poly_cbd_3(array(bytes), &mut out.0),
                }
            }
        }

        #[inline(never)]
        fn compress_and_encode(self, d: usize, f: &Poly, out: &mut [u8]) {
            // SAFETY: the token proves the features.
            unsafe {
                match d {
                    1 => codec::compress_and_encode_1(&f.0, array_mut(out)),
                    4 => codec::compress_and_encode_4(&f.0, array_mut(out)),
                    5 => codec::compress_and_encode_5(&f.0, array_mut(out)),
                    10 => codec::compress_and_encode_10(&f.0, array_mut(out)),
                    _ => codec::compress_and_encode_11(&f.0, array_mut(out)),
                }
            }
        }

        #[inline(never)]
        fn decode_and_decompress(self, d: usize, bytes: &[u8], out: &mut Poly) {
            // SAFETY: the token proves the features.
            unsafe {
                match d {
                    1 => codec::decode_and_decompress_1(array(bytes), &mut out.0),
                    4 => codec::decode_and_decompress_4(array(bytes), &mut out.0),
                    5 => codec::decode_and_decompress_5(array(bytes), &mut out.0),
                    10 => codec::decode_and_decompress_10(array(bytes), &mut out.0),
                    _ => codec::decode_and_decompress_11(array(bytes), &mut out.0),
                }
            }
        }

        #[inline(never)]
        fn encode_12(self, f: &NttPoly, out: &mut [u8]) {
            // SAFETY: the token proves the features.
            unsafe { codec::encode_12(&f.0, array_mut(out)) }
        }

        #[inline(never)]
        fn decode_12(self, bytes: &[u8], out: &mut NttPoly) -> bool {
            // SAFETY: the token proves the features.
            unsafe { codec::decode_12(array(bytes), &mut out.0) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
use codec_kernels;

/// The length that the caller has given it.
#[cfg(target_arch = "x86_64")]
fn array<const LEN: usize>(bytes: &[u8]) -> &[u8; LEN] {
    bytes.try_into().expect("the length of a kernel's input")
}

/// The length that the caller has given it.
#[cfg(target_arch = "x86_64")]
fn array_mut<const LEN: usize>(bytes: &mut [u8]) -> &mut [u8; LEN] {
    bytes.try_into().expect("the length of a kernel's output")
}

use crate::{
    encode,
    params::N,
    poly::{self, NttPoly, Poly, Row},
    sample::{self, ENTRY_BYTES},
};

/// Kernels; bounds as at the functions that the defaults call.
pub(crate) trait Backend: keccak::backend::Backend {
    /// What the kernels that work coefficient by coefficient are compiled for.
    type Row: Row<Self, Coefficient = i16>;

    #[inline(never)]
    fn ntt(self, f: &Poly, out: &mut NttPoly) {
        out.0 = f.0;
        poly::ntt(&mut out.0);
    }

    /// Ends a sum of products: NTT^-1 of its R-fold.
    #[inline(never)]
    fn ntt_inverse(self, f: &NttPoly, out: &mut Poly) {
        out.0 = f.0;
        poly::ntt_inverse(&mut out.0);
    }

    #[inline(never)]
    fn dot<const K: usize>(
        self,
        a: [&NttPoly; K],
        b: &[NttPoly; K],
        gb: &[NttPoly; K],
        out: &mut NttPoly,
    ) {
        poly::dot(a, b, gb, &mut out.0);
    }

    #[inline(never)]
    fn times_gammas(self, f: &NttPoly, out: &mut NttPoly) {
        self.vectorize(
            #[inline(always)]
            || poly::times_gammas::<Self, Self::Row>(self, &f.0, &mut out.0),
        );
    }

    #[inline(never)]
    fn finish_row(self, f: &mut NttPoly, e: &NttPoly) {
        self.vectorize(
            #[inline(always)]
            || poly::finish_row::<Self, Self::Row>(self, &mut f.0, &e.0),
        );
    }

    #[inline(never)]
    fn make_canonical(self, f: &mut [i16; N]) {
        self.vectorize(
            #[inline(always)]
            || poly::make_canonical::<Self, Self::Row>(self, f),
        );
    }

    #[inline(never)]
    fn add(self, f: &mut Poly, g: &Poly) {
        self.vectorize(
            #[inline(always)]
            || poly::add::<Self, Self::Row>(self, &mut f.0, &g.0),
        );
    }

    #[inline(never)]
    fn subtract_from(self, f: &mut Poly, g: &Poly) {
        self.vectorize(
            #[inline(always)]
            || poly::subtract_from::<Self, Self::Row>(self, &mut f.0, &g.0),
        );
    }

    /// The coefficients found in three blocks of the XOF; returns how many, at most 256.
    #[inline(never)]
    fn sample_ntt(self, bytes: &[u8; ENTRY_BYTES], out: &mut NttPoly) -> usize {
        sample::accept_vartime(bytes, &mut out.0, 0)
    }

    #[inline(never)]
    fn sample_poly_cbd(self, eta: usize, bytes: &[u8], out: &mut Poly) {
        match eta {
            2 => sample::sample_poly_cbd::<2>(bytes, out),
            _ => sample::sample_poly_cbd::<3>(bytes, out),
        }
    }

    #[inline(never)]
    fn compress_and_encode(self, d: usize, f: &Poly, out: &mut [u8]) {
        match d {
            1 => encode::compress_and_encode::<1>(f, out),
            4 => encode::compress_and_encode::<4>(f, out),
            5 => encode::compress_and_encode::<5>(f, out),
            10 => encode::compress_and_encode::<10>(f, out),
            _ => encode::compress_and_encode::<11>(f, out),
        }
    }

    #[inline(never)]
    fn decode_and_decompress(self, d: usize, bytes: &[u8], out: &mut Poly) {
        match d {
            1 => encode::decode_and_decompress::<1>(bytes, out),
            4 => encode::decode_and_decompress::<4>(bytes, out),
            5 => encode::decode_and_decompress::<5>(bytes, out),
            10 => encode::decode_and_decompress::<10>(bytes, out),
            _ => encode::decode_and_decompress::<11>(bytes, out),
        }
    }

    #[inline(never)]
    fn encode_12(self, f: &NttPoly, out: &mut [u8]) {
        encode::encode_12(f, out);
    }

    #[inline(never)]
    fn decode_12(self, bytes: &[u8], out: &mut NttPoly) -> bool {
        encode::decode_12(bytes, out)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    extern crate std;

    use keccak::backend::{Avx2, Avx512, Level};

    use super::*;
    use crate::{constants::HALF_Q, params::Q};

    /// Random coefficients within a bound, or one of four extreme patterns.
    fn inputs(round: usize, bound: i16) -> [i16; N] {
        let mut bytes = [0; 2 * N];
        keccak::Shake128::digest(&round.to_le_bytes(), &mut bytes);
        let random = |i: usize| {
            let x = i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
            (i32::from(x) % (i32::from(bound) + 1)) as i16
        };
        core::array::from_fn(|i| match round {
            0 => bound,
            1 => -bound,
            2 => [bound, -bound][i % 2],
            3 => [bound, -bound][i / 16 % 2],
            _ => random(i),
        })
    }

    /// Exact equality: both do the same operations, in another order.
    fn check_transforms<A: Backend, B: Backend>(a: A, b: B, round: usize) {
        let (mut x, mut y) = (NttPoly::ZERO, NttPoly::ZERO);
        let f = Poly(inputs(round, Q));
        a.ntt(&f, &mut x);
        b.ntt(&f, &mut y);
        assert!(x.0 == y.0, "ntt, round {round}");

        let (mut f, mut g) = (Poly::ZERO, Poly::ZERO);
        let x = NttPoly(inputs(round, 26 * (Q / 10)));
        a.ntt_inverse(&x, &mut f);
        b.ntt_inverse(&x, &mut g);
        assert!(f.0 == g.0, "ntt_inverse, round {round}");
    }

    fn check_dot<A: Backend, B: Backend, const K: usize>(a: A, b: B, round: usize) {
        let f: [_; K] = core::array::from_fn(|l| NttPoly(inputs(round + l, Q - 1)));
        let g: [_; K] = core::array::from_fn(|l| NttPoly(inputs(round + K + l, 5 * (Q - 1))));
        let mut gg = [const { NttPoly::ZERO }; K];
        for l in 0..K {
            let mut other = NttPoly::ZERO;
            a.times_gammas(&g[l], &mut gg[l]);
            b.times_gammas(&g[l], &mut other);
            assert!(gg[l].0 == other.0, "times_gammas, round {round}");
        }
        let (mut x, mut y) = (NttPoly::ZERO, NttPoly::ZERO);
        a.dot(f.each_ref(), &g, &gg, &mut x);
        b.dot(f.each_ref(), &g, &gg, &mut y);
        assert!(x.0 == y.0, "dot of {K}, round {round}");
    }

    fn check_elementwise<A: Backend, B: Backend>(a: A, b: B, round: usize) {
        let e = NttPoly(inputs(round + 1, 5 * (Q - 1)));
        let (mut x, mut y) = (NttPoly(inputs(round, 8000)), NttPoly(inputs(round, 8000)));
        a.finish_row(&mut x, &e);
        b.finish_row(&mut y, &e);
        assert!(x.0 == y.0, "finish_row, round {round}");

        let g = Poly(inputs(round + 1, 2 * Q));
        let (mut x, mut y) = (Poly(inputs(round, 2 * Q)), Poly(inputs(round, 2 * Q)));
        a.add(&mut x, &g);
        b.add(&mut y, &g);
        assert!(x.0 == y.0, "add, round {round}");
        a.subtract_from(&mut x, &e_as_poly(&e));
        b.subtract_from(&mut y, &e_as_poly(&e));
        assert!(x.0 == y.0, "subtract_from, round {round}");

        let (mut x, mut y) = (inputs(round, i16::MAX), inputs(round, i16::MAX));
        a.make_canonical(&mut x);
        b.make_canonical(&mut y);
        assert!(x == y, "make_canonical, round {round}");
    }

    fn e_as_poly(e: &NttPoly) -> Poly {
        Poly(e.0.map(|x| x % (HALF_Q as i16)))
    }

    fn check<A: Backend>(a: A) {
        for round in 0..2000 {
            keccak::dispatch!(Level::portable(), b => {
                check_transforms(a, b, round);
                check_dot::<A, _, 2>(a, b, round);
                check_dot::<A, _, 3>(a, b, round);
                check_dot::<A, _, 4>(a, b, round);
                check_elementwise(a, b, round);
            });
        }
    }

    #[test]
    fn avx2_kernels_equal_the_portable_ones() {
        match Avx2::get() {
            Some(a) => check(a),
            None => std::println!("skipped: no AVX2 here"),
        }
    }

    #[test]
    fn avx512_kernels_equal_the_portable_ones() {
        match Avx512::get() {
            Some(a) => check(a),
            None => std::println!("skipped: no AVX-512 here"),
        }
    }
}
