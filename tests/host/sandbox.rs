//! What a guest may use and what it may know: each limit stops the guest that passes it, with a word
//! of its own, and nobody else; and no secret is read where it does not belong.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::folder::Folder;
use crate::leases::BURNING;
use crate::process::{Line, Process, output};
use crate::sqs::Counted;
use crate::until;

/// What the guest does, the word for how that ends, and what the log says of it.
const HARM: [(&str, &str, &str); 17] = [
    ("spin", "timeout", "time limit of 2s (`timeout`)"),
    ("far", "timeout", "time limit of 2s"),
    ("poll", "trap", "10000 things of the host"),
    ("random", "timeout", "time limit of 2s"),
    ("random all", "trap", "exceeds limit"),
    ("recurse", "trap", "used up its stack"),
    ("recurse-in-memory", "trap", "calls itself too deeply"),
    ("abort", "trap", "panicked or aborted"),
    ("exit", "exit", "ended its own process"),
    ("grow", "memory", "may have 134217728 (`memory`)"),
    ("handles", "trap", "10000 things of the host"),
    ("reply", "answer", "more than 16 MiB"),
    ("log-much", "trap", "more than 16 MiB in one piece"),
    (
        "print",
        "trap",
        "more than 1048576 bytes in one call (`max_output`)",
    ),
    ("print-on-one-line", "trap", "(`max_output`)"),
    ("log", "trap", "(`max_output`)"),
    ("fail", "error", "xxx"),
];

/// A host with the hostile guest on `bad`, and on `late` with a time limit; and one that is not on
/// `good`. Each message of the hostile one is handled once.
async fn hostile(mount: &str) -> (Counted, Process, Folder) {
    let local = Counted::with(&["bad", "late", "good", "replies"]).await;
    let of = |queue: &str, more: &str| {
        format!(
            "[[mount]]\nqueue = \"{queue}\"\nreply = \"replies\"\nretry_delay = \"1h\"\n\
             retry_max_delay = \"1h\"\nretry_jitter = 0\ncircuit_after = 0\n{more}\n"
        )
    };
    let mounts = of("bad", mount) + &of("late", "timeout = \"2s\"\nworkers = 4");
    let folder = Folder::new().and("hostile", "culprit", &mounts).and(
        "outcome",
        "neighbour",
        "queue = \"good\"",
    );
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.started().await;
    (local, host, folder)
}

