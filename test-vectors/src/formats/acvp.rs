//! NIST ACVP for ML-KEM: `prompt.json` and `expectedResults.json`, joined on tcId.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::json::{Hex, Scalar, parse};
use super::{ParseError, read};
use crate::case::{Case, Key, Op, set_named};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    mode: String,
    test_groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    parameter_set: Option<String>,
    function: Option<String>,
    /// Older files keep the key of a decapsulation group here.
    dk: Option<Hex>,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    tc_id: Scalar,
    d: Option<Hex>,
    z: Option<Hex>,
    m: Option<Hex>,
    ek: Option<Hex>,
    dk: Option<Hex>,
    c: Option<Hex>,
    k: Option<Hex>,
    test_passed: Option<Scalar>,
}

pub(super) fn load(folder: &Path) -> Result<Vec<Case>, ParseError> {
    let (prompt_path, results_path) =
        (folder.join("prompt.json"), folder.join("expectedResults.json"));
    let prompt: File = parse(&prompt_path, &read(&prompt_path)?)?;
    let results: File = parse(&results_path, &read(&results_path)?)?;
    let results = results.test_groups.into_iter().flat_map(|group| group.tests);
    let mut results: HashMap<String, Test> =
        results.map(|test| (test.tc_id.0.clone(), test)).collect();

    let mut cases = Vec::new();
    for group in &prompt.test_groups {
        for test in &group.tests {
            let id = &test.tc_id.0;
            let error = |message: String| {
                ParseError::content(&prompt_path, 0, format!("tcId {id}: {message}"))
            };
            let result = results.remove(id).ok_or_else(|| error("no expected result".into()))?;
            cases.push(case(&prompt.mode, group, test, result).map_err(error)?);
        }
    }
    match results.keys().next() {
        Some(id) => Err(ParseError::content(
            &results_path,
            0,
            format!("tcId {id}: not in the prompt, or there twice"),
        )),
        None => Ok(cases),
    }
}

fn case(mode: &str, group: &Group, prompt: &Test, result: Test) -> Result<Case, String> {
    let set = group.parameter_set.as_deref().ok_or("no parameterSet")?;
    let k = set_named(set).ok_or_else(|| format!("unknown parameter set {set:?}"))?;
    let function = group.function.as_deref().unwrap_or(mode);
    let need = |field: &Option<Hex>, name: &str| {
        field.clone().map(|hex| hex.0).ok_or_else(|| format!("no {name}"))
    };
    let dk = || need(&prompt.dk, "dk").or_else(|_| need(&group.dk, "dk"));
    let passed = || match result.test_passed.as_ref().map(|passed| passed.0.as_str()) {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        other => Err(format!("testPassed is {other:?}")),
    };
    let op = match function {
        "keyGen" => Op::KeyGen {
            k,
            seed: [need(&prompt.d, "d")?, need(&prompt.z, "z")?].concat(),
            ek: need(&result.ek, "ek")?,
            dk: need(&result.dk, "dk")?,
        },
        "encapsulation" => Op::Encap {
            k,
            ek: need(&prompt.ek, "ek")?,
            m: need(&prompt.m, "m")?,
            expected: Some((need(&result.c, "c")?, need(&result.k, "k")?)),
        },
        "decapsulation" => Op::Decap {
            k,
            key: Key::Expanded(dk()?),
            ek: None,
            c: need(&prompt.c, "c")?,
            expected: Some(need(&result.k, "k")?),
        },
        "encapsulationKeyCheck" => Op::EkCheck { k, ek: need(&prompt.ek, "ek")?, valid: passed()? },
        "decapsulationKeyCheck" => Op::DkCheck { k, dk: dk()?, valid: passed()? },
        other => return Err(format!("unknown function {other:?}")),
    };
    Ok(Case { group: format!("{set} {function}"), id: format!("tcId {}", prompt.tc_id.0), op })
}
