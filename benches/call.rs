//! A call on a fresh instance, of one message and of a batch of ten: `cargo bench -p benches`.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use queuelet::handler::Handler;
use queuelet::plugin::Guests;

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let guests = Guests::start().expect("the guests' engine starts");
    let single = runtime.block_on(benches::guest(&guests, "guest-outcome"));
    let batch = runtime.block_on(benches::guest(&guests, "guest-outcome-batch"));
    let message = benches::message();

    let mut group = criterion.benchmark_group("fresh instance");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one message", |bencher| {
        bencher.iter(|| {
            let answer = runtime.block_on(single.handle(benches::call(), Arc::clone(&message)));
            assert!(answer.is_ok(), "{answer:?}");
        });
    });
    group.throughput(Throughput::Elements(10));
    group.bench_function("a batch of ten", |bencher| {
        bencher.iter(|| {
            let messages = vec![Arc::clone(&message); 10];
            let answers = runtime.block_on(batch.handle_batch(benches::call(), messages));
            assert!(answers.is_ok_and(|answers| answers.len() == 10));
        });
    });
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
