//! Workers: how many messages are handled, and held, at once.

use std::time::Duration;

use crate::folder::Folder;
use crate::forwarder::Forwarder;
use crate::process::{Line, Process};
use crate::sqs::Counted;
use crate::{until, when};

/// The most handlers of a queue that a log shows at work at once.
pub(crate) fn most_at_once(log: &[Line], queue: &str) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for line in log.iter().filter(|line| line.field("queue") == queue) {
        match line.message() {
            "handling" => now += 1,
            "handled" => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

// Rule 1.7.
#[tokio::test]
async fn as_many_handlers_work_at_once_as_there_are_workers_and_no_more() {
    let local = Counted::with(&["one", "four"]).await;
    let folder = Folder::new()
        .and("outcome", "single", "queue = \"one\"")
        .and("outcome", "several", "queue = \"four\"\nworkers = 4");
    let orders = vec![r#"{"do":"sleep","ms":300}"#; 12];
    for queue in ["one", "four"] {
        local.sqs.send_all(queue, orders.clone()).await;
    }
    let host = Process::run(&folder, &local.endpoint, &[]);
    for queue in ["one", "four"] {
        host.logs_of(queue, "deleted", 12).await;
    }
    let log = host.log();
    assert_eq!(most_at_once(&log, "one"), 1);
    assert_eq!(most_at_once(&log, "four"), 4);
}

// Rules 1.7 and 5.8.
#[tokio::test]
async fn one_worker_keeps_the_order_of_the_receive() {
    let local = Counted::with(&["jobs"]).await;
    // Local mode hands out in the order of sending, so these are three receives in order.
    let sent = local
        .sqs
        .send_all("jobs", vec![r#"{"do":"ack"}"#; 30])
        .await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "deleted", 30).await;
    let handling = host.of("jobs", "handling");
    let ids: Vec<_> = handling.iter().map(|line| line.field("id")).collect();
    assert_eq!(ids, sent);
}

// Rule 5.9.
#[tokio::test]
async fn a_worker_of_a_batch_handler_takes_what_one_receive_brought() {
    let local = Counted::with(&["jobs"]).await;
    let orders = vec![r#"{"do":"sleep","ms":50}"#; 8];
    local.sqs.send_all("jobs", orders).await;
    let folder = Folder::with("outcome-batch", "queue = \"jobs\"\nbatch = 4\nworkers = 2");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let handled = host.logs_of("jobs", "handled", 8).await;
    local.sqs.emptied("jobs").await;
    let mut calls: Vec<_> = handled.iter().map(|line| line.field("took")).collect();
    calls.sort_unstable();
    calls.dedup();
    assert_eq!(calls.len(), 2, "two calls of four: {handled:#?}");
    assert_eq!(most_at_once(&host.log(), "jobs"), 8);
}

// Rule 1.7.
#[tokio::test]
async fn without_prefetch_a_receive_asks_only_for_free_workers() {
    let local = Counted::with(&["jobs"]).await;
    let orders = vec![r#"{"do":"sleep","ms":1000}"#; 7];
    local.sqs.send_all("jobs", orders).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let mount = "queue = \"jobs\"\nworkers = 3\nprefetch = false";
    let folder = Folder::with("outcome", mount);
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    let asked = || -> Vec<u64> {
        let receives = forwarder.requests("ReceiveMessage", "jobs");
        let most = receives.iter().map(|r| r["MaxNumberOfMessages"].as_u64());
        most.map(Option::unwrap_or_default).collect()
    };
    host.logs_of("jobs", "handling", 3).await;
    assert_eq!(asked(), [3]);
    let mut held = 0;
    until("the queue to be empty", async || {
        let now = local.sqs.held("jobs").await;
        held = held.max(now.hidden);
        when(now.all() == 0)
    })
    .await;
    assert!(held <= 3, "{held} were held");
    assert!(asked().iter().all(|most| *most <= 3), "{:?}", asked());
    assert_eq!(local.deletes("jobs"), 7);
}

// Rule 1.7: a queue that allows a message one receive must not have one received for nobody.
#[tokio::test]
async fn a_queue_that_allows_one_receive_is_asked_only_for_free_workers() {
    let local = Counted::with(&["dead"]).await;
    local.sqs.create_redriving("jobs", "dead", 1).await;
    local.sqs.send_all("jobs", vec![r#"{"do":"ack"}"#; 5]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 2");
    let _host = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.emptied("jobs").await;
    for receive in forwarder.requests("ReceiveMessage", "jobs") {
        assert!(
            receive["MaxNumberOfMessages"].as_u64() <= Some(2),
            "{receive}"
        );
    }
    assert_eq!(local.deletes("jobs"), 5);
    assert_eq!(local.sqs.held("dead").await.all(), 0);
}

// Rule 2.3.
#[tokio::test]
async fn at_most_nineteen_messages_more_than_workers_are_held() {
    let local = Counted::with(&["jobs"]).await;
    let orders = vec![r#"{"do":"sleep","ms":600000}"#; 60];
    local.sqs.send_all("jobs", orders).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 2");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "handling", 2).await;
    until("the host to fetch ahead", async || {
        when(local.sqs.held("jobs").await.hidden >= 20)
    })
    .await;
    // Were there another receive it would come at once.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let hidden = local.sqs.held("jobs").await.hidden;
    assert!(hidden <= 2 + 19, "{hidden} are held");
    assert_eq!(host.of("jobs", "handling").len(), 2);
}
