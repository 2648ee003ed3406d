//! Sharp tools (feature `hazmat`): encapsulation with randomness of your choice, and keys on a backend
//! of your choice.
//!
//! A message m must be 32 secret random bytes, used once: who knows or can repeat m knows the secret.

pub use crate::self_test::{SELF_TEST_COINS, SelfTestAnswers, self_test_answers, self_test_on};
pub use keccak::hazmat::Level;

use crate::{
    Ciphertext, DecapsulationKey, EncapsulationKey, Error, MlKem, ParameterSet, Seed, SharedSecret,
    SmallDecapsulationKey, SmallEncapsulationKey,
    backend::Backend,
    ct::{Frames, wiping_stack},
    k_pke::{self, Noise, NttVector, zero_vector},
    poly::{NttPoly, Poly},
    sample::ENTRY_BYTES,
};

impl<const K: usize> EncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// ML-KEM.Encaps_internal (FIPS 203 section 6.2), for known answers and protocols that derive m.
    #[must_use]
    pub fn encap_deterministic(&self, m: &[u8; 32]) -> (Ciphertext<K>, SharedSecret) {
        wiping_stack::<K, _>(Frames::Use, || self.encap_message(m))
    }

    /// [`EncapsulationKey::parse`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`EncapsulationKey::parse`].
    pub fn parse_on(level: Level, bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_at(level, bytes)
    }
}

impl<const K: usize> DecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// [`DecapsulationKey::from_seed`] on a backend of your choice, which the key then stays on.
    #[must_use]
    pub fn from_seed_on(level: Level, seed: &Seed) -> Self {
        wiping_stack::<K, _>(Frames::MakeKey, || Self::from_seed_at(level, seed))
    }

    /// [`DecapsulationKey::parse`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`DecapsulationKey::parse`].
    pub fn parse_on(level: Level, expanded: &[u8]) -> Result<Self, Error> {
        wiping_stack::<K, _>(Frames::MakeKey, || Self::parse_at(level, expanded))
    }

    /// [`DecapsulationKey::from_seed_in`] on a backend of your choice, which the key then stays on.
    pub fn from_seed_in_on<'a>(
        level: Level,
        place: &'a mut Option<Self>,
        seed: &Seed,
    ) -> &'a mut Self {
        Self::from_seed_in_at(level, place, seed)
    }

    /// [`DecapsulationKey::parse_in`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`DecapsulationKey::parse`].
    pub fn parse_in_on<'a>(
        level: Level,
        place: &'a mut Option<Self>,
        expanded: &[u8],
    ) -> Result<&'a mut Self, Error> {
        Self::parse_in_at(level, place, expanded)
    }

    /// The backend that the key is on.
    #[must_use]
    pub fn level(&self) -> Level {
        self.encapsulation_key().level
    }
}

impl<const K: usize> SmallEncapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// ML-KEM.Encaps_internal (FIPS 203 section 6.2), for known answers and protocols that derive m.
    #[must_use]
    pub fn encap_deterministic(&self, m: &[u8; 32]) -> (Ciphertext<K>, SharedSecret) {
        wiping_stack::<K, _>(Frames::Small, || self.encap_message(m))
    }

    /// [`SmallEncapsulationKey::parse`] on a backend of your choice, which the key then stays on.
    ///
    /// # Errors
    ///
    /// As [`SmallEncapsulationKey::parse`].
    pub fn parse_on(level: Level, bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_at(level, bytes)
    }
}

impl<const K: usize> SmallDecapsulationKey<K>
where
    MlKem<K>: ParameterSet,
{
    /// [`SmallDecapsulationKey::from_seed`] on a backend of your choice, which the key then stays on.
    #[must_use]
    pub fn from_seed_on(level: Level, seed: &Seed) -> Self {
        Self::from_seed_at(level, seed)
    }
}

/// A part of the operations that can be run by itself, for measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The matrix of an encapsulation key from rho, with the hash of the key riding along.
    MatrixAndHash,
    /// The noise of an encryption.
    Noise,
    /// One polynomial to the NTT domain.
    Ntt,
    /// One polynomial back.
    NttInverse,
    /// One inner product of `K` polynomials.
    Dot,
    /// Compression and encoding of one polynomial of u.
    Compress,
    /// Decoding and decompression of one polynomial of u.
    Decompress,
    /// Encoding of one polynomial at 12 bits.
    Encode,
    /// Decoding of one polynomial at 12 bits, with its range check.
    Decode,
    /// Rejection sampling of one polynomial from three blocks of its stream.
    SampleNtt,
    /// One noise polynomial from the bytes of its stream, with the width eta2.
    SampleCbd,
    /// G of 64 bytes.
    Hash,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::MatrixAndHash,
        Self::Noise,
        Self::Ntt,
        Self::NttInverse,
        Self::Dot,
        Self::Compress,
        Self::Decompress,
        Self::Encode,
        Self::Decode,
        Self::SampleNtt,
        Self::SampleCbd,
        Self::Hash,
    ];
}

/// Inputs and outputs of the stages.
pub struct StageBench<const K: usize> {
    level: Level,
    matrix: [NttVector<K>; K],
    noise: Noise<K>,
    b: NttVector<K>,
    poly: Poly,
    ntt_poly: NttPoly,
    bytes: [u8; 1568],
    stream: [u8; ENTRY_BYTES],
}

