//! Every operation of ML-KEM, for each parameter set and backend.

use std::time::Instant;

use benches::kem;
use criterion::Criterion;
use keccak::hazmat::Level;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for level in Level::available() {
        for mut operation in kem::all_operations(level, &kem::csprng, kem::Keys::MANY, &[]) {
            let mut group = criterion.benchmark_group(operation.label());
            group.bench_function(level.name(), |bencher| {
                bencher.iter_custom(|count| {
                    let start = Instant::now();
                    (operation.run)(count as usize);
                    start.elapsed()
                });
            });
            group.finish();
        }
    }
    criterion.final_summary();
}
