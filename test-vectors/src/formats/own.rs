//! The ML-KEM file that this package writes itself (`known`): a case is a seed, a message, and all
//! that follows.

use std::path::Path;

use serde::Deserialize;

use super::ParseError;
use super::json::{self, Hex};
use crate::case::{Case, Key, Op, set_named};

#[derive(Deserialize)]
struct File {
    mlkem: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Test {
    parameter_set: String,
    seed: Hex,
    m: Hex,
    ek: Hex,
    dk: Hex,
    c: Hex,
    shared_secret: Hex,
    /// This bit of c changed makes a ciphertext that is rejected with this secret.
    flipped_bit: usize,
    rejected_secret: Hex,
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    let file: File = json::parse(path, text)?;
    let mut cases = Vec::new();
    for (i, test) in file.mlkem.into_iter().enumerate() {
        let error = |message: &str| ParseError::content(path, 0, format!("test {i}: {message}"));
        let set = test.parameter_set;
        let k = set_named(&set).ok_or_else(|| error("unknown parameter set"))?;
        let mut push = |function: &str, op| {
            cases.push(Case { group: format!("{set} {function}"), id: format!("test {i}"), op });
        };
        let mut flipped = test.c.0.clone();
        let byte = flipped.get_mut(test.flipped_bit / 8).ok_or_else(|| error("no such bit"))?;
        *byte ^= 1 << (test.flipped_bit % 8);
        let key = || Key::Expanded(test.dk.0.clone());
        let (ek, c) = (test.ek.0, test.c.0);
        let (seed, dk) = (test.seed.0, test.dk.0.clone());
        push("keyGen", Op::KeyGen { k, seed, ek: ek.clone(), dk });
        let expected = Some((c.clone(), test.shared_secret.0.clone()));
        push("encapsulation", Op::Encap { k, ek, m: test.m.0, expected });
        let expected = Some(test.shared_secret.0);
        push("decapsulation", Op::Decap { k, key: key(), ek: None, c, expected });
        let expected = Some(test.rejected_secret.0);
        push("rejection", Op::Decap { k, key: key(), ek: None, c: flipped, expected });
    }
    Ok(cases)
}
