//! K-PKE, the encryption inside ML-KEM (FIPS 203 section 5), over a backend and the rank K.
//!
//! Works on keys in memory form: the matrix and the vectors in T_q. Secret: d, m, r and all that
//! comes from them; public: rho, t, the matrix, ciphertexts.

use crate::{
    backend::Backend,
    ct::{self, SecretBytes},
    hash,
    params::{POLY_BYTES, SYM_BYTES, du, dv, u_bytes},
    poly::{NttPoly, Poly},
    schedule::{Hash, Schedule, Until, Work},
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

    /// Column j of the matrix: row j of its transpose.
    fn column(&self, j: usize) -> [&NttPoly; K] {
        core::array::from_fn(|i| &self.matrix[i][j])
    }
}

/// K-PKE.KeyGen: from d the secret s in \[0, q), the public key, its encoding t, rho, and the hash of that.
pub(crate) fn key_gen<B: Backend, const K: usize>(
    b: B,
    d: &[u8],
    s: &mut NttVector<K>,
    public: &mut PublicKey<K>,
    encoded: &mut [u8],
    hash: &mut [u8; SYM_BYTES],
) {
    let mut seeds = SecretBytes::<64>::ZERO;
    hash::g(b, d, &[K as u8], &mut seeds.0);
    let (rho, sigma) = seeds.halves();
    // Sent with the encapsulation key, as is t below.
    ct::declassify!(rho);
    encoded[POLY_BYTES * K..].copy_from_slice(rho);

    let mut schedule = Schedule::<K>::new([Some(Hash::h(encoded.len())), None]);
    schedule.push_key_pair();
    let mut noise = Noise::ZERO;
    let mut e = NttPoly::ZERO;
    let mut gs = zero_vector::<K>();
    for i in 0..K {
        // Rows that are encoded already are hashed while this one's entries are expanded.
        let mut work = Work {
            matrix: Some((rho, &mut public.matrix)),
            noise: Some((sigma, &mut noise)),
            messages: [[&encoded[..POLY_BYTES * i], &[]], [&[], &[]]],
        };
        schedule.run(b, &mut work, Until::Known { rows: i + 1, noise: K + i + 1 });
        if i == 0 {
            for j in 0..K {
                b.ntt(&noise.vectors[0][j], &mut s[j]);
                b.make_canonical(&mut s[j].0);
                b.times_gammas(&s[j], &mut gs[j]);
            }
        }
        b.ntt(&noise.vectors[1][i], &mut e);
        b.dot(public.matrix[i].each_ref(), s, &gs, &mut public.t[i]);
        b.finish_row(&mut public.t[i], &e);
        ct::declassify!(&public.t[i].0);
        b.encode_12(&public.t[i], &mut encoded[POLY_BYTES * i..POLY_BYTES * (i + 1)]);
    }
    let mut work = Work { matrix: None, noise: None, messages: [[encoded, &[]], [&[], &[]]] };
    schedule.run(b, &mut work, Until::Done);
    hash.copy_from_slice(&schedule.digest(0)[..SYM_BYTES]);
}

/// The matrix of an encoded key, from rho at its end, and the hash of all of it.
pub(crate) fn expand<B: Backend, const K: usize>(
    b: B,
    encoded: &[u8],
    rho: &[u8; SYM_BYTES],
    matrix: &mut [NttVector<K>; K],
    hash: &mut [u8; SYM_BYTES],
) {
    let mut schedule = Schedule::<K>::new([Some(Hash::h(encoded.len())), None]);
    schedule.push_matrix();
    let mut work =
        Work { matrix: Some((rho, matrix)), noise: None, messages: [[encoded, &[]], [&[], &[]]] };
    schedule.run(b, &mut work, Until::Done);
    hash.copy_from_slice(&schedule.digest(0)[..SYM_BYTES]);
}

/// Noise polynomials in the order of their counters: s and e of a key pair; y, e1 and e2 of an encryption.
pub(crate) struct Noise<const K: usize> {
    pub(crate) vectors: [[Poly; K]; 2],
    pub(crate) last: Poly,
}

impl<const K: usize> Noise<K> {
    pub(crate) const ZERO: Self =
        Self { vectors: [const { [const { Poly::ZERO }; K] }; 2], last: Poly::ZERO };

    pub(crate) fn get_mut(&mut self, counter: usize) -> &mut Poly {
        self.vectors.as_flattened_mut().get_mut(counter).unwrap_or(&mut self.last)
    }
}

/// The noise of an encryption, from r.
#[inline(never)]
pub(crate) fn noise<B: Backend, const K: usize>(b: B, r: &[u8; SYM_BYTES], noise: &mut Noise<K>) {
    let mut schedule = Schedule::<K>::new([None, None]);
    schedule.push_encryption();
    let mut work = Work { matrix: None, noise: Some((r, noise)), messages: [[&[]; 2]; 2] };
    schedule.run(b, &mut work, Until::Done);
}

/// K-PKE.Encrypt of m with the noise that its randomness has given.
#[inline(never)]
pub(crate) fn encrypt<B: Backend, const K: usize>(
    b: B,
    public: &PublicKey<K>,
    m: &[u8; SYM_BYTES],
    noise: &Noise<K>,
    ciphertext: &mut [u8],
) {
    let [y_noise, e] = &noise.vectors;
    let mut y = zero_vector::<K>();
    let mut gy = zero_vector::<K>();
    for j in 0..K {
        b.ntt(&y_noise[j], &mut y[j]);
        b.times_gammas(&y[j], &mut gy[j]);
    }
    let (u_out, v_out) = ciphertext.split_at_mut(u_bytes(K));
    let mut product = NttPoly::ZERO;
    let mut sum = Poly::ZERO;
    for (j, out) in u_out.chunks_exact_mut(32 * du(K)).enumerate() {
        b.dot(public.column(j), &y, &gy, &mut product);
        b.ntt_inverse(&product, &mut sum);
        b.add(&mut sum, &e[j]);
        b.compress_and_encode(du(K), &sum, out);
        ct::secret!(out);
    }
    b.dot(public.t.each_ref(), &y, &gy, &mut product);
    b.ntt_inverse(&product, &mut sum);
    b.add(&mut sum, &noise.last);
    let mut term = Poly::ZERO;
    b.decode_and_decompress(1, m, &mut term);
    b.add(&mut sum, &term);
    b.compress_and_encode(dv(K), &sum, v_out);
}

/// K-PKE.Decrypt.
#[inline(never)]
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
