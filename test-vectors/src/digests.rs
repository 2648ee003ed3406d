//! Published digests over many keys, and what computes them from the library.

use keccak::hazmat::Level;
use keccak::{Reader, Shake128};
use sha2::{Digest, Sha256};

use crate::case::Key;
use crate::drbg::CtrDrbg;
use crate::ours::{decapsulator, encap, keygen, shake};
use crate::reference::mlkem::ParameterSet;

/// Keccak-f\[1600\] of the zero state, lanes A\[x + 5y\] in order. From the Keccak submission's
/// intermediate values.
pub const ZERO_STATE_PERMUTED: [u64; 25] = [
    0xf1258f7940e1dde7,
    0x84d5ccf933c0478a,
    0xd598261ea65aa9ee,
    0xbd1547306f80494d,
    0x8b284e056253d057,
    0xff97a42d7f8e6fd4,
    0x90fee5a0a44647c4,
    0x8c5bda0cd6192e76,
    0xad30a6f71b19059c,
    0x30935ab7d08ffc64,
    0xeb5aa93f2317d635,
    0xa9a6e6260d712103,
    0x81a57c16dbcf555f,
    0x43b831cd0347c826,
    0x01f22f1a11a5569f,
    0x05e5635a21d9ae61,
    0x64befef28cc970f2,
    0x613670957bc46611,
    0xb87c5a554fd00ecb,
    0x8c3ee88a1ccf32c8,
    0x940c7922ae3a2614,
    0x1841f924a2c509e4,
    0x16f53526e70465c2,
    0x75f644e97f30a13b,
    0xeaf1ff7b5ceca249,
];

/// SHA-256 of the text of [`kat_text`] for ML-KEM-512, 768 and 1024: of count 0, and of all 100.
/// From liboqs and PQClean.
pub const KAT: [(&str, &str); 3] = [
    (
        "c70041a761e01cd6426fa60e9fd6a4412c2be817386c8d0f3334898082512782",
        "74b470e797cbdbd589a31d387d36c72aad5033446ab5159bf4014c24652b1173",
    ),
    (
        "5352539586b6c3df58be6158a6250aeff402bd73060b0a3de68850ac074c17c3",
        "e5d6911117c708d8342702db222f66bef5ac5b0314fb8bc36eb22a536c9b34fb",
    ),
    (
        "f580d851e5fb27e6876e5e203fa18be4cdbfd49e05d48fec3d3992c8f43a13e6",
        "81d1ae0468f62154885b6f2a293c0eb48f9339645357a88bbbc186c57ab0ace0",
    ),
];

/// The digests of [`accumulated`]: dimension, tests, without dk, with dk. Those of 768 without dk
/// are published by Go (crypto/mlkem), the others agreed by independent implementations.
pub const ACCUMULATED: [(usize, usize, &str, &str); 9] = [
    (
        2,
        100,
        "86b1b4703b8ffef6f7f3290c6dbce4ad954498a0673ded401a94828e8c519a59",
        "449120c6e320ef3e9fbfa2316e5f2d2e1e6dd37d8ff5d086d5d2db7d42aff0a1",
    ),
    (
        2,
        10_000,
        "e0112db334d4240ca6feed5b0beab1318925edd4ff7d840c2ebe6d61971fc14c",
        "705dcffc87f4e67e35a09dcaa31772e86f3341bd3ccf1e78a5fef99ae6a35a13",
    ),
    (
        2,
        1_000_000,
        "a3e16deb5dc7fb037a72f0642975a220270bc2adc80718fb97f7de91c3caa6f1",
        "21dd330d4355f2ae2876b9fa2b9de62ecaf76aca1d598de8db2b467d36e36a6a",
    ),
    (
        3,
        100,
        "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
        "8d65b902f28edc683cebee2872962fd165a4d197c9e24ec74caa4470270df0b7",
    ),
    (
        3,
        10_000,
        "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc",
        "f959d18d3d1180121433bf0e05f11e7908cf9d03edc150b2b07cb90bef5bc1c1",
    ),
    (
        3,
        1_000_000,
        "424bf8f0e8ae99b78d788a6e2e8e9cdaf9773fc0c08a6f433507cb559edfd0f0",
        "3b108396a277f2952ff3243a985c9709bcb95788c39b7b36a2c4e19d1a41e51e",
    ),
    (
        4,
        100,
        "800018fec3e2723f73f1d657fe239b4d5d8782efaade297e8cd448e54cc2ac00",
        "c3ffe9ebecfa479c142656cbfbc6417efa05b77e994fe538eef4daed166363df",
    ),
    (
        4,
        10_000,
        "f1a3925c9cf8538bb104c56efb2f5ecb74cc3df25087460b73f6c873e96bcb6a",
        "e3bf82b013307b2e9d47dde791ff6dfc82e694e6382404abdb948b908b75bad5",
    ),
    (
        4,
        1_000_000,
        "2254e1f80327f405dd4c8c35ab3234c66c4b7b66360324b06caea551235ceab2",
        "6377c4f0ecfdb32e63f7b58227960828784fe0b3e0e5e5e9f77be300f003512a",
    ),
];

