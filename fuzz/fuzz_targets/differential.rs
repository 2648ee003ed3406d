//! Against `ml-kem` and `libcrux-ml-kem`: the same coins must give the same keys, ciphertexts and secrets,
//! and changed ones the same secrets and the same refusals.

#![no_main]

use fuzz::{array, byte, edit, is_reduced, levels, repair_hash};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use test_vectors::ours;

fuzz_target!(|data: &[u8]| {
    // An error says that the input has ended.
    let _ = run(&mut Unstructured::new(data));
});

/// What a library does, from bytes to bytes; `None` for a key that it refuses.
trait Peer {
    fn keygen(&self, seed: &[u8; 64]) -> (Vec<u8>, Vec<u8>);
    fn encap(&self, ek: &[u8], m: &[u8; 32]) -> Option<(Vec<u8>, Vec<u8>)>;
    fn decap(&self, dk: &[u8], c: &[u8]) -> Option<Vec<u8>>;
}

struct RustCrypto(usize);
struct Libcrux(usize);

macro_rules! with_rust_crypto {
    ($k:expr, $set:ident => $body:expr) => {
        match $k {
            2 => {
                type $set = ml_kem::MlKem512;
                $body
            }
            3 => {
                type $set = ml_kem::MlKem768;
                $body
            }
            _ => {
                type $set = ml_kem::MlKem1024;
                $body
            }
        }
    };
}

#[allow(deprecated, reason = "the expanded form is what is compared")]
impl Peer for RustCrypto {
    fn keygen(&self, seed: &[u8; 64]) -> (Vec<u8>, Vec<u8>) {
        use ml_kem::{ExpandedKeyEncoding as _, KeyExport as _};
        with_rust_crypto!(self.0, Set => {
            let key = ml_kem::DecapsulationKey::<Set>::from_seed((*seed).into());
            (key.encapsulation_key().to_bytes().to_vec(), key.to_expanded_bytes().to_vec())
        })
    }

    fn encap(&self, ek: &[u8], m: &[u8; 32]) -> Option<(Vec<u8>, Vec<u8>)> {
        with_rust_crypto!(self.0, Set => {
            let ek = ek.try_into().expect("an encapsulation key's length");
            let key = ml_kem::EncapsulationKey::<Set>::new(ek).ok()?;
            let (c, secret) = key.encapsulate_deterministic(&(*m).into());
            Some((c.to_vec(), secret.to_vec()))
        })
    }

    fn decap(&self, dk: &[u8], c: &[u8]) -> Option<Vec<u8>> {
        use ml_kem::{Decapsulate as _, ExpandedKeyEncoding as _};
        with_rust_crypto!(self.0, Set => {
            let dk = dk.try_into().expect("a decapsulation key's length");
            let key = ml_kem::DecapsulationKey::<Set>::from_expanded_bytes(dk).ok()?;
            let c = c.try_into().expect("a ciphertext's length");
            Some(key.decapsulate(c).to_vec())
        })
    }
}

macro_rules! with_libcrux {
    ($k:expr, $set:ident => $body:expr) => {
        match $k {
            2 => {
                use libcrux_ml_kem::mlkem512 as $set;
                $body
            }
            3 => {
                use libcrux_ml_kem::mlkem768 as $set;
                $body
            }
            _ => {
                use libcrux_ml_kem::mlkem1024 as $set;
                $body
            }
        }
    };
}

impl Peer for Libcrux {
    fn keygen(&self, seed: &[u8; 64]) -> (Vec<u8>, Vec<u8>) {
        with_libcrux!(self.0, set => {
            let key = set::generate_key_pair(*seed);
            (key.pk().to_vec(), key.sk().to_vec())
        })
    }

    fn encap(&self, ek: &[u8], m: &[u8; 32]) -> Option<(Vec<u8>, Vec<u8>)> {
        with_libcrux!(self.0, set => {
            let ek = ek.try_into().expect("an encapsulation key's length");
            if !set::validate_public_key(&ek) {
                return None;
            }
            let (c, secret) = set::encapsulate(&ek, *m);
            Some((c.as_ref().to_vec(), secret.to_vec()))
        })
    }

    fn decap(&self, dk: &[u8], c: &[u8]) -> Option<Vec<u8>> {
        with_libcrux!(self.0, set => {
            let dk = dk.try_into().expect("a decapsulation key's length");
            let c = c.try_into().expect("a ciphertext's length");
            set::validate_private_key(&dk, &c).then(|| set::decapsulate(&dk, &c).to_vec())
        })
    }
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let head = byte(u)?;
    let (k, levels) = (2 + head % 3, levels());
    let level = levels[head / 3 % levels.len()];
    let (seed, m) = (array(u)?, array(u)?);
    let (ek, dk) = ours::keygen(k, level, &seed).expect("64 bytes");
    let (c, secret) = ours::encap(k, level, &ek, &m).expect("our own key");

    let mut changed_ek = ek.clone();
    edit(u, &mut changed_ek)?;
    let changed_encap = ours::encap(k, level, &changed_ek, &m).ok();
    let mut changed_c = c.clone();
    edit(u, &mut changed_c)?;
    // The others take an s or t that is not reduced as it is, or refuse it, in ways of their own.
    let mut changed_dk = dk.clone();
    edit(u, &mut changed_dk)?;
    if head & 0x80 != 0 {
        repair_hash(k, &mut changed_dk);
    }
    if !is_reduced(&changed_dk[..384 * k]) || !is_reduced(&changed_dk[384 * k..768 * k]) {
        changed_dk.clone_from(&dk);
    }
    let rejected = ours::decap(k, level, &dk, &changed_c).ok();
    let changed_decap = ours::decap(k, level, &changed_dk, &changed_c).ok();

    let peers: [(&str, &dyn Peer); 2] =
        [("ml-kem", &RustCrypto(k)), ("libcrux-ml-kem", &Libcrux(k))];
    for (name, peer) in peers {
        let context = format!("{level} and {name}: k = {k}");
        assert_eq!((&ek, &dk), as_refs(&peer.keygen(&seed)), "{context}, keygen");
        assert_eq!(Some((c.clone(), secret.clone())), peer.encap(&ek, &m), "{context}, encap");
        assert_eq!(Some(&secret), peer.decap(&dk, &c).as_ref(), "{context}, decap");
        assert_eq!(changed_encap, peer.encap(&changed_ek, &m), "{context}, changed ek");
        assert_eq!(rejected, peer.decap(&dk, &changed_c), "{context}, changed c");
        assert_eq!(changed_decap, peer.decap(&changed_dk, &changed_c), "{context}, changed dk");
    }
    Ok(())
}

fn as_refs(pair: &(Vec<u8>, Vec<u8>)) -> (&Vec<u8>, &Vec<u8>) {
    (&pair.0, &pair.1)
}
