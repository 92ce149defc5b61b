#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle() {}

fn main() {}
