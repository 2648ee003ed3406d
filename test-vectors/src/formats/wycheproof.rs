//! Project Wycheproof: its four kinds of ML-KEM files, and MAC files for KMAC without
//! customization.

use std::path::Path;

use serde::Deserialize;

use super::ParseError;
use super::json::{self, Hex, Scalar};
use crate::case::{Case, HashInput, Key, Message, Op, set_named};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    algorithm: String,
    number_of_tests: usize,
    test_groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    r#type: String,
    parameter_set: Option<String>,
    tag_size: Option<usize>,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    tc_id: Scalar,
    result: String,
    seed: Option<Hex>,
    ek: Option<Hex>,
    dk: Option<Hex>,
    m: Option<Hex>,
    c: Option<Hex>,
    #[serde(rename = "K")]
    secret: Option<Hex>,
    key: Option<Hex>,
    msg: Option<Hex>,
    tag: Option<Hex>,
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let file: File = json::parse(path, text)?;
    let mut cases = Vec::new();
    for group in &file.test_groups {
        for test in &group.tests {
            let id = format!("tcId {}", test.tc_id.0);
            let error = |message| ParseError::content(path, 0, format!("{id}: {message}"));
            let op = op(&file.algorithm, group, test).map_err(error)?;
            let set = group.parameter_set.as_deref().unwrap_or(&file.algorithm);
            cases.push(Case { group: format!("{set} {}", group.r#type), id, op });
        }
    }
    if cases.len() == file.number_of_tests {
        return Ok(cases);
    }
    Err(ParseError::content(
        path,
        0,
        format!("{} tests, numberOfTests is {}", cases.len(), file.number_of_tests),
    ))
}

fn op(algorithm: &str, group: &Group, test: &Test) -> Result<Op, String> {
    let need = |field: &Option<Hex>, name: &str| {
        field.clone().map(|hex| hex.0).ok_or_else(|| format!("no {name}"))
    };
    let valid = match test.result.as_str() {
        "valid" => true,
        "invalid" => false,
        other => return Err(format!("result {other:?}")),
    };
    if group.r#type == "MacTest" {
        let bits = group.tag_size.ok_or("no tagSize")?;
        let message = Message::Bytes(need(&test.msg, "msg")?);
        let mut input = HashInput::new(algorithm.parse()?, message, bits / 8);
        input.key = need(&test.key, "key")?;
        return Ok(Op::Hash { input, output: need(&test.tag, "tag")?, valid });
    }
    let set = group.parameter_set.as_deref().ok_or("no parameterSet")?;
    let k = set_named(set).ok_or_else(|| format!("unknown parameter set {set:?}"))?;
    let decap = |key| -> Result<Op, String> {
        let expected = if valid { Some(need(&test.secret, "K")?) } else { None };
        Ok(Op::Decap {
            k,
            key,
            ek: test.ek.clone().map(|hex| hex.0),
            c: need(&test.c, "c")?,
            expected,
        })
    };
    match group.r#type.as_str() {
        "MLKEMTest" => decap(Key::Seed(need(&test.seed, "seed")?)),
        "MLKEMDecapsValidationTest" => decap(Key::Expanded(need(&test.dk, "dk")?)),
        "MLKEMKeyGen" if valid => Ok(Op::KeyGen {
            k,
            seed: need(&test.seed, "seed")?,
            ek: need(&test.ek, "ek")?,
            dk: need(&test.dk, "dk")?,
        }),
        "MLKEMEncapsTest" => {
            let expected =
                if valid { Some((need(&test.c, "c")?, need(&test.secret, "K")?)) } else { None };
            Ok(Op::Encap { k, ek: need(&test.ek, "ek")?, m: need(&test.m, "m")?, expected })
        }
        other => Err(format!("{other:?} with result {:?} is unknown", test.result)),
    }
}