impl<const K: usize> StageBench<K> {
    /// With buffers made from `seed`; rejection sampling learns nothing from a stream that changes.
    #[must_use]
    pub fn new(level: Level, seed: &[u8; 32]) -> Self {
        let mut bench = Self {
            level,
            matrix: [const { zero_vector() }; K],
            noise: Noise::ZERO,
            b: zero_vector(),
            poly: Poly::ZERO,
            ntt_poly: NttPoly::ZERO,
            bytes: [0; 1568],
            stream: [0; ENTRY_BYTES],
        };
        bench.reseed(seed);
        bench.run(Stage::MatrixAndHash);
        bench.b.clone_from_slice(&bench.matrix[0]);
        bench
    }

    /// Changes what the sampling stages read.
    pub fn reseed(&mut self, seed: &[u8; 32]) {
        keccak::Shake128::digest(seed, &mut self.stream);
        // Below q at 12 bits.
        for bytes in self.bytes.as_chunks_mut::<3>().0 {
            *bytes = [seed[0], 0x10, seed[1] & 0x7f];
        }
        self.bytes[..32].copy_from_slice(seed);
    }

    /// Runs a stage once.
    pub fn run(&mut self, stage: Stage) {
        keccak::dispatch!(self.level, b => self.run_on(b, stage));
    }

    fn run_on<B: Backend>(&mut self, b: B, stage: Stage) {
        let Self { matrix, noise, poly, ntt_poly, bytes, stream, .. } = self;
        let mut digest = [0; 64];
        match stage {
            Stage::MatrixAndHash => {
                let mut hash = [0; 32];
                let (rho, encoded) = (*bytes.first_chunk().unwrap_or(&[0; 32]), &bytes[..]);
                let encoded = &encoded[..crate::params::encapsulation_key_bytes(K)];
                k_pke::expand::<B, K>(b, encoded, &rho, matrix, &mut hash);
            }
            Stage::Noise => {
                k_pke::noise(b, bytes.first_chunk().unwrap_or(&[0; 32]), noise);
            }
            Stage::Ntt => b.ntt(poly, ntt_poly),
            Stage::NttInverse => b.ntt_inverse(ntt_poly, poly),
            Stage::Dot => b.dot(self.matrix[0].each_ref(), &self.b, &self.b, ntt_poly),
            Stage::Compress => {
                let d = crate::params::du(K);
                b.compress_and_encode(d, poly, &mut bytes[..32 * d]);
            }
            Stage::Decompress => {
                let d = crate::params::du(K);
                b.decode_and_decompress(d, &bytes[..32 * d], poly);
            }
            Stage::Encode => b.encode_12(&self.b[0], &mut bytes[..384]),
            Stage::Decode => {
                b.decode_12(&bytes[..384], ntt_poly);
            }
            Stage::SampleNtt => {
                b.sample_ntt(stream, ntt_poly);
            }
            Stage::SampleCbd => b.sample_poly_cbd(2, &stream[..128], poly),
            Stage::Hash => crate::hash::g(b, &stream[..32], &stream[32..64], &mut digest),
        }
    }
}

impl<const K: usize> core::fmt::Debug for StageBench<K> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StageBench<{K}> {{ .. }}")
    }
}

/// A kernel between coefficients and bytes, to be run by itself in tests of what it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coding {
    /// Compression and encoding, and back, at this many bits: 1, 4, 5, 10 or 11.
    Compressed(usize),
    /// Encoding, and decoding with its range check, at 12 bits.
    Whole,
    /// Rejection sampling, from bytes only.
    SampleNtt,
    /// The centred binomial distribution of this width, 2 or 3, from bytes only.
    SampleCbd(usize),
}

impl Coding {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Compressed(1),
        Self::Compressed(4),
        Self::Compressed(5),
        Self::Compressed(10),
        Self::Compressed(11),
        Self::Whole,
        Self::SampleNtt,
        Self::SampleCbd(2),
        Self::SampleCbd(3),
    ];

    /// Bytes on its one side.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Compressed(d) => 32 * d,
            Self::Whole => 384,
            Self::SampleNtt => ENTRY_BYTES,
            Self::SampleCbd(eta) => 64 * eta,
        }
    }

    /// The coefficients of [`Coding::bytes`] bytes.
    #[must_use]
    pub fn decode_on(self, level: Level, bytes: &[u8]) -> [i16; 256] {
        keccak::dispatch!(level, b => self.decode(b, bytes))
    }

    fn decode<B: Backend>(self, b: B, bytes: &[u8]) -> [i16; 256] {
        let (mut poly, mut ntt_poly) = (Poly::ZERO, NttPoly::ZERO);
        match self {
            Self::Compressed(d) => b.decode_and_decompress(d, bytes, &mut poly),
            Self::SampleCbd(eta) => b.sample_poly_cbd(eta, bytes, &mut poly),
            Self::Whole => {
                b.decode_12(bytes, &mut ntt_poly);
                return ntt_poly.0;
            }
            Self::SampleNtt => {
                if let Some(bytes) = bytes.first_chunk() {
                    b.sample_ntt(bytes, &mut ntt_poly);
                }
                return ntt_poly.0;
            }
        }
        poly.0
    }

    /// Writes coefficients in \[0, q) as [`Coding::bytes`] bytes; leaves `out` if there is no way back.
    pub fn encode_on(self, level: Level, coefficients: &[i16; 256], out: &mut [u8]) {
        keccak::dispatch!(level, b => match self {
            Self::Compressed(d) => b.compress_and_encode(d, &Poly(*coefficients), out),
            Self::Whole => b.encode_12(&NttPoly(*coefficients), out),
            Self::SampleNtt | Self::SampleCbd(_) => {}
        });
    }
}
