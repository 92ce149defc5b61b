use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue::new("orders"))]
fn orders(_: &[u8]) {}

#[subscriber(SqsQueue::new("payments"))]
fn payments(_: &[u8]) {}

fn main() {}
