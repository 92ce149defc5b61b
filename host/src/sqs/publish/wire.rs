//! The same against local mode, by the SDK's own clients: what a scripted SQS cannot see is whether
//! the calls are ones that a server understands.

use std::time::Duration;

use super::*;
use crate::config::{AwsSettings, QueueRef};
use crate::handler::{Header, HeaderValue};
use crate::local::LocalServer;
use crate::sqs::{QueueUrl, Receive, SqsApi, resolve, subscribe_queue_to_topic};

/// A local SQS and SNS, and the way to them.
struct World {
    server: LocalServer,
    connection: Connection,
}

impl World {
    async fn new() -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let server = LocalServer::bind(listen).await.unwrap();
        let connection = Connection::local(&server.endpoint(), &AwsSettings::default()).await;
        Self { server, connection }
    }

    async fn queue(&self, name: &str) -> QueueUrl {
        let api = self.connection.client(None).unwrap();
        let queue: QueueRef = name.parse().unwrap();
        let url = resolve(&*api, &queue, true, Some(&self.server.endpoint())).await;
        url.unwrap()
    }

    fn publisher(&self, target: &str, home: Option<&TopicHome>) -> Publisher {
        let target: TargetRef = target.parse().unwrap();
        let targets = Targets {
            reply: Some(&target),
            create: true,
            home,
            ..Targets::default()
        };
        Publisher::connect(&self.connection, targets, Observer::of_a_test()).unwrap()
    }

    /// What one receive brings.
    async fn received(&self, queue: &QueueUrl) -> Vec<SqsMessage> {
        let receive = Receive {
            queue: queue.clone(),
            max: 10,
            wait: Duration::from_secs(1),
            visibility: None,
            attempt: None,
        };
        let api = self.connection.client(None).unwrap();
        let received = api.receive(receive).await.unwrap();
        received.into_iter().map(|one| one.message).collect()
    }
}

fn source(id: &str) -> Arc<SqsMessage> {
    Arc::new(SqsMessage {
        id: Some(id.into()),
        ..SqsMessage::default()
    })
}

fn header(name: &str, value: HeaderValue, label: Option<&str>) -> Header {
    Header {
        name: name.into(),
        value,
        label: label.map(Into::into),
    }
}

fn reply(body: impl Into<bytes::Bytes>, headers: Vec<Header>) -> Reply {
    Reply {
        body: body.into(),
        headers,
        ..Reply::default()
    }
}

/// A header of each type, in order of their names.
fn headers() -> Vec<Header> {
    vec![
        header("bin", HeaderValue::Bytes(vec![0, 255].into()), Some("png")),
        header("n", HeaderValue::Number("42".into()), Some("int")),
        header("text", HeaderValue::Text("ä".into()), None),
    ]
}

/// The headers that a sender wrote.
fn own(message: &SqsMessage) -> Vec<Header> {
    let headers = message.headers.iter();
    let is_own = |h: &&Header| !["sqs-receive-count", "partition-key"].contains(&h.name.as_str());
    headers.filter(is_own).cloned().collect()
}

// Rules 3.5, 6.2 and 6.3.
#[tokio::test]
async fn what_is_sent_arrives_as_it_was_whatever_its_body() {
    let world = World::new().await;
    let publisher = world.publisher("events", None);
    let bodies: [&[u8]; 3] = [b"text", "\u{FFFF}".as_bytes(), b"\xff\0"];
    let replies = bodies.iter().map(|body| reply(body.to_vec(), headers()));
    let sent = publisher
        .send_all(vec![(source("a"), replies.collect())])
        .await;
    sent.into_iter().collect::<Result<(), _>>().unwrap();
    let queue = world.queue("events").await;
    let mut arrived = world.received(&queue).await;
    arrived.sort_by_key(|message| bodies.iter().position(|body| message.body == *body));
    assert_eq!(arrived.len(), 3);
    for (message, body) in arrived.iter().zip(bodies) {
        assert_eq!(message.body, body);
        assert_eq!(own(message), headers());
        assert_eq!(message.undecodable, None);
    }
}

// Rules 6.6 and 10.4.
#[tokio::test]
async fn in_local_mode_a_destination_is_the_local_one_of_its_name() {
    let world = World::new().await;
    let target: TargetRef = "audit".parse().unwrap();
    let send = async |by_name| {
        let targets = Targets {
            destinations: std::slice::from_ref(&target),
            create: true,
            by_name,
            ..Targets::default()
        };
        let observer = Observer::of_a_test();
        let publisher = Publisher::connect(&world.connection, targets, observer).unwrap();
        let mut elsewhere = reply("x", vec![]);
        elsewhere.destination = Some("arn:aws:sqs:eu-west-1:123456789012:audit".into());
        let sent = publisher.send_all(vec![(source("a"), vec![elsewhere])]);
        sent.await.pop().unwrap()
    };
    send(true).await.unwrap();
    let queue = world.queue("audit").await;
    assert_eq!(world.received(&queue).await.len(), 1);
    assert!(send(false).await.is_err(), "on AWS it is another queue");
}

// Rule 6.4.
#[tokio::test]
async fn a_message_handled_twice_replies_once_and_two_with_equal_replies_reply_twice() {
    let world = World::new().await;
    let publisher = world.publisher("events.fifo", None);
    for id in ["a", "b", "a"] {
        let same = vec![reply("done", vec![]), reply("done", vec![])];
        let sent = publisher.send_all(vec![(source(id), same)]).await;
        sent.into_iter().collect::<Result<(), _>>().unwrap();
    }
    let queue = world.queue("events.fifo").await;
    let arrived = world.received(&queue).await;
    assert_eq!(arrived.len(), 4);
    let group = |message: &SqsMessage| message.group_id.clone().unwrap().to_string();
    assert!(arrived.iter().all(|message| group(message) == "default"));
}

// Rules 6.1 and 6.7.
#[tokio::test]
async fn a_queue_that_is_subscribed_to_a_topic_gets_what_is_published_as_it_was() {
    let world = World::new().await;
    let queue = world.queue("orders").await;
    let (sqs, sns) = (
        world.connection.client(None).unwrap(),
        world.connection.sns(None).unwrap(),
    );
    let topic = "news".parse().unwrap();
    let subscribe = async || {
        let subscribed = subscribe_queue_to_topic(&*sqs, &*sns, &queue, &topic, true).await;
        subscribed.unwrap()
    };
    let (first, again) = (subscribe().await, subscribe().await);
    assert!(first.policy_written && !again.policy_written);
    assert_eq!(first.subscription, again.subscription);

    let home = TopicHome::of_queue(&first.queue);
    let publisher = world.publisher("sns:news", home.as_ref());
    let replies = vec![reply("text", headers()), reply(vec![0, 1], vec![])];
    let sent = publisher.send_all(vec![(source("a"), replies)]).await;
    sent.into_iter().collect::<Result<(), _>>().unwrap();
    let mut arrived = world.received(&queue).await;
    arrived.sort_by_key(|message| message.body.len());
    let bodies: Vec<_> = arrived.iter().map(|message| &message.body[..]).collect();
    assert_eq!(bodies, [&[0, 1][..], b"text"]);
    assert_eq!(own(&arrived[1]), headers());
}