/// SHA-256 of the text of [`chain_text`] for ML-KEM-512, 768 and 1024. From mlkem-native.
pub const CHAIN: [&str; 3] = [
    "0a2d61707a68c0cac7b2a5005def19994e4e2a25cf8dc512b1254cbaa25473c0",
    "8cff42556667edbd0fec7d0b2666d7710d80db71b684f8b4852a37ece2a4c844",
    "f9c6e424f4593cca818493cfe2424178ed0caa2a3945dc1a57cbb5d99e18ad2d",
];

/// SHA-256 in hex.
pub fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// The KAT file of NIST without its header: `counts` blocks, joined by one empty line.
pub fn kat_text(k: usize, level: Level, counts: usize) -> String {
    let mut file = CtrDrbg::for_kat_file();
    let block = |count| {
        let (mut seed, mut d_z, mut m) = ([0; 48], [0; 64], [0; 32]);
        file.random_bytes(&mut seed);
        let mut drbg = CtrDrbg::new(&seed);
        drbg.random_bytes(&mut d_z);
        drbg.random_bytes(&mut m);
        let [pk, sk, ct, ss, _] = round_trip(k, level, &d_z, &m, None).map(hex::encode_upper);
        let seed = hex::encode_upper(seed);
        format!("count = {count}\nseed = {seed}\npk = {pk}\nsk = {sk}\nct = {ct}\nss = {ss}\n")
    };
    (0..counts).map(block).collect::<Vec<_>>().join("\n")
}

/// The text that mlkem-native hashes: 100 times, d, z and m are the next 96 bytes of a chain of
/// SHAKE256.
pub fn chain_text(k: usize, level: Level) -> String {
    let start: Vec<u8> = (32..96).collect();
    let mut coins = shake(level, 256, &start, 96);
    let block = |_| {
        coins = shake(level, 256, &coins, 96);
        let (d_z, m) = coins.split_at(64);
        let [pk, sk, ct, ss, _] = round_trip(k, level, d_z, m, None).map(hex::encode);
        format!("pk = {pk}\nsk = {sk}\nct = {ct}\nss = {ss}\n")
    };
    (0..100).map(block).collect()
}

/// ek, dk, c, K, and the secret of `other`; panics when decapsulation of c gives another K.
fn round_trip(k: usize, level: Level, d_z: &[u8], m: &[u8], other: Option<&[u8]>) -> [Vec<u8>; 5] {
    let m = m.try_into().expect("32 bytes of coins");
    let (ek, dk) = keygen(k, level, d_z).expect("64 bytes of seed");
    let (c, secret) = encap(k, level, &ek, m).expect("a key just generated");
    let (decap, _) = decapsulator(k, level, &Key::Seed(d_z.to_vec())).expect("64 bytes of seed");
    assert_eq!(decap(&c).as_ref(), Ok(&secret), "{level}: decap of a fresh ciphertext");
    let other = other.map(|other| decap(other).expect("a ciphertext's length"));
    [ek, dk, c, secret, other.unwrap_or_default()]
}

/// One SHAKE128 gives d, z, m and a random ciphertext to each test; another absorbs ek, (dk,) c, K,
/// and what the random ciphertext decapsulates to. Returned without and with dk, in hex. `tick` is
/// called after each test.
pub fn accumulated(
    k: usize,
    level: Level,
    tests: usize,
    mut tick: impl FnMut(),
) -> (String, String) {
    let mut rng = Shake128::new_on(level).finalize_xof();
    let (mut without_dk, mut with_dk) = (Shake128::new_on(level), Shake128::new_on(level));
    for _ in 0..tests {
        let mut draw = vec![0; 96 + ParameterSet::of(k).ciphertext_len()];
        rng.read(&mut draw);
        let [ek, dk, c, secret, rejected] =
            round_trip(k, level, &draw[..64], &draw[64..96], Some(&draw[96..]));
        for part in [&ek, &c, &secret, &rejected] {
            without_dk.update(part);
        }
        for part in [&ek, &dk, &c, &secret, &rejected] {
            with_dk.update(part);
        }
        tick();
    }
    (hex32(without_dk.finalize_xof()), hex32(with_dk.finalize_xof()))
}

fn hex32(mut reader: Reader) -> String {
    let mut out = [0; 32];
    reader.read(&mut out);
    hex::encode(out)
}
