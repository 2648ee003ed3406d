//! Decapsulation of any ciphertext with any key that the parser accepts: every backend gives the secret
//! that the slow reference gives, and no region of the ciphertext may be changed.

#![no_main]

use fuzz::{byte, coins, edit, is_reduced, levels, repair_hash};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use test_vectors::case::Key;
use test_vectors::ours::{Decapsulator, decapsulator, encap, keygen, small_decap};
use test_vectors::reference::mlkem::{ParameterSet, decaps_internal, j};

fuzz_target!(|data: &[u8]| {
    // An error says that the input has ended.
    let _ = run(&mut Unstructured::new(data));
});

/// One byte of a good ciphertext changed, in sixteen places: most such changes keep m, so that only the
/// comparison with the second encryption sees them. Random changes of many bytes would not test it.
fn every_region_counts(
    u: &mut Unstructured<'_>,
    decap: &Decapsulator,
    z: &[u8],
    c: &mut [u8],
) -> Result<()> {
    let (first, mask) = (usize::from(u.arbitrary::<u16>()?), 1 << (byte(u)? % 8));
    for i in 0..16 {
        let at = (first + i * c.len() / 16) % c.len();
        c[at] ^= mask;
        assert_eq!(decap(c), Ok(j(&[z, c].concat())), "byte {at} of {} counts", c.len());
        c[at] ^= mask;
    }
    Ok(())
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let head = byte(u)?;
    let k = 2 + head % 3;
    let coins = coins(u)?;
    let levels = levels();
    let level = levels[byte(u)? % levels.len()];
    let (ek, mut dk) = keygen(k, level, &coins[..64]).expect("64 bytes");
    let m = coins[64..].try_into().expect("32 of 96");
    let (mut c, secret) = encap(k, level, &ek, m).expect("our own key");
    let (decap, _) = decapsulator(k, level, &Key::Expanded(dk.clone())).expect("our own key");
    assert_eq!(decap(&c), Ok(secret), "{level}: k = {k}");
    every_region_counts(u, &decap, &coins[32..64], &mut c)?;

    let from_seed = dk.clone();
    // Any s and z; then changes of t and rho, where they keep t reduced.
    edit(u, &mut dk[..384 * k])?;
    if head & 0x40 != 0 {
        let mut changed = dk.clone();
        edit(u, &mut changed[384 * k..768 * k + 32])?;
        if is_reduced(&changed[384 * k..768 * k]) {
            dk = changed;
            repair_hash(k, &mut dk);
        }
    }

    edit(u, &mut c)?;
    if head & 0x80 != 0 {
        let rest = u.bytes(u.len())?;
        let len = rest.len().min(c.len());
        c[..len].copy_from_slice(&rest[..len]);
    }

    let small = small_decap(k, level, &coins[..64], &c);
    assert_eq!(
        small,
        Ok(decaps_internal(&ParameterSet::of(k), &from_seed, &c)),
        "{level}: k = {k}"
    );
    let expected = decaps_internal(&ParameterSet::of(k), &dk, &c);
    for level in levels {
        let (decap, _) = decapsulator(k, level, &Key::Expanded(dk.clone())).expect("a good key");
        assert_eq!(decap(&c).as_ref(), Ok(&expected), "{level}: k = {k}");
    }
    Ok(())
}
