//! ML-KEM on little memory: the same results from keys that hold nothing but their bytes.
//!
//! Every operation expands the matrix entry by entry and forgets it again, one hash at a time, so that at
//! ML-KEM-768 it needs less than 8 KiB of stack, all in all, where keys of the crate's root are 9 KiB each.
//! The price is time: see the README. Keys and ciphertexts are those of the standard, and either kind of key
//! takes what the other one has made.
//!
//! Secret: the seed, m and all that comes from them; public: rho, t, the matrix, ciphertexts.

use core::{array, fmt, hint::black_box};

use keccak::{backend::Level, dispatch, sponge::Sponge};
use rand_core::{CryptoRng, TryCryptoRng};
use subtle::Choice;

use crate::{
    Ciphertext, Error, SEED_BYTES, Seed, SharedSecret,
    backend::Backend,
    ct::{self, Frames, SecretBytes, wiping_stack},
    hash::{self, SHAKE_SUFFIX, XOF_RATE},
    k_pke::{NttVector, zero_vector},
    params::{
        Bytes, CiphertextBytes, ETA2, EncapsulationKeyBytes, MlKem, N, POLY_BYTES, ParameterSet,
        SYM_BYTES, du, dv, encapsulation_key_bytes, eta1, u_bytes,
    },
    poly::{self, NttPoly, Poly},
    sample,
};

/// A public key, as its bytes, checked.
#[derive(Clone, PartialEq, Eq)]
pub struct SmallEncapsulationKey<const K: usize>
where
    MlKem<K>: ParameterSet,
{
    bytes: EncapsulationKeyBytes<K>,
    level: Level,
}

impl<const K: usize> SmallEncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// Checks and keeps an encoded key (FIPS 203 section 7.2).
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; [`Error::NotReduced`] if a coefficient is not below q.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_at(Level::detect(), bytes)
    }

    pub(crate) fn parse_at(level: Level, bytes: &[u8]) -> Result<Self, Error> {
        Error::check_length(bytes, encapsulation_key_bytes(K))?;
        if !dispatch!(level, b => is_reduced(b, bytes)) {
            return Err(Error::NotReduced);
        }
        let mut key = Self { bytes: EncapsulationKeyBytes::<K>::ZERO, level };
        key.bytes.as_mut().copy_from_slice(bytes);
        Ok(key)
    }

    /// The encoded key.
    #[must_use]
    pub fn as_bytes(&self) -> &EncapsulationKeyBytes<K> {
        &self.bytes
    }

    /// A fresh shared secret and the ciphertext that carries it to the owner of the private key
    /// (ML-KEM.Encaps). Draws 32 bytes.
    pub fn encap<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> (Ciphertext<K>, SharedSecret) {
        wiping_stack::<K, _>(Frames::Small, || {
            let mut m = SecretBytes::ZERO;
            rng.fill_bytes(&mut m.0);
            self.encap_message(&m.0)
        })
    }

    /// [`SmallEncapsulationKey::encap`] with a generator that can fail.
    ///
    /// # Errors
    ///
    /// The generator's.
    pub fn try_encap<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> Result<(Ciphertext<K>, SharedSecret), R::Error> {
        wiping_stack::<K, _>(Frames::SmallResult, || self.draw_and_encap(|m| rng.try_fill_bytes(m)))
    }

    /// [`SmallEncapsulationKey::encap`] with the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's.
    #[cfg(feature = "getrandom")]
    pub fn encap_os(&self) -> Result<(Ciphertext<K>, SharedSecret), getrandom::Error> {
        wiping_stack::<K, _>(Frames::SmallResult, || self.draw_and_encap(getrandom::fill))
    }

    fn draw_and_encap<E>(
        &self,
        draw: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(Ciphertext<K>, SharedSecret), E> {
        let mut m = SecretBytes::ZERO;
        draw(&mut m.0)?;
        Ok(self.encap_message(&m.0))
    }

    pub(crate) fn encap_message(&self, m: &[u8; SYM_BYTES]) -> (Ciphertext<K>, SharedSecret) {
        ct::secret!(m);
        let mut ciphertext = CiphertextBytes::<K>::ZERO;
        let mut secret = SecretBytes::ZERO;
        let out = ciphertext.as_mut();
        dispatch!(self.level, b => encap::<_, K>(b, self.bytes.as_ref(), m, out, &mut secret));
        (Ciphertext(ciphertext), SharedSecret(secret))
    }
}

impl<const K: usize> fmt::Debug for SmallEncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SmallEncapsulationKey").field(&self.bytes).finish()
    }
}

