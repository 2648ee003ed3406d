//! Published samples as one JSON list: NIST's for SP 800-185, RFC 9861's for TurboSHAKE and
//! KangarooTwelve.

use std::path::Path;

use serde::Deserialize;

use super::ParseError;
use super::json::{self, Hex};
use crate::case::{Case, Family, HashInput, Message, Op};

/// More than any sample has, and few enough to hold in memory.
const MOST_BYTES: usize = 1 << 28;

#[derive(Deserialize)]
struct File {
    tests: Vec<Sample>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sample {
    function: String,
    #[serde(default)]
    msg: Data,
    #[serde(default)]
    key: Hex,
    #[serde(default)]
    n: String,
    #[serde(default)]
    s: String,
    custom: Option<Data>,
    #[serde(default)]
    tuple: Vec<Hex>,
    #[serde(default)]
    block_size: usize,
    #[serde(default)]
    domain: u8,
    out_len: usize,
    last_bytes: Option<usize>,
    output: Hex,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Data {
    Plain(Hex),
    Object { hex: Hex },
    Pattern { ptn: usize },
}

impl Default for Data {
    fn default() -> Self {
        Self::Plain(Hex::default())
    }
}

impl From<Data> for Message {
    fn from(data: Data) -> Self {
        match data {
            Data::Plain(hex) | Data::Object { hex } => Self::Bytes(hex.0),
            Data::Pattern { ptn } => Self::Pattern(ptn),
        }
    }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let file: File = json::parse(path, text)?;
    let cases = file.tests.into_iter().enumerate().map(|(i, sample)| {
        let error = |message| ParseError::content(path, 0, format!("test {i}: {message}"));
        let group = sample.function.clone();
        Ok(Case { group, id: format!("test {i}"), op: op(sample).map_err(error)? })
    });
    cases.collect()
}

fn op(sample: Sample) -> Result<Op, String> {
    let mut input = HashInput::new(sample.function.parse()?, sample.msg.into(), sample.out_len);
    input.key = sample.key.0;
    input.name = sample.n.into_bytes();
    input.customization =
        sample.custom.map_or(Message::Bytes(sample.s.into_bytes()), Message::from);
    input.tuple = sample.tuple.into_iter().map(|hex| hex.0).collect();
    input.block_size = sample.block_size;
    input.domain = sample.domain;
    input.last_bytes = sample.last_bytes.unwrap_or(sample.out_len);
    if input.out_len > MOST_BYTES || sample.output.0.len() != input.last_bytes {
        return Err(format!("output of {} bytes", sample.output.0.len()));
    }
    if matches!(input.message, Message::Pattern(len) if len > MOST_BYTES) {
        return Err("the message is too long".into());
    }
    if input.function.family == Family::TurboShake && !matches!(input.domain, 0x01..=0x7f) {
        return Err(format!("domain {:#x}", input.domain));
    }
    Ok(Op::Hash { input, output: sample.output.0, valid: true })
}
