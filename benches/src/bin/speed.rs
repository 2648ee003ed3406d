//! The speed report, in BoringSSL's form.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use benches::kem::{self, Keys, Ours};
use benches::timing::{self, Measured};
use benches::{Operation, among, hash, host, instructions, stages};
use clap::Parser;
use keccak::hazmat::Level;
use serde_json::json;

/// Runs a key exchange, then reports the speed of ML-KEM and of the hashes below it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Seconds for each operation: 2 if not given; for each stage and backend: 0.1
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    /// Only operations whose line has this text in it; may be repeated
    #[arg(long, value_name = "SUBSTR")]
    filter: Vec<String>,
    /// Only sets with one of these texts in their name, e.g. 768,SHAKE,Keccak
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Print one JSON array instead of lines
    #[arg(long)]
    json: bool,
    /// Run on this backend instead of the detected one
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// List operations and backends, and measure nothing
    #[arg(long, conflicts_with = "before_after")]
    list: bool,
    /// Compare the forms of Keccak under ML-KEM, in turn in short rounds: rolled (before), then the others (after)
    #[arg(long, conflicts_with_all = ["backend", "json"])]
    before_after: bool,
    /// Report the stages of ML-KEM one by one, and the permutation of 1, 2, 4 and 8 states, with a column for each backend
    #[arg(long, conflicts_with_all = ["list", "before_after"])]
    stages: bool,
    /// Count instructions: an emulator with the options to log instructions and system calls, and this program
    /// built for its machine. .ci/instructions passes the right ones
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["json", "list"])]
    instructions: Option<String>,
    /// Run each operation once between marks, for --instructions
    #[arg(long, hide = true)]
    marks: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number")?;
    let allowed = 0.001..=86_400.0;
    if allowed.contains(&value) { Ok(value) } else { Err(format!("not within {allowed:?}")) }
}

impl Args {
    fn selects(&self, set: &str, label: &str) -> bool {
        among(&self.sets, set) && among(&self.filter, label)
    }

    /// One stream of random bytes for each operation: for counts the same in every run.
    fn source(&self) -> impl Fn() -> kem::Source + 'static {
        let pool = self.marks.then(|| Rc::new(kem::random_pool()));
        move || pool.as_ref().map_or_else(kem::csprng, kem::stream)
    }

    fn keys(&self) -> Keys {
        if self.marks { Keys::FEW } else { Keys::MANY }
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.stages { 0.1 } else { 2.0 })
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(command) = &args.instructions {
        return instructions::report(command);
    }
    let level = match benches::level(args.backend.as_deref()) {
        Ok(level) => level,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    if !args.list {
        let line = exchange(level);
        // With --json, standard output is the array and nothing else.
        if args.json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }
    if args.before_after {
        before_after(&args);
        return ExitCode::SUCCESS;
    }
    if args.stages {
        report_stages(&args, &stages::levels(args.backend.as_ref().map(|_| level)));
        return ExitCode::SUCCESS;
    }
    let mut operations = kem::all_operations(level, &args.source(), args.keys(), &args.sets);
    operations.extend(hash::operations(level));
    operations.retain(|operation| args.selects(operation.set, &operation.label()));
    if args.list {
        list(&operations, level);
    } else if args.marks {
        mark(&mut operations, level.name());
    } else {
        report(&args, level, &mut operations);
    }
    ExitCode::SUCCESS
}

/// One real exchange: only encoded bytes pass between the two sides, and both secrets must be equal.
fn exchange(level: Level) -> String {
    use kem::Kem;
    let (kem, mut random) = (Ours::<3> { level }, kem::csprng());
    let (mut seed, mut m) = ([0; 64], [0; 32]);
    random(&mut seed);
    random(&mut m);
    let secret = kem.generate(&seed);
    let key = kem.encode_public(&secret);
    let key = key.as_ref();
    let (ciphertext, theirs) = kem.parse_encap(key, &m);
    let ciphertext = kem.ciphertext_bytes(&ciphertext);
    let ours = kem.decap(&secret, &kem.parse_ciphertext(&ciphertext));
    assert!(ours == theirs, "the two sides computed different secrets");
    format!(
        "ML-KEM-768 key exchange on backend {}: key of {} bytes, ciphertext of {} bytes, both sides have the same secret",
        level.name(),
        key.len(),
        ciphertext.len()
    )
}

