//! What is said of hosts that stand in ways that are hard to bring about.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::metrics::text;
use super::readiness::not_ready;
use super::status::{HostState, Status};
use super::view::Glance;
use crate::config::{HostConfig, MountFile, PluginSettings, SqsSubscription, resolve};
use crate::error::{CallError, ErrorClass};
use crate::handler::{HandlerKind, Reason};
use crate::host::{MountStanding, PluginStanding};
use crate::observe::{Event, Observer};

fn subscription(text: &str) -> Arc<SqsSubscription> {
    let plugin = PluginSettings {
        name: "p".into(),
        kind: HandlerKind::Single,
        descriptor: Vec::new(),
        mount_file: Some(MountFile {
            path: "p.toml".into(),
            text: text.into(),
        }),
    };
    let mut resolved = resolve(&HostConfig::default(), &[plugin]);
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    Arc::new(resolved.subscriptions.remove(0))
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
    assert_eq!(not_ready(&glance), ["p on q: ReceiveMessage: no"]);
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
