//! Instances: fresh or used again, how long, and how many there are; and what a slow plugin leaves
//! to a quick one.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use queuelet::config::{Instances, Reuse};
use queuelet::handler::{Call, Failure, Handler, Outcome, Reason, SqsMessage};
use queuelet::plugin::{Guests, MountGrants, Plugin, Usage, load};
use tokio::task::JoinSet;

use crate::folder::Folder;
use crate::process::Process;
use crate::sqs::Counted;
use crate::{guests, until, when};

const COUNT: &str = r#"{"do":"count"}"#;
const TRAP: &str = r#"{"do":"trap"}"#;

fn guests_of(max_instances: usize) -> Arc<Guests> {
    let max = NonZeroUsize::new(max_instances).expect("it is not 0");
    Guests::with(max).expect("the machine can run guests")
}

async fn plugin(guests: &Arc<Guests>, guest: &str) -> Arc<Plugin> {
    let loaded = load(guests, guests::wasm(guest)).await;
    Arc::new(loaded.expect("it is a plugin"))
}

fn reuse() -> Reuse {
    Reuse {
        messages: NonZeroU64::new(1000).expect("it is not 0"),
        age: Duration::from_secs(600),
        growth: 16 << 20,
    }
}

fn mounted(plugin: &Arc<Plugin>, instances: Instances) -> Arc<dyn Handler> {
    plugin.mounted(MountGrants {
        instances,
        ..MountGrants::default()
    })
}

async fn counting(instances: Instances) -> Arc<dyn Handler> {
    mounted(&plugin(&guests_of(10), "counts").await, instances)
}

fn call() -> Call {
    Call {
        queue: "jobs".into(),
        timeout: None,
        publish: None,
    }
}

fn message(body: &str) -> Arc<SqsMessage> {
    Arc::new(SqsMessage {
        body: body.to_owned().into(),
        ..SqsMessage::default()
    })
}

/// How many messages the instance says that it has had.
async fn told(handler: &Arc<dyn Handler>, body: &str) -> Result<u64, Failure> {
    match handler.handle(call(), message(body)).await? {
        Outcome::Reply(replies) => {
            let text = String::from_utf8_lossy(&replies[0].body).into_owned();
            Ok(text.parse().expect("it is a number"))
        }
        other => panic!("{other:?}"),
    }
}

async fn counts(handler: &Arc<dyn Handler>, bodies: &[&str]) -> Vec<u64> {
    let mut counts = Vec::new();
    for body in bodies {
        counts.push(told(handler, body).await.expect("it counts"));
    }
    counts
}

fn usage(guests: &Guests, plugin: &str) -> Usage {
    let mut usage = guests.usage().into_iter();
    let found = usage.find(|usage| usage.plugin.ends_with(plugin));
    found.expect("it is loaded")
}