/// A private key, as its seed: 64 bytes. Wiped on drop.
pub struct SmallDecapsulationKey<const K: usize>
where
    MlKem<K>: ParameterSet,
{
    seed: Seed,
    level: Level,
}

impl<const K: usize> SmallDecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// A fresh key. Draws 64 bytes: d, then z.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        wiping_stack::<0, _>(Frames::Bytes, || {
            let Ok(key) = Self::draw_and_generate(|seed| rng.try_fill_bytes(seed));
            key
        })
    }

    /// [`SmallDecapsulationKey::generate`] with a generator that can fail.
    ///
    /// # Errors
    ///
    /// The generator's.
    pub fn try_generate<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        wiping_stack::<0, _>(Frames::Bytes, || {
            Self::draw_and_generate(|seed| rng.try_fill_bytes(seed))
        })
    }

    /// [`SmallDecapsulationKey::generate`] with the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's.
    #[cfg(feature = "getrandom")]
    pub fn generate_os() -> Result<Self, getrandom::Error> {
        wiping_stack::<0, _>(Frames::Bytes, || Self::draw_and_generate(getrandom::fill))
    }

    fn draw_and_generate<E>(draw: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = SecretBytes::<SEED_BYTES>::ZERO;
        draw(&mut bytes.0)?;
        Ok(Self { seed: Seed(bytes), level: Level::detect() })
    }

    /// The key of a seed.
    #[must_use]
    pub fn from_seed(seed: &Seed) -> Self {
        Self::from_seed_at(Level::detect(), seed)
    }

    pub(crate) fn from_seed_at(level: Level, seed: &Seed) -> Self {
        wiping_stack::<0, _>(Frames::Bytes, || Self { seed: seed.clone(), level })
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The public key that belongs to this key (ML-KEM.KeyGen_internal).
    #[must_use]
    pub fn encapsulation_key(&self) -> SmallEncapsulationKey<K> {
        wiping_stack::<K, _>(Frames::Small, || {
            let mut bytes = EncapsulationKeyBytes::<K>::ZERO;
            let encoded = bytes.as_mut();
            dispatch!(self.level, b => encapsulation_key::<_, K>(b, &self.seed, encoded));
            SmallEncapsulationKey { bytes, level: self.level }
        })
    }

    /// The secret that a ciphertext carries (ML-KEM.Decaps). A wrong ciphertext is not an error: it
    /// gives a secret that only this key can compute and that matches no other, in the same time.
    #[must_use]
    pub fn decap(&self, ciphertext: &Ciphertext<K>) -> SharedSecret {
        wiping_stack::<K, _>(Frames::Small, || {
            let mut secret = SecretBytes::ZERO;
            let mut encoded = EncapsulationKeyBytes::<K>::ZERO;
            let (seed, encoded) = (&self.seed, encoded.as_mut());
            let ciphertext = ciphertext.as_bytes().as_ref();
            dispatch!(self.level, b => decap::<_, K>(b, seed, ciphertext, encoded, &mut secret));
            SharedSecret(secret)
        })
    }
}

impl<const K: usize> Clone for SmallDecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn clone(&self) -> Self {
        Self::from_seed_at(self.level, &self.seed)
    }
}

impl<const K: usize> fmt::Debug for SmallDecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmallDecapsulationKey { .. }")
    }
}

impl<const K: usize> zeroize::ZeroizeOnDrop for SmallDecapsulationKey<K> where MlKem<K>: ParameterSet
{}

/// The most bytes that one polynomial comes from or goes to: an output of PRF_3, a block of the XOF, or a
/// polynomial of u at 11 bits.
const BLOCK_BYTES: usize = 352;

/// All that the operations work in, but for one vector: s, then y.
pub(crate) struct Scratch {
    block: [u8; BLOCK_BYTES],
    poly: Poly,
    term: Poly,
    /// An entry of the matrix, or another factor.
    factor: NttPoly,
    products: Products,
}

impl Scratch {
    pub(crate) const ZERO: Self = Self {
        block: [0; BLOCK_BYTES],
        poly: Poly::ZERO,
        term: Poly::ZERO,
        factor: NttPoly::ZERO,
        products: Products { gammas: NttPoly::ZERO, product: NttPoly::ZERO, sum: NttPoly::ZERO },
    };
}

/// A sum of products, each with a factor R^-1.
struct Products {
    gammas: NttPoly,
    product: NttPoly,
    sum: NttPoly,
}

impl Products {
    fn clear(&mut self) {
        self.sum = NttPoly::ZERO;
    }

