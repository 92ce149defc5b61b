use queuelet_guest::Context;

#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle(_: &[u8], _: &Context, _: u32) {}

fn main() {}
