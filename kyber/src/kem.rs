//! The keys, ciphertexts and secrets of ML-KEM and what is done with them (FIPS 203 sections 6 and 7).
//!
//! Invariants: an [`EncapsulationKey`] has passed the modulus check and holds the matrix, t and H(ek);
//! a [`DecapsulationKey`] holds the key that belongs to its s. So encap and decap cannot fail. A key
//! carries the backend that it was made on. Secret: seeds, m, s, z, the shared secret.

use core::{fmt, hint::black_box};

use keccak::{backend::Level, dispatch};
use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};

use crate::{
    Error,
    backend::Backend,
    ct::{self, Frames, SecretBytes, wiping_stack},
    hash,
    k_pke::{self, Noise, NttVector, PublicKey, zero_vector},
    params::{
        Bytes, CiphertextBytes, EncapsulationKeyBytes, ExpandedBytes, MlKem, POLY_BYTES,
        ParameterSet, SYM_BYTES, ciphertext_bytes, decapsulation_key_bytes,
        encapsulation_key_bytes,
    },
    schedule::{Hash, Schedule, Until, Work},
};

/// Bytes of a [`Seed`].
pub const SEED_BYTES: usize = 64;
/// Bytes of a [`SharedSecret`].
pub const SHARED_SECRET_BYTES: usize = 32;

macro_rules! secret_type {
    ($type:ident, $bytes:expr, $name:literal) => {
        impl $type {
            /// The bytes. Copies of them are the caller's to wipe.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0.0
            }
        }

        impl Clone for $type {
            fn clone(&self) -> Self {
                wiping_stack::<0, _>(Frames::Bytes, || Self(self.0.clone()))
            }
        }

        impl ConstantTimeEq for $type {
            fn ct_eq(&self, other: &Self) -> Choice {
                self.0.ct_eq(&other.0)
            }
        }

        /// In constant time.
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                ct::declassified(self.ct_eq(other)).into()
            }
        }

        impl Eq for $type {}

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($name, " { .. }"))
            }
        }

        impl zeroize::ZeroizeOnDrop for $type {}
    };
}

/// What a key pair is made from: d, then z, 32 random bytes each. The smallest form of a private key.
///
/// Wiped on drop.
pub struct Seed(pub(crate) SecretBytes<SEED_BYTES>);

secret_type!(Seed, SEED_BYTES, "Seed");

impl Seed {
    /// A seed from its bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if there are not 64.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        wiping_stack::<0, _>(Frames::Bytes, || {
            Error::check_length(bytes, SEED_BYTES)?;
            let mut seed = Self(SecretBytes::ZERO);
            seed.0.0.copy_from_slice(bytes);
            Ok(seed)
        })
    }
}

impl From<&[u8; SEED_BYTES]> for Seed {
    fn from(bytes: &[u8; SEED_BYTES]) -> Self {
        wiping_stack::<0, _>(Frames::Bytes, || Self(SecretBytes(*bytes)))
    }
}

/// What both sides hold after a key exchange: 32 bytes, fit to be used as a key.
///
/// Wiped on drop; compared in constant time.
pub struct SharedSecret(pub(crate) SecretBytes<SHARED_SECRET_BYTES>);

secret_type!(SharedSecret, SHARED_SECRET_BYTES, "SharedSecret");

/// An encapsulated secret, of the right length; nothing else about it needs to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext<const K: usize>(pub(crate) CiphertextBytes<K>)
where
    MlKem<K>: ParameterSet;

impl<const K: usize> Ciphertext<K>
where
    MlKem<K>: ParameterSet,
{
    /// A ciphertext from its bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Length`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Error::check_length(bytes, ciphertext_bytes(K))?;
        let mut ciphertext = Self(CiphertextBytes::<K>::ZERO);
        ciphertext.0.as_mut().copy_from_slice(bytes);
        Ok(ciphertext)
    }

    /// The bytes to send.
    #[must_use]
    pub fn as_bytes(&self) -> &CiphertextBytes<K> {
        &self.0
    }
}

