//! The parts that operations are made of, each alone, on every backend side by side: a regression's address.

use std::hint::black_box;
use std::time::{Duration, Instant};

use keccak::hazmat::Level;
use keccak::sponge::{State, permute};
use kyber::hazmat::{Stage, StageBench};
use serde_json::{Value, json};

use crate::kem::{Maker, Ours, Source};
use crate::{among, instructions, timing};

/// Rounds; in each, every backend has its turn.
pub const ROUNDS: usize = 200;

/// Calls that the clock is read around where each has an input of its own: enough that reading it and the
/// caches that drawing inputs has filled do not show.
const FRESH: usize = 64;

/// At the start of a page: the place within one changes a small stage up to fourfold, and the heap would
/// choose another in every run.
#[repr(align(4096))]
struct Paged<T>(T);

/// The backends to compare where none is named; the other forms are kept for comparison only.
const BACKENDS: [&str; 6] = ["portable", "avx2", "avx512", "neon", "neon-sha3", "simd128"];

/// Three digits or more.
fn short(nanoseconds: f64) -> String {
    let decimals = if nanoseconds < 9.995 { 2 } else { usize::from(nanoseconds < 99.95) };
    format!("{nanoseconds:.decimals$}")
}

/// One backend by itself, or those worth comparing that this machine has.
pub fn levels(only: Option<Level>) -> Vec<Level> {
    match only {
        Some(level) => vec![level],
        None => Level::available().filter(|level| BACKENDS.contains(&level.name())).collect(),
    }
}

/// Runs it about that many times, and gives the calls made and their time.
type Run = Box<dyn FnMut(usize) -> timing::Measured>;

/// A stage of one parameter set, or a permutation.
pub struct Row {
    /// The parameter set, or `Keccak`.
    pub set: &'static str,
    /// The stage.
    pub name: String,
    columns: Vec<Column>,
}

/// A stage on one backend.
struct Column {
    level: Level,
    run: Run,
    /// Nanoseconds of a call, one figure a round.
    samples: Vec<f64>,
}

impl Row {
    fn new(set: &'static str, name: String, runs: impl Iterator<Item = (Level, Run)>) -> Self {
        let column = |(level, run)| Column { level, run, samples: Vec::new() };
        Self { set, name, columns: runs.map(column).collect() }
    }

    /// Set and stage.
    pub fn label(&self) -> String {
        format!("{} {}", self.set, self.name)
    }

    /// Measures [`ROUNDS`] rounds, each backend for `turn` in each; `tick` is called after each turn.
    pub fn measure(&mut self, turn: Duration, mut tick: impl FnMut()) {
        let batch_of = |column: &mut Column| {
            timing::calibrate(turn, &mut |count| {
                (column.run)(count);
            })
        };
        let batches: Vec<_> = self.columns.iter_mut().map(batch_of).collect();
        timing::in_turns(ROUNDS, self.columns.len(), |i| {
            let column = &mut self.columns[i];
            column.samples.push(1e9 / (column.run)(batches[i]).per_second());
            tick();
        });
    }

    /// Marks one call on each backend.
    pub fn mark(&mut self) {
        let label = self.label();
        for column in &mut self.columns {
            instructions::mark(&label, column.level.name(), &mut |count| {
                (column.run)(count);
            });
        }
    }

    /// The row of the table: set, stage, and `minimum / median` for each backend.
    pub fn cells(&self) -> Vec<String> {
        let figures = |column: &Column| {
            let (minimum, median) =
                (timing::minimum(&column.samples), timing::median(&column.samples));
            format!("{} / {}", short(minimum), short(median))
        };
        let mut cells = vec![self.set.to_owned(), self.name.clone()];
        cells.extend(self.columns.iter().map(figures));
        cells
    }

    /// One object for each backend.
    pub fn json(&self) -> impl Iterator<Item = Value> {
        self.columns.iter().map(|column| {
            json!({
                "set": self.set,
                "stage": self.name,
                "backend": column.level.name(),
                "min_ns": timing::minimum(&column.samples),
                "median_ns": timing::median(&column.samples),
                "rounds": column.samples.len(),
            })
        })
    }
}

/// Every stage of ML-KEM in the sizes that `sets` selects, and the permutation of 1, 2, 4 and 8 states.
///
/// `fresh`: stages that reject get an input of their own for each call.
pub fn rows(
    levels: &[Level],
    source: &dyn Fn() -> Source,
    fresh: bool,
    sets: &[String],
) -> Vec<Row> {
    let mut all = rows_of::<2>(levels, source, fresh, sets);
    all.extend(rows_of::<3>(levels, source, fresh, sets));
    all.extend(rows_of::<4>(levels, source, fresh, sets));
    all.extend([permutations::<1>(levels), permutations::<2>(levels)]);
    all.extend([permutations::<4>(levels), permutations::<8>(levels)]);
    all
}

