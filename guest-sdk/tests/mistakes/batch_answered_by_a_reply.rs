use queuelet_guest::{Reply, SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn handle(numbers: &[u64]) -> Reply {
    Reply::json(numbers)
}

fn main() {}
