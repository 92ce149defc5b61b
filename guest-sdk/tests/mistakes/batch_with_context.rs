use queuelet_guest::Context;

#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle(_: &[u64], _: &Context) {}

fn main() {}
