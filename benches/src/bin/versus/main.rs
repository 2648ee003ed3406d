//! Ours against the peers: interleaved rounds in one process, the same inputs for all, checked first.

mod check;
#[cfg(feature = "peers")]
mod foreign;
mod hashes;
#[cfg(feature = "peer-oqs")]
mod oqs;
mod peers;
#[cfg(feature = "peer-rscrypto")]
mod rscrypto;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use benches::kem::{Inputs, Kem, Keys, Maker, Ours};
use benches::{Operation, among, host, instructions, kem, timing};
use clap::Parser;
use keccak::hazmat::Level;
use serde_json::{Value, json};

/// Measures ML-KEM and Keccak of this workspace against other crates.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Rounds; in each, every implementation has its turn
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Milliseconds of one turn
    #[arg(long, default_value_t = 1.0)]
    turn: f64,
    /// Run ours on this backend instead of the detected one
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Only sets with one of these texts in their name, e.g. 768,SHAKE
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Only operations with one of these texts in their name, e.g. keygen,decap
    #[arg(long, value_delimiter = ',')]
    ops: Vec<String>,
    /// Only peers with one of these texts in their name
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Print one JSON array instead of the table
    #[arg(long)]
    json: bool,
    /// Count instructions: an emulator with the options to log instructions and system calls, and this program
    /// built for its machine. .ci/instructions passes the right ones
    #[arg(long, value_name = "COMMAND", conflicts_with = "json")]
    instructions: Option<String>,
    /// Run each operation once between marks, for --instructions
    #[arg(long, hide = true)]
    marks: bool,
}

/// One implementation of one operation.
struct Candidate {
    operation: Operation,
    implementation: &'static str,
    backend: &'static str,
    randomness: &'static str,
    batch: usize,
    samples: Vec<f64>,
}

impl Candidate {
    fn new(
        operation: Operation,
        implementation: &'static str,
        backend: &'static str,
        randomness: &'static str,
    ) -> Self {
        Self { operation, implementation, backend, randomness, batch: 1, samples: Vec::new() }
    }

    fn mark(&mut self) {
        let column = format!("{}, {}", self.implementation, self.backend);
        instructions::mark(&self.operation.label(), &column, &mut self.operation.run);
    }

    fn is_ours(&self) -> bool {
        ["kyber", "keccak"].contains(&self.implementation)
    }
}

/// Why the program stops: an implementation that disagrees with ours.
type Checked = Result<(), String>;

/// The peers with a feature of their own, and whether they are built in.
const OPTIONAL: [(&str, &str, bool); 5] = [
    ("aws-lc-rs", "peers", cfg!(feature = "peers")),
    ("graviola", "peers", cfg!(feature = "peers")),
    ("pqcrypto-mlkem", "peers", cfg!(feature = "peers")),
    ("oqs", "peer-oqs", cfg!(feature = "peer-oqs")),
    ("rscrypto", "peer-rscrypto", cfg!(feature = "peer-rscrypto")),
];

/// Their types for one parameter set: a where clause cannot depend on a feature.
trait Optional {
    #[cfg(feature = "peers")]
    type AwsLc: Kem + Default;
    #[cfg(feature = "peers")]
    type PqCrypto: Kem + Default;
    #[cfg(feature = "peer-rscrypto")]
    type RsCrypto: Kem + Default;
    #[cfg(feature = "peer-rscrypto")]
    type RsCryptoPrepared: Kem + Default;
}

macro_rules! optional {
    ($($k:literal)*) => {$(
        impl Optional for Ours<$k> {
            #[cfg(feature = "peers")]
            type AwsLc = foreign::AwsLc<$k>;
            #[cfg(feature = "peers")]
            type PqCrypto = foreign::PqCrypto<$k>;
            #[cfg(feature = "peer-rscrypto")]
            type RsCrypto = rscrypto::RsCrypto<$k>;
            #[cfg(feature = "peer-rscrypto")]
            type RsCryptoPrepared = rscrypto::RsCryptoPrepared<$k>;
        }
    )*};
}
optional!(2 3 4);

/// Collects the candidates that the arguments select, after their check.
struct Line {
    args: Args,
    level: Level,
    random: Rc<Vec<u8>>,
    candidates: Vec<Candidate>,
}

impl Line {
    fn note(&self, text: &str) {
        eprintln!("note: {text}");
    }

