//! A plugin as a library calls it, with nothing of SQS around it: what a guest publishes while it
//! runs, what it is handed, and how old it may be.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use queuelet::handler::{
    Answer, Call, Handler, Handling, HeaderValue, MessageId, Outcome, Publish, PublishError,
    Reason, Reply, SqsMessage,
};
use queuelet::plugin::{Guests, Plugin, load};

use crate::{guests, until, when};

const HELLO: &str = r#"{"to":"events","body":"hello"}"#;

/// What a publish answers, and what becomes known of it.
#[derive(Default)]
struct Scripted {
    refuses: Option<PublishError>,
    hangs: bool,
    published: Mutex<Vec<(Reply, ThreadId)>>,
    dropped: Arc<AtomicBool>,
}

/// Says when it is gone.
struct Watched(Arc<AtomicBool>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Scripted {
    fn refusing(code: &str, retry: bool) -> Arc<Self> {
        Arc::new(Self {
            refuses: Some(PublishError {
                code: code.into(),
                message: "told to".into(),
                retry,
            }),
            ..Self::default()
        })
    }

    fn hanging() -> Arc<Self> {
        Arc::new(Self {
            hangs: true,
            ..Self::default()
        })
    }

    fn bodies(&self) -> Vec<String> {
        let published = self.published.lock().unwrap();
        let text = |reply: &Reply| String::from_utf8_lossy(&reply.body).into_owned();
        published.iter().map(|(reply, _)| text(reply)).collect()
    }
}

/// One call's use of a script.
struct ForCall(Arc<Scripted>);

impl Publish for ForCall {
    fn publish(&self, message: Reply) -> Handling<Result<MessageId, PublishError>> {
        let script = Arc::clone(&self.0);
        let watched = Watched(Arc::clone(&script.dropped));
        Box::pin(async move {
            let _watched = watched;
            let id = {
                let mut published = script.published.lock().unwrap();
                published.push((message, thread::current().id()));
                format!("id-{}", published.len())
            };
            if script.hangs {
                std::future::pending::<()>().await;
            }
            match &script.refuses {
                Some(error) => Err(error.clone()),
                None => Ok(id.into()),
            }
        })
    }
}

async fn plugin(guest: &str) -> Plugin {
    static GUESTS: OnceLock<Arc<Guests>> = OnceLock::new();
    let guests = GUESTS.get_or_init(|| Guests::start().expect("the machine can run guests"));
    let loaded = load(guests, guests::wasm(guest)).await;
    loaded.expect("it is a plugin")
}

fn call(script: Option<&Arc<Scripted>>) -> Call {
    Call {
        queue: "jobs".into(),
        timeout: None,
        publish: script.map(|script| Arc::new(ForCall(Arc::clone(script))) as Arc<dyn Publish>),
    }
}

fn message(body: impl Into<Vec<u8>>) -> Arc<SqsMessage> {
    Arc::new(SqsMessage {
        body: body.into().into(),
        ..SqsMessage::default()
    })
}

/// What the guest answers to `body`.
async fn answer(plugin: &Plugin, script: Option<&Arc<Scripted>>, body: &str) -> Answer {
    plugin.handle(call(script), message(body)).await
}

// Rule 6.6.
#[tokio::test]
async fn the_result_of_a_publish_comes_back_to_the_handler() {
    let plugin = plugin("publishes").await;
    let script = Arc::new(Scripted::default());
    let body = r#"{"to":"events","body":"hello","group":"g","deduplication":"d","tell":true}"#;
    let told = match answer(&plugin, Some(&script), body).await {
        Ok(Outcome::Reply(replies)) => replies,
        other => panic!("{other:?}"),
    };
    assert_eq!(&told[0].body[..], b"id-1", "the id that it was given");
    let published = script.published.lock().unwrap();
    let (sent, _) = &published[0];
    assert_eq!(&sent.body[..], b"hello");
    assert_eq!(sent.destination.as_deref(), Some("events"));
    assert_eq!(sent.group_id.as_deref(), Some("g"));
    assert_eq!(sent.deduplication_id.as_deref(), Some("d"));
    let from = &sent.headers[0];
    assert_eq!(from.name, "from");
    assert_eq!(from.value, HeaderValue::Text("guest-publishes".into()));
}

// Rules 4.2 and 6.6: the runtime of this test has one thread, the guest's has others.
#[tokio::test]
async fn a_publish_runs_where_the_host_does_its_io_and_not_where_guests_run() {
    let plugin = plugin("publishes").await;
    let script = Arc::new(Scripted::default());
    assert_eq!(
        answer(&plugin, Some(&script), HELLO).await,
        Ok(Outcome::Ack)
    );
    let published = script.published.lock().unwrap();
    assert_eq!(published[0].1, thread::current().id());
}

// Rule 6.6.
#[tokio::test]
async fn an_error_comes_back_with_its_code_and_whether_to_retry() {
    let plugin = plugin("publishes").await;
    let throttled = Scripted::refusing("KmsThrottled", true);
    let failure = answer(&plugin, Some(&throttled), HELLO).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Error);
    assert_eq!(failure.message, "KmsThrottled: told to");

    let refused = Scripted::refusing("not-granted", false);
    assert_eq!(
        answer(&plugin, Some(&refused), HELLO).await,
        Ok(Outcome::DeadLetter("not-granted: told to".into()))
    );
}

