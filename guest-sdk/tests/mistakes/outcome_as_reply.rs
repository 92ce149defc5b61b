use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};

#[subscriber(SqsQueue, reply("events"))]
fn handle(_: &[u8]) -> HandlerOutcome {
    HandlerOutcome::ack()
}

fn main() {}
