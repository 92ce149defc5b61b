use queuelet_guest::{SqsQueue, subscriber};

struct Order;

#[subscriber(SqsQueue)]
fn handle(_: &[Order]) {}

fn main() {}
