//! Puts one case through the library, on a backend of the caller's choice.

use keccak::hazmat::Level;
use kyber::Error;

use crate::case::{Case, Op};
use crate::drbg::CtrDrbg;
use crate::ours::{check_dk, check_ek, decapsulator, encap, hash, keygen, sha3, shake};

/// Why a case failed.
pub type Failure = String;

/// Run a case; `Err` says what differed.
pub fn run(case: &Case, level: Level) -> Result<(), Failure> {
    match &case.op {
        Op::Hash { input, output, valid } => {
            let ours = hash(level, input);
            let lengths = (ours.len(), output.len()) == (input.out_len, input.last_bytes);
            let equal = lengths && ours.ends_with(output);
            if equal == *valid { Ok(()) } else { Err(format!("output is {}", hex::encode(ours))) }
        }
        Op::Sha3Monte { bits, seed, output } => {
            let ours = (0..1000).fold(seed.clone(), |md, _| sha3(level, *bits, &md));
            same("digest", &ours, output)
        }
        Op::ShakeMonte { bits, message, out_len, range, output } => {
            same("output", &shake_monte(level, *bits, message, *out_len, *range), output)
        }
        Op::KeyGen { k, seed, ek, dk } => {
            let ours = keygen(*k, level, seed).map_err(text)?;
            same("ek", &ours.0, ek)?;
            same("dk", &ours.1, dk)
        }
        Op::Encap { k, ek, m, expected } => {
            let m = m[..].try_into().map_err(|_| format!("m has {} bytes", m.len()))?;
            match (encap(*k, level, ek, m), expected) {
                (Ok(ours), Some((c, secret))) => {
                    same("c", &ours.0, c)?;
                    same("K", &ours.1, secret)
                }
                (ours, expected) => check(ours.map(drop), expected.is_some()),
            }
        }
        Op::Decap { .. } => decap(&case.op, level),
        Op::EkCheck { k, ek, valid } => check(check_ek(*k, level, ek), *valid),
        Op::DkCheck { k, dk, valid } => check(check_dk(*k, level, dk), *valid),
        Op::NistKat { .. } => nist_kat(&case.op, level),
    }
}

/// Equality with both values in the message.
fn same(what: &str, ours: &[u8], expected: &[u8]) -> Result<(), Failure> {
    if ours == expected {
        return Ok(());
    }
    Err(format!("{what} is {}, expected {}", hex::encode(ours), hex::encode(expected)))
}

fn text(error: Error) -> Failure {
    format!("rejected: {error}")
}

fn check(result: Result<(), Error>, valid: bool) -> Result<(), Failure> {
    match (result, valid) {
        (Ok(()), true) | (Err(_), false) => Ok(()),
        (Ok(()), false) => Err("accepted".into()),
        (Err(error), true) => Err(text(error)),
    }
}

fn decap(op: &Op, level: Level) -> Result<(), Failure> {
    let Op::Decap { k, key, ek, c, expected } = op else {
        return Err("not a decapsulation".into());
    };
    match (decapsulator(*k, level, key), expected) {
        (Ok((decap, ours)), Some(secret)) => {
            same("ek", &ours, ek.as_ref().unwrap_or(&ours))?;
            same("K", &decap(c).map_err(text)?, secret)
        }
        (Ok((decap, _)), None) => check(decap(c).map(drop), false),
        (Err(error), expected) => check(Err(error), expected.is_some()),
    }
}

fn nist_kat(op: &Op, level: Level) -> Result<(), Failure> {
    let Op::NistKat { k, seed, pk, sk, ct, ss } = op else { return Err("not a NIST KAT".into()) };
    let seed = seed[..].try_into().map_err(|_| format!("seed has {} bytes", seed.len()))?;
    let mut drbg = CtrDrbg::new(seed);
    let (mut d_z, mut m) = ([0; 64], [0; 32]);
    drbg.random_bytes(&mut d_z);
    drbg.random_bytes(&mut m);
    if pk.ends_with(&crate::reference::keccak::sha3(512, &d_z[..32])[..32]) {
        return Err("rho is that of Kyber round 3, not of ML-KEM".into());
    }
    let (ek, dk) = keygen(*k, level, &d_z).map_err(text)?;
    same("pk", &ek, pk)?;
    same("sk", &dk, sk)?;
    let (c, secret) = encap(*k, level, &ek, &m).map_err(text)?;
    same("ct", &c, ct)?;
    same("ss", &secret, ss)?;
    same("ss of decap", &crate::ours::decap(*k, level, &dk, &c).map_err(text)?, ss)
}

fn shake_monte(
    level: Level,
    bits: usize,
    message: &[u8],
    out_len: usize,
    range: (usize, usize),
) -> Vec<u8> {
    let (mut output, mut out_len) = (message.to_vec(), out_len);
    for _ in 0..1000 {
        output.resize(output.len().max(16), 0);
        output = shake(level, bits, &output[..16], out_len);
        out_len = next_monte_length(&output, range);
    }
    output
}

/// The last 16 bits of an output choose the next length in bytes, between the two of `range`.
pub fn next_monte_length(output: &[u8], (least, most): (usize, usize)) -> usize {
    let last =
        output.iter().rev().take(2).rev().fold(0, |sum, byte| 256 * sum + usize::from(*byte));
    least + last % (most - least + 1)
}
