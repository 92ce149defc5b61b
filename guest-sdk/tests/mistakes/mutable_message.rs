#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle(_: &mut Vec<u32>) {}

fn main() {}