    fn add(&mut self, candidate: Candidate) {
        if among(&self.args.ops, &candidate.operation.name) {
            self.candidates.push(candidate);
        }
    }

    fn kem<T: Kem, M: Maker>(&mut self, kem: T, ours: &M, inputs: &Rc<Inputs>) -> Checked {
        if T::NAME != M::NAME && !among(&self.args.peers, T::NAME) {
            return Ok(());
        }
        check::kem(&kem, ours, inputs)
            .map_err(|what| format!("{} ({}): {what}", T::NAME, kem.backend()))?;
        let (kem, pool) = (Rc::new(kem), self.random.clone());
        for operation in kem::operations(&kem, inputs, &|| kem::stream(&pool)) {
            let seeded = match operation.name.as_str() {
                "keygen" | "generate + decap" => Some(T::SEEDED_KEYGEN),
                "encap" | "parse + encap" => Some(T::SEEDED_ENCAP),
                _ => None,
            };
            let randomness = match seeded {
                Some(true) => "deterministic entry",
                Some(false) => "own generator",
                None => "none",
            };
            self.add(Candidate::new(operation, T::NAME, kem.backend(), randomness));
        }
        Ok(())
    }

    fn set<const K: usize>(&mut self) -> Checked
    where
        Ours<K>: Maker,
        peers::MlKem<K>: Kem,
        peers::Libcrux<K>: Kem,
        peers::LibcruxPortable<K>: Kem,
        peers::LibcruxUnpacked<K>: Kem,
        peers::Fips203<K>: Kem,
        Ours<K>: Optional,
    {
        let ours = Ours::<K> { level: self.level };
        if !among(&self.args.sets, <Ours<K> as Maker>::SET) {
            return Ok(());
        }
        let keys = if self.args.marks { Keys::FEW } else { Keys::MANY };
        let inputs = Rc::new(Inputs::new(&ours, &mut kem::stream(&self.random), keys));
        self.kem(ours, &ours, &inputs)?;
        #[cfg(feature = "peers")]
        self.kem(<Ours<K> as Optional>::AwsLc::default(), &ours, &inputs)?;
        self.kem(peers::Libcrux::<K>, &ours, &inputs)?;
        if peers::LibcruxUnpacked::<K>::is_supported() {
            self.kem(peers::LibcruxUnpacked::<K>, &ours, &inputs)?;
        } else {
            self.note("libcrux-ml-kem (avx2, unpacked keys): no AVX2 here, skipped");
        }
        self.kem(peers::LibcruxPortable::<K>, &ours, &inputs)?;
        #[cfg(feature = "peers")]
        if K != 3 {
            self.note(&format!("graviola has ML-KEM-768 only: skipped for {}", inputs.set));
        } else if !graviola::util::is_cpu_supported() {
            self.note("graviola does not support this CPU: skipped");
        } else {
            self.kem(foreign::Graviola, &ours, &inputs)?;
        }
        self.kem(peers::MlKem::<K>, &ours, &inputs)?;
        self.kem(peers::Fips203::<K>, &ours, &inputs)?;
        #[cfg(feature = "peers")]
        self.kem(<Ours<K> as Optional>::PqCrypto::default(), &ours, &inputs)?;
        #[cfg(feature = "peer-oqs")]
        self.kem(oqs::Oqs::<K>::new(), &ours, &inputs)?;
        #[cfg(feature = "peer-rscrypto")]
        {
            self.kem(<Ours<K> as Optional>::RsCrypto::default(), &ours, &inputs)?;
            self.kem(<Ours<K> as Optional>::RsCryptoPrepared::default(), &ours, &inputs)?;
        }
        Ok(())
    }

    fn note_missing(&self) {
        for (peer, feature, built) in OPTIONAL {
            if !built && among(&self.args.peers, peer) {
                self.note(&format!("{peer} was not built in: --features {feature}"));
            }
        }
    }
}

