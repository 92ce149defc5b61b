use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn handle(body: &[u8]) -> bool {
    body.is_empty()
}

fn main() {}
