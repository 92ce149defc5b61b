//! Stopping: by a signal nothing is lost and nothing is handled twice for it; by a kill nothing is
//! lost.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::MessageSystemAttributeName;
use rustix::process::Signal;

use crate::folder::Folder;
use crate::forwarder::Forwarder;
use crate::process::{Process, queuelet};
use crate::sqs::{Counted, Held, Sqs};
use crate::{until, when};

const SLEEP_3: &str = r#"{"do":"sleep","ms":3000}"#;
const SLEEP_LONG: &str = r#"{"do":"sleep","ms":600000}"#;

/// `queuelet local` as a process of its own.
async fn local() -> (Process, String) {
    let local = Process::start(queuelet(&["local", "--listen", "127.0.0.1:0"]));
    let endpoint = local.first_line().await;
    (local, endpoint)
}

// Rule 7.3.
#[tokio::test]
async fn sigterm_lets_five_handlers_finish_and_gives_a_backlog_of_a_thousand_back_at_once() {
    let (_local, endpoint) = local().await;
    let sqs = Sqs::at(&endpoint);
    sqs.create(&["jobs"]).await;
    sqs.send_all("jobs", vec![SLEEP_3; 1005]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 5");
    let mut host = Process::run(&folder, &endpoint, &["--drain", "15s"]);
    let in_flight = host.logs_of("jobs", "handling", 5).await;
    host.terminate();
    let asked = Instant::now();
    assert_eq!(host.ended().await, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(15), "in the deadline");

    let ids = |queue: &str, message: &str| -> BTreeSet<String> {
        let lines = host.of(queue, message).into_iter();
        lines.map(|line| line.field("id").to_owned()).collect()
    };
    assert_eq!(in_flight.len(), 5);
    assert_eq!(host.of("jobs", "handling").len(), 5, "no handler after it");
    assert_eq!(ids("jobs", "deleted"), ids("jobs", "handling"));
    let at_once = Held {
        visible: 1000,
        ..Held::default()
    };
    assert_eq!(sqs.held("jobs").await, at_once);
    for message in sqs.receive_all("jobs", 1000).await {
        let attributes = message.attributes().expect("all were asked for");
        let count = &attributes[&MessageSystemAttributeName::ApproximateReceiveCount];
        let count: u32 = count.parse().expect("it is a number");
        // This receive is one of them.
        assert!(count <= 2, "received {count} times");
    }
}

// Rules 7.3 and 4.1: the leases of handlers in flight are kept to their end.
#[tokio::test]
async fn leases_are_kept_while_handlers_drain() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send("jobs", SLEEP_3).await;
    let mount = "queue = \"jobs\"\nvisibility = \"1s\"\nwait = \"1s\"";
    let folder = Folder::with("outcome", mount);
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "handling", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    let extensions = local.count("ChangeMessageVisibility", "jobs");
    assert!(extensions >= 4, "it was {extensions}");
    assert_eq!(local.deletes("jobs"), 1);
    assert_eq!(local.sqs.held("jobs").await.all(), 0);
}

// Rule 7.3.
#[tokio::test]
async fn handlers_are_interrupted_at_the_drain_deadline_and_their_messages_released() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send_all("jobs", vec![SLEEP_LONG; 6]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 2");
    let mut host = Process::run(&folder, &local.endpoint, &["--drain", "1s"]);
    host.logs_of("jobs", "handling", 2).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(1), "something was left");
    let interrupted = host.lines(|line| line.message().contains("interrupted the handler"));
    assert_eq!(interrupted.len(), 2);
    let at_once = Held {
        visible: 6,
        ..Held::default()
    };
    assert_eq!(local.sqs.held("jobs").await, at_once);
    assert_eq!(local.deletes("jobs"), 0);
}

// Rule 7.3: an open poll that outlives its host would be handed what the host has just released,
// and nobody would see it until its time-out lapses.
#[tokio::test]
async fn what_is_released_at_the_drain_deadline_is_not_lost_to_the_hosts_own_open_poll() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send_all("jobs", vec![SLEEP_LONG; 3]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    forwarder.hide_clients_that_go();
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 3");
    let mut host = Process::run(&folder, &forwarder.endpoint, &["--drain", "500ms"]);
    host.logs_of("jobs", "handling", 3).await;
    until("an open poll", async || {
        when(local.count("ReceiveMessage", "jobs") == 2)
    })
    .await;
    host.terminate();
    assert_eq!(host.ended().await, Some(1));
    let at_once = Held {
        visible: 3,
        ..Held::default()
    };
    assert_eq!(local.sqs.held("jobs").await, at_once);
}

