//! No figure without agreement: what a peer computes must equal what ours computes.

use benches::kem::{Inputs, Kem, Maker, secret_of};

use crate::Checked;

fn same(what: &str, ours: impl AsRef<[u8]>, theirs: impl AsRef<[u8]>) -> Checked {
    if ours.as_ref() == theirs.as_ref() { Ok(()) } else { Err(format!("{what} differs")) }
}

/// Byte for byte where the peer takes seed and message; otherwise each side opens what the other made.
pub(crate) fn kem<T: Kem, M: Maker>(kem: &T, ours: &M, inputs: &Inputs) -> Checked {
    for (pair, public) in inputs.pairs.iter().zip(&inputs.public) {
        let generated = kem.generate(&pair.seed);
        let encoded = kem.encode_public(&generated);
        if T::SEEDED_KEYGEN {
            same("public key", public, &encoded)?;
        } else {
            let (ciphertext, shared) = ours.parse_encap(encoded.as_ref(), &pair.message);
            let ciphertext = kem.parse_ciphertext(&ours.ciphertext_bytes(&ciphertext));
            let opened = kem.shared_bytes(&kem.decap(&generated, &ciphertext));
            same("secret of its own key", ours.shared_bytes(&shared), opened)?;
        }

        let parsed = kem.parse_public(public);
        for (ciphertext, shared) in
            [kem.encap(&parsed, &pair.message), kem.parse_encap(public, &pair.message)]
        {
            let (ciphertext, shared) =
                (kem.ciphertext_bytes(&ciphertext), kem.shared_bytes(&shared));
            if T::SEEDED_ENCAP {
                same("ciphertext", &pair.ciphertext, &ciphertext)?;
                same("secret of encap", &pair.shared, &shared)?;
            }
            let opened =
                ours.decap(&ours.parse_secret(&pair.expanded), &ours.parse_ciphertext(&ciphertext));
            same("secret of its ciphertext", ours.shared_bytes(&opened), &shared)?;
        }

        let mut damaged = pair.ciphertext.clone();
        damaged[pair.message[0] as usize] ^= 1;
        let rejected =
            ours.decap(&ours.parse_secret(&pair.expanded), &ours.parse_ciphertext(&damaged));
        let secret = secret_of(kem, pair);
        for (bytes, expected) in
            [(&pair.ciphertext, pair.shared.clone()), (&damaged, ours.shared_bytes(&rejected))]
        {
            let ciphertext = kem.parse_ciphertext(bytes);
            let opened = kem.decap(&secret, &ciphertext);
            same("secret of decap", &expected, kem.shared_bytes(&opened))?;
            if T::EXPANDED {
                let opened = kem.decap_bytes(&pair.expanded, &ciphertext);
                same("secret of decap from bytes", &expected, kem.shared_bytes(&opened))?;
            }
        }
    }
    Ok(())
}
