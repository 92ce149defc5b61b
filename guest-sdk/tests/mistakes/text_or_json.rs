#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle(_: &str) {}

fn main() {}
