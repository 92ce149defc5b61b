//! The SQS of a test, and a plain client of it.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use queuelet::local::LocalServer;
use serde_json::Value;

use crate::account::Account;
use crate::forwarder::Forwarder;
use crate::judge;
use crate::sns::Sns;
use crate::{until, when};

/// A client of the SQS at an endpoint, by the names of queues.
pub(crate) struct Sqs {
    endpoint: String,
    pub(crate) client: Client,
}

/// How many messages a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) visible: usize,
    /// In flight.
    pub(crate) hidden: usize,
    pub(crate) delayed: usize,
}

impl Held {
    pub(crate) fn all(self) -> usize {
        self.visible + self.hidden + self.delayed
    }
}

impl Sqs {
    pub(crate) fn at(endpoint: &str) -> Self {
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::from_keys("test", "test", None))
            .endpoint_url(endpoint)
            .build();
        Self {
            endpoint: endpoint.to_owned(),
            client: Client::from_conf(config),
        }
    }

    pub(crate) fn url(&self, queue: &str) -> String {
        format!("{}/000000000000/{queue}", self.endpoint)
    }

    pub(crate) fn arn(&self, queue: &str) -> String {
        format!("arn:aws:sqs:us-east-1:000000000000:{queue}")
    }

    /// Creates queues with SQS's own defaults; a FIFO queue, told by its name, takes messages by
    /// their content.
    pub(crate) async fn create(&self, queues: &[&str]) {
        for queue in queues {
            self.create_with(queue, &[]).await;
        }
    }

    pub(crate) async fn create_with(
        &self,
        queue: &str,
        attributes: &[(QueueAttributeName, String)],
    ) {
        let mut attributes: HashMap<_, _> = attributes.iter().cloned().collect();
        if queue.ends_with(".fifo") {
            attributes.insert(QueueAttributeName::FifoQueue, "true".into());
        }
        let call = self.client.create_queue().queue_name(queue);
        let created = call.set_attributes(Some(attributes)).send().await;
        created.expect("the queue can be created");
    }

    /// Creates a queue that hides a received message for so many seconds.
    pub(crate) async fn create_hiding(&self, queue: &str, seconds: u32) {
        let visibility = (QueueAttributeName::VisibilityTimeout, seconds.to_string());
        self.create_with(queue, &[visibility]).await;
    }

    /// Creates a queue that moves a message to `dead` once it has been received `most` times.
    pub(crate) async fn create_redriving(&self, queue: &str, dead: &str, most: u32) {
        let policy = serde_json::json!({
            "deadLetterTargetArn": self.arn(dead),
            "maxReceiveCount": most,
        });
        let policy = (QueueAttributeName::RedrivePolicy, policy.to_string());
        self.create_with(queue, &[policy]).await;
    }

    pub(crate) async fn delete(&self, queue: &str) {
        let call = self.client.delete_queue().queue_url(self.url(queue));
        call.send().await.expect("the queue can be deleted");
    }

    /// Sends one message and answers its id.
    pub(crate) async fn send(&self, queue: &str, body: &str) -> String {
        let call = self.client.send_message().queue_url(self.url(queue));
        let sent = call.message_body(body).send().await;
        let sent = sent.expect("the message can be sent");
        sent.message_id.expect("SQS gives every message an id")
    }

    /// Sends messages to a FIFO queue in order, each as group and body, and answers their ids.
    pub(crate) async fn send_groups(&self, queue: &str, messages: &[(&str, &str)]) -> Vec<String> {
        let mut ids = Vec::new();
        for (place, (group, body)) in messages.iter().enumerate() {
            let call = self.client.send_message().queue_url(self.url(queue));
            let call = call.message_group_id(*group).message_body(*body);
            let sent = call.message_deduplication_id(format!("{group}-{place}"));
            let sent = sent.send().await.expect("the message can be sent");
            ids.push(sent.message_id.expect("SQS gives every message an id"));
        }
        ids
    }

    /// Sends one message with these text attributes and answers its id.
    pub(crate) async fn send_with(
        &self,
        queue: &str,
        body: &str,
        attributes: &[(&str, &str)],
    ) -> String {
        let mut call = self.client.send_message().queue_url(self.url(queue));
        for (name, value) in attributes {
            let attribute = MessageAttributeValue::builder().data_type("String");
            let attribute = attribute.string_value(*value).build();
            call = call.message_attributes(*name, attribute.expect("the type is set"));
        }
        let sent = call.message_body(body).send().await;
        let sent = sent.expect("the message can be sent");
        sent.message_id.expect("SQS gives every message an id")
    }

    /// Sends messages, up to ten a call, and answers their ids in order.
    pub(crate) async fn send_all<B: Into<String>>(
        &self,
        queue: &str,
        bodies: impl IntoIterator<Item = B>,
    ) -> Vec<String> {
        let bodies: Vec<String> = bodies.into_iter().map(Into::into).collect();
        let mut ids = Vec::new();
        for ten in bodies.chunks(10) {
            let entries = ten.iter().enumerate().map(|(position, body)| {
                SendMessageBatchRequestEntry::builder()
                    .id(position.to_string())
                    .message_body(body)
                    .build()
                    .expect("id and body are set")
            });
            let call = self.client.send_message_batch().queue_url(self.url(queue));
            let sent = call.set_entries(Some(entries.collect())).send().await;
            let mut sent = sent.expect("the messages can be sent");
            assert!(sent.failed.is_empty(), "{:?}", sent.failed);
            sent.successful
                .sort_by_key(|entry| entry.id.parse::<usize>().expect("the ids are ours"));
            ids.extend(sent.successful.into_iter().map(|entry| entry.message_id));
        }
        ids
    }

    /// Receives up to ten messages with all their attributes; they stay hidden for 30 seconds.
    pub(crate) async fn receive(&self, queue: &str) -> Vec<Message> {
        let call = self
            .client
            .receive_message()
            .queue_url(self.url(queue))
            .max_number_of_messages(10)
            .visibility_timeout(30)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All);
        let received = call.send().await.expect("the queue can be received from");
        received.messages.unwrap_or_default()
    }

    /// Receives so many messages, which must come, each once.
    pub(crate) async fn receive_all(&self, queue: &str, count: usize) -> Vec<Message> {
        let mut all = Vec::new();
        until(&format!("{count} messages on {queue}"), async || {
            all.extend(self.receive(queue).await);
            when(all.len() >= count)
        })
        .await;
        assert_eq!(all.len(), count, "on {queue}");
        all
    }

    /// A queue's attributes.
    pub(crate) async fn attributes(&self, queue: &str) -> HashMap<QueueAttributeName, String> {
        let call = self
            .client
            .get_queue_attributes()
            .queue_url(self.url(queue))
            .attribute_names(QueueAttributeName::All);
        let answer = call.send().await.expect("the queue can be read");
        answer.attributes.unwrap_or_default()
    }

    /// An attribute that is JSON; null where the queue has none.
    pub(crate) async fn document(&self, queue: &str, name: QueueAttributeName) -> Value {
        let attributes = self.attributes(queue).await;
        let text = attributes.get(&name).map(String::as_str);
        serde_json::from_str(text.unwrap_or("null")).expect("it is JSON")
    }

    pub(crate) async fn held(&self, queue: &str) -> Held {
        let attributes = self.attributes(queue).await;
        let number = |name| {
            let text: &String = &attributes[&name];
            text.parse().expect("a count is a number")
        };
        Held {
            visible: number(QueueAttributeName::ApproximateNumberOfMessages),
            hidden: number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
            delayed: number(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
        }
    }

    /// Waits until a queue holds nothing.
    pub(crate) async fn emptied(&self, queue: &str) {
        until(&format!("{queue} to be empty"), async || {
            when(self.held(queue).await == Held::default())
        })
        .await;
    }
}

