//! The `kat` binary: green on good files, red on everything else.

use std::path::{Path, PathBuf};
use std::process::Command;

use keccak::hazmat::Level;

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Whether it succeeded, and its output.
fn kat(arguments: &[&Path]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kat")).args(arguments).output();
    let output = output.expect("the binary runs");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn our_own_vectors_on_every_backend() {
    for level in Level::available() {
        let (success, output) =
            kat(&[Path::new("--backend"), Path::new(level.name()), &package("data")]);
        assert!(success && output.contains(", 0 failed  (backend"), "{level}: {output}");
    }
}

#[test]
fn anything_else_fails() {
    let (data, none) = (package("data"), package("no such file"));
    let folder = std::env::temp_dir().join(format!("test-vectors-kat-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let changed = folder.join("changed").with_extension("json");
    let empty = folder.join("empty").with_extension("json");
    let nothing = folder.join("nothing");
    std::fs::create_dir_all(&nothing).expect("a temporary folder");
    let text = std::fs::read_to_string(data.join("mlkem.json")).expect("a file of the project");
    let at = text.find("sharedSecret\":\"").expect("a secret") + 15;
    let digit = if &text[at..=at] == "0" { "1" } else { "0" };
    let text = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
    std::fs::write(&changed, text).expect("a file");
    std::fs::write(&empty, "{\"tests\": []}").expect("a file");

    let readme = package("README.md");
    let backend = [Path::new("--backend"), Path::new("nonsense"), &data];
    let runs: [&[&Path]; 8] = [
        &[],
        &[&none],
        &[&readme],
        &[&data, &readme],
        &[&changed],
        &[&empty],
        &[&nothing],
        &backend,
    ];
    let results = runs.map(kat);
    std::fs::remove_dir_all(&folder).expect("our own folder");
    for (run, (success, output)) in runs.iter().zip(results) {
        assert!(!success, "{run:?}: {output}");
    }
}
