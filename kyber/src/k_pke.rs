//! K-PKE, the encryption inside ML-KEM (FIPS 203 section 5), over a backend and the rank K.
//!
//! Works on keys in memory form: the matrix and the vectors in T_q. Secret: d, m, r and all that
//! comes from them; public: rho, t, the matrix, ciphertexts.

use crate::{
    backend::Backend,
    ct::SecretBytes,
    hash,
    params::{ETA2, POLY_BYTES, SYM_BYTES, du, dv, eta1, u_bytes},
    poly::{NttPoly, Poly},
};

/// A vector over T_q.
pub(crate) type NttVector<const K: usize> = [NttPoly; K];

pub(crate) const fn zero_vector<const K: usize>() -> NttVector<K> {
    [const { NttPoly::ZERO }; K]
}

/// The public part of a key: the matrix A, expanded from rho, and t.
#[derive(Clone)]
pub(crate) struct PublicKey<const K: usize> {
    /// Row i, column j.
    pub(crate) matrix: [NttVector<K>; K],
    /// In \[0, q).
    pub(crate) t: NttVector<K>,
}

impl<const K: usize> PublicKey<K> {
    pub(crate) const ZERO: Self = Self { matrix: [const { zero_vector() }; K], t: zero_vector() };

    /// Fills the matrix from rho.
    pub(crate) fn expand<B: Backend>(&mut self, b: B, rho: &[u8; SYM_BYTES]) {
        for (i, row) in self.matrix.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                b.sample_ntt(rho, j as u8, i as u8, entry);
            }
        }
    }

    /// Column j of the matrix: row j of its transpose.
    fn column(&self, j: usize) -> [&NttPoly; K] {
        core::array::from_fn(|i| &self.matrix[i][j])
    }
}

/// K-PKE.KeyGen: from d the secret s in \[0, q), the public key, and its encoding t, rho.
pub(crate) fn key_gen<B: Backend, const K: usize>(
    b: B,
    d: &[u8],
    s: &mut NttVector<K>,
    public: &mut PublicKey<K>,
    encoded: &mut [u8],
) {
    let mut seeds = SecretBytes::<64>::ZERO;
    hash::g(b, &[d, &[K as u8]], &mut seeds.0);
    let (rho, sigma) = seeds.halves();
    public.expand(b, rho);

    let mut noise = Noise::new(sigma);
    noise.sample_ntt_vector(b, s);
    let mut e = zero_vector::<K>();
    noise.sample_ntt_vector(b, &mut e);

    let mut gs = zero_vector::<K>();
    for (s, gs) in s.iter_mut().zip(&mut gs) {
        b.make_canonical(&mut s.0);
        b.times_gammas(s, gs);
    }
    let (rows, encoded_rho) = encoded.split_at_mut(POLY_BYTES * K);
    for i in 0..K {
        b.dot(public.matrix[i].each_ref(), s, &gs, &mut public.t[i]);
        b.finish_row(&mut public.t[i], &e[i]);
        b.encode_12(&public.t[i], &mut rows[POLY_BYTES * i..POLY_BYTES * (i + 1)]);
    }
    encoded_rho.copy_from_slice(rho);
}

/// K-PKE.Encrypt of m with the randomness r.
pub(crate) fn encrypt<B: Backend, const K: usize>(
    b: B,
    public: &PublicKey<K>,
    m: &[u8; SYM_BYTES],
    r: &[u8; SYM_BYTES],
    ciphertext: &mut [u8],
) {
    let mut noise = Noise::new(r);
    let mut y = zero_vector::<K>();
    noise.sample_ntt_vector(b, &mut y);
    let mut gy = zero_vector::<K>();
    for (y, gy) in y.iter().zip(&mut gy) {
        b.times_gammas(y, gy);
    }

    let (u_out, v_out) = ciphertext.split_at_mut(u_bytes(K));
    let mut product = NttPoly::ZERO;
    let mut sum = Poly::ZERO;
    let mut term = Poly::ZERO;
    for (j, out) in u_out.chunks_exact_mut(32 * du(K)).enumerate() {
        b.dot(public.column(j), &y, &gy, &mut product);
        b.ntt_inverse(&product, &mut sum);
        noise.sample(b, ETA2, &mut term);
        b.add(&mut sum, &term);
        b.compress_and_encode(du(K), &sum, out);
    }
    b.dot(public.t.each_ref(), &y, &gy, &mut product);
    b.ntt_inverse(&product, &mut sum);
    noise.sample(b, ETA2, &mut term);
    b.add(&mut sum, &term);
    b.decode_and_decompress(1, m, &mut term);
    b.add(&mut sum, &term);
    b.compress_and_encode(dv(K), &sum, v_out);
}

/// K-PKE.Decrypt.
pub(crate) fn decrypt<B: Backend, const K: usize>(
    b: B,
    s: &NttVector<K>,
    ciphertext: &[u8],
    m: &mut [u8; SYM_BYTES],
) {
    let (u_bytes, v_bytes) = ciphertext.split_at(u_bytes(K));
    let mut u = zero_vector::<K>();
    let mut gu = zero_vector::<K>();
    let mut term = Poly::ZERO;
    for (i, bytes) in u_bytes.chunks_exact(32 * du(K)).enumerate() {
        b.decode_and_decompress(du(K), bytes, &mut term);
        b.ntt(&term, &mut u[i]);
        b.times_gammas(&u[i], &mut gu[i]);
    }
    let mut product = NttPoly::ZERO;
    b.dot(s.each_ref(), &u, &gu, &mut product);
    let mut w = Poly::ZERO;
    b.ntt_inverse(&product, &mut w);
    b.decode_and_decompress(dv(K), v_bytes, &mut term);
    b.subtract_from(&mut w, &term);
    b.compress_and_encode(1, &w, m);
}

/// Polynomials from PRF_eta(seed, N) for N = 0, 1, ..
struct Noise<'a> {
    seed: &'a [u8; SYM_BYTES],
    counter: u8,
}

impl<'a> Noise<'a> {
    fn new(seed: &'a [u8; SYM_BYTES]) -> Self {
        Self { seed, counter: 0 }
    }

    fn sample<B: Backend>(&mut self, b: B, eta: usize, out: &mut Poly) {
        let mut bytes = SecretBytes::<{ 64 * 3 }>::ZERO;
        let bytes = &mut bytes.0[..64 * eta];
        hash::prf(b, self.seed, self.counter, bytes);
        b.sample_poly_cbd(eta, bytes, out);
        self.counter += 1;
    }

    /// A vector with eta1, in T_q.
    fn sample_ntt_vector<B: Backend, const K: usize>(&mut self, b: B, out: &mut NttVector<K>) {
        let mut f = Poly::ZERO;
        for out in out {
            self.sample(b, eta1(K), &mut f);
            b.ntt(&f, out);
        }
    }
}
