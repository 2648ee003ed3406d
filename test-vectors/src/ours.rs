//! The library behind values known at run time: parameter set, backend, function. Inputs and
//! outputs are bytes.

use keccak::hazmat::{Level, TurboShake128, TurboShake256};
use keccak::{CShake128, CShake256, Kmac128, Kmac256, Reader, Sha3, Shake};
use kyber::{Error, Seed};

use crate::case::{Family, Function, HashInput, Key};
use crate::reference::keccak::{encode_string, left_encode, right_encode};

/// Evaluates an expression with a module of `kyber` under the name of the caller's choice.
macro_rules! with_set {
    ($k:expr, $set:ident => $body:expr) => {
        match $k {
            2 => {
                use kyber::mlkem512 as $set;
                $body
            }
            3 => {
                use kyber::mlkem768 as $set;
                $body
            }
            4 => {
                use kyber::mlkem1024 as $set;
                $body
            }
            k => panic!("no parameter set has k = {k}"),
        }
    };
}

/// Ciphertext to secret.
pub type Decapsulator = Box<dyn Fn(&[u8]) -> Result<Vec<u8>, Error>>;

/// ek and dk from d || z.
pub fn keygen(k: usize, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let seed = Seed::parse(seed)?;
    with_set!(k, set => {
        let key = set::DecapsulationKey::from_seed_on(level, &seed);
        let mut dk = [0; set::DECAPSULATION_KEY_BYTES];
        key.to_expanded_bytes(&mut dk);
        Ok((key.encapsulation_key().to_bytes().to_vec(), dk.to_vec()))
    })
}

/// Ciphertext and secret from m.
pub fn encap(k: usize, level: Level, ek: &[u8], m: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    with_set!(k, set => {
        let (c, secret) = set::EncapsulationKey::parse_on(level, ek)?.encap_deterministic(m);
        Ok((c.as_bytes().to_vec(), secret.as_bytes().to_vec()))
    })
}

/// The key parsed once, as a function, and its ek.
pub fn decapsulator(k: usize, level: Level, key: &Key) -> Result<(Decapsulator, Vec<u8>), Error> {
    with_set!(k, set => {
        let key = match key {
            Key::Seed(seed) => set::DecapsulationKey::from_seed_on(level, &Seed::parse(seed)?),
            Key::Expanded(dk) => set::DecapsulationKey::parse_on(level, dk)?,
        };
        let ek = key.encapsulation_key().to_bytes().to_vec();
        let decap = move |c: &[u8]| Ok(key.decap(&set::Ciphertext::parse(c)?).as_bytes().to_vec());
        Ok((Box::new(decap), ek))
    })
}

/// Decapsulation with a key in expanded form.
pub fn decap(k: usize, level: Level, dk: &[u8], c: &[u8]) -> Result<Vec<u8>, Error> {
    decapsulator(k, level, &Key::Expanded(dk.to_vec()))?.0(c)
}

/// Decapsulation with a small key.
pub fn small_decap(k: usize, level: Level, seed: &[u8], c: &[u8]) -> Result<Vec<u8>, Error> {
    let seed = Seed::parse(seed)?;
    with_set!(k, set => {
        let key = set::SmallDecapsulationKey::from_seed_on(level, &seed);
        Ok(key.decap(&set::Ciphertext::parse(c)?).as_bytes().to_vec())
    })
}

/// What the library says of an encapsulation key.
pub fn check_ek(k: usize, level: Level, ek: &[u8]) -> Result<(), Error> {
    with_set!(k, set => set::EncapsulationKey::parse_on(level, ek).map(drop))
}

/// What the library says of a decapsulation key in expanded form.
pub fn check_dk(k: usize, level: Level, dk: &[u8]) -> Result<(), Error> {
    with_set!(k, set => set::DecapsulationKey::parse_on(level, dk).map(drop))
}

/// SHA3-`bits` on a backend.
pub fn sha3(level: Level, bits: usize, message: &[u8]) -> Vec<u8> {
    fn with<const N: usize>(level: Level, message: &[u8]) -> Vec<u8> {
        let mut sha3 = Sha3::<N>::new_on(level);
        sha3.update(message);
        sha3.finalize().to_vec()
    }
    match bits {
        224 => with::<28>(level, message),
        256 => with::<32>(level, message),
        384 => with::<48>(level, message),
        _ => with::<64>(level, message),
    }
}

/// SHAKE`bits` on a backend.
pub fn shake(level: Level, bits: usize, message: &[u8], d: usize) -> Vec<u8> {
    fn with<const RATE: usize>(level: Level, message: &[u8]) -> Reader {
        let mut shake = Shake::<RATE>::new_on(level);
        shake.update(message);
        shake.finalize_xof()
    }
    read(if bits == 128 { with::<168>(level, message) } else { with::<136>(level, message) }, d)
}

