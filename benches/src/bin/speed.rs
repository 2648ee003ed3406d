//! The speed report, in BoringSSL's form.

use std::process::ExitCode;
use std::time::Duration;

use benches::kem::{self, Ours};
use benches::timing::{self, Measured};
use benches::{Operation, hash, host};
use clap::Parser;
use keccak::hazmat::Level;
use serde_json::json;

/// Runs a key exchange, then reports the speed of ML-KEM and of the hashes below it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Seconds for each operation
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Only operations whose line has this text in it; may be repeated
    #[arg(long, value_name = "SUBSTR")]
    filter: Vec<String>,
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
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number")?;
    let allowed = 0.001..=86_400.0;
    if allowed.contains(&value) { Ok(value) } else { Err(format!("not within {allowed:?}")) }
}

impl Args {
    fn selects(&self, operation: &Operation) -> bool {
        let label = operation.label();
        self.filter.is_empty() || self.filter.iter().any(|text| label.contains(text))
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
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
    let mut operations = kem::all_operations(level, &kem::csprng);
    operations.extend(hash::operations(level));
    operations.retain(|operation| args.selects(operation));
    if args.list {
        list(&operations, level);
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

fn report(args: &Args, level: Level, operations: &mut [Operation]) {
    let each = Duration::from_secs_f64(args.seconds);
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

/// How long one form runs before the next has its turn.
const TURN: Duration = Duration::from_millis(50);

/// Forms of Keccak and what they are; the first two are baselines.
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

fn forms(args: &Args) -> Vec<Form> {
    let mut forms = Vec::new();
    for (name, about) in FORMS {
        let Some(level) = Level::named(name) else {
            println!("form {name:?} is not available here: skipped");
            continue;
        };
        let mut operations = kem::all_operations(level, &kem::csprng);
        let composite = |name: &str| name == "generate + decap" || name == "parse + encap";
        operations.retain(|operation| composite(&operation.name) && args.selects(operation));
        let measured = vec![Measured::default(); operations.len()];
        forms.push(Form { name, about, operations, measured });
    }
    forms
}

fn before_after(args: &Args) {
    println!("{}; turns of {} ms in one process", host::header(), TURN.as_millis());
    let mut forms = forms(args);
    let (count, lines) = (forms.len(), forms.first().map_or(0, |form| form.operations.len()));
    let turn = TURN.min(Duration::from_secs_f64(args.seconds));
    let rounds = (args.seconds / turn.as_secs_f64()).round() as usize;
    let bar = host::progress(turn * (rounds * lines * count) as u32);
    for line in 0..lines {
        for round in 0..rounds {
            for turn_of in 0..count {
                // A different form begins each round, so that none always follows the same one.
                let form = &mut forms[(turn_of + round) % count];
                let operation = &mut form.operations[line];
                form.measured[line].add(timing::measure(turn, &mut operation.run, &mut |_| ()));
                bar.inc(turn.as_millis() as u64);
            }
        }
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