impl<const K: usize> AsRef<[u8]> for Ciphertext<K>
where
    MlKem<K>: ParameterSet,
{
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<const K: usize, const N: usize> From<[u8; N]> for Ciphertext<K>
where
    MlKem<K>: ParameterSet<CiphertextBytes = [u8; N]>,
{
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

/// The public key. Holds what encapsulation needs in expanded form, so that it is checked and expanded
/// once.
#[derive(Clone)]
pub struct EncapsulationKey<const K: usize>
where
    MlKem<K>: ParameterSet,
{
    pub(crate) public: PublicKey<K>,
    pub(crate) bytes: EncapsulationKeyBytes<K>,
    /// H(ek).
    pub(crate) hash: [u8; SYM_BYTES],
    pub(crate) level: Level,
}

impl<const K: usize> EncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn zero(level: Level) -> Self {
        let bytes = EncapsulationKeyBytes::<K>::ZERO;
        Self { public: PublicKey::ZERO, bytes, hash: [0; SYM_BYTES], level }
    }

    /// Checks and expands an encoded key (FIPS 203 section 7.2).
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; [`Error::NotReduced`] if a coefficient is not below q.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_at(Level::detect(), bytes)
    }

    /// The backend that the key is on: the detected one, unless `hazmat` or a test chose another. Where detection is
    /// done by the compiler, it then leaves the code of all others out.
    pub(crate) fn level(&self) -> Level {
        if cfg!(any(feature = "hazmat", test)) { self.level } else { Level::detect() }
    }

    pub(crate) fn parse_at(level: Level, bytes: &[u8]) -> Result<Self, Error> {
        let mut key = Self::zero(level);
        key.fill(bytes)?;
        Ok(key)
    }

    #[inline(never)]
    fn fill(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Error::check_length(bytes, encapsulation_key_bytes(K))?;
        self.bytes.as_mut().copy_from_slice(bytes);
        dispatch!(self.level(), b => self.expand(b))
    }

    fn expand<B: Backend>(&mut self, b: B) -> Result<(), Error> {
        let (rows, rho) = self.bytes.as_ref().as_chunks::<POLY_BYTES>();
        let mut reduced = true;
        for (bytes, t) in rows.iter().zip(&mut self.public.t) {
            reduced &= b.decode_12(bytes, t);
        }
        let (true, Some(rho)) = (reduced, rho.first_chunk()) else {
            return Err(Error::NotReduced);
        };
        let bytes = self.bytes.as_ref();
        k_pke::expand(b, bytes, rho, &mut self.public.matrix, &mut self.hash);
        Ok(())
    }

    /// The encoded key.
    #[must_use]
    pub fn as_bytes(&self) -> &EncapsulationKeyBytes<K> {
        &self.bytes
    }

    /// The encoded key, as an array to keep.
    #[must_use]
    pub fn to_bytes(&self) -> EncapsulationKeyBytes<K> {
        self.bytes.clone()
    }

    /// A fresh shared secret and the ciphertext that carries it to the owner of the private key
    /// (ML-KEM.Encaps). Draws 32 bytes.
    pub fn encap<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> (Ciphertext<K>, SharedSecret) {
        wiping_stack::<K, _>(Frames::Use, || {
            let Ok(pair) = self.draw_and_encap(|m| rng.try_fill_bytes(m));
            pair
        })
    }

    /// [`EncapsulationKey::encap`] with a generator that can fail.
    ///
    /// # Errors
    ///
    /// The generator's.
    pub fn try_encap<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> Result<(Ciphertext<K>, SharedSecret), R::Error> {
        wiping_stack::<K, _>(Frames::Use, || self.draw_and_encap(|m| rng.try_fill_bytes(m)))
    }

    /// [`EncapsulationKey::encap`] with the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's.
    #[cfg(feature = "getrandom")]
    pub fn encap_os(&self) -> Result<(Ciphertext<K>, SharedSecret), getrandom::Error> {
        wiping_stack::<K, _>(Frames::Use, || self.draw_and_encap(getrandom::fill))
    }

    fn draw_and_encap<E>(
        &self,
        draw: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(Ciphertext<K>, SharedSecret), E> {
        let mut m = SecretBytes::ZERO;
        draw(&mut m.0)?;
        Ok(self.encap_message(&m.0))
    }

    /// Leaves secrets on the stack, as do the other functions that public ones wrap.
    pub(crate) fn encap_message(&self, m: &[u8; SYM_BYTES]) -> (Ciphertext<K>, SharedSecret) {
        ct::secret!(m);
        let mut ciphertext = Ciphertext(CiphertextBytes::<K>::ZERO);
        let mut secret = SharedSecret(SecretBytes::ZERO);
        let out = ciphertext.0.as_mut();
        dispatch!(self.level(), b => self.encap_internal(b, m, out, &mut secret));
        (ciphertext, secret)
    }

    /// ML-KEM.Encaps_internal.
    fn encap_internal<B: Backend>(
        &self,
        b: B,
        m: &[u8; SYM_BYTES],
        ciphertext: &mut [u8],
        secret: &mut SharedSecret,
    ) {
        let mut derived = SecretBytes::<64>::ZERO;
        hash::g(b, m, &self.hash, &mut derived.0);
        let (k, r) = derived.halves();
        let mut noise = Noise::ZERO;
        k_pke::noise(b, r, &mut noise);
        k_pke::encrypt(b, &self.public, m, &noise, ciphertext);
        ct::declassify!(ciphertext);
        secret.0.0.copy_from_slice(k);
    }
}

impl<const K: usize> PartialEq for EncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<const K: usize> Eq for EncapsulationKey<K> where MlKem<K>: ParameterSet {}

impl<const K: usize> fmt::Debug for EncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncapsulationKey").field(&self.bytes).finish()
    }
}

