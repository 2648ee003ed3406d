//! The permutation and the hashes, on every backend.

use std::time::Instant;

use benches::{Operation, hash};
use criterion::{Criterion, Throughput};
use keccak::hazmat::Level;

fn bench(criterion: &mut Criterion, level: Level, mut operation: Operation) {
    let mut group = criterion.benchmark_group(operation.label());
    if let Some(bytes) = operation.bytes {
        group.throughput(Throughput::Bytes(bytes as u64));
    }
    group.bench_function(level.name(), |bencher| {
        bencher.iter_custom(|count| {
            let start = Instant::now();
            (operation.run)(count as usize);
            start.elapsed()
        });
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for level in Level::available() {
        bench(&mut criterion, level, hash::permutation(hash::permute_on(level)));
        for operation in hash::operations(level) {
            bench(&mut criterion, level, operation);
        }
    }
    criterion.final_summary();
}
