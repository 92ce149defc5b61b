//! What is said of hosts that stand in ways that are hard to bring about.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::metrics::text;
use super::readiness::not_ready;
use super::status::{HostState, Status};
use super::view::Glance;
use crate::config::{SqsSubscription, mounts_of_a_test};
use crate::error::{CallError, ErrorClass, Remedy};
use crate::handler::Reason;
use crate::host::{MountStanding, PluginStanding};
use crate::observe::{Event, Observer};

fn subscription(text: &str) -> Arc<SqsSubscription> {
    Arc::new(mounts_of_a_test(text).remove(0))
}

fn mount(observer: &Observer, is_ending: bool) -> MountStanding {
    MountStanding {
        subscription: subscription("queue = \"q\"\nworkers = 3"),
        counters: Arc::clone(observer.counters()),
        readiness: Arc::clone(observer.readiness()),
        circuit: Arc::clone(observer.circuit()),
        is_ending,
    }
}

fn glance(state: HostState, mounts: Vec<MountStanding>) -> Glance {
    let now = SystemTime::now();
    Glance {
        now,
        since: now,
        uptime: Duration::ZERO,
        state,
        max_instances: NonZeroUsize::MIN,
        usage: Vec::new(),
        plugins: vec![PluginStanding {
            name: "p".into(),
            file: "p.wasm".into(),
            files: "known",
            serving: None,
            refused: None,
            mounts,
        }],
    }
}

fn running(mounts: Vec<MountStanding>) -> Glance {
    glance(HostState::Running, mounts)
}

fn opens(observer: &Observer) {
    observer.emit(
        None,
        Event::Ready {
            url: "http://sqs/q",
            region: None,
            visibility: Duration::from_secs(30),
        },
    );
}

fn receives(observer: &Observer, messages: usize) {
    observer.emit(None, Event::Received { messages });
}

fn assert_says(glance: &Glance, line: &str) {
    let text = text(glance);
    assert!(text.lines().any(|of| of == line), "no {line} in {text}");
}

// Rule 8.3.
#[test]
fn a_subscription_speaks_for_the_one_that_takes_its_place_until_that_one_is_open() {
    let old = Observer::of_a_test();
    opens(&old);
    receives(&old, 5);
    let new = old.of_successor();
    let both = running(vec![mount(&old, true), mount(&new, false)]);
    assert_eq!(not_ready(&both), [""; 0]);
    let status = Status::of(&both);
    let [old_mount, new_mount] = &status.plugins[0].mounts[..] else {
        panic!("{status:?}");
    };
    assert!(old_mount.until_next && !old_mount.covered);
    assert!(new_mount.covered && !new_mount.until_next);
    // The counts that they share are counted once, and the workers are those that stay.
    let received = "queuelet_messages_received_total{plugin=\"p\",queue=\"q\"} 5";
    assert_says(&both, received);
    assert_says(
        &both,
        "queuelet_subscription_workers{plugin=\"p\",queue=\"q\"} 3",
    );

    // Alone it has to be open itself.
    let alone = running(vec![mount(&new, false)]);
    assert_eq!(not_ready(&alone), ["p on q: its queue is not open yet"]);
    opens(&new);
    assert_eq!(not_ready(&alone), [""; 0]);
    assert_says(&alone, received);
    assert_says(
        &alone,
        "queuelet_subscription_ready{plugin=\"p\",queue=\"q\"} 1",
    );
    let status = Status::of(&running(vec![mount(&old, true), mount(&new, false)]));
    let mounts = &status.plugins[0].mounts;
    assert!(mounts.iter().all(|of| !of.until_next && !of.covered));
    // One that ends is nothing to wait for.
    let ending = running(vec![mount(&Observer::of_a_test(), true)]);
    assert_eq!(not_ready(&ending), [""; 0]);
}

