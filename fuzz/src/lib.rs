//! What the targets and the seeds share. An input is a few bytes that choose the case, then bytes that
//! are taken as they are; where an input ends, zeros follow.

use keccak::hazmat::Level;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use test_vectors::reference::keccak::{sha3, shake};

/// One byte of the input.
pub fn byte(u: &mut Unstructured<'_>) -> Result<usize> {
    u.arbitrary::<u8>().map(usize::from)
}

/// Bytes of the input, filled up with zeros.
pub fn array<const N: usize>(u: &mut Unstructured<'_>) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    u.fill_buffer(&mut bytes)?;
    Ok(bytes)
}

/// 96 coins from two bytes: d, z, m. So that a mutation of the input reaches another key, not noise.
pub fn coins(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    Ok(shake(256, &array::<2>(u)?, 96))
}

/// Up to seven changes of single bytes, where the input says; most of them of one bit.
pub fn edit(u: &mut Unstructured<'_>, bytes: &mut [u8]) -> Result<()> {
    for _ in 0..byte(u)? % 8 {
        let at = usize::from(u.arbitrary::<u16>()?) % bytes.len();
        let mask = byte(u)?;
        bytes[at] ^= if mask < 0xc0 { 1 << (mask % 8) } else { mask as u8 };
    }
    Ok(())
}

/// The modulus check of FIPS 203 section 7.2 on an encoded vector, by arithmetic of its own.
pub fn is_reduced(vector: &[u8]) -> bool {
    vector.chunks(3).all(|bytes| {
        let both = u32::from(bytes[0]) + (u32::from(bytes[1]) << 8) + (u32::from(bytes[2]) << 16);
        both % 4096 < 3329 && both / 4096 < 3329
    })
}

/// Puts the right hash into an expanded decapsulation key of rank `k`.
pub fn repair_hash(k: usize, dk: &mut [u8]) {
    let (ek, hash) = (384 * k..768 * k + 32, 768 * k + 32..768 * k + 64);
    let right = sha3(256, &dk[ek]);
    dk[hash].copy_from_slice(&right);
}

/// Every backend of this machine, the slow forms of the permutation included.
pub fn levels() -> Vec<Level> {
    Level::available().collect()
}

/// Calls a function that is generic over the rank.
#[macro_export]
macro_rules! for_rank {
    ($k:expr, $function:ident($($argument:expr),*)) => {
        match $k {
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            _ => $function::<4>($($argument),*),
        }
    };
}