    /// |f| < q and |g| <= 5q: adds at most 1.1q, so that four stay within 4.4q.
    fn add<B: Backend>(&mut self, b: B, f: &NttPoly, g: &NttPoly) {
        b.times_gammas(g, &mut self.gammas);
        b.dot([f], array::from_ref(g), array::from_ref(&self.gammas), &mut self.product);
        poly::add::<_, i16>(b, &mut self.sum.0, &self.product.0);
    }

    /// NTT^-1 of the sum without its factor.
    fn inverse<B: Backend>(&mut self, b: B, out: &mut Poly) {
        b.ntt_inverse(&self.sum, out);
    }
}

/// Noise of width eta from PRF_eta(seed, counter).
fn noise<B: Backend>(
    b: B,
    seed: &[u8; SYM_BYTES],
    counter: usize,
    eta: usize,
    block: &mut [u8; BLOCK_BYTES],
    out: &mut Poly,
) {
    let bytes = &mut block[..64 * eta];
    hash::shake256(b, seed, &[counter as u8], bytes);
    b.sample_poly_cbd(eta, bytes, out);
    ct::secret!(out);
}

/// The entry of the matrix at row i and column j.
#[inline(never)]
fn entry<B: Backend>(
    b: B,
    rho: &[u8; SYM_BYTES],
    i: usize,
    j: usize,
    block: &mut [u8; BLOCK_BYTES],
    out: &mut NttPoly,
) {
    let mut xof = Sponge::new(XOF_RATE);
    hash::absorb(b, &mut xof, SHAKE_SUFFIX, [rho, &[j as u8, i as u8]]);
    let block = &mut block[..XOF_RATE];
    let mut found = 0;
    while found < N {
        hash::squeeze(b, &mut xof, block);
        found = sample::accept_vartime(block, &mut out.0, found);
    }
}

/// The rows of t and rho of an encoded key, whose length the type has.
fn parts(encoded: &[u8]) -> (&[[u8; POLY_BYTES]], &[u8; SYM_BYTES]) {
    let (rows, rho) = encoded.as_chunks();
    (rows, rho.try_into().expect("the length of an encoded key"))
}

fn is_reduced<B: Backend>(b: B, encoded: &[u8]) -> bool {
    let mut t = NttPoly::ZERO;
    parts(encoded).0.iter().fold(true, |reduced, row| reduced & b.decode_12(row, &mut t))
}

/// K-PKE.KeyGen: s in \[0, q), and the encoded public key.
#[inline(never)]
pub(crate) fn key_gen<B: Backend, const K: usize>(
    b: B,
    d: &[u8; SYM_BYTES],
    s: &mut NttVector<K>,
    encoded: &mut [u8],
    scratch: &mut Scratch,
) {
    let Scratch { block, poly, factor, products, .. } = scratch;
    let mut seeds = SecretBytes::<64>::ZERO;
    hash::g(b, d, &[K as u8], &mut seeds.0);
    let (rho, sigma) = seeds.halves();
    ct::declassify!(rho);
    encoded[POLY_BYTES * K..].copy_from_slice(rho);
    for (j, s) in s.iter_mut().enumerate() {
        noise(b, sigma, j, eta1(K), block, poly);
        b.ntt(poly, s);
        b.make_canonical(&mut s.0);
    }
    for (i, out) in encoded.as_chunks_mut::<POLY_BYTES>().0.iter_mut().enumerate() {
        products.clear();
        for (j, s) in s.iter().enumerate() {
            entry(b, rho, i, j, block, factor);
            products.add(b, factor, s);
        }
        noise(b, sigma, K + i, eta1(K), block, poly);
        b.ntt(poly, factor);
        b.finish_row(&mut products.sum, factor);
        ct::declassify!(&products.sum.0);
        b.encode_12(&products.sum, out);
    }
}

/// K-PKE.Encrypt of m with the randomness r; gives the ciphertext to `out`, a polynomial at a time.
#[inline(never)]
fn encrypt<B: Backend, const K: usize>(
    b: B,
    encoded: &[u8],
    m: &[u8; SYM_BYTES],
    r: &[u8; SYM_BYTES],
    y: &mut NttVector<K>,
    scratch: &mut Scratch,
    mut out: impl FnMut(usize, &[u8]),
) {
    let Scratch { block, poly, term, factor, products } = scratch;
    let (rows, rho) = parts(encoded);
    for (j, y) in y.iter_mut().enumerate() {
        noise(b, r, j, eta1(K), block, poly);
        b.ntt(poly, y);
    }
    for j in 0..K {
        products.clear();
        for (i, y) in y.iter().enumerate() {
            entry(b, rho, i, j, block, factor);
            products.add(b, factor, y);
        }
        products.inverse(b, poly);
        noise(b, r, K + j, ETA2, block, term);
        b.add(poly, term);
        let compressed = &mut block[..32 * du(K)];
        b.compress_and_encode(du(K), poly, compressed);
        ct::secret!(compressed);
        out(32 * du(K) * j, compressed);
    }
    products.clear();
    for (row, y) in rows.iter().zip(y.iter()) {
        b.decode_12(row, factor);
        products.add(b, factor, y);
    }
    products.inverse(b, poly);
    noise(b, r, 2 * K, ETA2, block, term);
    b.add(poly, term);
    b.decode_and_decompress(1, m, term);
    b.add(poly, term);
    let compressed = &mut block[..32 * dv(K)];
    b.compress_and_encode(dv(K), poly, compressed);
    ct::secret!(compressed);
    out(u_bytes(K), compressed);
}

