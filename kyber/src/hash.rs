//! G (FIPS 203 section 4.1) where it stands alone; all other hashing is in `schedule`.

use keccak::{backend::Backend, sponge::Sponge};

/// SHA3-512.
pub(crate) fn g<B: Backend>(b: B, first: &[u8], second: &[u8], output: &mut [u8; 64]) {
    let mut sponge = Sponge::<1>::new(72);
    sponge.absorb(b, [first]);
    sponge.absorb(b, [second]);
    sponge.pad(b, 0x06);
    sponge.squeeze(b, [output]);
}