#[test]
fn two_mounts_of_one_plugin_on_one_queue_are_one_series() {
    let observers = [Observer::of_a_test(), Observer::of_a_test()];
    opens(&observers[0]);
    receives(&observers[0], 5);
    receives(&observers[1], 2);
    let glance = running(observers.iter().map(|of| mount(of, false)).collect());
    assert_says(
        &glance,
        "queuelet_messages_received_total{plugin=\"p\",queue=\"q\"} 7",
    );
    assert_says(
        &glance,
        "queuelet_subscription_workers{plugin=\"p\",queue=\"q\"} 6",
    );
    assert_eq!(not_ready(&glance).len(), 1, "each speaks for itself");
    assert_says(&glance, "queuelet_ready 0");
    // In the status they stand apart.
    let status = Status::of(&glance);
    let received = status.plugins[0].mounts.iter();
    let received: Vec<_> = received.map(|of| of.counts["messages_received"]).collect();
    assert_eq!(received, [5, 2]);
}

// Rules 2.4 and 8.7.
#[test]
fn an_open_circuit_is_shown_and_is_no_lack_of_readiness() {
    let observer = Observer::of_a_test();
    opens(&observer);
    observer.emit(
        None,
        Event::CircuitOpened {
            pause: Duration::from_secs(5),
            failures: 10,
            reason: Reason::Error,
        },
    );
    let glance = running(vec![mount(&observer, false)]);
    let status = Status::of(&glance);
    assert!(status.ready);
    let circuit = &status.plugins[0].mounts[0].circuit;
    assert_eq!(circuit.state, "open");
    assert!(circuit.until.is_some());
    assert_eq!(circuit.reason.as_deref(), Some("error"));
    for (state, is) in [("closed", 0), ("open", 1), ("half-open", 0)] {
        let labels = format!("plugin=\"p\",queue=\"q\",state=\"{state}\"");
        assert_says(&glance, &format!("queuelet_circuit_state{{{labels}}} {is}"));
    }

    let error = CallError {
        operation: "ReceiveMessage",
        class: ErrorClass::Denied,
        code: None,
        message: "no".into(),
    };
    observer.emit(
        None,
        Event::ReceiveFailed {
            error: &error,
            still: false,
            pause: Duration::ZERO,
        },
    );
    let lines = not_ready(&glance);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let advice = Remedy::Credentials.advice();
    assert_eq!(lines[0], format!("p on q: ReceiveMessage: no{advice}"));
}

#[test]
fn a_mount_is_counted_from_1_and_has_the_region_that_its_queue_was_found_in() {
    let observer = Observer::of_a_test();
    observer.emit(
        None,
        Event::Ready {
            url: "http://sqs/q",
            region: Some("eu-west-1"),
            visibility: Duration::from_secs(30),
        },
    );
    let status = Status::of(&running(vec![mount(&observer, false)]));
    let mount = &status.plugins[0].mounts[0];
    assert_eq!(mount.mount, 1);
    assert_eq!(mount.region.as_deref(), Some("eu-west-1"));
}

// Rules 7.2 and 7.3.
#[test]
fn a_host_that_starts_or_drains_is_not_ready_whatever_its_queues_are() {
    let observer = Observer::of_a_test();
    opens(&observer);
    for (state, word) in [
        (HostState::Starting, "starting"),
        (HostState::Draining, "draining"),
    ] {
        let glance = glance(state, vec![mount(&observer, false)]);
        let lines = not_ready(&glance);
        assert!(lines.len() == 1 && lines[0].contains(word), "{lines:?}");
        assert_eq!(Status::of(&glance).state.as_str(), word);
    }
}

#[test]
fn a_status_is_read_as_it_was_written_with_fields_of_later_versions() {
    let status = Status::of(&running(vec![mount(&Observer::of_a_test(), false)]));
    let mut document = serde_json::to_value(&status).unwrap();
    document["later"] = true.into();
    document["plugins"][0]["mounts"][0]["later"] = 1.into();
    assert_eq!(serde_json::from_value::<Status>(document).unwrap(), status);
}