/// K-PKE.Decrypt.
#[inline(never)]
fn decrypt<B: Backend, const K: usize>(
    b: B,
    s: &NttVector<K>,
    ciphertext: &[u8],
    m: &mut [u8; SYM_BYTES],
    scratch: &mut Scratch,
) {
    let Scratch { poly, term, factor, products, .. } = scratch;
    let (u, v) = ciphertext.split_at(u_bytes(K));
    products.clear();
    // Zipped, they would divide the length, which is public.
    for (i, u) in u.chunks_exact(32 * du(K)).enumerate() {
        b.decode_and_decompress(du(K), u, poly);
        b.ntt(poly, factor);
        products.add(b, &s[i], factor);
    }
    products.inverse(b, poly);
    b.decode_and_decompress(dv(K), v, term);
    b.subtract_from(poly, term);
    b.compress_and_encode(1, poly, m);
}

fn encapsulation_key<B: Backend, const K: usize>(b: B, seed: &Seed, encoded: &mut [u8]) {
    ct::secret!(&seed.0.0);
    let (mut s, mut scratch) = (zero_vector::<K>(), Scratch::ZERO);
    key_gen(b, seed.0.halves().0, &mut s, encoded, &mut scratch);
}

/// ML-KEM.Encaps_internal.
fn encap<B: Backend, const K: usize>(
    b: B,
    encoded: &[u8],
    m: &[u8; SYM_BYTES],
    ciphertext: &mut [u8],
    secret: &mut SecretBytes<SYM_BYTES>,
) {
    let (mut y, mut scratch) = (zero_vector::<K>(), Scratch::ZERO);
    let (mut hash, mut derived) = ([0; SYM_BYTES], SecretBytes::<64>::ZERO);
    hash::h(b, encoded, &mut hash);
    hash::g(b, m, &hash, &mut derived.0);
    let (k, r) = derived.halves();
    encrypt(b, encoded, m, r, &mut y, &mut scratch, |at, bytes| {
        ciphertext[at..at + bytes.len()].copy_from_slice(bytes);
    });
    ct::declassify!(ciphertext);
    secret.0.copy_from_slice(k);
}

/// ML-KEM.Decaps_internal, with the public key made anew in `encoded`.
fn decap<B: Backend, const K: usize>(
    b: B,
    seed: &Seed,
    ciphertext: &[u8],
    encoded: &mut [u8],
    secret: &mut SecretBytes<SYM_BYTES>,
) {
    ct::secret!(&seed.0.0);
    let (d, z) = seed.0.halves();
    let (mut vector, mut scratch) = (zero_vector::<K>(), Scratch::ZERO);
    key_gen(b, d, &mut vector, encoded, &mut scratch);
    let mut m = SecretBytes::<SYM_BYTES>::ZERO;
    decrypt(b, &vector, ciphertext, &mut m.0, &mut scratch);

    let (mut hash, mut derived) = ([0; SYM_BYTES], SecretBytes::<64>::ZERO);
    hash::h(b, encoded, &mut hash);
    hash::g(b, &m.0, &hash, &mut derived.0);
    let mut rejection = SecretBytes::<SYM_BYTES>::ZERO;
    hash::shake256(b, z, ciphertext, &mut rejection.0);
    let (k, r) = derived.halves();
    // Compared twice, as in `kem`.
    let (mut same, mut differs) = (Choice::from(1), Choice::from(0));
    encrypt(b, encoded, &m.0, r, &mut vector, &mut scratch, |at, bytes| {
        let sent = &ciphertext[at..at + bytes.len()];
        same &= ct::equal(sent, bytes);
        differs |= !ct::equal(black_box(sent), black_box(bytes));
    });
    secret.0.copy_from_slice(&rejection.0);
    ct::assign_if(same, &mut secret.0, k);
    ct::assign_if(differs, &mut secret.0, &rejection.0);
}