fn rows_of<const K: usize>(
    levels: &[Level],
    source: &dyn Fn() -> Source,
    fresh: bool,
    sets: &[String],
) -> Vec<Row>
where
    Ours<K>: Maker,
{
    if !among(sets, <Ours<K> as Maker>::SET) {
        return Vec::new();
    }
    let row = |stage| {
        let run = |&level| (level, run_of::<K>(level, stage, source(), fresh && rejects(stage)));
        Row::new(<Ours<K> as Maker>::SET, format!("{stage:?}"), levels.iter().map(run))
    };
    Stage::ALL.into_iter().map(row).collect()
}

fn run_of<const K: usize>(level: Level, stage: Stage, mut random: Source, fresh: bool) -> Run {
    let mut seed = move || {
        let mut seed = [0; 32];
        random(&mut seed);
        seed
    };
    if !fresh {
        let mut bench = Box::new(Paged(StageBench::<K>::new(level, &seed())));
        return Box::new(move |count| timed(count, |_| black_box(&mut bench.0).run(stage)));
    }
    let mut benches: Vec<_> = (0..FRESH).map(|_| StageBench::<K>::new(level, &seed())).collect();
    Box::new(move |count| {
        let mut measured = timing::Measured::default();
        for _ in 0..count.div_ceil(FRESH) {
            benches.iter_mut().for_each(|bench| bench.reseed(&seed()));
            measured.add(timed(FRESH, |i| black_box(&mut benches[i]).run(stage)));
        }
        measured
    })
}

/// Whether a stage rejects: with inputs that come again, the branch predictor learns the rejections. The time
/// of the others does not depend on their input.
fn rejects(stage: Stage) -> bool {
    matches!(stage, Stage::MatrixAndHash | Stage::SampleNtt)
}

fn timed(calls: usize, mut run: impl FnMut(usize)) -> timing::Measured {
    let start = Instant::now();
    for i in 0..calls {
        run(i);
    }
    timing::Measured { calls: calls as u64, time: start.elapsed() }
}

fn permutations<const N: usize>(levels: &[Level]) -> Row {
    let run = |&level| -> (Level, Run) {
        let mut state = Box::new(Paged(State::<N>::ZERO));
        let mut run = move |_| {
            let state = black_box(&mut state.0);
            keccak::dispatch!(level, b => permute(b, state, 24, &[true; N]));
        };
        (level, Box::new(move |count| timed(count, &mut run)))
    };
    Row::new("Keccak", format!("f1600 of {N}"), levels.iter().map(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kem;

    #[test]
    fn backends() {
        let names = |only| levels(only).into_iter().map(Level::name).collect::<Vec<_>>();
        assert_eq!(names(Level::named("rolled")), ["rolled"]);
        assert_eq!(names(None)[0], "portable");
        assert!(names(None).contains(&Level::detect().name()) && names(None).len() <= 3);
    }

    #[test]
    fn a_row_for_everything() {
        let levels = levels(None);
        let mut rows = rows(&levels, &kem::csprng, true, &[]);
        assert_eq!(rows.len(), 3 * Stage::ALL.len() + 4);
        assert_eq!(rows[0].label(), "ML-KEM-512 MatrixAndHash");
        assert_eq!(rows.last().map(Row::label).as_deref(), Some("Keccak f1600 of 8"));
        for row in &mut rows {
            for column in &mut row.columns {
                let measured = (column.run)(20);
                assert!(measured.calls >= 20 && measured.calls < 20 + FRESH as u64);
            }
        }
    }

    #[test]
    fn digits() {
        let texts = [9.994, 9.996, 99.94, 99.96, 1234.5].map(short);
        assert_eq!(texts, ["9.99", "10.0", "99.9", "100", "1234"]);
    }

    #[test]
    fn figures() {
        let column = |name: &str, samples: &[f64]| Column {
            level: Level::named(name).expect("a backend"),
            run: Box::new(|calls| timing::Measured {
                calls: calls as u64,
                time: Duration::from_micros(calls as u64),
            }),
            samples: samples.to_vec(),
        };
        let columns = vec![column("portable", &[3.0, 1.0, 2.0]), column("rolled", &[])];
        let mut row = Row { set: "Keccak", name: "f1600 of 1".to_owned(), columns };
        assert_eq!(row.cells()[..3], ["Keccak", "f1600 of 1", "1.00 / 2.00"]);
        let mut ticks = 0;
        row.measure(Duration::from_nanos(10), || ticks += 1);
        assert_eq!(ticks, 2 * ROUNDS);
        let objects: Vec<_> = row.json().collect();
        assert_eq!((objects.len(), &objects[1]["backend"]), (2, &json!("rolled")));
        assert_eq!(objects[1]["rounds"], json!(ROUNDS));
        assert!((objects[1]["median_ns"].as_f64().unwrap_or(0.0) - 1000.0).abs() < 1e-6);
    }
}
