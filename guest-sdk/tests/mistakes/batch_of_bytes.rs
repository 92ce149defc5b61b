#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle(_: &[Vec<u8>]) {}

fn main() {}