// Rules 7.3 and 9.2: the deadline stops a handler that burns the CPU as well.
#[tokio::test]
async fn a_handler_that_spins_is_interrupted_at_the_drain_deadline() {
    let _alone = crate::leases::BURNING.lock().await;
    let local = Counted::with(&["spin"]).await;
    local.sqs.send("spin", "for ever").await;
    let folder = Folder::with("loops", "queue = \"spin\"\nwait = \"1s\"");
    let mut host = Process::run(&folder, &local.endpoint, &["--drain", "500ms"]);
    host.logs_of("spin", "handling", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(1));
    let at_once = Held {
        visible: 1,
        ..Held::default()
    };
    assert_eq!(local.sqs.held("spin").await, at_once);
}

// Rule 7.3.
#[tokio::test]
async fn a_second_signal_ends_the_host_at_once() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send("jobs", SLEEP_LONG).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let mut host = Process::run(&folder, &local.endpoint, &["--drain", "10m"]);
    host.logs_of("jobs", "handling", 1).await;
    host.terminate();
    host.logs("that it stops", 1, |line| {
        line.message().contains("no more receives")
    })
    .await;
    host.signal(Signal::INT);
    assert_eq!(host.ended().await, Some(1));
    // Nothing was released: it comes back when its visibility lapses.
    assert_eq!(local.sqs.held("jobs").await.hidden, 1);
}

// Rule 7.3: an idle host in local mode does not wait for its long polls of twenty seconds.
#[tokio::test]
async fn an_idle_host_in_local_mode_ends_quickly_by_either_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = Folder::with("outcome", "queue = \"jobs\"");
        let (mut host, _) = Process::run_local(&folder).await;
        host.logs_of("jobs", "ready", 1).await;
        host.signal(signal);
        let asked = Instant::now();
        assert_eq!(host.ended().await, Some(0));
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "it waited for its poll"
        );
    }
}

// Rule 7.3: what an open poll brings after the signal is released and not handled.
#[tokio::test]
async fn what_an_open_poll_brings_after_the_signal_is_given_back_at_once() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    until("an open poll", async || {
        when(local.count("ReceiveMessage", "jobs") == 1)
    })
    .await;
    host.terminate();
    host.logs("that it stops", 1, |line| {
        line.message().contains("no more receives")
    })
    .await;
    local.sqs.send("jobs", r#"{"do":"ack"}"#).await;
    assert_eq!(host.ended().await, Some(0));
    assert!(host.of("jobs", "handling").is_empty());
    let at_once = Held {
        visible: 1,
        ..Held::default()
    };
    assert_eq!(local.sqs.held("jobs").await, at_once);
    assert_eq!(local.count("ReceiveMessage", "jobs"), 1);
}

// Rule 7.3: a queue that is not open holds up nothing.
#[tokio::test]
async fn a_host_that_waits_for_a_missing_queue_ends_at_once() {
    let local = Counted::start().await;
    let folder = Folder::with("outcome", "queue = \"late\"");
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    host.started().await;
    host.terminate();
    let asked = Instant::now();
    assert_eq!(host.ended().await, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10));
}

// Rules 4.6 and 7.4.
#[tokio::test]
async fn a_host_that_is_killed_loses_nothing_of_five_hundred_messages() {
    let local = Counted::with(&["jobs"]).await;
    let orders = vec![r#"{"do":"sleep","ms":10}"#; 500];
    let sent = local.sqs.send_all("jobs", orders).await;
    let mount = "queue = \"jobs\"\nworkers = 4\nvisibility = \"2s\"";
    let folder = Folder::with("outcome", mount);
    let mut first = Process::run(&folder, &local.endpoint, &[]);
    first.logs_of("jobs", "deleted", 100).await;
    first.signal(Signal::KILL);
    assert_eq!(first.ended().await, None, "it did not end by itself");
    assert!(
        local.sqs.held("jobs").await.all() > 0,
        "it was killed in the middle"
    );

    let second = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.emptied("jobs").await;
    let sent: BTreeSet<_> = sent.into_iter().collect();
    until("each message to be handled", async || {
        let hosts = [&first, &second];
        let lines = hosts.iter().flat_map(|host| host.of("jobs", "handled"));
        let handled: BTreeSet<_> = lines.map(|line| line.field("id").to_owned()).collect();
        when(handled == sent)
    })
    .await;
    assert!(
        second
            .of("jobs", "handling")
            .iter()
            .any(|line| line.receive_count() > 1),
        "what it held came back"
    );
}
