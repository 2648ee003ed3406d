//! Vector files: finding them, recognising them by content, and parsing each format into cases.

mod acvp;
mod json;
mod own;
mod rsp;
mod samples;
mod wycheproof;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::case::Case;

/// Why a file was not understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// It could not be read or unpacked.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is not JSON, or not of the expected shape.
    #[error("{}:{}:{}: {source}", path.display(), source.line(), source.column())]
    Json {
        /// The file.
        path: PathBuf,
        /// The reason, with line and column.
        source: serde_json::Error,
    },
    /// A line of text, or a case of a JSON file (its number is then unknown and 0), does not hold
    /// what it should.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The reason.
        message: String,
    },
    /// No format has this content.
    #[error("{}: unknown format", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
}

impl ParseError {
    fn content(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::Content { path: path.into(), line, message: message.into() }
    }
}

/// The sources under `path`, sorted: files with an extension of a vector format, and ACVP folders,
/// which hold `prompt.json` and `expectedResults.json` and count as one source with all that lies
/// in them. A path that is a file is a source whatever its name.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, ParseError> {
    let is_acvp = |folder: &Path| {
        folder.join("prompt.json").exists() && folder.join("expectedResults.json").exists()
    };
    if path.is_file() {
        let parent = path.parent().unwrap_or(Path::new(""));
        let of_acvp = path.ends_with("prompt.json") && is_acvp(parent);
        return Ok(vec![if of_acvp { parent.into() } else { path.into() }]);
    }
    if is_acvp(path) {
        return Ok(vec![path.into()]);
    }
    let io = |source| ParseError::Io { path: path.into(), source };
    let entries = fs::read_dir(path).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(io)?;
    entries.sort();
    let mut sources = Vec::new();
    for entry in entries {
        let extension =
            entry.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if entry.is_dir() || ["json", "rsp", "txt", "gz"].contains(&extension) {
            sources.extend(find(&entry)?);
        }
    }
    Ok(sources)
}

/// The cases of one source.
pub fn load(path: &Path) -> Result<Vec<Case>, ParseError> {
    if path.is_dir() {
        return acvp::load(path);
    }
    parse(path, &read(path)?)
}

/// The cases of a text; `path` is for the messages only.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Case>, ParseError> {
    if text.trim_start().starts_with('{') {
        let head: json::Head = json::parse(path, text)?;
        return match head {
            json::Head { schema: Some(_), test_groups: Some(_), .. } => {
                wycheproof::parse(path, text)
            }
            json::Head { test_groups: None, tests: Some(_), .. } => samples::parse(path, text),
            json::Head { mlkem: Some(_), .. } => own::parse(path, text),
            json::Head { .. } => Err(ParseError::Unknown { path: path.into() }),
        };
    }
    rsp::parse(path, text)
}

fn read(path: &Path) -> Result<String, ParseError> {
    let io = |source| ParseError::Io { path: path.into(), source };
    let mut bytes = fs::read(path).map_err(io)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).map_err(io)?;
        bytes = unpacked;
    }
    String::from_utf8(bytes).map_err(|_| ParseError::Unknown { path: path.into() })
}
