//! Files of `name = value` lines: NIST CAVP for SHA-3 and SHAKE, NIST KATs of KEMs, and C2SP/CCTV.

use std::collections::HashMap;
use std::path::Path;

use super::ParseError;
use crate::case::{Case, Family, Function, HashInput, Key, Message, Op, set_name};
use crate::run::next_monte_length;

/// The values of one record and of the headers before it.
struct Record<'a> {
    path: &'a Path,
    line: usize,
    fields: HashMap<&'a str, &'a str>,
}

impl Record<'_> {
    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError::content(self.path, self.line, message)
    }

    fn text(&self, name: &str) -> Result<&str, ParseError> {
        self.fields.get(name).copied().ok_or_else(|| self.error(format!("no {name}")))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, ParseError> {
        hex::decode(self.text(name)?).map_err(|error| self.error(format!("{name}: {error}")))
    }

    fn number(&self, name: &str) -> Result<usize, ParseError> {
        self.text(name)?.parse().map_err(|error| self.error(format!("{name}: {error}")))
    }

    /// A length that the file gives in bits.
    fn bytes_of_bits(&self, name: &str) -> Result<usize, ParseError> {
        match self.number(name)? {
            bits if bits % 8 == 0 => Ok(bits / 8),
            bits => Err(self.error(format!("{name} = {bits}: not whole bytes"))),
        }
    }

    /// The dimension k whose `len` is that of `bytes`.
    fn set(&self, bytes: &[u8], len: impl Fn(usize) -> usize) -> Result<usize, ParseError> {
        let set = (2..=4).find(|k| len(*k) == bytes.len());
        set.ok_or_else(|| self.error(format!("{} bytes fit no parameter set", bytes.len())))
    }
}

fn ek_len(k: usize) -> usize {
    384 * k + 32
}

fn dk_len(k: usize) -> usize {
    768 * k + 96
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let has = |name: &str| {
        text.lines().any(|line| line.split_once(" = ").is_some_and(|(key, _)| key == name))
    };
    if let Some(title) = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .find(|line| line.contains(" information"))
    {
        return cavp(path, text, title);
    }
    if has("count") && has("ss") {
        return nist_kat(path, text);
    }
    if has("dk") && has("K") {
        return cctv(path, text);
    }
    if !text.is_empty() && text.lines().all(|line| line.len() >= 1600 && !line.contains('=')) {
        return modulus(path, text);
    }
    Err(ParseError::Unknown { path: path.into() })
}

/// A record at each line that sets `last`, or one record for the whole file when `last` is empty.
fn records<'a>(path: &'a Path, text: &'a str, last: &str) -> Result<Vec<Record<'a>>, ParseError> {
    let (mut headers, mut fields) = (HashMap::new(), HashMap::new());
    let mut records = Vec::new();
    let (mut line, mut open) = (0, false);
    for (i, raw) in text.lines().enumerate() {
        line = i + 1;
        let trimmed = raw.trim();
        let inner = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if trimmed.is_empty()
            || trimmed.starts_with('#')
            || inner.is_some_and(|header| !header.contains('='))
        {
            continue;
        }
        let pair = inner.unwrap_or(trimmed).split_once('=');
        let (name, value) =
            pair.ok_or_else(|| ParseError::content(path, line, "not `name = value`"))?;
        let (name, value) = (name.trim(), value.trim());
        open = inner.is_none() && name != last;
        if inner.is_some() {
            headers.insert(name, value);
        }
        fields.insert(name, value);
        if name == last {
            let complete = std::mem::replace(&mut fields, headers.clone());
            records.push(Record { path, line, fields: complete });
        }
    }
    if last.is_empty() {
        records.push(Record { path, line, fields });
    } else if open {
        return Err(ParseError::content(path, line, format!("the file ends before {last}")));
    }
    Ok(records)
}

fn cavp(path: &Path, text: &str, title: &str) -> Result<Vec<Case>, ParseError> {
    let quoted = title.split('"').nth(1).unwrap_or_default();
    let (name, kind) = quoted.split_once(' ').unwrap_or((quoted, ""));
    let function: Function =
        name.parse().map_err(|message: String| ParseError::content(path, 1, message))?;
    let last = match function.family {
        Family::Sha3 => "MD",
        Family::Shake => "Output",
        _ => return Err(ParseError::Unknown { path: path.into() }),
    };
    let records = records(path, text, last)?;
    let mut cases = Vec::new();
    let mut chain = MonteChain::default();
    for record in &records {
        let op = match kind {
            "ShortMsg" | "LongMsg" | "VariableOut" => cavp_message(record, function, last)?,
            "Monte" => chain.next(record, function)?,
            other => return Err(record.error(format!("unknown kind {other:?}"))),
        };
        cases.push(Case { group: quoted.into(), id: format!("line {}", record.line), op });
    }
    Ok(cases)
}

