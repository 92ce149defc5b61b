//! Handlers that fail: their messages are retried with back-off and never deleted, the reason is
//! one word in the log, and nobody else notices.

use crate::folder::Folder;
use crate::leases::BURNING;
use crate::process::{Line, Process};
use crate::sqs::Counted;

/// A host with a guest that misbehaves on the queue `bad`, and one that does not on `good`.
struct Bad {
    local: Counted,
    host: Process,
    _folder: Folder,
}

impl Bad {
    /// The guest on `bad`, with more in its mount file, and these messages waiting for it.
    async fn start(guest: &str, mount: &str, bodies: &[&str]) -> Self {
        let local = Counted::with(&["bad", "good"]).await;
        local
            .sqs
            .send_all("bad", bodies.iter().map(|body| body.to_string()))
            .await;
        let folder = Folder::new()
            .and(guest, "culprit", &format!("queue = \"bad\"\n{mount}"))
            .and("outcome", "neighbour", "queue = \"good\"");
        let host = Process::run(&folder, &local.endpoint, &[]);
        Self {
            local,
            host,
            _folder: folder,
        }
    }

    /// Waits until the one message of `bad` has failed twice with this reason, and answers the
    /// first failure's line.
    async fn fails_with(self, reason: &str) -> Line {
        let Self {
            local,
            host,
            _folder,
        } = self;
        host.failures("bad", 1).await;
        local.sqs.send_all("good", vec![r#"{"do":"ack"}"#; 3]).await;
        host.logs_of("good", "deleted", 3).await;

        let put_back = host.logs_of("bad", "put back", 2).await;
        let handling = host.of("bad", "handling");
        let counts: Vec<_> = handling.iter().map(Line::receive_count).collect();
        assert_eq!(counts[..2], [1, 2]);
        // 1 s less its jitter, in SQS's whole seconds; then twice that.
        assert_eq!(put_back[0].field("delay"), "1s");
        assert!(
            ["1s", "2s"].contains(&put_back[1].field("delay")),
            "{put_back:?}"
        );
        let apart = handling[1].at() - handling[0].at();
        assert!(apart > 0.95, "it came back after {apart} s");

        let failures = host.failures("bad", 2).await;
        for failure in &failures {
            assert_eq!(failure.field("reason"), reason, "{failure:?}");
            assert_eq!(failure.field("level"), "WARN");
            assert_eq!(failure.field("plugin"), "culprit");
            assert_eq!(failure.field("id"), handling[0].field("id"));
        }
        assert_eq!(local.deletes("bad"), 0);
        assert_eq!(local.sqs.held("bad").await.all(), 1);
        failures[0].clone()
    }
}

// Rule 5.6.
#[tokio::test]
async fn a_handler_that_traps_is_retried_with_back_off() {
    let bad = Bad::start("traps", "", &["x"]).await;
    let failure = bad.fails_with("trap").await;
    assert!(
        failure.message().contains("panicked or aborted"),
        "{failure:?}"
    );
}

// Rules 5.6 and 9.2.
#[tokio::test]
async fn a_handler_that_burns_the_cpu_is_stopped_at_its_time_limit() {
    let _alone = BURNING.lock().await;
    let bad = Bad::start("loops", "timeout = \"1s\"", &["x"]).await;
    let failure = bad.fails_with("timeout").await;
    assert!(
        failure.message().contains("time limit of 1s"),
        "{failure:?}"
    );
}

// Rules 5.6 and 9.2: time spent in the host counts.
#[tokio::test]
async fn a_handler_that_sleeps_is_stopped_at_its_time_limit() {
    let bad = Bad::start("sleeps", "timeout = \"1s\"", &["x"]).await;
    let failure = bad.fails_with("timeout").await;
    assert!(
        failure.message().contains("time limit of 1s"),
        "{failure:?}"
    );
}

// Rules 5.6 and 9.2.
#[tokio::test]
async fn a_handler_that_wants_too_much_memory_is_stopped() {
    let bad = Bad::start("grows", "", &["x"]).await;
    let failure = bad.fails_with("memory").await;
    assert!(failure.message().contains("134217728"), "{failure:?}");
}

// Rule 5.6. WASI 0.2 hands on whether an exit code was 0, and no more of it.
#[tokio::test]
async fn a_handler_that_exits_is_retried_whatever_its_exit_code() {
    for (body, code) in [("7", "with failure"), ("x", "with success")] {
        let bad = Bad::start("exits", "", &[body]).await;
        let failure = bad.fails_with("exit").await;
        assert!(failure.message().contains(code), "{failure:?}");
    }
}

// Rule 5.6.
#[tokio::test]
async fn a_body_that_does_not_decode_is_retried() {
    let bad = Bad::start("outcome", "", &["no JSON at all"]).await;
    bad.fails_with("decode").await;
}

// Rule 5.6.
#[tokio::test]
async fn a_handler_that_says_it_failed_is_retried_and_its_words_are_logged() {
    let bad = Bad::start("outcome", "", &[r#"{"do":"fail"}"#]).await;
    let failure = bad.fails_with("error").await;
    assert!(failure.message().contains("told to"), "{failure:?}");
}

// Rules 5.6 and 5.9.
#[tokio::test]
async fn a_batch_answered_by_a_list_of_the_wrong_length_is_retried_whole() {
    for length in ["0", "2", "4"] {
        let Bad {
            local,
            host,
            _folder,
        } = Bad::start("wrong-length", "", &[length, "b", "c"]).await;
        let failures = host.failures("bad", 3).await;
        for failure in &failures[..3] {
            assert_eq!(failure.field("reason"), "answer");
            let says = format!("the batch had 3 messages and the answer has {length} results");
            assert!(failure.message().contains(&says), "{failure:?}");
        }
        let delays = host.logs_of("bad", "put back", 3).await;
        assert!(delays[..3].iter().all(|line| line.field("delay") == "1s"));
        assert_eq!(local.deletes("bad"), 0);
        assert_eq!(local.sqs.held("bad").await.all(), 3);
        local.sqs.send("good", r#"{"do":"ack"}"#).await;
        host.logs_of("good", "deleted", 1).await;
    }
}

// Rules 5.6, 9.3 and 9.4.
#[tokio::test]
async fn a_panic_costs_its_own_message_alone_and_is_logged_with_its_place() {
    let mut bodies = vec!["fine"; 10];
    bodies[4] = "panic";
    let Bad {
        local,
        host,
        _folder,
    } = Bad::start("panics", "", &bodies).await;
    host.logs_of("bad", "deleted", 9).await;
    let failure = &host.failures("bad", 1).await[0];
    assert_eq!(failure.field("reason"), "trap");
    let panics = host
        .logs("what the guest says of it", 1, |line| {
            line.field("id") == failure.field("id") && line.message().starts_with("panicked: ")
        })
        .await;
    assert_eq!(panics[0].field("level"), "ERROR");
    assert!(panics[0].message().contains("told to"), "{panics:?}");
    assert!(
        panics[0].field("fields").contains("panics/src/lib.rs:"),
        "{panics:?}"
    );
    host.logs("a second try", 2, |line| {
        line.field("id") == failure.field("id") && line.message() == "handling"
    })
    .await;
    assert_eq!(local.deletes("bad"), 9);
    assert_eq!(local.sqs.held("bad").await.all(), 1);
}

// Rule 5.6: all three numbers of the back-off are the operator's.
#[tokio::test]
async fn the_back_off_is_what_the_mount_says() {
    let mount = "retry_delay = \"2s\"\nretry_max_delay = \"3s\"\nretry_jitter = 0";
    let Bad {
        local,
        host,
        _folder,
    } = Bad::start("traps", mount, &["x"]).await;
    let put_back = host.logs_of("bad", "put back", 3).await;
    let delays: Vec<_> = put_back.iter().map(|line| line.field("delay")).collect();
    assert_eq!(delays[..3], ["2s", "3s", "3s"]);
    assert_eq!(local.deletes("bad"), 0);
}

// Rules 5.6 and 10.4: the host deletes nothing that failed; the queue's own policy moves it.
#[tokio::test]
async fn a_message_that_keeps_failing_ends_in_the_queues_dead_letter_queue() {
    let local = Counted::with(&["dead"]).await;
    local.sqs.create_redriving("bad", "dead", 2).await;
    let id = local.sqs.send("bad", "x").await;
    let mount = "queue = \"bad\"\nretry_delay = \"0s\"\nretry_jitter = 0";
    let folder = Folder::with("traps", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    let moved = local.sqs.receive_all("dead", 1).await;
    assert_eq!(moved[0].message_id(), Some(&*id));
    assert_eq!(host.failures("bad", 2).await.len(), 2);
    assert_eq!(local.deletes("bad"), 0);
}