// Rule 9.3.
#[tokio::test]
async fn a_fresh_instance_knows_nothing_and_one_that_is_reused_knows_what_it_did() {
    let fresh = counting(Instances::Fresh).await;
    assert_eq!(counts(&fresh, &[COUNT; 3]).await, [1, 1, 1]);
    let reused = counting(Instances::Reuse(reuse())).await;
    assert_eq!(counts(&reused, &[COUNT; 3]).await, [1, 2, 3]);
    // That a handler says it failed is an answer like another.
    let failed = told(&reused, r#"{"do":"fail"}"#).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Error);
    assert_eq!(counts(&reused, &[COUNT]).await, [5]);
}

// Rule 9.3.
#[tokio::test]
async fn a_reused_instance_is_retired_after_its_messages() {
    let handler = counting(Instances::Reuse(Reuse {
        messages: NonZeroU64::new(3).expect("it is not 0"),
        ..reuse()
    }))
    .await;
    let got = counts(&handler, &[COUNT; 7]).await;
    assert_eq!(got, [1, 2, 3, 1, 2, 3, 1]);
}

// Rule 9.3.
#[tokio::test]
async fn a_reused_instance_is_retired_once_it_is_too_old() {
    let handler = counting(Instances::Reuse(Reuse {
        age: Duration::from_millis(1),
        ..reuse()
    }))
    .await;
    let slowly = r#"{"do":"sleep","ms":5}"#;
    assert_eq!(counts(&handler, &[slowly; 3]).await, [1, 1, 1]);
}

// Rules 9.2 and 9.3: what it had after its first call is its own.
#[tokio::test]
async fn a_reused_instance_is_retired_when_its_memory_grew() {
    let handler = counting(Instances::Reuse(Reuse {
        growth: 4 << 20,
        ..reuse()
    }))
    .await;
    let grow = r#"{"do":"grow","bytes":3000000}"#;
    let got = counts(&handler, &[grow, grow, COUNT, grow, COUNT]).await;
    assert_eq!(got, [1, 2, 3, 4, 1]);
}

// Rule 9.3.
#[tokio::test]
async fn an_instance_is_thrown_away_after_a_trap_a_time_limit_or_an_interruption() {
    let guests = guests_of(10);
    let handler = mounted(&plugin(&guests, "counts").await, Instances::Reuse(reuse()));
    assert_eq!(counts(&handler, &[COUNT; 2]).await, [1, 2]);
    let trapped = told(&handler, TRAP).await.unwrap_err();
    assert_eq!(trapped.reason, Reason::Trap);
    assert_eq!(counts(&handler, &[COUNT; 2]).await, [1, 2]);

    let limited = Call {
        timeout: Some(Duration::from_millis(50)),
        ..call()
    };
    let long = message(r#"{"do":"sleep","ms":3600000}"#);
    let late = handler.handle(limited, Arc::clone(&long)).await;
    assert_eq!(late.unwrap_err().reason, Reason::Timeout);
    assert_eq!(counts(&handler, &[COUNT; 2]).await, [1, 2]);

    let interrupted = handler.handle(call(), long);
    tokio::select! {
        answer = interrupted => panic!("{answer:?}"),
        () = until("it is called", async || when(usage(&guests, "counts").busy == 1)) => {}
    }
    until("it is over", async || {
        let Usage { busy, warm, .. } = usage(&guests, "counts");
        when((busy, warm) == (0, 0))
    })
    .await;
    assert_eq!(counts(&handler, &[COUNT; 2]).await, [1, 2]);
}

// Rule 9.3: each mount of each version has its own, and they go with it.
#[tokio::test]
async fn warm_instances_are_of_one_mount_and_end_with_it() {
    let guests = guests_of(10);
    let plugin = plugin(&guests, "counts").await;
    let one = mounted(&plugin, Instances::Reuse(reuse()));
    let other = mounted(&plugin, Instances::Reuse(reuse()));
    assert_eq!(counts(&one, &[COUNT; 2]).await, [1, 2]);
    assert_eq!(counts(&other, &[COUNT; 2]).await, [1, 2]);
    assert_eq!(usage(&guests, "counts").warm, 2);
    drop(one);
    assert_eq!(usage(&guests, "counts").warm, 1);
    assert_eq!(counts(&other, &[COUNT]).await, [3]);
}

// Rules 9.2 and 9.3: what idles is in nobody's way.
#[tokio::test]
async fn an_idle_instance_gives_its_place_to_whoever_needs_it() {
    let guests = guests_of(2);
    let plugin = plugin(&guests, "counts").await;
    let mounts = [(); 5].map(|()| mounted(&plugin, Instances::Reuse(reuse())));
    for mount in &mounts {
        assert_eq!(counts(mount, &[COUNT]).await, [1]);
        let Usage { busy, warm, .. } = usage(&guests, "counts");
        assert!(busy + warm <= 2, "{busy} busy, {warm} warm");
    }
    // The last two are those that are left.
    assert_eq!(counts(&mounts[4], &[COUNT]).await, [2]);
    assert_eq!(counts(&mounts[3], &[COUNT]).await, [2]);
    assert_eq!(counts(&mounts[0], &[COUNT]).await, [1]);
}

// Rule 9.3: nothing of a message goes to the next by way of the host.
#[tokio::test]
async fn what_one_call_printed_is_a_line_of_its_own_with_its_own_message() {
    let local = Counted::with(&["jobs", "told"]).await;
    let folder = Folder::with(
        "counts",
        "queue = \"jobs\"\nreply = \"told\"\ninstances = \"reuse\"",
    );
    let host = Process::run(&folder, &local.endpoint, &[]);
    let mut sent = Vec::new();
    for half in ["one", "two"] {
        let body = format!(r#"{{"do":"print","text":"half {half}"}}"#);
        sent.push((local.sqs.send("jobs", &body).await, half));
    }
    let lines = host
        .logs("what it prints", 2, |line| line.message().contains("half"))
        .await;
    for ((id, half), line) in sent.iter().zip(lines) {
        assert_eq!(line.field("id"), id);
        assert_eq!(line.message(), format!("stdout: half {half}"));
    }
}

// Rule 9.3.
#[tokio::test]
async fn the_mount_says_whether_instances_are_reused_and_for_how_many_messages() {
    let local = Counted::with(&["fresh", "reused", "told-fresh", "told-reused"]).await;
    let folder = Folder::new()
        .and(
            "counts",
            "fresh",
            "queue = \"fresh\"\nreply = \"told-fresh\"",
        )
        .and(
            "counts",
            "reused",
            "queue = \"reused\"\nreply = \"told-reused\"\ninstances = \"reuse\"\n\
             reuse_messages = 4",
        );
    for queue in ["fresh", "reused"] {
        local.sqs.send_all(queue, vec![COUNT; 8]).await;
    }
    let _host = Process::run(&folder, &local.endpoint, &[]);
    let table = [
        ("told-fresh", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("told-reused", [1, 1, 2, 2, 3, 3, 4, 4]),
    ];
    for (queue, expected) in table {
        let replies = local.sqs.receive_all(queue, 8).await;
        let number = |body: &str| body.parse::<u64>().expect("it is a number");
        let mut told: Vec<_> = replies
            .iter()
            .filter_map(|m| m.body().map(number))
            .collect();
        told.sort_unstable();
        assert_eq!(told, expected, "{queue}");
    }
}

// Rule 9.2: `max_instances`, and a plugin whose every call hangs.
#[tokio::test]
async fn the_messages_of_a_quick_plugin_are_handled_while_a_slow_one_has_all_it_can_get() {
    let local = Counted::with(&["slow", "quick"]).await;
    let folder = Folder::new()
        .and("sleeps", "slow", "queue = \"slow\"\nworkers = 20")
        .and("outcome", "quick", "queue = \"quick\"\nworkers = 4")
        .write("queuelet.toml", "max_instances = 3\nadmin = \"off\"");
    local.sqs.send_all("slow", vec!["for ever"; 20]).await;
    let config = folder.file("queuelet.toml");
    let config = config.to_str().expect("temporary paths are text");
    let host = Process::run(&folder, &local.endpoint, &["--config", config]);
    host.logs_of("slow", "handling", 20).await;
    local
        .sqs
        .send_all("quick", vec![r#"{"do":"ack"}"#; 40])
        .await;
    host.logs_of("quick", "handled", 40).await;
    assert_eq!(host.of("slow", "handled").len(), 0, "they are under way");
}

// Rule 9.2: the slow ones hold as many places as they can get, and as many more wait.
#[tokio::test]
async fn a_slow_plugin_with_many_workers_does_not_starve_a_quick_one() {
    let guests = guests_of(4);
    let (slow, quick) = (
        plugin(&guests, "sleeps").await,
        plugin(&guests, "outcome").await,
    );
    let mut sleeping = JoinSet::new();
    for _ in 0..100 {
        sleeping.spawn(slow.handle(call(), message("for ever")));
    }
    until("they hold all that they may", async || {
        let Usage { busy, waiting, .. } = usage(&guests, "sleeps");
        when((busy, waiting) == (3, 97))
    })
    .await;
    for _ in 0..50 {
        let answer = quick.handle(call(), message(r#"{"do":"ack"}"#)).await;
        assert_eq!(answer, Ok(Outcome::Ack));
    }
    let Usage { busy, waiting, .. } = usage(&guests, "sleeps");
    assert_eq!((busy, waiting), (3, 97), "they still sleep");
    drop(sleeping);
    until("their places are free", async || {
        let Usage { busy, waiting, .. } = usage(&guests, "sleeps");
        when((busy, waiting) == (0, 0))
    })
    .await;
}

// Rule 9.2: on the threads, as well as in the places.
#[tokio::test]
async fn a_plugin_that_burns_every_core_does_not_starve_a_quick_one() {
    let guests = guests_of(200);
    let (loops, quick) = (
        plugin(&guests, "loops").await,
        plugin(&guests, "outcome").await,
    );
    let mut looping = JoinSet::new();
    for _ in 0..100 {
        looping.spawn(loops.handle(call(), message("for ever")));
    }
    until("they all run", async || {
        when(usage(&guests, "loops").busy == 100)
    })
    .await;
    for _ in 0..100 {
        let answer = quick.handle(call(), message(r#"{"do":"ack"}"#)).await;
        assert_eq!(answer, Ok(Outcome::Ack));
    }
    assert_eq!(usage(&guests, "loops").busy, 100, "they still run");
}

// Rules 8.2 and 9.2: or no fixed version could take the place of one that hangs.
#[tokio::test]
async fn a_plugin_that_has_every_place_and_thread_does_not_keep_another_from_being_loaded() {
    let guests = guests_of(2);
    let loops = plugin(&guests, "loops").await;
    let mut looping = JoinSet::new();
    for _ in 0..10 {
        looping.spawn(loops.handle(call(), message("for ever")));
    }
    until("they have every place", async || {
        when(usage(&guests, "loops").busy == 2)
    })
    .await;
    plugin(&guests, "outcome").await;
    assert_eq!(usage(&guests, "loops").busy, 2, "they still run");
}