fn list(operations: &[Operation], level: Level) {
    for operation in operations {
        println!("{}", operation.label());
    }
    for available in Level::available() {
        let mark = if available == level { " (used)" } else { "" };
        println!("backend {}{mark}", available.name());
    }
}

fn mark(operations: &mut [Operation], column: &str) {
    for operation in operations {
        instructions::mark(&operation.label(), column, &mut operation.run);
    }
}

fn report(args: &Args, level: Level, operations: &mut [Operation]) {
    let each = Duration::from_secs_f64(args.seconds());
    let bar = host::progress(each * operations.len() as u32);
    let mut objects = Vec::new();
    for (i, operation) in operations.iter_mut().enumerate() {
        let label = operation.label();
        bar.set_message(label.clone());
        let so_far = each * i as u32;
        let measured = timing::measure(each, &mut operation.run, &mut |time| {
            bar.set_position((so_far + time).as_millis() as u64);
        });
        if args.json {
            objects.push(json!({
                "description": label,
                "backend": level.name(),
                "numCalls": measured.calls,
                "microseconds": measured.time.as_micros() as u64,
                "opsPerSecond": measured.per_second(),
                "bytesPerCall": operation.bytes,
            }));
        } else {
            bar.suspend(|| println!("{}", timing::did_line(&label, &measured, operation.bytes)));
        }
    }
    bar.finish_and_clear();
    if args.json {
        println!("{:#}", serde_json::Value::from(objects));
    }
}

