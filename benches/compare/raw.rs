//! A consumer as it is written over the AWS SDK alone: tasks that receive ten, decode, and delete.

use std::process::ExitCode;

use anyhow::ensure;
use aws_config::BehaviorVersion;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use aws_smithy_http_client::{Builder, tls};
use tokio::task::JoinSet;

use super::contestant::{MANY, Settle};
use crate::order::{Order, QUEUE};

/// Consumes until it is ended.
pub(crate) async fn consume(settle: Settle) -> ExitCode {
    match consuming(settle).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the SDK loop: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn consuming(settle: Settle) -> anyhow::Result<()> {
    // The host's HTTP client.
    let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(Builder::new().tls_provider(provider).build_https())
        .load()
        .await;
    let client = Client::new(&config);
    let found = client.get_queue_url().queue_name(QUEUE).send().await?;
    let queue = found.queue_url.unwrap_or_default();
    let mut tasks: JoinSet<anyhow::Result<()>> = JoinSet::new();
    for _ in 0..MANY {
        let (client, queue) = (client.clone(), queue.clone());
        tasks.spawn(async move {
            loop {
                one_receive(&client, &queue, settle).await?;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

async fn one_receive(client: &Client, queue: &str, settle: Settle) -> anyhow::Result<()> {
    let received = client
        .receive_message()
        .queue_url(queue)
        .max_number_of_messages(10)
        .wait_time_seconds(20)
        // All of them, as the others ask for: what a handler is told must be asked for.
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await?;
    let messages = received.messages.unwrap_or_default();
    match settle {
        Settle::Each => {
            for message in messages {
                take(&message)?;
                client
                    .delete_message()
                    .queue_url(queue)
                    .set_receipt_handle(message.receipt_handle)
                    .send()
                    .await?;
            }
        }
        Settle::Batched if messages.is_empty() => {}
        Settle::Batched => {
            let mut entries = Vec::with_capacity(messages.len());
            for (place, message) in messages.into_iter().enumerate() {
                take(&message)?;
                let entry = DeleteMessageBatchRequestEntry::builder()
                    .id(place.to_string())
                    .set_receipt_handle(message.receipt_handle);
                entries.push(entry.build()?);
            }
            let deleted = client
                .delete_message_batch()
                .queue_url(queue)
                .set_entries(Some(entries))
                .send()
                .await?;
            ensure!(deleted.failed.is_empty(), "{:?}", deleted.failed);
        }
    }
    Ok(())
}

fn take(message: &Message) -> anyhow::Result<()> {
    let order: Order = serde_json::from_str(message.body().unwrap_or_default())?;
    ensure!(order.is_worth_something(), "an order of nothing");
    Ok(())
}
