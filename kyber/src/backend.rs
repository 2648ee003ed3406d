//! The kernels of ML-KEM, one method each, with the portable algorithm as the default body.
//!
//! A backend is a token of the crate `keccak`; its file under `backend/` overrides what its
//! instructions do faster. Every kernel is its own function (`inline(never)`): inlining whole
//! operations is no faster and several times the code.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

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
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
fn array<const LEN: usize>(bytes: &[u8]) -> &[u8; LEN] {
    bytes.try_into().expect("the length of a kernel's input")
}

/// The length that the caller has given it.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
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

#[cfg(all(
    test,
    any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
        all(target_arch = "wasm32", target_feature = "simd128")
    )
))]
mod tests {
    extern crate std;

    use keccak::backend::Level;

    use super::*;
    use crate::params::Q;

    /// Random inputs of a test: `usual`, or as many as the environment says, for a long run:
    ///
    /// ```text
    /// KERNEL_ROUNDS=1000000 cargo test --release -p kyber --lib backend
    /// ```
    pub(crate) fn rounds(usual: usize) -> usize {
        std::env::var("KERNEL_ROUNDS").map_or(usual, |n| n.parse().expect("a number"))
    }

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        /// Coefficients within a bound: in an eighth of all cases nothing but its two ends, else anything,
        /// with an end here and there.
        fn coefficients(&mut self, bound: i16) -> [i16; N] {
            let choice = self.next();
            let signs = [0, !0, 0x5555_5555_5555_5555, self.next()][choice as usize >> 3 & 3];
            core::array::from_fn(|i| {
                let end = if signs >> (i % 64) & 1 == 0 { bound } else { -bound };
                let random = self.next();
                if choice & 7 == 0 || random & 31 == 0 {
                    return end;
                }
                let width = 2 * u64::from(bound.unsigned_abs()) + 1;
                ((((random >> 32) * width) >> 32) as i32 - i32::from(bound)) as i16
            })
        }
    }

    /// Exact equality: both do the same operations, in another order.
    fn check_transform<A: Backend, B: Backend>(a: A, b: B, f: &[i16; N]) {
        let f = Poly(*f);
        let (mut x, mut y) = (NttPoly::ZERO, NttPoly::ZERO);
        a.ntt(&f, &mut x);
        b.ntt(&f, &mut y);
        assert!(x.0 == y.0, "ntt of {:?}", f.0);
    }

    fn check_inverse<A: Backend, B: Backend>(a: A, b: B, f: &[i16; N]) {
        let f = NttPoly(*f);
        let (mut x, mut y) = (Poly::ZERO, Poly::ZERO);
        a.ntt_inverse(&f, &mut x);
        b.ntt_inverse(&f, &mut y);
        assert!(x.0 == y.0, "ntt_inverse of {:?}", f.0);
    }

    /// What [`poly::ntt_inverse`] takes.
    const SUM_BOUND: i16 = 44 * (Q / 10);

    fn check_dot<A: Backend, B: Backend, const K: usize>(a: A, b: B, random: &mut Random) {
        let f: [_; K] = core::array::from_fn(|_| NttPoly(random.coefficients(Q - 1)));
        let g: [_; K] = core::array::from_fn(|_| NttPoly(random.coefficients(5 * Q)));
        let mut gg = [const { NttPoly::ZERO }; K];
        for l in 0..K {
            b.times_gammas(&g[l], &mut gg[l]);
        }
        let (mut x, mut y) = (NttPoly::ZERO, NttPoly::ZERO);
        a.dot(f.each_ref(), &g, &gg, &mut x);
        b.dot(f.each_ref(), &g, &gg, &mut y);
        assert!(x.0 == y.0, "dot of {K}: {:?} {:?}", f.each_ref().map(|f| f.0), g.map(|g| g.0));
    }

    fn check_pairs<A: Backend, B: Backend>(a: A, b: B, f: &[i16; N], random: &mut Random) {
        let e = NttPoly(random.coefficients(5 * Q));
        let (mut x, mut y) = (NttPoly(*f), NttPoly(*f));
        a.finish_row(&mut x, &e);
        b.finish_row(&mut y, &e);
        assert!(x.0 == y.0, "finish_row of {f:?} {:?}", e.0);

        let g = Poly(random.coefficients(i16::MAX));
        let (mut x, mut y) = (Poly(*f), Poly(*f));
        a.add(&mut x, &g);
        b.add(&mut y, &g);
        assert!(x.0 == y.0, "add of {f:?} {:?}", g.0);
        a.subtract_from(&mut x, &g);
        b.subtract_from(&mut y, &g);
        assert!(x.0 == y.0, "subtract_from of {f:?} {:?}", g.0);
    }

    fn check_single<A: Backend, B: Backend>(a: A, b: B, f: &[i16; N]) {
        let (mut x, mut y) = (NttPoly::ZERO, NttPoly::ZERO);
        a.times_gammas(&NttPoly(*f), &mut x);
        b.times_gammas(&NttPoly(*f), &mut y);
        assert!(x.0 == y.0, "times_gammas of {f:?}");

        let (mut x, mut y) = (*f, *f);
        a.make_canonical(&mut x);
        b.make_canonical(&mut y);
        assert!(x == y, "make_canonical of {f:?}");
    }

    /// Every coefficient with every value that it may have, alone: for each one the whole way through the
    /// layers.
    fn check_single_coefficients<A: Backend, B: Backend>(a: A, b: B) {
        for i in 0..N {
            let mut f = [0; N];
            for x in -Q..=Q {
                f[i] = x;
                check_transform(a, b, &f);
            }
            for x in (-SUM_BOUND..=SUM_BOUND).step_by(5) {
                f[i] = x;
                check_inverse(a, b, &f);
            }
        }
    }

    fn check<A: Backend, B: Backend>(a: A, b: B) {
        let mut random = Random(1);
        // Every i16 at every position.
        for start in 0..=u16::MAX {
            let f = core::array::from_fn(|i| {
                start.wrapping_add(12345u16.wrapping_mul(i as u16)) as i16
            });
            check_single(a, b, &f);
            check_pairs(a, b, &f, &mut random);
        }
        check_single_coefficients(a, b);
        for _ in 0..rounds(20_000) {
            check_transform(a, b, &random.coefficients(Q));
            check_inverse(a, b, &random.coefficients(SUM_BOUND));
            check_dot::<A, B, 2>(a, b, &mut random);
            check_dot::<A, B, 3>(a, b, &mut random);
            check_dot::<A, B, 4>(a, b, &mut random);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx2_kernels_equal_the_portable_ones() {
        match keccak::backend::Avx2::get() {
            Some(a) => keccak::dispatch!(Level::portable(), b => check(a, b)),
            None => std::println!("skipped: no AVX2 here"),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx512_kernels_equal_the_portable_ones() {
        match keccak::backend::Avx512::get() {
            Some(a) => keccak::dispatch!(Level::portable(), b => check(a, b)),
            None => std::println!("skipped: no AVX-512 here"),
        }
    }

    #[cfg(target_arch = "aarch64")]
    #[test]
    fn neon_kernels_equal_the_portable_ones() {
        let a = keccak::backend::Neon::get().expect("NEON is part of the target");
        keccak::dispatch!(Level::portable(), b => check(a, b));
    }

    #[cfg(target_arch = "wasm32")]
    #[test]
    fn simd128_kernels_equal_the_portable_ones() {
        let a = keccak::backend::Simd128::get().expect("vectors are part of the target");
        keccak::dispatch!(Level::portable(), b => check(a, b));
    }
}
