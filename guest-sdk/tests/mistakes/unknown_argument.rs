#[queuelet_guest::subscriber(queuelet_guest::SqsQueue::new("orders"), visibility("2s"))]
fn handle(_: &[u8]) {}

fn main() {}
