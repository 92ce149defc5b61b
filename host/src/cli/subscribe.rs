//! `queuelet subscribe`.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::options::ConnectOptions;
use super::{ExitAs, Failed, Outcome, advised, print_json};
use crate::config::{QueueRef, TopicRef};
use crate::error::ErrorClass;
use crate::sqs::{Subscription, resolve, subscribe_queue_to_topic};

/// Subscribe a queue to a topic, and let the topic send to it.
#[derive(Debug, Args)]
pub(super) struct Subscribe {
    /// The topic: a name, which is looked for beside the queue, or an ARN
    topic: String,
    /// The queue: a name, a URL or an ARN
    queue: String,
    /// Create the queue, and a topic that is named by its name, where they are missing
    #[arg(long)]
    create: bool,
    /// Print one JSON document: topic, queue, subscription, policy_written
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: ConnectOptions,
}

impl Subscribe {
    pub(super) async fn run(self) -> Outcome {
        let topic: TopicRef = self
            .topic
            .parse()
            .with_context(|| format!("topic {:?}", self.topic))
            .or_input()?;
        let queue: QueueRef = self
            .queue
            .parse()
            .with_context(|| format!("queue {:?}", self.queue))
            .or_input()?;

        let connection = self.options.connect().await?;
        let sqs = connection.client(queue.region()).or_input()?;
        let region = topic.region().or(queue.region());
        let sns = connection.sns(region).or_input()?;
        let endpoint = connection.endpoint();
        let subscribed = async {
            let url = resolve(&*sqs, &queue, self.create, endpoint.as_deref()).await?;
            subscribe_queue_to_topic(&*sqs, &*sns, &url, &topic, self.create).await
        };
        let subscribed = subscribed.await.map_err(|error| {
            let missing = error.class() == Some(ErrorClass::Missing) && !self.create;
            let error = advised(error);
            Failed::Running(if missing {
                error.context("it is missing; --create makes it")
            } else {
                error
            })
        })?;

        let subscription = match &subscribed.subscription {
            Subscription::Confirmed(arn) => Some(arn.as_str()),
            Subscription::Pending => None,
        };
        if self.json {
            print_json(&json!({
                "topic": subscribed.topic.as_str(),
                "queue": subscribed.queue,
                "subscription": subscription,
                "policy_written": subscribed.policy_written,
            }))?;
        } else if let Some(arn) = subscription {
            say!("{arn}");
        } else {
            say!(
                "pending: {} delivers to {} once the owner of the queue has confirmed it",
                subscribed.topic,
                subscribed.queue
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