fn cavp_message(record: &Record<'_>, function: Function, last: &str) -> Result<Op, ParseError> {
    let output = record.bytes(last)?;
    let len = record.bytes_of_bits(if record.fields.contains_key("Len") {
        "Len"
    } else {
        "Input Length"
    })?;
    let mut message = record.bytes("Msg")?;
    // Len = 0 stands with Msg = 00.
    if len == 0 && message == [0] {
        message.clear();
    }
    let out_len = record.bytes_of_bits(if last == "MD" { "L" } else { "Outputlen" })?;
    if message.len() != len || output.len() != out_len {
        return Err(record.error("a length does not fit its value"));
    }
    Ok(Op::Hash {
        input: HashInput::new(function, Message::Bytes(message), out_len),
        output,
        valid: true,
    })
}

/// The expected value of a count starts the next one.
#[derive(Default)]
struct MonteChain {
    previous: Option<Vec<u8>>,
}

impl MonteChain {
    fn next(&mut self, record: &Record<'_>, function: Function) -> Result<Op, ParseError> {
        let bits = function.bits;
        if function.family == Family::Sha3 {
            let output = record.bytes("MD")?;
            let seed =
                self.previous.replace(output.clone()).map_or_else(|| record.bytes("Seed"), Ok)?;
            return Ok(Op::Sha3Monte { bits, seed, output });
        }
        let least = record.number("Minimum Output Length (bits)")?.div_ceil(8);
        let range = (least, record.bytes_of_bits("Maximum Output Length (bits)")?);
        if range.0 > range.1 {
            return Err(record.error("the least output length is above the greatest"));
        }
        let output = record.bytes("Output")?;
        let (message, out_len) = match self.previous.replace(output.clone()) {
            Some(previous) => (previous.clone(), next_monte_length(&previous, range)),
            None => (record.bytes("Msg")?, range.1),
        };
        Ok(Op::ShakeMonte { bits, message, out_len, range, output })
    }
}

fn nist_kat(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let case = |record: &Record<'_>| {
        let pk = record.bytes("pk")?;
        let k = record.set(&pk, ek_len)?;
        let (sk, ct, ss) = (record.bytes("sk")?, record.bytes("ct")?, record.bytes("ss")?);
        let op = Op::NistKat { k, seed: record.bytes("seed")?, pk, sk, ct, ss };
        Ok(Case {
            group: format!("{} NIST KAT", set_name(k)),
            id: format!("count {}", record.number("count")?),
            op,
        })
    };
    records(path, text, "ss")?.iter().map(case).collect()
}

/// C2SP/CCTV strcmp (dk, c, K), and unluckysample, which has ek and m too. The latter's d and z are
/// for the key derivation of the draft, so key generation is not among the cases.
fn cctv(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let mut cases = Vec::new();
    for record in records(path, text, "")? {
        let dk = record.bytes("dk")?;
        let k = record.set(&dk, dk_len)?;
        let (c, secret) = (record.bytes("c")?, record.bytes("K")?);
        let mut push = |function: &str, op| {
            cases.push(Case {
                group: format!("{} {function}", set_name(k)),
                id: function.into(),
                op,
            });
        };
        if record.fields.contains_key("m") {
            let expected = Some((c.clone(), secret.clone()));
            push(
                "encapsulation",
                Op::Encap { k, ek: record.bytes("ek")?, m: record.bytes("m")?, expected },
            );
        }
        push(
            "decapsulation",
            Op::Decap { k, key: Key::Expanded(dk), ek: None, c, expected: Some(secret) },
        );
    }
    Ok(cases)
}

/// C2SP/CCTV modulus: a line is an encapsulation key with one coefficient out of range.
fn modulus(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let case = |(i, line): (usize, &str)| {
        let record = Record { path, line: i + 1, fields: HashMap::from([("ek", line.trim())]) };
        let ek = record.bytes("ek")?;
        let k = record.set(&ek, ek_len)?;
        let group = format!("{} encapsulationKeyCheck", set_name(k));
        Ok(Case { group, id: format!("line {}", i + 1), op: Op::EkCheck { k, ek, valid: false } })
    };
    text.lines().enumerate().map(case).collect()
}
