//! G, H, J, PRF and XOF (FIPS 203 section 4.1), each one line over the sponge.

use keccak::{backend::Backend, sponge::Sponge};

use crate::params::SYM_BYTES;

const SHA3_SUFFIX: u8 = 0x06;
const SHAKE_SUFFIX: u8 = 0x1f;
const SHAKE128_RATE: usize = 168;
const SHAKE256_RATE: usize = 136;
const SHA3_256_RATE: usize = 136;
const SHA3_512_RATE: usize = 72;

#[inline(never)]
fn sponge<B: Backend>(b: B, rate: usize, suffix: u8, input: &[&[u8]], output: &mut [u8]) {
    b.vectorize(
        #[inline(always)]
        || {
            let mut sponge = Sponge::<1>::new(rate);
            for part in input {
                sponge.absorb(b, [part]);
            }
            sponge.pad(b, suffix);
            sponge.squeeze(b, [output]);
        },
    );
}

/// SHA3-512.
pub(crate) fn g<B: Backend>(b: B, input: &[&[u8]], output: &mut [u8; 64]) {
    sponge(b, SHA3_512_RATE, SHA3_SUFFIX, input, output);
}

/// SHA3-256.
pub(crate) fn h<B: Backend>(b: B, input: &[u8], output: &mut [u8; SYM_BYTES]) {
    sponge(b, SHA3_256_RATE, SHA3_SUFFIX, &[input], output);
}

/// SHAKE256 of z and the ciphertext, 32 bytes: the secret of implicit rejection.
pub(crate) fn j<B: Backend>(b: B, z: &[u8], ciphertext: &[u8], output: &mut [u8; SYM_BYTES]) {
    sponge(b, SHAKE256_RATE, SHAKE_SUFFIX, &[z, ciphertext], output);
}

/// SHAKE256 of a seed and a counter, 64 eta bytes.
pub(crate) fn prf<B: Backend>(b: B, seed: &[u8; SYM_BYTES], counter: u8, output: &mut [u8]) {
    sponge(b, SHAKE256_RATE, SHAKE_SUFFIX, &[seed, &[counter]], output);
}

/// SHAKE128 of a seed and two indices, block after block.
pub(crate) struct Xof(Sponge<1>);

impl Xof {
    /// Bytes per block.
    pub(crate) const BLOCK: usize = SHAKE128_RATE;

    pub(crate) fn new<B: Backend>(b: B, rho: &[u8; SYM_BYTES], j: u8, i: u8) -> Self {
        let mut sponge = Sponge::new(SHAKE128_RATE);
        sponge.absorb(b, [rho]);
        sponge.absorb(b, [&[j, i]]);
        sponge.pad(b, SHAKE_SUFFIX);
        Self(sponge)
    }

    pub(crate) fn block<B: Backend>(&mut self, b: B, output: &mut [u8; Self::BLOCK]) {
        self.0.squeeze(b, [output]);
    }
}
