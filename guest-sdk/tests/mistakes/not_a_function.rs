#[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
struct Orders;

fn main() {}
