//! Writes the project's own vectors, `data/*.json`, from the slow reference alone.

use serde_json::{Value, json};

use crate::case::set_name;
use crate::reference::{keccak, mlkem};

/// Name and content of each file.
pub fn files() -> [(&'static str, String); 2] {
    [("keccak.json", file("tests", hashes())), ("mlkem.json", file("mlkem", kems()))]
}

fn file(list: &str, tests: Vec<Value>) -> String {
    // A test stands on one line, so that a change shows as one.
    let tests: Vec<String> = tests.iter().map(|test| format!("    {test}")).collect();
    let source = "written by `cargo run -p test-vectors --bin generate` from src/reference";
    format!(
        "{{\n  \"source\": {},\n  \"{list}\": [\n{}\n  ]\n}}\n",
        json!(source),
        tests.join(",\n")
    )
}

/// The bytes 00 01 .. FA repeated, of RFC 9861.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Messages that end at, before and after a block's end, and outputs that do.
fn hashes() -> Vec<Value> {
    let mut tests = Vec::new();
    for bits in [224, 256, 384, 512] {
        for len in lengths(bits) {
            let output = hex::encode(keccak::sha3(bits, &pattern(len)));
            let function = format!("SHA3-{bits}");
            let msg = json!({ "ptn": len });
            tests.push(
                json!({ "function": function, "msg": msg, "outLen": bits / 8, "output": output }),
            );
        }
    }
    for bits in [128, 256] {
        for (len, out_len) in lengths(bits).into_iter().zip(lengths(bits).into_iter().rev()) {
            tests.extend(extendable(bits, len, out_len.max(2)));
        }
    }
    tests
}

fn lengths(bits: usize) -> [usize; 6] {
    let rate = keccak::rate(bits);
    [0, 1, rate - 1, rate, rate + 1, 2 * rate + 5]
}

/// Every extendable function and both MACs, with a customization whose padded prefix is a whole
/// number of blocks for SHAKE128 (161 bytes: the case that bytepad has been got wrong in), and
/// without.
fn extendable(bits: usize, len: usize, out_len: usize) -> Vec<Value> {
    let (message, key) = (pattern(len), pattern(32));
    let msg = json!({ "ptn": len });
    let test = |function: &str, more: Value, output: Vec<u8>| {
        let mut test =
            json!({ "function": format!("{function}{bits}"), "msg": msg, "outLen": out_len });
        for (name, value) in more.as_object().into_iter().flatten() {
            test[name] = value.clone();
        }
        test["output"] = hex::encode(output).into();
        test
    };
    let turbo = keccak::turbo_shake(bits, &message, 0x0b, out_len);
    let mut tests = vec![
        test("SHAKE", json!({}), keccak::shake(bits, &message, out_len)),
        test("TurboSHAKE", json!({ "domain": 0x0b }), turbo),
    ];
    for custom_len in [0, 161] {
        let s = pattern(custom_len);
        let more = json!({ "custom": { "ptn": custom_len }, "key": hex::encode(&key) });
        let cshake = keccak::cshake(bits, &message, out_len, b"", &s);
        tests.push(test("cSHAKE", json!({ "custom": { "ptn": custom_len } }), cshake));
        tests.push(test("KMAC", more.clone(), keccak::kmac(bits, &key, &message, out_len, &s)));
        tests.push(test("KMACXOF", more, keccak::kmac_xof(bits, &key, &message, out_len, &s)));
    }
    tests
}

/// Two keys of each set, their coins from SHAKE256 of a label.
fn kems() -> Vec<Value> {
    let mut tests = Vec::new();
    for k in 2..=4 {
        for i in 0..2 {
            let set = mlkem::ParameterSet::of(k);
            let coins = keccak::shake(256, format!("{} test {i}", set_name(k)).as_bytes(), 98);
            let (d, z, m) = (&coins[..32], &coins[32..64], &coins[64..96]);
            let (ek, dk) = mlkem::keygen_internal(&set, d, z);
            let (secret, c) = mlkem::encaps_internal(&set, &ek, m);
            let bit = (usize::from(coins[96]) + 256 * usize::from(coins[97])) % (8 * c.len());
            let mut flipped = c.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            tests.push(json!({
                "parameterSet": set_name(k),
                "seed": hex::encode(&coins[..64]),
                "m": hex::encode(m),
                "ek": hex::encode(ek),
                "dk": hex::encode(&dk),
                "c": hex::encode(c),
                "sharedSecret": hex::encode(secret),
                "flippedBit": bit,
                "rejectedSecret": hex::encode(mlkem::decaps_internal(&set, &dk, &flipped)),
            }));
        }
    }
    tests
}
