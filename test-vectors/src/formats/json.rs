//! What the JSON formats share.

use std::path::Path;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::ParseError;

/// The members that tell the formats apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head {
    pub(super) schema: Option<IgnoredAny>,
    pub(super) test_groups: Option<IgnoredAny>,
    pub(super) tests: Option<IgnoredAny>,
    pub(super) mlkem: Option<IgnoredAny>,
}

pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(|source| ParseError::Json { path: path.into(), source })
}

/// A string of hex digits of either case.
#[derive(Clone, Debug, Default)]
pub(super) struct Hex(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex::decode(String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

/// A number, a bool or a string, as text in lower case: files of one format differ in this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match value {
            serde_json::Value::String(text) => Ok(Self(text.to_lowercase())),
            serde_json::Value::Number(_) | serde_json::Value::Bool(_) => {
                Ok(Self(value.to_string()))
            }
            _ => Err(D::Error::custom("expected a string, a number or a bool")),
        }
    }
}
