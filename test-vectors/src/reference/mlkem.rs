//! FIPS 203 with plain `%` arithmetic. Functions carry the names of the algorithms and stand in
//! their order; a parameter set is a value, an array of bits is a `Vec<bool>`, an element of Z_q is
//! a `u32` below q.

use std::sync::LazyLock;

use super::keccak::{sha3, shake};

/// The modulus, section 2.3.
pub const Q: u32 = 3329;
const N: usize = 256;

/// An element of R_q or T_q: 256 integers modulo q.
pub type Poly = Vec<u32>;

/// A row of table 2 in section 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    /// Dimension of the module.
    pub k: usize,
    /// Noise of s and e, and of y.
    pub eta1: usize,
    /// Noise of e1 and e2.
    pub eta2: usize,
    /// Bits kept of a coefficient of u.
    pub du: usize,
    /// Bits kept of a coefficient of v.
    pub dv: usize,
}

/// ML-KEM-512.
pub const ML_KEM_512: ParameterSet = ParameterSet { k: 2, eta1: 3, eta2: 2, du: 10, dv: 4 };
/// ML-KEM-768.
pub const ML_KEM_768: ParameterSet = ParameterSet { k: 3, eta1: 2, eta2: 2, du: 10, dv: 4 };
/// ML-KEM-1024.
pub const ML_KEM_1024: ParameterSet = ParameterSet { k: 4, eta1: 2, eta2: 2, du: 11, dv: 5 };

impl ParameterSet {
    /// The set of dimension `k`, 2 to 4.
    pub fn of(k: usize) -> Self {
        [ML_KEM_512, ML_KEM_768, ML_KEM_1024][k - 2]
    }

    /// Length of an encapsulation key, table 3.
    pub fn ek_len(&self) -> usize {
        384 * self.k + 32
    }

    /// Length of a decapsulation key in expanded form, table 3.
    pub fn dk_len(&self) -> usize {
        768 * self.k + 96
    }

    /// Length of a ciphertext, table 3.
    pub fn ciphertext_len(&self) -> usize {
        32 * (self.du * self.k + self.dv)
    }
}

fn prf(eta: usize, s: &[u8], b: u8) -> Vec<u8> {
    shake(256, &[s, &[b]].concat(), 64 * eta)
}

fn h(s: &[u8]) -> Vec<u8> {
    sha3(256, s)
}

/// J of section 4.1, which also gives the secret of a rejected ciphertext.
pub fn j(s: &[u8]) -> Vec<u8> {
    shake(256, s, 32)
}

fn g(c: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let out = sha3(512, c);
    (out[..32].to_vec(), out[32..].to_vec())
}

fn bits_to_bytes(b: &[bool]) -> Vec<u8> {
    b.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| 2 * sum + u8::from(*bit))).collect()
}

