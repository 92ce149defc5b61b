//! The metrics, in Prometheus's text format. Pure.
//!
//! Two mounts of one plugin on one queue are one series, since nothing in their labels could tell
//! them apart; and a subscription shares its counts with the one whose place it takes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::TextEncoder;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

use super::readiness::not_ready;
use super::status::HostState;
use super::view::Glance;
use crate::handler::Reason;
use crate::host::MountStanding;
use crate::observe::{CircuitState, Count, Counters};

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of a host.
pub(super) fn text(glance: &Glance) -> String {
    let mut families = Vec::new();
    of_host(glance, &mut families);
    of_instances(glance, &mut families);
    of_plugins(glance, &mut families);
    of_subscriptions(glance, &mut families);
    // A family is something to say only where it has a sample.
    families.retain(|family| !family.get_metric().is_empty());
    // The encoder refuses families without a name or a sample, which there are none of.
    TextEncoder::new()
        .encode_to_string(&families)
        .unwrap_or_default()
}

fn of_host(glance: &Glance, families: &mut Vec<MetricFamily>) {
    let is = |state| f64::from(u8::from(glance.state == state));
    let mut info = Family::gauge("queuelet_build_info", "The host's own version.");
    info.add(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    families.push(info.0);
    for (name, help, value) in [
        (
            "queuelet_start_time_seconds",
            "When the host started, in seconds since 1970.",
            seconds(glance.since),
        ),
        (
            "queuelet_ready",
            "Whether every subscription can receive: 1 or 0.",
            f64::from(u8::from(not_ready(glance).is_empty())),
        ),
        (
            "queuelet_draining",
            "Whether the host was told to stop: 1 or 0.",
            is(HostState::Draining),
        ),
    ] {
        let mut family = Family::gauge(name, help);
        family.add(&[], value);
        families.push(family.0);
    }
}

fn of_instances(glance: &Glance, families: &mut Vec<MetricFamily>) {
    let mut max = Family::gauge(
        "queuelet_instances_max",
        "How many instances of plugins may live at once.",
    );
    max.add(&[], glance.max_instances.get() as f64);
    let mut busy = Family::gauge("queuelet_instances_busy", "Instances that answer a call.");
    let mut warm = Family::gauge(
        "queuelet_instances_warm",
        "Instances that idle until the next call.",
    );
    let mut waiting = Family::gauge("queuelet_calls_waiting", "Calls that wait for an instance.");
    for usage in &glance.usage {
        let plugin = [("plugin", usage.plugin.as_str())];
        busy.add(&plugin, usage.busy as f64);
        warm.add(&plugin, usage.warm as f64);
        waiting.add(&plugin, usage.waiting as f64);
    }
    families.extend([max.0, busy.0, warm.0, waiting.0]);
}

fn of_plugins(glance: &Glance, families: &mut Vec<MetricFamily>) {
    let mut info = Family::gauge("queuelet_plugin_info", "The version that serves: 1.");
    let mut loads = Family::counter(
        "queuelet_plugin_loads_total",
        "Versions that have served, the same code under another mount file included.",
    );
    let mut since = Family::gauge(
        "queuelet_plugin_serving_since_seconds",
        "When the version that serves was loaded, in seconds since 1970.",
    );
    let mut took = Family::gauge(
        "queuelet_plugin_load_seconds",
        "How long loading the version that serves took.",
    );
    let mut refused = Family::gauge(
        "queuelet_plugin_refused",
        "Whether the plugin's files as they are were refused: 1 or 0.",
    );
    for plugin in &glance.plugins {
        let name = ("plugin", &*plugin.name);
        let is_refused = f64::from(u8::from(plugin.refused.is_some()));
        refused.add(&[name], is_refused);
        let Some(serving) = &plugin.serving else {
            continue;
        };
        info.add(
            &[
                name,
                ("version", &serving.number.to_string()),
                ("digest", &serving.digest.to_string()),
                ("contract", &serving.contract),
                ("kind", &serving.kind.to_string()),
            ],
            1.0,
        );
        loads.add(&[name], serving.number as f64);
        since.add(&[name], seconds(serving.since));
        took.add(&[name], serving.took.as_secs_f64());
    }
    families.extend([info.0, loads.0, since.0, took.0, refused.0]);
}

fn of_subscriptions(glance: &Glance, families: &mut Vec<MetricFamily>) {
    let mut merged: BTreeMap<(&str, &str), Merged<'_>> = BTreeMap::new();
    for plugin in &glance.plugins {
        for mount in &plugin.mounts {
            let queue = mount.subscription.queue.name().as_str();
            let of = merged.entry((&plugin.name, queue)).or_default();
            of.add(mount);
        }
    }
    let mut ready = Family::gauge(
        "queuelet_subscription_ready",
        "Whether the subscription can receive: 1 or 0.",
    );
    let mut workers = Family::gauge(
        "queuelet_subscription_workers",
        "How many messages, or batches, the subscription handles at once.",
    );
    let mut circuit = Family::gauge(
        "queuelet_circuit_state",
        "The subscription's circuit: 1 for the state that it is in, 0 for the others.",
    );
    for ((plugin, queue), of) in &merged {
        let labels = [("plugin", *plugin), ("queue", *queue)];
        ready.add(&labels, f64::from(u8::from(of.is_ready)));
        workers.add(&labels, of.workers as f64);
        for state in CIRCUITS {
            let is = of.circuit.is_some_and(|circuit| circuit == state);
            let [plugin, queue] = labels;
            circuit.add(&[plugin, queue, ("state", state)], f64::from(u8::from(is)));
        }
    }
    families.extend([ready.0, workers.0, circuit.0]);
    for count in Count::ALL {
        let name = format!("queuelet_{}_total", count.name());
        let mut family = Family::counter(&name, count.help());
        for ((plugin, queue), of) in &merged {
            let sum: u64 = of.counters.iter().map(|of| of.get(count)).sum();
            family.add(&[("plugin", plugin), ("queue", queue)], sum as f64);
        }
        families.push(family.0);
    }
    let mut failed = Family::counter(
        "queuelet_messages_failed_total",
        "Messages whose handler failed, by reason.",
    );
    for ((plugin, queue), of) in &merged {
        for reason in Reason::ALL {
            let sum: u64 = of.counters.iter().map(|of| of.failures(reason)).sum();
            let labels = [
                ("plugin", *plugin),
                ("queue", *queue),
                ("reason", reason.as_str()),
            ];
            failed.add(&labels, sum as f64);
        }
    }
    families.push(failed.0);
}

/// Every state of a circuit.
const CIRCUITS: [&str; 3] = ["closed", "open", "half-open"];

/// What one series says.
#[derive(Default)]
struct Merged<'a> {
    counters: Vec<&'a Arc<Counters>>,
    is_ready: bool,
    workers: usize,
    /// Of those that go on, the one that is furthest from closed.
    circuit: Option<&'static str>,
}