/// An SQS and SNS of one test, whose calls are counted where they arrive: local mode inside the
/// test, or an account of its own at the second judge.
pub(crate) struct Counted {
    server: Server,
    pub(crate) endpoint: String,
    pub(crate) sqs: Sqs,
    pub(crate) sns: Sns,
}

enum Server {
    Local(LocalServer),
    Judge(Forwarder),
}

impl Counted {
    pub(crate) async fn start() -> Self {
        let (server, endpoint) = match judge::of_this_test() {
            Some(judge) => {
                let forwarder = Forwarder::to_account(&judge, Account::new()).await;
                let endpoint = forwarder.endpoint.clone();
                (Server::Judge(forwarder), endpoint)
            }
            None => {
                let server = LocalServer::bind(([127, 0, 0, 1], 0).into()).await;
                let server = server.expect("a port is free");
                let endpoint = server.endpoint();
                (Server::Local(server), endpoint)
            }
        };
        Self {
            server,
            sqs: Sqs::at(&endpoint),
            sns: Sns::at(&endpoint),
            endpoint,
        }
    }

    /// One with these queues.
    pub(crate) async fn with(queues: &[&str]) -> Self {
        let counted = Self::start().await;
        counted.sqs.create(queues).await;
        counted
    }

    /// How often an action was called for a queue.
    pub(crate) fn count(&self, action: &str, queue: &str) -> u64 {
        match &self.server {
            Server::Local(server) => server.calls().of(action, queue),
            Server::Judge(forwarder) => forwarder.requests(action, queue).len() as u64,
        }
    }

    /// How often an action was called, whatever the queue.
    pub(crate) fn total(&self, action: &str) -> u64 {
        match &self.server {
            Server::Local(server) => server.calls().total(action),
            Server::Judge(forwarder) => forwarder.total(action) as u64,
        }
    }

    /// How many entries the batches of an action for a queue had.
    pub(crate) fn entries(&self, action: &str, queue: &str) -> u64 {
        match &self.server {
            Server::Local(server) => server.calls().entries(action, queue),
            Server::Judge(forwarder) => {
                let batches = forwarder.requests(action, queue).into_iter();
                let entries = batches.map(|batch| batch["Entries"].as_array().map_or(0, Vec::len));
                entries.sum::<usize>() as u64
            }
        }
    }

    /// How many messages of a queue were deleted, each by a call of its own.
    pub(crate) fn deletes(&self, queue: &str) -> u64 {
        self.count("DeleteMessage", queue)
    }
}