/// The private key, with its public key and all that decapsulation needs in expanded form.
///
/// Wiped on drop. Kept and sent as a [`Seed`] (64 bytes) or in the expanded form of FIPS 203.
pub struct DecapsulationKey<const K: usize>
where
    MlKem<K>: ParameterSet,
{
    pub(crate) s: SecretVector<K>,
    pub(crate) encapsulation_key: EncapsulationKey<K>,
    z: SecretBytes<SYM_BYTES>,
    /// None if the key came in expanded form.
    seed: Option<Seed>,
}

/// The private vector s, in \[0, q). Wiped on drop.
#[derive(Clone)]
pub(crate) struct SecretVector<const K: usize>(pub(crate) NttVector<K>);

impl<const K: usize> Drop for SecretVector<K> {
    fn drop(&mut self) {
        self.0 = zero_vector();
        zeroize::optimization_barrier(&self.0);
    }
}

impl<const K: usize> DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn zero(level: Level) -> Self {
        Self {
            s: SecretVector(zero_vector()),
            encapsulation_key: EncapsulationKey::zero(level),
            z: SecretBytes::ZERO,
            seed: None,
        }
    }

    /// A fresh key pair (ML-KEM.KeyGen). Draws 64 bytes: d, then z.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        wiping_stack::<K, _>(Frames::MakeKey, || {
            let Ok(key) = Self::draw_and_generate(|seed| rng.try_fill_bytes(seed));
            key
        })
    }

    /// [`DecapsulationKey::generate`] with a generator that can fail.
    ///
    /// # Errors
    ///
    /// The generator's.
    pub fn try_generate<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        wiping_stack::<K, _>(Frames::MakeKey, || {
            Self::draw_and_generate(|seed| rng.try_fill_bytes(seed))
        })
    }

    /// [`DecapsulationKey::generate`] with the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's.
    #[cfg(feature = "getrandom")]
    pub fn generate_os() -> Result<Self, getrandom::Error> {
        wiping_stack::<K, _>(Frames::MakeKey, || Self::draw_and_generate(getrandom::fill))
    }

    fn draw_and_generate<E>(draw: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut seed = Seed(SecretBytes::ZERO);
        draw(&mut seed.0.0)?;
        Ok(Self::from_seed_at(Level::detect(), &seed))
    }

    /// The key pair of a seed (ML-KEM.KeyGen_internal).
    #[must_use]
    pub fn from_seed(seed: &Seed) -> Self {
        wiping_stack::<K, _>(Frames::MakeKey, || Self::from_seed_at(Level::detect(), seed))
    }

    /// [`DecapsulationKey::from_seed`] in the caller's place: returned by value, a key is copied, which takes
    /// its own size of stack once more.
    pub fn from_seed_in<'a>(place: &'a mut Option<Self>, seed: &Seed) -> &'a mut Self {
        Self::from_seed_in_at(Level::detect(), place, seed)
    }

    pub(crate) fn from_seed_in_at<'a>(
        level: Level,
        place: &'a mut Option<Self>,
        seed: &Seed,
    ) -> &'a mut Self {
        wiping_stack::<K, _>(Frames::FillKey, || {
            let key = place.insert(Self::zero(level));
            key.fill_from_seed(seed);
            key
        })
    }

    pub(crate) fn from_seed_at(level: Level, seed: &Seed) -> Self {
        let mut key = Self::zero(level);
        key.fill_from_seed(seed);
        key
    }

    #[inline(never)]
    fn fill_from_seed(&mut self, seed: &Seed) {
        dispatch!(self.encapsulation_key.level(), b => self.fill_from_seed_on(b, seed));
    }

    fn fill_from_seed_on<B: Backend>(&mut self, b: B, seed: &Seed) {
        ct::secret!(&seed.0.0);
        let (d, z) = seed.0.halves();
        let ek = &mut self.encapsulation_key;
        let encoded = ek.bytes.as_mut();
        k_pke::key_gen(b, d, &mut self.s.0, &mut ek.public, encoded, &mut ek.hash);
        self.z.0.copy_from_slice(z);
        self.seed = Some(seed.clone());
    }

    /// The seed, unless the key was parsed from its expanded form, which does not hold d.
    #[must_use]
    pub fn seed(&self) -> Option<&Seed> {
        self.seed.as_ref()
    }

    /// Checks and takes apart an expanded key (FIPS 203 section 7.3).
    ///
    /// Stricter than the standard in one point: the encapsulation key inside must pass its modulus
    /// check too. Coefficients of s are taken mod q, as ByteDecode_12 does.
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; [`Error::NotReduced`]; [`Error::KeyHash`] if the hash inside is wrong.
    pub fn parse(expanded: &[u8]) -> Result<Self, Error> {
        wiping_stack::<K, _>(Frames::MakeKey, || Self::parse_at(Level::detect(), expanded))
    }

    /// [`DecapsulationKey::parse`] in the caller's place, as [`DecapsulationKey::from_seed_in`]. A place is
    /// empty after an error, but for that of a length, which leaves what is there.
    ///
    /// # Errors
    ///
    /// As [`DecapsulationKey::parse`].
    pub fn parse_in<'a>(
        place: &'a mut Option<Self>,
        expanded: &[u8],
    ) -> Result<&'a mut Self, Error> {
        Self::parse_in_at(Level::detect(), place, expanded)
    }

    pub(crate) fn parse_in_at<'a>(
        level: Level,
        place: &'a mut Option<Self>,
        expanded: &[u8],
    ) -> Result<&'a mut Self, Error> {
        Error::check_length(expanded, decapsulation_key_bytes(K))?;
        let parsed = wiping_stack::<K, _>(Frames::FillKey, || {
            place.insert(Self::zero(level)).fill_from_expanded(expanded)
        });
        if parsed.is_err() {
            *place = None;
        }
        parsed.map(|()| place.as_mut().expect("filled"))
    }

    pub(crate) fn parse_at(level: Level, expanded: &[u8]) -> Result<Self, Error> {
        let mut key = Self::zero(level);
        key.fill_from_expanded(expanded)?;
        Ok(key)
    }

    #[inline(never)]
    fn fill_from_expanded(&mut self, expanded: &[u8]) -> Result<(), Error> {
        Error::check_length(expanded, decapsulation_key_bytes(K))?;
        let (s, rest) = expanded.split_at(POLY_BYTES * K);
        let (ek, rest) = rest.split_at(encapsulation_key_bytes(K));
        let (hash, z) = rest.split_at(SYM_BYTES);
        ct::secret!(s);
        ct::secret!(z);
        self.encapsulation_key.fill(ek)?;
        if self.encapsulation_key.hash != hash {
            return Err(Error::KeyHash);
        }
        dispatch!(self.encapsulation_key.level(), b => self.decode_s(b, s));
        self.z.0.copy_from_slice(z);
        Ok(())
    }

    fn decode_s<B: Backend>(&mut self, b: B, bytes: &[u8]) {
        for (bytes, s) in bytes.chunks_exact(POLY_BYTES).zip(&mut self.s.0) {
            b.decode_12(bytes, s);
            b.make_canonical(&mut s.0);
        }
    }

    /// Writes the expanded form: s, the encapsulation key, its hash, z.
    pub fn to_expanded_bytes(&self, out: &mut ExpandedBytes<K>) {
        let (s, rest) = out.as_mut().split_at_mut(POLY_BYTES * K);
        let (ek, rest) = rest.split_at_mut(encapsulation_key_bytes(K));
        let (hash, z) = rest.split_at_mut(SYM_BYTES);
        let level = self.encapsulation_key.level();
        wiping_stack::<K, _>(Frames::Use, || dispatch!(level, b => self.encode_s(b, s)));
        ek.copy_from_slice(self.encapsulation_key.bytes.as_ref());
        hash.copy_from_slice(&self.encapsulation_key.hash);
        z.copy_from_slice(&self.z.0);
    }

    fn encode_s<B: Backend>(&self, b: B, out: &mut [u8]) {
        for (s, out) in self.s.0.iter().zip(out.chunks_exact_mut(POLY_BYTES)) {
            b.encode_12(s, out);
        }
    }

    /// The public key that belongs to this key.
    #[must_use]
    pub fn encapsulation_key(&self) -> &EncapsulationKey<K> {
        &self.encapsulation_key
    }

    /// The secret that a ciphertext carries (ML-KEM.Decaps). A wrong ciphertext is not an error: it
    /// gives a secret that only this key can compute and that matches no other, in the same time.
    #[must_use]
    pub fn decap(&self, ciphertext: &Ciphertext<K>) -> SharedSecret {
        wiping_stack::<K, _>(Frames::Use, || {
            let mut secret = SharedSecret(SecretBytes::ZERO);
            let level = self.encapsulation_key.level();
            dispatch!(level, b => self.decap_internal(b, ciphertext, &mut secret));
            secret
        })
    }

    /// ML-KEM.Decaps_internal.
    fn decap_internal<B: Backend>(
        &self,
        b: B,
        ciphertext: &Ciphertext<K>,
        secret: &mut SharedSecret,
    ) {
        let ek = &self.encapsulation_key;
        let ciphertext = ciphertext.0.as_ref();
        let mut m = SecretBytes::ZERO;
        k_pke::decrypt(b, &self.s.0, ciphertext, &mut m.0);
        let (mut derived, mut rejection) = (SecretBytes::<64>::ZERO, SecretBytes::<64>::ZERO);
        let mut noise = Noise::ZERO;
        self.derive(b, &m.0, ciphertext, &mut derived, &mut rejection, &mut noise);
        let mut again = CiphertextBytes::<K>::ZERO;
        k_pke::encrypt(b, &ek.public, &m.0, &noise, again.as_mut());
        // Compared twice, and rejected unless both say that all is well: no single skipped instruction accepts.
        let same = ct::equal(ciphertext, again.as_ref());
        secret.0.0.copy_from_slice(rejection.halves().0);
        ct::assign_if(same, &mut secret.0.0, derived.halves().0);
        let differs = !ct::equal(black_box(ciphertext), black_box(again.as_ref()));
        ct::assign_if(differs, &mut secret.0.0, rejection.halves().0);
    }

    /// K and r from m, the secret for a wrong ciphertext, and the noise that r gives. A function of its own, so
    /// that the stack that it needs is free again for the encryption.
    #[inline(never)]
    fn derive<B: Backend>(
        &self,
        b: B,
        m: &[u8; SYM_BYTES],
        ciphertext: &[u8],
        derived: &mut SecretBytes<64>,
        rejection: &mut SecretBytes<64>,
        noise: &mut Noise<K>,
    ) {
        let mut schedule = Schedule::<K>::new([
            Some(Hash::j(SYM_BYTES + ciphertext.len())),
            Some(Hash::g(2 * SYM_BYTES)),
        ]);
        let messages = [[&self.z.0[..], ciphertext], [m, &self.encapsulation_key.hash]];
        let mut work = Work { matrix: None, noise: None, messages };
        schedule.run(b, &mut work, Until::Hashed(1));
        derived.0.copy_from_slice(schedule.digest(1));
        schedule.push_encryption();
        work.noise = Some((derived.halves().1, noise));
        schedule.run(b, &mut work, Until::Done);
        rejection.0.copy_from_slice(schedule.digest(0));
    }
}