fn read(mut reader: Reader, d: usize) -> Vec<u8> {
    let mut out = vec![0; d];
    reader.read(&mut out);
    out
}

fn cshake(level: Level, bits: usize, x: &[u8], d: usize, n: &[u8], s: &[u8]) -> Vec<u8> {
    if bits == 128 {
        let mut hash = CShake128::new_on(level, n, s);
        hash.update(x);
        return read(hash.finalize_xof(), d);
    }
    let mut hash = CShake256::new_on(level, n, s);
    hash.update(x);
    read(hash.finalize_xof(), d)
}

fn turbo_shake(level: Level, bits: usize, message: &[u8], domain: u8, d: usize) -> Vec<u8> {
    if bits == 128 {
        let mut hash = TurboShake128::new_on(level, domain);
        hash.update(message);
        return read(hash.finalize_xof(), d);
    }
    let mut hash = TurboShake256::new_on(level, domain);
    hash.update(message);
    read(hash.finalize_xof(), d)
}

fn kmac(level: Level, bits: usize, input: &HashInput, xof: bool) -> Vec<u8> {
    macro_rules! with {
        ($kmac:ident) => {{
            let mut mac = $kmac::new_on(level, &input.key, &input.customization.bytes());
            mac.update(&input.message.bytes());
            if xof {
                return read(mac.finalize_xof(), input.out_len);
            }
            let mut out = vec![0; input.out_len];
            mac.finalize(&mut out);
            out
        }};
    }
    if bits == 128 { with!(Kmac128) } else { with!(Kmac256) }
}

/// Any function of the family; the ones that the library lacks are composed here of its cSHAKE and
/// TurboSHAKE.
pub fn hash(level: Level, input: &HashInput) -> Vec<u8> {
    let (message, s) = (input.message.bytes(), input.customization.bytes());
    let (d, Function { family, bits }) = (input.out_len, input.function);
    match family {
        Family::Sha3 => sha3(level, bits, &message),
        Family::Shake => shake(level, bits, &message, d),
        Family::CShake => cshake(level, bits, &message, d, &input.name, &s),
        Family::Kmac => kmac(level, bits, input, false),
        Family::KmacXof => kmac(level, bits, input, true),
        Family::TurboShake => turbo_shake(level, bits, &message, input.domain, d),
        Family::TupleHash => tuple_hash(level, input, 8 * d),
        Family::TupleHashXof => tuple_hash(level, input, 0),
        Family::ParallelHash => parallel_hash(level, input, 8 * d),
        Family::ParallelHashXof => parallel_hash(level, input, 0),
        Family::KangarooTwelve => kangaroo_twelve(level, bits, &message, &s, d),
    }
}

/// SP 800-185 section 5.3.
fn tuple_hash(level: Level, input: &HashInput, length: usize) -> Vec<u8> {
    let mut x: Vec<u8> = input.tuple.iter().flat_map(|string| encode_string(string)).collect();
    x.extend(right_encode(length));
    cshake(
        level,
        input.function.bits,
        &x,
        input.out_len,
        b"TupleHash",
        &input.customization.bytes(),
    )
}

/// SP 800-185 section 6.3.
fn parallel_hash(level: Level, input: &HashInput, length: usize) -> Vec<u8> {
    let (message, bits) = (input.message.bytes(), input.function.bits);
    let blocks = message.chunks(input.block_size.max(1));
    let mut z = left_encode(input.block_size);
    let n = blocks.len();
    z.extend(blocks.flat_map(|block| cshake(level, bits, block, bits / 4, b"", b"")));
    z.extend([right_encode(n), right_encode(length)].concat());
    cshake(level, bits, &z, input.out_len, b"ParallelHash", &input.customization.bytes())
}

/// RFC 9861 section 3.
fn kangaroo_twelve(level: Level, bits: usize, message: &[u8], c: &[u8], d: usize) -> Vec<u8> {
    const CHUNK: usize = 8192;
    /// length_encode(x): like right_encode, with no byte at all for zero.
    fn length_encode(x: usize) -> Vec<u8> {
        if x == 0 { vec![0] } else { right_encode(x) }
    }
    let s = [message, c, &length_encode(c.len())].concat();
    if s.len() <= CHUNK {
        return turbo_shake(level, bits, &s, 0x07, d);
    }
    let leaves = s[CHUNK..].chunks(CHUNK);
    let n = leaves.len();
    let mut node = [&s[..CHUNK], &[3, 0, 0, 0, 0, 0, 0, 0]].concat();
    node.extend(leaves.flat_map(|leaf| turbo_shake(level, bits, leaf, 0x0b, bits / 4)));
    node.extend([&length_encode(n), &[0xff, 0xff][..]].concat());
    turbo_shake(level, bits, &node, 0x06, d)
}
