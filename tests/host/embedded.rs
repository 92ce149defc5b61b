//! The host as a library: handlers in Rust, events through a tap, counts.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use queuelet::Shutdown;
use queuelet::config::{
    AwsSettings, HostConfig, MountFile, PluginSettings, SqsSubscription, resolve,
};
use queuelet::handler::{
    Answer, Call, Failure, Handler, HandlerKind, Handling, Outcome, Reason, SqsMessage,
};
use queuelet::host::{Host, HostOptions, Report};
use queuelet::observe::{Count, Event, Ready, Tap};
use queuelet::sqs::Connection;

use crate::sqs::Counted;
use crate::{until, when};

/// A handler in Rust: it acks unless the body is told to do otherwise.
struct Native;

impl Handler for Native {
    fn kind(&self) -> HandlerKind {
        HandlerKind::Single
    }

    fn handle(&self, _: Call, message: Arc<SqsMessage>) -> Handling<Answer> {
        Box::pin(async move {
            match &*message.body {
                b"fail" => Err(Failure::new(Reason::Error, "told to")),
                b"panic" => panic!("told to"),
                _ => Ok(Outcome::Ack),
            }
        })
    }

    fn handle_batch(
        &self,
        _: Call,
        _: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        unreachable!("it takes one message at a time")
    }
}

fn mount(text: &str) -> SqsSubscription {
    let plugin = PluginSettings {
        name: "native".into(),
        kind: HandlerKind::Single,
        descriptor: Vec::new(),
        mount_file: Some(MountFile {
            path: "native.toml".into(),
            text: text.into(),
        }),
    };
    let mut resolved = resolve(&HostConfig::default(), &[plugin]);
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    resolved.subscriptions.remove(0)
}

/// A host of one native handler.
async fn host(local: &Counted, settings: &str, tap: Option<Tap>) -> Host {
    let connection = Connection::local(&local.endpoint, &AwsSettings::default()).await;
    let options = HostOptions {
        drain: Duration::from_secs(10),
        create_missing: false,
        tap,
    };
    let mounts = vec![(mount(settings), Arc::new(Native) as Arc<dyn Handler>)];
    Host::new(Arc::new(connection), options, mounts)
}

/// Runs a host of one native handler on `jobs` beside `test`, then stops it.
async fn beside(
    local: &Counted,
    settings: &str,
    tap: Tap,
    test: impl AsyncFnOnce(&dyn Fn(Count) -> u64),
) -> Report {
    let host = host(local, settings, Some(tap)).await;
    let counters = host.counters();
    let shutdown = Shutdown::default();
    let running = tokio::spawn(host.run(shutdown.clone(), || {}));
    test(&|count| counters[0].1.get(count)).await;
    shutdown.stop.cancel();
    let ended = running.await.expect("the host does not panic");
    ended.expect("its configuration is fine")
}

// Rules 5.1 and 5.6: every event is shown to the tap, and the counts are those of the calls.
#[tokio::test]
async fn a_handler_in_rust_is_served_like_a_plugin_and_every_event_is_counted() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send_all("jobs", vec!["fine"; 9]).await;
    local.sqs.send("jobs", "fail").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tapped = Arc::clone(&seen);
    let tap: Tap = Arc::new(move |source, message, event| {
        assert_eq!((&*source.plugin, &*source.queue), ("native", "jobs"));
        if let Event::Handled { answer, .. } = event {
            let id = message.expect("a handling is of a message").to_string();
            tapped.lock().unwrap().push((id, answer.is_ok()));
        }
    });
    let settings = "queue = \"jobs\"\nwait = \"1s\"\nretry_delay = \"1m\"";
    let report = beside(&local, settings, tap, async |count| {
        until("nine deletes and a failure", async || {
            when(count(Count::Deleted) == 9 && count(Count::Handled) == 10)
        })
        .await;
        assert_eq!(count(Count::Received), 10);
        assert_eq!(count(Count::Acked), 9);
        assert_eq!(local.deletes("jobs"), 9);
    })
    .await;
    assert_eq!(report.left, 0);
    assert_eq!(local.sqs.held("jobs").await.hidden, 1, "it was put back");
    let seen = seen.lock().unwrap();
    let failed = seen.iter().filter(|(_, fine)| !fine).count();
    assert_eq!((seen.len(), failed), (10, 1));
}

// Rules 2.4 and 4.6: a panic of our own, or of a handler in Rust, ends no subscription.
#[tokio::test]
async fn a_panic_in_the_host_is_an_event_and_its_message_comes_back() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send_all("jobs", ["panic", "fine", "fine"]).await;
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    let tap: Tap = Arc::new(move |_, _, event| {
        if let Event::Panicked { message, .. } = event {
            assert_eq!(*message, "told to");
            counted.fetch_add(1, Relaxed);
        }
    });
    let settings = "queue = \"jobs\"\nwait = \"1s\"\nvisibility = \"1s\"";
    beside(&local, settings, tap, async |count| {
        until("the others, and the one again", async || {
            when(count(Count::Deleted) == 2 && panics.load(Relaxed) >= 2)
        })
        .await;
    })
    .await;
    assert_eq!(local.deletes("jobs"), 2);
    assert_eq!(local.sqs.held("jobs").await.all(), 1);
}

// Rules 1.8 and 2.4: a queue that is missing, and one that vanishes while the host runs.
#[tokio::test]
async fn a_subscription_says_whether_it_can_receive_and_creates_its_queue_where_it_may() {
    for create in [false, true] {
        let local = Counted::start().await;
        let settings = format!("queue = \"jobs\"\nwait = \"1s\"\ncreate_if_missing = {create}");
        let host = host(&local, &settings, None).await;
        let (_, readiness) = host.readiness().remove(0);
        let (_, counters) = host.counters().remove(0);
        assert_eq!(readiness.now(), Ready::Opening);
        let shutdown = Shutdown::default();
        let running = tokio::spawn(host.run(shutdown.clone(), || {}));
        let stands = async |ready: bool| {
            until("its readiness", async || {
                let now = readiness.now();
                when(now == Ready::Yes && ready || matches!(now, Ready::No { .. }) && !ready)
            })
            .await;
        };
        if !create {
            stands(false).await;
            local.sqs.create(&["jobs"]).await;
        }
        for round in 1..=2 {
            stands(true).await;
            local.sqs.send("jobs", "fine").await;
            until("a delete", async || {
                when(counters.get(Count::Deleted) == round)
            })
            .await;
            local.sqs.delete("jobs").await;
            stands(false).await;
            if !create {
                local.sqs.create(&["jobs"]).await;
            }
        }
        shutdown.stop.cancel();
        running.await.unwrap().unwrap();
        assert_eq!(readiness.now(), Ready::Ended);
    }
}
