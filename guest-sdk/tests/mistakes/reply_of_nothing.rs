use queuelet_guest::HandlerOutcome;

#[queuelet_guest::subscriber(queuelet_guest::SqsQueue, reply("events"))]
fn handle(_: &[u8]) -> Result<(), HandlerOutcome> {
    Ok(())
}

fn main() {}
