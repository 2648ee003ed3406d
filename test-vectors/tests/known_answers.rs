//! The project's own vectors: as the reference writes them today, right on every backend, and able
//! to fail.

use std::path::Path;

use keccak::hazmat::Level;
use test_vectors::case::Case;
use test_vectors::{formats, known, run::run};

fn parse(name: &str, text: &str) -> Vec<Case> {
    formats::parse(Path::new(name), text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn files_are_what_the_reference_writes() {
    for (name, content) in known::files() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
        let file = std::fs::read_to_string(path).expect("a file of the project");
        assert!(
            file == content,
            "data/{name} is not what `cargo run -p test-vectors --bin generate` writes"
        );
    }
}

#[test]
fn every_backend_gives_them() {
    for (name, content) in known::files() {
        let cases = parse(name, &content);
        assert!(!cases.is_empty());
        for level in Level::available() {
            for case in &cases {
                let at = format!("{level}: {name} {} {}", case.group, case.id);
                run(case, level).unwrap_or_else(|failure| panic!("{at}: {failure}"));
            }
        }
    }
}

/// One hex digit changed in any value must be seen by some case.
#[test]
fn a_changed_digit_is_seen() {
    let level = Level::detect();
    for (name, content) in known::files() {
        let header = content.lines().take(3).collect::<Vec<_>>().join("\n");
        for line in content.lines().filter(|line| line.starts_with("    {")) {
            let values =
                ["output", "key", "seed", "m", "ek", "dk", "c", "sharedSecret", "rejectedSecret"];
            for value in values.map(|value| format!("\"{value}\":\"")) {
                let Some(at) = line.find(&value).map(|at| at + value.len()) else { continue };
                let digit = if &line[at..=at] == "0" { "1" } else { "0" };
                let changed =
                    format!("{}{digit}{}", &line[..at], line[at + 1..].trim_end_matches(','));
                let cases = parse(name, &format!("{header}\n{changed}]}}"));
                assert!(
                    cases.iter().any(|case| run(case, level).is_err()),
                    "{name}: {value} in {line}"
                );
            }
        }
    }
}