/// Does each harm once, sends some to the neighbour meanwhile, and checks how each ended. So many
/// rounds were before.
async fn round(local: &Counted, host: &Process, before: usize) {
    let mut sent = HashMap::new();
    for harm in HARM {
        let queue = if harm.1 == "timeout" { "late" } else { "bad" };
        sent.insert(local.sqs.send(queue, harm.0).await, harm);
        local.sqs.send("good", r#"{"do":"ack"}"#).await;
    }
    let all = HARM.len() * (before + 1);
    let failures = host
        .logs("harm that was stopped", all, |line| {
            line.field("plugin") == "culprit" && !line.field("reason").is_empty()
        })
        .await;
    for failure in &failures[all - HARM.len()..] {
        let (body, reason, says) = sent[failure.field("id")];
        assert_eq!(failure.field("reason"), reason, "{body}: {failure:?}");
        assert!(failure.message().contains(says), "{body}: {failure:?}");
        let length = failure.text.len();
        assert!(length < 20_000, "{body}: {length}");
    }
    host.logs_of("good", "deleted", all).await;
    assert_eq!(local.deletes("bad") + local.deletes("late"), 0);
}

// Rules 5.6, 9.2, 9.3 and 9.4.
#[tokio::test]
async fn whatever_a_guest_uses_up_it_is_stopped_by_the_limit_of_that_and_nobody_notices() {
    let _alone = BURNING.lock().await;
    let (local, host, _folder) = hostile("workers = 4").await;
    round(&local, &host, 0).await;
    let once = Used::of(&host);
    for before in 1..3 {
        round(&local, &host, before).await;
    }
    // What the first round left is what the host keeps at hand; of the others nothing is kept.
    until("what the guests used is given back", async || {
        let twice = Used::of(&host);
        // Idle connections to SQS are kept for a while: one for each call that was under way at once.
        let is_back = twice.memory < once.memory + (64 << 20) && twice.files <= once.files + 32;
        is_back.then_some(())
    })
    .await;
}

/// What a process holds.
#[derive(Debug)]
struct Used {
    /// Bytes that are resident.
    memory: u64,
    files: usize,
}

impl Used {
    #[cfg(target_os = "linux")]
    fn of(host: &Process) -> Self {
        let process = Path::new("/proc").join(host.id().to_string());
        let status = std::fs::read_to_string(process.join("status")).expect("it runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u64 = resident
            .and_then(|text| text.trim().strip_suffix(" kB"))
            .and_then(|number| number.parse().ok())
            .expect("a number of kB");
        Self {
            memory: kib << 10,
            files: process.join("fd").read_dir().expect("it runs").count(),
        }
    }

    /// Where nobody says.
    #[cfg(not(target_os = "linux"))]
    fn of(_: &Process) -> Self {
        Self {
            memory: 0,
            files: 0,
        }
    }
}

// Rule 9.2.
#[tokio::test]
async fn guests_that_loop_on_every_worker_are_all_stopped_and_the_neighbour_goes_on() {
    let _alone = BURNING.lock().await;
    let (local, host, _folder) = hostile("timeout = \"3s\"\nworkers = 16").await;
    local.sqs.send_all("bad", vec!["spin"; 16]).await;
    host.logs_of("bad", "handling", 16).await;
    local
        .sqs
        .send_all("good", vec![r#"{"do":"ack"}"#; 20])
        .await;
    host.logs_of("good", "deleted", 20).await;
    for failure in host.failures("bad", 16).await {
        assert_eq!(failure.field("reason"), "timeout", "{failure:?}");
    }
}

// Rule 9.1.
#[tokio::test]
async fn no_guest_reaches_the_network_by_sockets() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (local, host, _folder) = hostile("").await;
    local.sqs.send("bad", &format!("sockets {port}")).await;
    host.logs_of("bad", "deleted", 1).await;
    for way in ["connect", "listen", "udp", "lookup", "connect by name"] {
        let said = host.lines(|line| line.message().starts_with(&format!("stdout: {way}: ")));
        assert_eq!(said.len(), 1, "{way}");
    }
    let connected = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
    assert!(connected.is_err(), "{connected:?}");
}

// Rules 5.6 and 9.2.
#[tokio::test]
async fn cpu_time_stops_a_guest_that_works_and_not_one_that_waits() {
    let _alone = BURNING.lock().await;
    let (local, host, _folder) = hostile("cpu_time = \"300ms\"\nworkers = 2").await;
    local.sqs.send_all("bad", ["sleep 1500", "spin"]).await;
    let failure = &host.failures("bad", 1).await[0];
    assert_eq!(failure.field("reason"), "timeout");
    assert!(
        failure
            .message()
            .contains("CPU time than its limit of 300ms (`cpu_time`)"),
        "{failure:?}"
    );
    host.logs_of("bad", "deleted", 1).await;
    assert_eq!(host.failures("bad", 1).await.len(), 1);
}

// Rules 5.6 and 9.2.
#[tokio::test]
async fn the_limits_are_what_the_mount_says() {
    let mount = "memory = \"16MiB\"\nmax_output = \"1KiB\"";
    let (local, host, _folder) = hostile(mount).await;
    local.sqs.send_all("bad", ["grow", "print"]).await;
    let failures = host.failures("bad", 2).await;
    let says = |what: &str| failures.iter().any(|line| line.message().contains(what));
    assert!(says("may have 16777216 (`memory`)"), "{failures:?}");
    assert!(
        says("more than 1024 bytes in one call (`max_output`)"),
        "{failures:?}"
    );
    let cut = host.lines(|line| line.message().contains("what is more is cut"));
    assert_eq!(cut.len(), 1, "{cut:?}");
    let printed = host.lines(|line| line.message() == "stdout: a line of a flood");
    // 1,024 bytes are 56 lines of 18 with their ends, and a part of one.
    assert_eq!(printed.len(), 56);
}

// Rule 9.4.
#[tokio::test]
async fn a_flood_of_lines_is_thinned_and_the_log_says_by_how_much() {
    let _alone = BURNING.lock().await;
    let (local, mut host, _folder) = hostile("").await;
    local.sqs.send("bad", "print").await;
    host.failures("bad", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    let is_left_out = |line: &Line| line.message().contains("log lines were left out");
    let told = host.lines(is_left_out);
    assert_eq!(told[0].field("plugin"), "culprit", "{told:?}");
    let left_out: u64 = told.iter().map(left_out).sum();
    let written = host.lines(|line| line.message() == "stdout: a line of a flood");
    // 1 MiB in lines of 18 bytes, and what was left of them.
    let all = (1 << 20) / 18 + 1;
    assert!(
        left_out > 0 && left_out + written.len() as u64 <= all,
        "{told:?}"
    );
    assert!(left_out + written.len() as u64 >= all - 2, "{told:?}");
}

// Rules 6.6 and 9.4.
#[tokio::test]
async fn what_the_host_says_of_a_handler_that_publishes_without_end_is_thinned_and_short() {
    let _alone = BURNING.lock().await;
    let (local, mut host, _folder) = hostile("timeout = \"4s\"").await;
    local.sqs.send("bad", "publish").await;
    host.failures("bad", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    let said = host.lines(|line| line.message().contains("not published"));
    assert!(!said.is_empty());
    // A second's lines at once, and so many in each of the four that it had, and one to be late in.
    assert!(said.len() <= 6_000, "{}", said.len());
    for line in &said {
        assert!(line.text.len() < 1024, "{}", line.text.len());
        assert!(line.message().contains("(160000 bytes)"), "{}", line.text);
    }
    let told = host.lines(|line| line.message().contains("log lines were left out"));
    assert!(told.iter().all(|line| left_out(line) > 0), "{told:?}");
}

fn left_out(line: &Line) -> u64 {
    line.fields["left_out"].as_u64().unwrap_or_default()
}

// Rules 7.2 and 9.2.
#[tokio::test]
async fn a_plugin_that_begins_with_more_memory_than_its_mount_allows_is_refused() {
    let folder = Folder::with("tells", "queue = \"q\"\nmemory = \"1MiB\"");
    let said = output(&["check", "--plugins", folder.arg()]).await;
    said.assert_refused(&["memory", "begins with"]);
}