// Rules 6.6 and 9.1.
#[tokio::test]
async fn a_call_that_may_publish_nothing_is_told_so() {
    let plugin = plugin("publishes").await;
    match answer(&plugin, None, HELLO).await {
        Ok(Outcome::DeadLetter(reason)) => {
            assert!(reason.starts_with("not-granted: "), "{reason}");
            assert!(reason.contains("`destinations`"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

// Rules 6.6 and 9.2: time spent in host calls counts.
#[tokio::test]
async fn a_time_limit_that_passes_while_a_guest_publishes_ends_both() {
    let plugin = plugin("publishes").await;
    let script = Scripted::hanging();
    let limited = Call {
        timeout: Some(Duration::from_millis(200)),
        ..call(Some(&script))
    };
    let failure = plugin.handle(limited, message(HELLO)).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Timeout);
    assert_eq!(script.bodies(), ["hello"]);
    until("the publish is over", async || {
        when(script.dropped.load(Relaxed))
    })
    .await;
    let next = Arc::new(Scripted::default());
    assert!(answer(&plugin, Some(&next), HELLO).await.is_ok());
}

// Rules 6.6 and 7.3: what interrupts a handler interrupts what it waits for.
#[tokio::test]
async fn a_handler_that_is_interrupted_while_it_publishes_leaves_nothing_running() {
    let plugin = plugin("publishes").await;
    let script = Scripted::hanging();
    let handling = plugin.handle(call(Some(&script)), message(HELLO));
    tokio::select! {
        answer = handling => panic!("{answer:?}"),
        () = until("it publishes", async || when(!script.bodies().is_empty())) => {}
    }
    until("the publish is over", async || {
        when(script.dropped.load(Relaxed))
    })
    .await;
}

// Rules 5.9 and 6.6.
#[tokio::test]
async fn a_batch_publishes_for_each_of_its_messages() {
    let plugin = plugin("publishes-batch").await;
    let orders = ["one", "two"].map(|body| message(HELLO.replace("hello", body)));
    let script = Arc::new(Scripted::default());
    let answers = plugin
        .handle_batch(call(Some(&script)), orders.to_vec())
        .await;
    assert_eq!(answers, Ok(vec![Ok(Outcome::Ack), Ok(Outcome::Ack)]));
    assert_eq!(script.bodies(), ["one", "two"]);

    let refusing = Scripted::refusing("invalid", false);
    let answers = plugin
        .handle_batch(call(Some(&refusing)), orders.to_vec())
        .await;
    for answer in answers.expect("the call is answered") {
        assert_eq!(answer.unwrap_err().message, "invalid: told to");
    }
}

// Rules 3.1 and 5.6: bytes that are no text are a body like any other.
#[tokio::test]
async fn a_body_of_any_bytes_reaches_a_handler_of_bytes_and_fails_one_of_json() {
    let every_byte: Vec<u8> = (0..=255).collect();
    let raw = plugin("echo").await;
    let answer = raw.handle(call(None), message(every_byte.clone())).await;
    match answer {
        Ok(Outcome::Reply(replies)) => assert_eq!(replies[0].body, every_byte),
        other => panic!("{other:?}"),
    }
    let typed = plugin("outcome").await;
    let answer = typed.handle(call(None), message(every_byte)).await;
    assert_eq!(answer.unwrap_err().reason, Reason::Decode);
}

// Rule 8.6: what is new comes as a new interface, which an old component does not import.
#[tokio::test]
async fn a_component_built_for_the_first_contract_is_served() {
    let plugin = plugin("first-contract").await;
    assert_eq!(plugin.contract(), "0.1.0");
    assert_eq!(plugin.descriptor(), [("queue".into(), "old".into())]);
    assert_eq!(answer(&plugin, None, "hello").await, Ok(Outcome::Ack));
}
