//! `queuelet send`.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::json;

use super::options::ConnectOptions;
use super::{ExitAs, Failed, Outcome, advised, print_json};
use crate::config::{QueueRef, duration};
use crate::error::SqsError;
use crate::handler::{Header, HeaderValue};
use crate::limits::MAX_DELAY;
use crate::sqs::{Outgoing, SqsApi, resolve};

/// Send a message to a queue.
#[derive(Debug, Args)]
pub(super) struct SendMessage {
    /// The queue: a name, a URL or an ARN
    queue: String,
    /// The body; `-` reads it from stdin
    body: String,
    /// A message attribute of type String; may be given several times
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// The message group
    #[arg(long, value_name = "ID")]
    group_id: Option<String>,
    /// The deduplication id, on a FIFO queue; without it each message has one of its own
    #[arg(long, value_name = "ID")]
    deduplication_id: Option<String>,
    /// How long SQS keeps it back: 0s to 15m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    delay: Option<Duration>,
    /// How many times to send it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print one JSON document: queue, url, message_ids
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: ConnectOptions,
}

impl SendMessage {
    pub(super) async fn run(self) -> Outcome {
        let queue: QueueRef = self
            .queue
            .parse()
            .with_context(|| format!("queue {:?}", self.queue))
            .or_input()?;
        let headers = self
            .headers
            .iter()
            .map(|text| header(text))
            .collect::<Result<Vec<_>, _>>()?;
        if self.delay.is_some_and(|delay| delay > MAX_DELAY) {
            return Err(Failed::Input(anyhow!("--delay: SQS takes 0s to 15m")));
        }
        let body = if self.body == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("the body on stdin")
                .or_input()?;
            text
        } else {
            self.body
        };

        if body.is_empty() {
            return Err(Failed::Input(anyhow!(
                "the body is empty, which SQS does not take"
            )));
        }

        let is_fifo = queue.name().is_fifo();
        if is_fifo && self.group_id.is_none() {
            return Err(Failed::Input(anyhow!(
                "{queue} is a FIFO queue: name the message group with --group-id"
            )));
        }

        let connection = self.options.connect().await?;
        let api = connection.client(queue.region()).or_input()?;
        let endpoint = connection.endpoint();
        let url = resolve(&*api, &queue, false, endpoint.as_deref())
            .await
            .map_err(advised)
            .or_running()?;
        let mut message = Outgoing {
            body,
            headers,
            group_id: self.group_id,
            deduplication_id: self.deduplication_id,
            delay: self.delay,
        };
        let is_named = message.deduplication_id.is_some();
        let mut message_ids = Vec::new();
        for _ in 0..self.repeat {
            if is_fifo && !is_named {
                // Each send is a message of its own, whatever was sent before.
                message.deduplication_id = Some(format!("{:032x}", rand::random::<u128>()));
            }
            let sent = api.send(&url, &message).await.map_err(|cause| {
                advised(SqsError::Publish {
                    target: queue.to_string(),
                    cause: Arc::new(cause),
                })
            });
            let sent = sent.or_running()?;
            message_ids.push(sent.to_string());
        }
        if self.json {
            print_json(&json!({
                "queue": queue.name().as_str(),
                "url": url.as_str(),
                "message_ids": message_ids,
            }))?;
        } else {
            for id in message_ids {
                say!("{id}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn header(text: &str) -> Result<Header, Failed> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Failed::Input(anyhow!(
            "--header {text:?}: write it as NAME=VALUE"
        )));
    };
    Ok(Header {
        name: name.to_owned(),
        value: HeaderValue::Text(value.to_owned()),
        label: None,
    })
}