fn report_stages(args: &Args, levels: &[Level]) {
    let mut rows = stages::rows(levels, &args.source(), !args.marks, &args.sets);
    rows.retain(|row| args.selects(row.set, &row.label()));
    if args.marks {
        rows.iter_mut().for_each(stages::Row::mark);
        return;
    }
    let turn = Duration::from_secs_f64(args.seconds() / stages::ROUNDS as f64);
    let turns = stages::ROUNDS * levels.len() * rows.len();
    let bar = host::progress(turn * turns as u32);
    let mut done = 0;
    for row in &mut rows {
        bar.set_message(row.label());
        row.measure(turn, || {
            done += 1;
            bar.set_position((turn * done).as_millis() as u64);
        });
    }
    bar.finish_and_clear();
    if args.json {
        let objects: Vec<_> = rows.iter().flat_map(stages::Row::json).collect();
        println!("{:#}", serde_json::Value::from(objects));
        return;
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    let names = levels.iter().map(|level| level.name());
    table.set_header(["set", "stage"].into_iter().chain(names));
    for row in &rows {
        table.add_row(row.cells());
    }
    println!("{}; {} rounds, turns of {turn:?}", host::header(), stages::ROUNDS);
    println!("nanoseconds, minimum / median\n{table}");
}

/// How long one form runs before the next has its turn.
const TURN: Duration = Duration::from_millis(50);

/// Forms of Keccak and what they are; the first two are baselines. The detected backend comes on top.
const FORMS: [(&str, &str); 5] = [
    ("rolled", "loop over index and rotation tables, as written"),
    ("rolled-opaque", "the same loop kept rolled: tables hidden from the optimiser"),
    ("unrolled", "the same chain in place, unrolled by hand"),
    ("interleaved", "32-bit words, even and odd bits"),
    ("portable", "the fastest portable form"),
];

/// One form's operations, and what they have reached so far.
struct Form {
    name: &'static str,
    about: &'static str,
    operations: Vec<Operation>,
    measured: Vec<Measured>,
}

/// [`FORMS`], and the detected backend if it is none of them.
fn names(detected: Level) -> Vec<(&'static str, &'static str)> {
    let mut names = FORMS.to_vec();
    if FORMS.iter().all(|(name, _)| *name != detected.name()) {
        names.push((detected.name(), "detected"));
    }
    names
}

fn forms(args: &Args) -> Vec<Form> {
    let mut forms = Vec::new();
    for (name, about) in names(Level::detect()) {
        let Some(level) = Level::named(name) else {
            println!("form {name:?} is not available here: skipped");
            continue;
        };
        let mut operations = kem::all_operations(level, &args.source(), args.keys(), &args.sets);
        let composite = |name: &str| name == "generate + decap" || name == "parse + encap";
        if args.marks {
            operations.insert(0, hash::permutation(hash::permute_on(level)));
        }
        operations.retain(|operation| {
            (args.marks || composite(&operation.name))
                && args.selects(operation.set, &operation.label())
        });
        let measured = vec![Measured::default(); operations.len()];
        forms.push(Form { name, about, operations, measured });
    }
    forms
}

fn before_after(args: &Args) {
    let mut forms = forms(args);
    if args.marks {
        println!("{}", host::build());
        forms.iter_mut().for_each(|form| mark(&mut form.operations, form.name));
        return;
    }
    println!("{}; turns of {} ms in one process", host::header(), TURN.as_millis());
    let (count, lines) = (forms.len(), forms.first().map_or(0, |form| form.operations.len()));
    let turn = TURN.min(Duration::from_secs_f64(args.seconds()));
    let rounds = (args.seconds() / turn.as_secs_f64()).round() as usize;
    let bar = host::progress(turn * (rounds * lines * count) as u32);
    for line in 0..lines {
        timing::in_turns(rounds, count, |i| {
            let form = &mut forms[i];
            let operation = &mut form.operations[line];
            form.measured[line].add(timing::measure(turn, &mut operation.run, &mut |_| ()));
            bar.inc(turn.as_millis() as u64);
        });
    }
    bar.finish_and_clear();
    let (baselines, after): (Vec<_>, Vec<_>) =
        forms.iter().partition(|form| form.name.starts_with("rolled"));
    for before in baselines {
        print_comparison(before, &after);
    }
}

fn print_comparison(before: &Form, after: &[&Form]) {
    println!("\nBefore: {} ({})", before.name, before.about);
    for (operation, measured) in before.operations.iter().zip(&before.measured) {
        println!("{}", timing::did_line(&operation.label(), measured, None));
    }
    for form in after {
        println!("\nAfter: {} ({})", form.name, form.about);
        let lines = form.operations.iter().zip(&form.measured);
        for ((operation, measured), baseline) in lines.zip(&before.measured) {
            let line = timing::did_line(&operation.label(), measured, None);
            println!("{line} {}", timing::gain(baseline, measured));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detected_backend_comes_once() {
        let last = |level| names(level).last().copied();
        assert_eq!(names(Level::named("portable").expect("always there")), FORMS);
        for level in Level::available() {
            let expected = if FORMS.iter().any(|(name, _)| *name == level.name()) {
                FORMS[4]
            } else {
                (level.name(), "detected")
            };
            assert_eq!(last(level), Some(expected));
        }
    }

    #[test]
    fn arguments() {
        let args = |line: &str| Args::try_parse_from(line.split(' '));
        let stages =
            args("speed --stages --sets 768,Keccak --filter Ntt --json --backend portable");
        let stages = stages.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(stages.seconds(), 0.1);
        assert!(stages.selects("ML-KEM-768", "ML-KEM-768 Ntt"));
        assert!(!stages.selects("ML-KEM-512", "ML-KEM-512 Ntt"));
        assert!(!stages.selects("Keccak", "Keccak f1600 of 4"));
        assert_eq!(args("speed").map(|args| args.seconds()).ok(), Some(2.0));
        assert!(args("speed --stages --before-after").is_err());
        assert!(args("speed --seconds 0").is_err());
    }
}