fn bytes_to_bits(b: &[u8]) -> Vec<bool> {
    b.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

/// Compress_d of section 4.2.1: (2^d / q) x rounded to the nearest, halves up, modulo 2^d.
fn compress(d: usize, f: &[u32]) -> Poly {
    f.iter().map(|x| ((2 * (x << d) + Q) / (2 * Q)) % (1 << d)).collect()
}

/// Decompress_d of section 4.2.1: (q / 2^d) y rounded to the nearest, halves up.
fn decompress(d: usize, f: &[u32]) -> Poly {
    f.iter().map(|y| (2 * Q * y + (1 << d)) / (2 << d)).collect()
}

/// ByteEncode_d.
pub fn byte_encode(d: usize, f: &[u32]) -> Vec<u8> {
    bits_to_bytes(&f.iter().flat_map(|a| (0..d).map(move |j| a >> j & 1 == 1)).collect::<Vec<_>>())
}

/// ByteDecode_d, which reduces modulo q when d = 12.
pub fn byte_decode(d: usize, b: &[u8]) -> Poly {
    let m = if d == 12 { Q } else { 1 << d };
    let value = |bits: &[bool]| bits.iter().rev().fold(0, |sum, bit| 2 * sum + u32::from(*bit));
    bytes_to_bits(b).chunks(d).map(|bits| value(bits) % m).collect()
}

/// SampleNTT. A longer output of the XOF starts with the shorter one, so asking again continues the
/// stream.
pub fn sample_ntt(b: &[u8]) -> Poly {
    let mut bytes = 3 * N;
    loop {
        let mut a = Poly::new();
        for c in shake(128, b, bytes).chunks(3) {
            let (c0, c1, c2) = (u32::from(c[0]), u32::from(c[1]), u32::from(c[2]));
            a.extend([c0 + 256 * (c1 % 16), c1 / 16 + 16 * c2].iter().filter(|d| **d < Q));
        }
        if a.len() >= N {
            a.truncate(N);
            return a;
        }
        bytes *= 2;
    }
}

/// SamplePolyCBD_eta.
fn sample_poly_cbd(eta: usize, b: &[u8]) -> Poly {
    let bits = bytes_to_bits(b);
    let sum = |start: usize| bits[start..start + eta].iter().filter(|bit| **bit).count() as u32;
    (0..N).map(|i| (sum(2 * i * eta) + Q - sum(2 * i * eta + eta)) % Q).collect()
}

fn bit_rev7(i: u32) -> u32 {
    (0..7).fold(0, |sum, bit| sum | (i >> bit & 1) << (6 - bit))
}

/// The powers of zeta = 17, the 256-th root of unity of section 4.3.
static ZETA: LazyLock<Vec<u32>> = LazyLock::new(|| {
    std::iter::successors(Some(1), |power| Some(power * 17 % Q)).take(256).collect()
});

fn zeta(exponent: u32) -> u32 {
    ZETA[exponent as usize]
}

/// NTT.
pub fn ntt(f: &[u32]) -> Poly {
    let mut f = f.to_vec();
    let mut i = 1;
    for len in [128, 64, 32, 16, 8, 4, 2] {
        for start in (0..N).step_by(2 * len) {
            let z = zeta(bit_rev7(i));
            i += 1;
            for j in start..start + len {
                let t = z * f[j + len] % Q;
                f[j + len] = (f[j] + Q - t) % Q;
                f[j] = (f[j] + t) % Q;
            }
        }
    }
    f
}

/// The inverse of NTT.
pub fn ntt_inverse(f: &[u32]) -> Poly {
    let mut f = f.to_vec();
    let mut i = 127;
    for len in [2, 4, 8, 16, 32, 64, 128] {
        for start in (0..N).step_by(2 * len) {
            let z = zeta(bit_rev7(i));
            i -= 1;
            for j in start..start + len {
                let t = f[j];
                f[j] = (t + f[j + len]) % Q;
                f[j + len] = z * ((f[j + len] + Q - t) % Q) % Q;
            }
        }
    }
    f.iter().map(|x| x * 3303 % Q).collect()
}

/// MultiplyNTTs, with BaseCaseMultiply written out.
pub fn multiply_ntts(f: &[u32], g: &[u32]) -> Poly {
    let mut h = Poly::new();
    for i in 0..N / 2 {
        let gamma = zeta(2 * bit_rev7(i as u32) + 1);
        let (a0, a1, b0, b1) = (f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]);
        h.push((a0 * b0 + a1 * b1 % Q * gamma) % Q);
        h.push((a0 * b1 + a1 * b0) % Q);
    }
    h
}

fn add(f: &[u32], g: &[u32]) -> Poly {
    f.iter().zip(g).map(|(a, b)| (a + b) % Q).collect()
}

fn subtract(f: &[u32], g: &[u32]) -> Poly {
    f.iter().zip(g).map(|(a, b)| (a + Q - b) % Q).collect()
}

fn dot(f: &[Poly], g: &[Poly]) -> Poly {
    f.iter().zip(g).fold(vec![0; N], |sum, (a, b)| add(&sum, &multiply_ntts(a, b)))
}

/// A\[i\]\[j\] from rho || j || i, as in K-PKE.KeyGen and K-PKE.Encrypt.
fn matrix(k: usize, rho: &[u8]) -> Vec<Vec<Poly>> {
    let entry = |i: usize, j: usize| sample_ntt(&[rho, &[j as u8, i as u8]].concat());
    (0..k).map(|i| (0..k).map(|j| entry(i, j)).collect()).collect()
}

/// `k` polynomials of noise with the counters from `n` on.
fn noise(k: usize, eta: usize, seed: &[u8], n: usize) -> Vec<Poly> {
    (n..n + k).map(|n| sample_poly_cbd(eta, &prf(eta, seed, n as u8))).collect()
}

fn decode_vector(d: usize, b: &[u8]) -> Vec<Poly> {
    b.chunks(32 * d).map(|poly| byte_decode(d, poly)).collect()
}

fn encode_vector(d: usize, f: &[Poly]) -> Vec<u8> {
    f.iter().flat_map(|poly| byte_encode(d, poly)).collect()
}

/// K-PKE.KeyGen.
fn k_pke_keygen(p: &ParameterSet, d: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (rho, sigma) = g(&[d, &[p.k as u8]].concat());
    let a = matrix(p.k, &rho);
    let s: Vec<Poly> = noise(p.k, p.eta1, &sigma, 0).iter().map(|f| ntt(f)).collect();
    let e: Vec<Poly> = noise(p.k, p.eta1, &sigma, p.k).iter().map(|f| ntt(f)).collect();
    let t: Vec<Poly> = (0..p.k).map(|i| add(&dot(&a[i], &s), &e[i])).collect();
    ([encode_vector(12, &t), rho].concat(), encode_vector(12, &s))
}

