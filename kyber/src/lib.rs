//! ML-KEM-512, ML-KEM-768 and ML-KEM-1024, the key encapsulation mechanism of FIPS 203: generate, parse,
//! encap, decap. `no_std`, no `alloc`; `unsafe` in the vector backends only.
//!
//! ```
//! use kyber::mlkem768::{Ciphertext, DecapsulationKey, EncapsulationKey};
//! # struct Rng(keccak::Reader);
//! # impl rand_core::TryRng for Rng {
//! #     type Error = core::convert::Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { rand_core::utils::next_word_via_fill(self) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { rand_core::utils::next_word_via_fill(self) }
//! #     fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> { self.0.read(out); Ok(()) }
//! # }
//! # impl rand_core::TryCryptoRng for Rng {}
//! # let mut rng = Rng(keccak::Shake128::new().finalize_xof());
//! // Alice makes a key pair and sends the encapsulation key: 1184 bytes.
//! let alice = DecapsulationKey::generate(&mut rng);
//! let sent = alice.encapsulation_key().to_bytes();
//!
//! // Bob checks it, makes a secret and sends the ciphertext that carries it: 1088 bytes.
//! let (ciphertext, bobs_secret) = EncapsulationKey::parse(&sent)?.encap(&mut rng);
//! let sent = *ciphertext.as_bytes();
//!
//! // Alice opens it. Both hold the same 32 bytes.
//! let alices_secret = alice.decap(&Ciphertext::from(sent));
//! assert_eq!(alices_secret.as_bytes(), bobs_secret.as_bytes());
//! # Ok::<(), kyber::Error>(())
//! ```
//!
//! `rng` is any generator with the traits of `rand_core` 0.10. With the feature `getrandom` there are
//! `DecapsulationKey::generate_os()` and `EncapsulationKey::encap_os()`, which need none.
//!
//! | | encapsulation key | ciphertext | expanded decapsulation key | seed | shared secret | security category |
//! |---|---|---|---|---|---|---|
//! | [`mlkem512`] | 800 | 768 | 1632 | 64 | 32 | 1 |
//! | [`mlkem768`] | 1184 | 1088 | 2400 | 64 | 32 | 3 |
//! | [`mlkem1024`] | 1568 | 1568 | 3168 | 64 | 32 | 5 |
//!
//! Keep a private key as its [`Seed`]. A key that has been generated or parsed holds its matrix, t and
//! hash in expanded form, so that every further operation on it is faster. A wrong ciphertext of the
//! right length is not an error: [`DecapsulationKey::decap`] then gives a secret that nobody else has.
//!
//! Where memory is short, [`SmallDecapsulationKey`] and [`SmallEncapsulationKey`] hold nothing but their
//! bytes and run on a few KiB of stack; results are the same.
//!
//! Secrets are handled in constant time, passed by reference, wiped on drop and not shown by `Debug`.
//!
//! | FIPS 203 | here |
//! |---|---|
//! | algorithms 16 and 19, ML-KEM.KeyGen | [`DecapsulationKey::from_seed`], [`DecapsulationKey::generate`] |
//! | algorithms 17 and 20, ML-KEM.Encaps; section 7.2, key check | [`EncapsulationKey::encap`]; [`EncapsulationKey::parse`] |
//! | algorithms 18 and 21, ML-KEM.Decaps; section 7.3, checks | [`DecapsulationKey::decap`]; [`DecapsulationKey::parse`], [`Ciphertext::parse`] |
//! | algorithms 13, 14, 15, K-PKE | `k_pke::{key_gen, encrypt, decrypt}`, and on little memory in `small` |
//! | algorithms 9, 10, NTT and inverse | `poly::{ntt, ntt_inverse}` |
//! | algorithms 11, 12, MultiplyNTTs and BaseCaseMultiply | `poly::dot` |
//! | algorithms 7, 8, SampleNTT and SamplePolyCBD | `sample::{accept_vartime, sample_poly_cbd}`, `schedule` |
//! | algorithms 5, 6, ByteEncode and ByteDecode; Compress, Decompress | `encode` |
//!
//! Features, all off by default: `getrandom`, `hazmat` (encapsulation with given randomness, backends
//! by name), and `std` (finds the SHA3 instructions of AArch64, for use by name).

#![no_std]
// Division takes a time that depends on its operands; constants are computed before there are secrets.
#![cfg_attr(not(test), deny(clippy::integer_division_remainder_used))]

#[doc = include_str!("../docs/speed.md")]
pub mod speed {}

/// The examples of the README.
#[cfg(all(doctest, feature = "getrandom"))]
#[doc = include_str!("../../README.md")]
mod readme {}

mod backend;
mod constants;
mod ct;
mod encode;
mod error;
mod hash;
#[cfg(feature = "hazmat")]
pub mod hazmat;
mod k_pke;
mod kem;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128"),
    test
))]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod lanes;
mod params;
mod poly;
#[cfg(test)]
mod range;
mod sample;
mod schedule;
mod self_test;
mod small;

pub use error::Error;
pub use kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, SEED_BYTES, SHARED_SECRET_BYTES, Seed,
    SharedSecret,
};
pub use params::{
    Bytes, CiphertextBytes, EncapsulationKeyBytes, ExpandedBytes, MlKem, ParameterSet, mlkem512,
    mlkem768, mlkem1024,
};
pub use self_test::{SelfTestError, SelfTestStep, self_test};
pub use small::{SmallDecapsulationKey, SmallEncapsulationKey};
