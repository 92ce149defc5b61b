use queuelet_guest::{PublishError, SqsQueue, publish, subscriber};

#[subscriber(SqsQueue)]
fn handle(order: Vec<u64>) -> Result<(), PublishError> {
    publish("billing", &order)?;
    Ok(())
}

fn main() {}
