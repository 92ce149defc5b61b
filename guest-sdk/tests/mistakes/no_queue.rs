#[queuelet_guest::subscriber]
fn handle(_: &[u8]) {}

fn main() {}
