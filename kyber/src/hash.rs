//! Hashes that stand alone (FIPS 203 section 4.1); those that run side by side are in `schedule`.

use keccak::{backend::Backend, sponge::Sponge};

/// Bytes per block of SHAKE128.
pub(crate) const XOF_RATE: usize = 168;
/// Bytes per block of SHAKE256 and of SHA3-256.
pub(crate) const PRF_RATE: usize = 136;
/// Bytes per block of SHA3-512.
pub(crate) const G_RATE: usize = 72;
pub(crate) const SHA3_SUFFIX: u8 = 0x06;
pub(crate) const SHAKE_SUFFIX: u8 = 0x1f;

/// G: SHA3-512.
pub(crate) fn g<B: Backend>(b: B, first: &[u8], second: &[u8], out: &mut [u8; 64]) {
    whole(b, G_RATE, SHA3_SUFFIX, [first, second], out);
}

/// H: SHA3-256.
pub(crate) fn h<B: Backend>(b: B, message: &[u8], out: &mut [u8; 32]) {
    whole(b, PRF_RATE, SHA3_SUFFIX, [message, &[]], out);
}

/// J and PRF_eta: SHAKE256, as many bytes as `out` has.
pub(crate) fn shake256<B: Backend>(b: B, first: &[u8], second: &[u8], out: &mut [u8]) {
    whole(b, PRF_RATE, SHAKE_SUFFIX, [first, second], out);
}

#[inline(never)]
fn whole<B: Backend>(b: B, rate: usize, suffix: u8, message: [&[u8]; 2], out: &mut [u8]) {
    let mut sponge = Sponge::new(rate);
    absorb(b, &mut sponge, suffix, message);
    squeeze(b, &mut sponge, out);
}

/// Absorbs a whole message, in two pieces.
#[inline(never)]
pub(crate) fn absorb<B: Backend>(b: B, sponge: &mut Sponge<1>, suffix: u8, message: [&[u8]; 2]) {
    for piece in message {
        sponge.absorb(b, [piece]);
    }
    sponge.pad(b, suffix);
}

/// The next bytes of the output.
#[inline(never)]
pub(crate) fn squeeze<B: Backend>(b: B, sponge: &mut Sponge<1>, out: &mut [u8]) {
    sponge.squeeze(b, [out]);
}
