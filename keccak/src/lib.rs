//! Keccak-f\[1600\], SHA-3 and SHAKE (FIPS 202), cSHAKE and KMAC (SP 800-185): one permutation, one
//! sponge, for one message or several side by side. `no_std`, no `alloc`; `unsafe` in the vector backends only.
//!
//! ```
//! use keccak::{Sha3_256, Shake128};
//!
//! let digest: [u8; 32] = Sha3_256::digest(b"abc");
//! assert_eq!(digest[..4], [0x3a, 0x98, 0x5d, 0xa7]);
//!
//! let mut shake = Shake128::new();
//! shake.update(b"a");
//! shake.update(b"bc");
//! let mut reader = shake.finalize_xof();
//! let mut out = [0; 10];
//! reader.read(&mut out[..1]);
//! reader.read(&mut out[1..]);
//! assert_eq!(out[..4], [0x58, 0x81, 0x09, 0x2d]);
//! ```
//!
//! Every input length and every split of input and output is allowed, beyond 4 GiB too. Absorbing
//! after squeezing does not compile. States are wiped on drop, and `Debug` shows none of them.
//!
//! | FIPS 202, SP 800-185, RFC 9861 | here |
//! |---|---|
//! | step mappings, Keccak-p\[1600, n_r\] (3.2, 3.3) | [`permutation`], `hazmat::keccak_p1600` |
//! | Keccak-f\[1600\] (3.4) | [`keccak_f1600`] |
//! | SPONGE, pad10*1 (4, 5.1) | [`sponge`] |
//! | SHA3-224 to SHA3-512 (6.1) | [`Sha3_224`], [`Sha3_256`], [`Sha3_384`], [`Sha3_512`] |
//! | SHAKE128, SHAKE256 (6.2) | [`Shake128`], [`Shake256`]; several at once: [`MultiShake128`], [`MultiShake256`] |
//! | cSHAKE128, cSHAKE256 (SP 800-185, 3) | [`CShake128`], [`CShake256`] |
//! | KMAC and KMACXOF (SP 800-185, 4) | [`Kmac128`], [`Kmac256`] |
//! | TurboSHAKE (RFC 9861, 2) | `hazmat::TurboShake128`, `hazmat::TurboShake256` |
//!
//! Features, all off by default: `digest` (traits of the crate `digest` 0.11), `hazmat` (TurboSHAKE,
//! reduced rounds, backends by name), `std` (finds the SHA3 instructions of AArch64, for use by name).

#![no_std]
// Division takes a time that depends on its operands; constants are computed before there are secrets.
#![cfg_attr(not(test), deny(clippy::integer_division_remainder_used))]

#[cfg(feature = "std")]
extern crate std;

pub mod backend;
#[cfg(feature = "digest")]
mod digest_traits;
#[cfg(feature = "hazmat")]
pub mod hazmat;
pub mod permutation;
mod sha3;
mod shake;
mod sp800_185;
pub mod sponge;

pub use sha3::{Sha3, Sha3_224, Sha3_256, Sha3_384, Sha3_512};
pub use shake::{
    MultiReader, MultiShake, MultiShake128, MultiShake256, Reader, Shake, Shake128, Shake256,
};
pub use sp800_185::{CShake, CShake128, CShake256, Kmac, Kmac128, Kmac256};

use backend::{Backend, Lanes, Level};
use permutation::{LANES, ROUNDS};

/// Keccak-f\[1600\] (FIPS 202 section 3.4) in place: lane A\[x, y\] is `state[x + 5 * y]`.
pub fn keccak_f1600(state: &mut [u64; LANES]) {
    keccak_p(Level::detect(), state, ROUNDS);
}

fn keccak_p(level: Level, state: &mut [u64; LANES], rounds: usize) {
    dispatch!(level, b => permute_words(b, state, rounds));
}

#[inline(never)]
fn permute_words<B: Backend>(b: B, words: &mut [u64; LANES], rounds: usize) {
    b.vectorize_one(
        #[inline(always)]
        || {
            let mut lanes = [B::One::splat(b, 0); LANES];
            for (lane, word) in lanes.iter_mut().zip(&*words) {
                *lane = B::One::load(b, &[B::One::encode(*word)]);
            }
            b.permute_one(&mut lanes, rounds);
            for (lane, word) in lanes.iter().zip(words) {
                let mut stored = [0];
                lane.store(&mut stored);
                *word = B::One::decode(stored[0]);
            }
        },
    );
}
