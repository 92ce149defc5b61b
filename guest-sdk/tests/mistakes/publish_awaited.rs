use queuelet_guest::{PublishError, Reply, SqsQueue, publish, subscriber};

#[subscriber(SqsQueue)]
async fn handle(order: &[u8]) -> Result<(), PublishError> {
    publish("billing", Reply::new(order)).await?;
    Ok(())
}

fn main() {}
