#[queuelet_guest::subscriber(queuelet_guest::SqsQueue, reply("events"))]
fn handle(numbers: &[u64]) -> u64 {
    numbers.iter().sum()
}

fn main() {}