/// K-PKE.Encrypt.
fn k_pke_encrypt(p: &ParameterSet, ek: &[u8], m: &[u8], r: &[u8]) -> Vec<u8> {
    let (t, rho) = ek.split_at(384 * p.k);
    let (t, a) = (decode_vector(12, t), matrix(p.k, rho));
    let y: Vec<Poly> = noise(p.k, p.eta1, r, 0).iter().map(|f| ntt(f)).collect();
    let e1 = noise(p.k, p.eta2, r, p.k);
    let e2 = &noise(1, p.eta2, r, 2 * p.k)[0];
    let transposed = |i: usize| -> Vec<Poly> { a.iter().map(|row| row[i].clone()).collect() };
    let u = (0..p.k).map(|i| add(&ntt_inverse(&dot(&transposed(i), &y)), &e1[i]));
    let mu = decompress(1, &byte_decode(1, m));
    let v = add(&add(&ntt_inverse(&dot(&t, &y)), e2), &mu);
    let c1: Vec<Poly> = u.map(|f| compress(p.du, &f)).collect();
    [encode_vector(p.du, &c1), byte_encode(p.dv, &compress(p.dv, &v))].concat()
}

/// K-PKE.Decrypt.
fn k_pke_decrypt(p: &ParameterSet, dk: &[u8], c: &[u8]) -> Vec<u8> {
    let (c1, c2) = c.split_at(32 * p.du * p.k);
    let u: Vec<Poly> = decode_vector(p.du, c1).iter().map(|f| ntt(&decompress(p.du, f))).collect();
    let v = decompress(p.dv, &byte_decode(p.dv, c2));
    let s = decode_vector(12, dk);
    let w = subtract(&v, &ntt_inverse(&dot(&s, &u)));
    byte_encode(1, &compress(1, &w))
}

/// ML-KEM.KeyGen_internal: (ek, dk).
pub fn keygen_internal(p: &ParameterSet, d: &[u8], z: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (ek, dk_pke) = k_pke_keygen(p, d);
    let dk = [&dk_pke, &ek, &h(&ek), z].concat();
    (ek, dk)
}

/// ML-KEM.Encaps_internal: (K, c).
pub fn encaps_internal(p: &ParameterSet, ek: &[u8], m: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (key, r) = g(&[m, &h(ek)].concat());
    (key, k_pke_encrypt(p, ek, m, &r))
}

/// ML-KEM.Decaps_internal: K.
pub fn decaps_internal(p: &ParameterSet, dk: &[u8], c: &[u8]) -> Vec<u8> {
    let (dk_pke, rest) = dk.split_at(384 * p.k);
    let (ek_pke, rest) = rest.split_at(384 * p.k + 32);
    let (h, z) = rest.split_at(32);
    let m = k_pke_decrypt(p, dk_pke, c);
    let (key, r) = g(&[&m, h].concat());
    if k_pke_encrypt(p, ek_pke, &m, &r) == c { key } else { j(&[z, c].concat()) }
}

/// The checks of ML-KEM.Encaps on its key, section 7.2.
pub fn encapsulation_key_check(p: &ParameterSet, ek: &[u8]) -> bool {
    ek.len() == p.ek_len()
        && encode_vector(12, &decode_vector(12, &ek[..384 * p.k])) == ek[..384 * p.k]
}

/// The checks of ML-KEM.Decaps on its key, section 7.3.
pub fn decapsulation_key_check(p: &ParameterSet, dk: &[u8]) -> bool {
    dk.len() == p.dk_len()
        && h(&dk[384 * p.k..768 * p.k + 32]) == dk[768 * p.k + 32..768 * p.k + 64]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A of the standard prints zeta^BitRev7(i): 1, 1729, 2580, ... 2154, and zeta^(2
    /// BitRev7(i) + 1): 17, -17, 2761.
    #[test]
    fn zetas_of_appendix_a() {
        assert_eq!([0, 1, 2, 127].map(|i| zeta(bit_rev7(i))), [1, 1729, 2580, 2154]);
        assert_eq!([0, 1, 2].map(|i| zeta(2 * bit_rev7(i) + 1)), [17, Q - 17, 2761]);
    }

    #[test]
    fn multiplication_is_that_of_the_ring() {
        let f: Poly = (0..256).map(|i| (i * i + 7) % Q).collect();
        let g: Poly = (0..256).map(|i| (3 * i + 1000) % Q).collect();
        let mut product = vec![0; 256];
        for i in 0..256 {
            for j in 0..256 {
                let term = f[i] * g[j] % Q;
                let sign = if i + j < 256 { term } else { Q - term };
                product[(i + j) % 256] = (product[(i + j) % 256] + sign) % Q;
            }
        }
        assert_eq!(ntt_inverse(&multiply_ntts(&ntt(&f), &ntt(&g))), product);
        assert_eq!(ntt_inverse(&ntt(&f)), f);
    }

    /// Appendix of section 4.2.1: compressing what was decompressed gives it back, for every d
    /// below 12.
    #[test]
    fn compress_inverts_decompress() {
        for d in 1..12 {
            let all: Poly = (0..1 << d).collect();
            assert_eq!(compress(d, &decompress(d, &all)), all);
            let off = |x: u32| (decompress(d, &compress(d, &[x]))[0] + Q - x) % Q;
            let bound = (Q + (1 << d)) / (2 << d);
            assert!((0..Q).all(|x| off(x).min(Q - off(x)) <= bound), "d = {d}");
        }
    }
}
