//! Runs vector files through the library and reports what passed. Fails on any failed case, any
//! file not understood, and when there was nothing to run.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keccak::Sha3_256;
use keccak::hazmat::Level;
use test_vectors::case::{Case, set_name};
use test_vectors::{digests, formats, run};

/// Run test vectors (ACVP, Wycheproof, NIST KAT, CAVP, SP 800-185, RFC 9861, CCTV, and our own)
/// through the library.
#[derive(Parser)]
struct Arguments {
    /// Files, or folders to walk; a folder with prompt.json and expectedResults.json is one ACVP
    /// source.
    paths: Vec<PathBuf>,
    /// Name of a backend [default: what the library would choose].
    #[arg(long)]
    backend: Option<String>,
    /// Also check the accumulated digests of this many tests for each set: 100, 10000 or 1000000.
    #[arg(long, value_name = "TESTS")]
    accumulated: Option<usize>,
    /// Also hash 4 GiB with SHA3-256, in calls of 1 and of 2^32 - 1 bytes.
    #[arg(long)]
    four_gib: bool,
    /// Print every failed case in full, not only the first of each group.
    #[arg(long)]
    all: bool,
}

/// What has been counted so far.
struct Report {
    passed: usize,
    failed: usize,
    all: bool,
    bar: ProgressBar,
}

impl Report {
    fn line(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }

    /// One failure that is not of a case.
    fn fail(&mut self, text: &str) {
        self.failed += 1;
        self.bar.suspend(|| eprintln!("error: {text}"));
    }

    fn check(&mut self, what: &str, ours: &str, expected: &str) {
        if ours == expected {
            self.passed += 1;
            self.line(&format!("passed  {what}"));
        } else {
            self.fail(&format!("{what}: {ours}, expected {expected}"));
        }
    }

    /// Run the cases of one source and print a line for each of its groups.
    fn source(&mut self, path: &Path, cases: &[Case], level: Level) {
        let mut groups: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
        self.bar.inc_length(cases.len() as u64);
        for case in cases {
            let (passed, failures) = groups.entry(&case.group).or_default();
            match run::run(case, level) {
                Ok(()) => *passed += 1,
                Err(failure) => failures.push(format!("        {}: {failure}", case.id)),
            }
            self.bar.inc(1);
        }
        for (group, (passed, failures)) in groups {
            self.passed += passed;
            self.failed += failures.len();
            let (path, failed) = (path.display(), failures.len());
            self.line(&format!("{passed} passed, {failed} failed  {path}  {group}"));
            for failure in failures.iter().take(if self.all { usize::MAX } else { 1 }) {
                let cut = if self.all { failure } else { failure.get(..200).unwrap_or(failure) };
                self.line(cut);
            }
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = match arguments.backend.as_deref() {
        None => Level::detect(),
        Some(name) => match Level::named(name) {
            Some(level) => level,
            None => {
                let names: Vec<&str> = Level::available().map(Level::name).collect();
                eprintln!("error: no backend {name:?} here; there are {}", names.join(", "));
                return ExitCode::FAILURE;
            }
        },
    };
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(0), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut report = Report { passed: 0, failed: 0, all: arguments.all, bar };

    for path in &arguments.paths {
        files(path, level, &mut report);
    }
    if let Some(tests) = arguments.accumulated {
        accumulated(tests, level, &mut report);
    }
    if arguments.four_gib {
        four_gib(level, &mut report);
    }
    report.bar.finish_and_clear();
    println!("{} passed, {} failed  (backend {level})", report.passed, report.failed);
    if report.passed + report.failed == 0 {
        eprintln!("error: no cases were run");
    }
    if report.failed == 0 && report.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A folder without a source in it is as wrong as a file that is not understood.
fn files(path: &Path, level: Level, report: &mut Report) {
    let sources = match formats::find(path) {
        Ok(sources) => sources,
        Err(error) => return report.fail(&error.to_string()),
    };
    if sources.is_empty() {
        report.fail(&format!("{}: no vector files", path.display()));
    }
    for source in sources {
        match formats::load(&source) {
            Ok(cases) if cases.is_empty() => {
                report.fail(&format!("{}: no cases", source.display()))
            }
            Ok(cases) => report.source(&source, &cases, level),
            Err(error) => report.fail(&error.to_string()),
        }
    }
}

fn accumulated(tests: usize, level: Level, report: &mut Report) {
    let rows = digests::ACCUMULATED.iter().filter(|row| row.1 == tests);
    if rows.clone().count() == 0 {
        report.fail(&format!("no accumulated digest of {tests} tests is known"));
    }
    for (k, _, without_dk, with_dk) in rows {
        report.bar.inc_length(tests as u64);
        let tick = || report.bar.inc(1);
        let ours = digests::accumulated(*k, level, tests, tick);
        let what = format!("{} accumulated over {tests} tests", set_name(*k));
        report.check(&format!("{what}, without dk"), &ours.0, without_dk);
        report.check(&format!("{what}, with dk"), &ours.1, with_dk);
    }
}

/// The second call is the one whose length, added to what the sponge holds, does not fit 32 bits
/// (CVE-2022-37454).
fn four_gib(level: Level, report: &mut Report) {
    /// SHA3-256 of 2^32 zero bytes, computed with OpenSSL 3.
    const EXPECTED: &str = "41beb40a3f03332c55d7f33ec8e751b3dd86115193a2a7ac60fec69669b2b371";
    let zeros = vec![0; u32::MAX as usize];
    let mut sha3 = Sha3_256::new_on(level);
    sha3.update(&zeros[..1]);
    sha3.update(&zeros);
    report.check("SHA3-256 of 4 GiB", &hex::encode(sha3.finalize()), EXPECTED);
}