impl<const K: usize> Clone for DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn clone(&self) -> Self {
        wiping_stack::<K, _>(Frames::MakeKey, || Self {
            s: self.s.clone(),
            encapsulation_key: self.encapsulation_key.clone(),
            z: self.z.clone(),
            seed: self.seed.clone(),
        })
    }
}

impl<const K: usize> ConstantTimeEq for DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn ct_eq(&self, other: &Self) -> Choice {
        let (ours, theirs) = (&self.encapsulation_key, &other.encapsulation_key);
        let mut equal = ct::equal(ours.bytes.as_ref(), theirs.bytes.as_ref());
        equal &= self.z.ct_eq(&other.z);
        for (s, t) in self.s.0.iter().zip(&other.s.0) {
            equal &= s.ct_eq(t);
        }
        equal
    }
}

/// In constant time.
impl<const K: usize> PartialEq for DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn eq(&self, other: &Self) -> bool {
        ct::declassified(self.ct_eq(other)).into()
    }
}

impl<const K: usize> Eq for DecapsulationKey<K> where MlKem<K>: ParameterSet {}

impl<const K: usize> fmt::Debug for DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecapsulationKey { .. }")
    }
}

impl<const K: usize> zeroize::ZeroizeOnDrop for DecapsulationKey<K> where MlKem<K>: ParameterSet {}
