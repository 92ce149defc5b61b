#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
fn handle<T: serde::de::DeserializeOwned>(_: T) {}

fn main() {}
