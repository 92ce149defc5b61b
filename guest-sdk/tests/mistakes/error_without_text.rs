use queuelet_guest::{SqsQueue, subscriber};

#[derive(Debug)]
struct Broken;

#[subscriber(SqsQueue)]
fn handle(_: &[u8]) -> Result<(), Broken> {
    Err(Broken)
}

fn main() {}
