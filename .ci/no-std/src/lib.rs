//! Uses both crates with neither `std` nor `alloc`.
#![no_std]

use kyber::mlkem768::{DecapsulationKey, EncapsulationKey};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// A whole exchange; returns whether both sides agree.
pub fn exchange() -> bool {
    let mut seed = [0; kyber::SEED_BYTES];
    keccak::Shake256::digest(b"no std", &mut seed);
    let key = DecapsulationKey::from_seed(&kyber::Seed::from(&seed));
    let Ok(peer) = EncapsulationKey::parse(key.encapsulation_key().as_bytes()) else { return false };
    let (ciphertext, secret) = peer.encap_deterministic(&[7; 32]);
    key.decap(&ciphertext) == secret
}
