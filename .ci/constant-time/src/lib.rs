//! Every operation of every parameter set as a function without type parameters, so that a compiler for any
//! target makes the code of both crates: what the search for divisions looks through. Without `std`.
#![no_std]

#[cfg(feature = "trace")]
extern crate std;

#[cfg(target_arch = "x86_64")]
pub mod backend;
#[cfg(feature = "trace")]
pub mod tracee;

use kyber::{Error, Seed, SharedSecret};
use rand_core::CryptoRng;

macro_rules! operations {
    ($module:ident) => {
        pub mod $module {
            use super::*;
            use kyber::$module::{
                Ciphertext, DecapsulationKey, EncapsulationKey, SmallDecapsulationKey,
                SmallEncapsulationKey,
            };

            pub fn generate(
                rng: &mut dyn CryptoRng<Error = core::convert::Infallible>,
            ) -> DecapsulationKey {
                DecapsulationKey::generate(rng)
            }

            pub fn from_seed(seed: &Seed) -> DecapsulationKey {
                DecapsulationKey::from_seed(seed)
            }

            pub fn parse_private(bytes: &[u8]) -> Result<DecapsulationKey, Error> {
                DecapsulationKey::parse(bytes)
            }

            pub fn expand(
                key: &DecapsulationKey,
                out: &mut [u8; kyber::$module::DECAPSULATION_KEY_BYTES],
            ) {
                key.to_expanded_bytes(out);
            }

            pub fn parse_public(bytes: &[u8]) -> Result<EncapsulationKey, Error> {
                EncapsulationKey::parse(bytes)
            }

            pub fn encap(
                key: &EncapsulationKey,
                rng: &mut dyn CryptoRng<Error = core::convert::Infallible>,
            ) -> (Ciphertext, SharedSecret) {
                key.encap(rng)
            }

            pub fn decap(key: &DecapsulationKey, ciphertext: &Ciphertext) -> SharedSecret {
                key.decap(ciphertext)
            }

            pub fn small_public(key: &SmallDecapsulationKey) -> SmallEncapsulationKey {
                key.encapsulation_key()
            }

            pub fn small_parse(bytes: &[u8]) -> Result<SmallEncapsulationKey, Error> {
                SmallEncapsulationKey::parse(bytes)
            }

            pub fn small_encap(
                key: &SmallEncapsulationKey,
                rng: &mut dyn CryptoRng<Error = core::convert::Infallible>,
            ) -> (Ciphertext, SharedSecret) {
                key.encap(rng)
            }

            pub fn small_decap(
                key: &SmallDecapsulationKey,
                ciphertext: &Ciphertext,
            ) -> SharedSecret {
                key.decap(ciphertext)
            }

            pub fn equal(a: &DecapsulationKey, b: &DecapsulationKey) -> bool {
                a == b
            }

            pub fn copy(key: &DecapsulationKey) -> DecapsulationKey {
                key.clone()
            }
        }
    };
}

operations!(mlkem512);
operations!(mlkem768);
operations!(mlkem1024);

pub fn equal(a: &SharedSecret, b: &SharedSecret) -> bool {
    a == b
}

pub fn hash(message: &[u8], out: &mut [u8; 64]) {
    *out = keccak::Sha3_512::digest(message);
}

pub fn stream(message: &[u8], out: &mut [u8]) {
    keccak::Shake256::digest(message, out);
}

/// Whether the matrix of this d has an entry that three blocks of its stream do not fill.
fn unlucky(k: usize, d: &[u8; 32]) -> bool {
    let mut g = keccak::Sha3_512::new();
    g.update(d);
    g.update(&[k as u8]);
    let seeds = g.finalize();
    let below_q = |x: u16| usize::from(x < 3329);
    (0..k as u8).any(|row| {
        (0..k as u8).any(|column| {
            let mut bytes = [0; 3 * 168];
            let mut xof = keccak::Shake128::new();
            xof.update(&seeds[..32]);
            xof.update(&[column, row]);
            xof.finalize_xof().read(&mut bytes);
            let accepted = bytes.as_chunks::<3>().0.iter().map(|[a, b, c]| {
                let (a, b, c) = (u16::from(*a), u16::from(*b), u16::from(*c));
                below_q(a | (b & 15) << 8) + below_q(b >> 4 | c << 4)
            });
            accepted.sum::<usize>() < 256
        })
    })
}

/// The first d of the form (counter, fill, fill, ...) whose matrix is unlucky, or is not: of a rank of 2, 3
/// and 4 every 31st, 14th and 8th is.
///
/// # Panics
///
/// If there is none among the first 65536.
pub fn find_d(k: usize, fill: u8, want_unlucky: bool) -> [u8; 32] {
    let candidate = |counter: u16| {
        let mut d = [fill; 32];
        d[..2].copy_from_slice(&counter.to_le_bytes());
        d
    };
    (0..=u16::MAX)
        .map(candidate)
        .find(|d| unlucky(k, d) == want_unlucky)
        .expect("one in a hundred is")
}
