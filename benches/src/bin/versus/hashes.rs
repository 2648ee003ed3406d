//! The permutation and the hashes of other crates.

use benches::among;
use benches::hash::{self, Hash, HashFn};
use tiny_keccak::{Hasher, Xof};

use crate::{Candidate, Checked, Line};

/// Message lengths.
const LENGTHS: [usize; 2] = [1024, 16384];

fn rust_crypto<D: sha3::Digest>() -> HashFn {
    Box::new(|message, out| out.copy_from_slice(&D::digest(message)))
}

/// The peers' hashes: crate, then the same as ours.
fn peers() -> Vec<(&'static str, Hash)> {
    use shake::digest::{ExtendableOutput, Update, XofReader};
    let shake128: HashFn = Box::new(|message, out| {
        let mut hash = shake::Shake128::default();
        hash.update(message);
        hash.finalize_xof().read(out);
    });
    let tiny = |new: fn() -> tiny_keccak::Sha3| -> HashFn {
        Box::new(move |message, out| {
            let mut hash = new();
            hash.update(message);
            hash.finalize(out);
        })
    };
    let tiny128: HashFn = Box::new(|message, out| {
        let mut hash = tiny_keccak::Shake::v128();
        hash.update(message);
        hash.squeeze(out);
    });
    let libcrux = |digest: fn(&mut [u8], &[u8])| -> HashFn {
        Box::new(move |message, out| digest(out, message))
    };
    vec![
        ("sha3", ("SHA3-256", 32, rust_crypto::<sha3::Sha3_256>())),
        ("sha3", ("SHA3-512", 64, rust_crypto::<sha3::Sha3_512>())),
        ("shake", ("SHAKE128", 32, shake128)),
        ("tiny-keccak", ("SHA3-256", 32, tiny(tiny_keccak::Sha3::v256))),
        ("tiny-keccak", ("SHA3-512", 64, tiny(tiny_keccak::Sha3::v512))),
        ("tiny-keccak", ("SHAKE128", 32, tiny128)),
        ("libcrux-sha3", ("SHA3-256", 32, libcrux(libcrux_sha3::sha256_ema))),
        ("libcrux-sha3", ("SHA3-512", 64, libcrux(libcrux_sha3::sha512_ema))),
        ("libcrux-sha3", ("SHAKE128", 32, libcrux(libcrux_sha3::shake128_ema))),
    ]
}

/// Adds the permutation and the hashes, each checked against ours at every length up to three blocks.
pub(crate) fn add(line: &mut Line) -> Checked {
    permutations(line)?;
    let wanted = ["SHA3-256", "SHA3-512", "SHAKE128"];
    let ours = || hash::hashes(line.level).into_iter().filter(|(set, ..)| wanted.contains(set));
    let mut all: Vec<_> = Vec::new();
    for length in LENGTHS {
        all.extend(ours().map(|hash| ("keccak", line.level.name(), length, hash)));
        for (name, peer) in peers().into_iter().filter(|(_, peer)| among(&line.args.sets, peer.0)) {
            let reference = ours().find(|(set, ..)| *set == peer.0).expect("one of ours");
            check(name, &reference, &peer)?;
            all.push((name, "portable", length, peer));
        }
    }
    all.sort_by_key(|(_, _, length, hash)| (hash.0, *length));
    for (name, backend, length, hash) in all {
        let selected = name == "keccak" || among(&line.args.peers, name);
        if selected && among(&line.args.sets, hash.0) {
            line.add(Candidate::new(hash::operation(hash, length), name, backend, "none"));
        }
    }
    Ok(())
}

fn check(name: &str, (set, digest, ours): &Hash, (_, _, peer): &Hash) -> Checked {
    let message: Vec<u8> = (0..3 * 168 + 1).map(|i| (i * 7) as u8).collect();
    for length in 0..=message.len() {
        let (mut first, mut second) = (vec![0; *digest], vec![1; *digest]);
        ours(&message[..length], &mut first);
        peer(&message[..length], &mut second);
        if first != second {
            return Err(format!("{name}: {set} of {length} bytes differs"));
        }
    }
    Ok(())
}

fn permutations(line: &mut Line) -> Checked {
    if !among(&line.args.sets, "Keccak") {
        return Ok(());
    }
    type Permute = Box<dyn Fn(&mut [u64; 25])>;
    let peers: [(&str, Permute); 2] = [
        (
            "keccak (crates.io)",
            Box::new(|state| keccak_crates::Keccak::new().with_f1600(|permute| permute(state))),
        ),
        ("tiny-keccak", Box::new(tiny_keccak::keccakf)),
    ];
    let ours = hash::permute_on(line.level);
    for (name, permute) in &peers {
        let (mut first, mut second) = ([1; 25], [1; 25]);
        for _ in 0..100 {
            ours(&mut first);
            permute(&mut second);
            if first != second {
                return Err(format!("{name}: keccak-f1600 differs"));
            }
        }
    }
    let operation = hash::permutation(ours);
    line.add(Candidate::new(operation, "keccak", line.level.name(), "none"));
    for (name, permute) in peers {
        if among(&line.args.peers, name) {
            line.add(Candidate::new(hash::permutation(permute), name, "portable", "none"));
        }
    }
    Ok(())
}
