//! The timing loop, BoringSSL's lines, and the statistics of repeated rounds.

use std::time::{Duration, Instant};

/// How often an operation ran, and in what time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Calls.
    pub calls: u64,
    /// Time of all of them together.
    pub time: Duration,
}

impl Measured {
    /// Calls a second.
    pub fn per_second(&self) -> f64 {
        self.calls as f64 / self.time.as_secs_f64()
    }

    /// Adds another measurement of the same operation.
    pub fn add(&mut self, other: Measured) {
        self.calls += other.calls;
        self.time += other.time;
    }
}

/// How many calls fill `target`, found by doubling; the calls made here also warm caches and branch predictor.
pub fn calibrate(target: Duration, run: &mut dyn FnMut(usize)) -> usize {
    let mut batch = 1;
    let mut time_of = |batch| {
        let start = Instant::now();
        run(batch);
        start.elapsed()
    };
    loop {
        // Three times: if the system interrupts a short batch, every round would have too few calls.
        let time = time_of(batch).min(time_of(batch)).min(time_of(batch));
        // A tenth of the target is enough to extrapolate from.
        if time * 10 >= target {
            let calls = batch as f64 * target.as_secs_f64() / time.as_secs_f64().max(1e-9);
            return (calls as usize).max(1);
        }
        batch *= 2;
    }
}

/// Runs in batches that last about a hundredth of `total`, so that the clock is read rarely, until the
/// time is over. `tick` gets the time so far after each batch, outside the measured time.
pub fn measure(
    total: Duration,
    run: &mut dyn FnMut(usize),
    tick: &mut dyn FnMut(Duration),
) -> Measured {
    let batch = calibrate(total / 100, run);
    let mut measured = Measured::default();
    while measured.time < total {
        let start = Instant::now();
        run(batch);
        measured.add(Measured { calls: batch as u64, time: start.elapsed() });
        tick(measured.time);
    }
    measured
}

/// Gives each of `count` candidates its turn in every round.
pub fn in_turns(rounds: usize, count: usize, mut turn: impl FnMut(usize)) {
    for round in 0..rounds {
        for position in 0..count {
            // A different one begins each round, so that none always follows the same one.
            turn((position + round) % count);
        }
    }
}

/// BoringSSL's line: `Did 34000 ML-KEM-768 parse + encap operations in 2052970us (16561.4 ops/sec)`.
/// For hashes, with the bytes of a message, its throughput is appended: `: 512.3 MB/s`.
pub fn did_line(label: &str, measured: &Measured, bytes: Option<usize>) -> String {
    let line = format!(
        "Did {} {label} operations in {}us ({:.1} ops/sec)",
        measured.calls,
        measured.time.as_micros(),
        measured.per_second()
    );
    match bytes {
        None => line,
        Some(bytes) => {
            let megabytes = bytes as f64 * measured.per_second() / 1e6;
            format!("{line}: {megabytes:.1} MB/s")
        }
    }
}

/// The gain over a baseline as the commit writes it: `[+76.8%]`.
pub fn gain(before: &Measured, after: &Measured) -> String {
    let percent = (after.per_second() / before.per_second() - 1.0) * 100.0;
    format!("[{percent:+.1}%]")
}

/// The smallest sample.
pub fn minimum(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The middle sample, or the mean of the two in the middle.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: Measured = Measured { calls: 34_000, time: Duration::from_micros(2_052_970) };

    #[test]
    fn lines() {
        assert_eq!(
            did_line("ML-KEM-768 parse + encap", &MEASURED, None),
            "Did 34000 ML-KEM-768 parse + encap operations in 2052970us (16561.4 ops/sec)"
        );
        assert_eq!(
            did_line("SHA3-256 (16384 bytes)", &MEASURED, Some(16384)),
            "Did 34000 SHA3-256 (16384 bytes) operations in 2052970us (16561.4 ops/sec): 271.3 MB/s"
        );
    }

    #[test]
    fn gains() {
        let faster = Measured { calls: 60_112, ..MEASURED };
        assert_eq!(gain(&MEASURED, &faster), "[+76.8%]");
        assert_eq!(gain(&faster, &MEASURED), "[-43.4%]");
    }

    #[test]
    fn turns() {
        let mut order = Vec::new();
        in_turns(4, 3, |candidate| order.push(candidate));
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
        in_turns(4, 0, |_| unreachable!());
    }

    #[test]
    fn statistics() {
        assert_eq!(minimum(&[3.0, 1.0, 2.0]), 1.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn an_interruption_does_not_shrink_the_batch() {
        let mut interrupted = false;
        let calls = calibrate(Duration::from_millis(20), &mut |count| {
            let once = if interrupted { 0 } else { 50_000 };
            interrupted = true;
            std::thread::sleep(Duration::from_micros(once + 100 * count as u64));
        });
        assert!(calls > 20, "{calls}");
    }

    #[test]
    fn loop_runs_until_the_time_is_over() {
        let (mut calls, mut ticks) = (0, 0);
        let mut run = |count| {
            calls += count;
            std::thread::sleep(Duration::from_micros(100 * count as u64));
        };
        let measured = measure(Duration::from_millis(20), &mut run, &mut |_| ticks += 1);
        assert!(measured.time >= Duration::from_millis(20));
        assert!(measured.calls >= 1 && measured.calls <= calls as u64);
        assert!(ticks >= 1);
    }
}
