//! Vectors that are not part of the project: `../shared/test-vectors` beside the workspace, or
//! where `TEST_VECTORS` says.

use std::path::{Path, PathBuf};

use keccak::hazmat::Level;

use crate::{formats, run};

/// The folder `name` of the shared vectors; `None`, said aloud, when they are not there.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TEST_VECTORS").map(PathBuf::from);
    let root = root
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/test-vectors"));
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/test-vectors not found");
    None
}

/// Run every case under `path` on every backend; panics at the first failure, and when the number
/// of cases is not `expected`.
pub fn check(path: &Path, expected: usize) {
    let sources = formats::find(path).expect("a readable folder");
    let load = |source: &PathBuf| formats::load(source).unwrap_or_else(|error| panic!("{error}"));
    let cases: Vec<_> = sources
        .iter()
        .flat_map(|source| load(source).into_iter().map(move |case| (source, case)))
        .collect();
    assert_eq!(cases.len(), expected, "cases under {}", path.display());
    for level in Level::available() {
        for (source, case) in &cases {
            let at = format!("{level}: {} {} {}", source.display(), case.group, case.id);
            run::run(case, level).unwrap_or_else(|failure| panic!("{at}: {failure}"));
        }
    }
}