impl<'a> Merged<'a> {
    fn add(&mut self, mount: &'a MountStanding) {
        let known = self.counters.iter();
        if !known.into_iter().any(|of| Arc::ptr_eq(of, &mount.counters)) {
            self.counters.push(&mount.counters);
        }
        self.is_ready |= mount.readiness.is_ready();
        if mount.is_ending {
            return;
        }
        self.workers += mount.subscription.workers.get();
        let severity = |word: &str| match word {
            "open" => 2,
            "half-open" => 1,
            _ => 0,
        };
        let circuit = CircuitState::as_str(mount.circuit.now());
        if self
            .circuit
            .is_none_or(|known| severity(circuit) > severity(known))
        {
            self.circuit = Some(circuit);
        }
    }
}

/// A metric under one name.
struct Family(MetricFamily);

impl Family {
    fn gauge(name: &str, help: &str) -> Self {
        Self::new(name, help, MetricType::GAUGE)
    }

    fn counter(name: &str, help: &str) -> Self {
        Self::new(name, help, MetricType::COUNTER)
    }

    fn new(name: &str, help: &str, of: MetricType) -> Self {
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(of);
        Self(family)
    }

    /// One sample more.
    fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| {
            let mut label = LabelPair::default();
            label.set_name((*name).to_owned());
            label.set_value((*value).to_owned());
            label
        });
        let mut metric = Metric::from_label(labels.collect());
        if self.0.get_field_type() == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        self.0.mut_metric().push(metric);
    }
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