fn collect(args: Args, level: Level) -> Result<Line, String> {
    let mut line =
        Line { args, level, random: Rc::new(kem::random_pool()), candidates: Vec::new() };
    line.note_missing();
    line.set::<2>()?;
    line.set::<3>()?;
    line.set::<4>()?;
    hashes::add(&mut line)?;
    Ok(line)
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
    let line = match collect(args, level) {
        Ok(line) => line,
        Err(message) => {
            eprintln!("error: a result differs from ours: {message}");
            return ExitCode::FAILURE;
        }
    };
    let Line { args, mut candidates, .. } = line;
    if args.marks {
        println!("all results agree; {}", host::build());
        candidates.iter_mut().for_each(Candidate::mark);
        return ExitCode::SUCCESS;
    }
    eprintln!("{}; ours on backend {}", host::header(), level.name());
    eprintln!("all results agree; {} rounds, turns of {} ms", args.rounds, args.turn);
    run(&args, &mut candidates);
    let rows = rows(&candidates);
    if args.json {
        println!("{:#}", Value::from(rows.iter().map(Row::json).collect::<Vec<_>>()));
    } else {
        print_table(&rows);
    }
    ExitCode::SUCCESS
}

/// What is compared with each other: same set, same operation.
fn group_of(candidate: &Candidate) -> (&'static str, String) {
    (candidate.operation.set, candidate.operation.name.clone())
}

fn run(args: &Args, candidates: &mut [Candidate]) {
    let turn = Duration::from_secs_f64(args.turn.clamp(0.001, 1000.0) / 1000.0);
    let bar = host::progress(turn * args.rounds * candidates.len() as u32);
    let mut groups: BTreeMap<_, Vec<&mut Candidate>> = BTreeMap::new();
    for candidate in candidates {
        groups.entry(group_of(candidate)).or_default().push(candidate);
    }
    for ((set, name), group) in &mut groups {
        bar.set_message(format!("{set} {name}"));
        for candidate in group.iter_mut() {
            candidate.batch = timing::calibrate(turn, &mut candidate.operation.run);
        }
        timing::in_turns(args.rounds as usize, group.len(), |i| {
            let candidate = &mut *group[i];
            let start = Instant::now();
            (candidate.operation.run)(candidate.batch);
            let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
            candidate.samples.push(nanoseconds / candidate.batch as f64);
            bar.inc(turn.as_millis() as u64);
        });
    }
    bar.finish_and_clear();
}

/// One candidate's figures; ratios are the peer's time over ours.
struct Row<'a> {
    candidate: &'a Candidate,
    minimum: f64,
    median: f64,
    ratios: (f64, f64),
}

impl Row<'_> {
    fn json(&self) -> Value {
        json!({
            "set": self.candidate.operation.set,
            "op": self.candidate.operation.name,
            "impl": self.candidate.implementation,
            "backend": self.candidate.backend,
            "randomness": self.candidate.randomness,
            "min_ns": self.minimum,
            "median_ns": self.median,
            "ratio_min": self.ratios.0,
            "ratio_median": self.ratios.1,
            "rounds": self.candidate.samples.len(),
        })
    }
}

fn rows(candidates: &[Candidate]) -> Vec<Row<'_>> {
    let figures = |candidate: &Candidate| {
        let samples = &candidate.samples;
        (timing::minimum(samples), timing::median(samples))
    };
    let ours: BTreeMap<_, _> = candidates
        .iter()
        .filter(|candidate| candidate.is_ours())
        .map(|candidate| (group_of(candidate), figures(candidate)))
        .collect();
    let row = |candidate| {
        let (minimum, median) = figures(candidate);
        let of_ours = ours[&group_of(candidate)];
        Row { candidate, minimum, median, ratios: (minimum / of_ours.0, median / of_ours.1) }
    };
    let mut rows: Vec<_> = candidates.iter().map(row).collect();
    // Groups in the order in which they were added, and as added within a group.
    let mut order: Vec<_> = candidates.iter().map(group_of).collect();
    order.dedup();
    rows.sort_by_key(|row| order.iter().position(|group| *group == group_of(row.candidate)));
    rows
}

fn print_table(rows: &[Row<'_>]) {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "set",
        "operation",
        "implementation",
        "backend",
        "randomness",
        "min ns",
        "median ns",
        "x min",
        "x median",
    ]);
    for row in rows {
        let candidate = row.candidate;
        table.add_row([
            candidate.operation.set,
            &candidate.operation.name,
            candidate.implementation,
            candidate.backend,
            candidate.randomness,
            &format!("{:.0}", row.minimum),
            &format!("{:.0}", row.median),
            &format!("{:.2}", row.ratios.0),
            &format!("{:.2}", row.ratios.1),
        ]);
    }
    println!("{table}");
}
