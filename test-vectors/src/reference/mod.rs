//! The slow reference: the standards in the order and with the names they use, for reading beside
//! them. It shares no code with the crates under test, and has its own tests against published
//! values.

pub mod keccak;
pub mod mlkem;

use crate::case::{Family, HashInput};

/// Any function of the family that the library has; `None` for those that are composed of it.
pub fn hash(input: &HashInput) -> Option<Vec<u8>> {
    let (message, s) = (input.message.bytes(), input.customization.bytes());
    let (bits, d) = (input.function.bits, input.out_len);
    match input.function.family {
        Family::Sha3 => Some(keccak::sha3(bits, &message)),
        Family::Shake => Some(keccak::shake(bits, &message, d)),
        Family::CShake => Some(keccak::cshake(bits, &message, d, &input.name, &s)),
        Family::Kmac => Some(keccak::kmac(bits, &input.key, &message, d, &s)),
        Family::KmacXof => Some(keccak::kmac_xof(bits, &input.key, &message, d, &s)),
        Family::TurboShake => Some(keccak::turbo_shake(bits, &message, input.domain, d)),
        _ => None,
    }
}
