//! From what is written to what is in force, with everything that is wrong on the way.

use serde::Serialize;

use super::assembly::{Assembly, Location};
use super::host::HostConfig;
use super::layer::{Layer, Reading};
use super::mount::{Mount, MountFile, Mounts};
use super::problem::{Level, Note, Problem};
use super::subscription::{Origin, SqsSubscription};
use super::vocabulary::Name;
use crate::handler::HandlerKind;

/// A plugin, as far as its settings go.
#[derive(Clone, Debug)]
pub struct PluginSettings {
    /// The name of its `.wasm` file.
    pub name: String,
    /// Whether it takes one message at a time or a batch.
    pub kind: HandlerKind,
    /// What it says of itself: names and values of settings.
    pub descriptor: Vec<(String, String)>,
    /// What the operator wrote for it.
    pub mount_file: Option<MountFile>,
}

/// What is in force, what is wrong, and what is worth saying.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Resolved {
    /// Every mount that is enabled and has no problem.
    pub subscriptions: Vec<SqsSubscription>,
    /// Everything that is wrong, in the order of the plugins, and in each from the top of its
    /// mount file.
    pub problems: Vec<Problem>,
    /// What the operator should hear of once. Those without a plugin are of `queuelet.toml` and
    /// come with every answer.
    pub notes: Vec<Note>,
}

/// Puts in force what the host, the plugins and their mounts say, and checks all of it. It asks
/// neither the network nor the disk.
///
/// A setting comes from the mount, else the descriptor, else `[defaults]`, else its default. A
/// mount that is not enabled is left out, right or wrong. Two mounts on one queue are seen where
/// both are among `plugins`.
pub fn resolve(host: &HostConfig, plugins: &[PluginSettings]) -> Resolved {
    let mut resolved = Resolved {
        notes: host.notes.clone(),
        ..Resolved::default()
    };
    for plugin in plugins {
        resolve_plugin(host, plugin, &mut resolved);
    }
    let twice = queues_read_twice(host, &resolved.subscriptions);
    resolved.notes.extend(twice);
    resolved
}

fn resolve_plugin(host: &HostConfig, plugin: &PluginSettings, resolved: &mut Resolved) {
    let descriptor = Reading::descriptor(&plugin.descriptor);
    let mounts = match &plugin.mount_file {
        None => Mounts::of_descriptor(),
        Some(file) => match Mounts::read(file) {
            Ok(mounts) => mounts,
            Err(problems) => {
                let problems = problems.into_iter().chain(descriptor.problems);
                let named = problems.map(|problem| problem.of(&plugin.name, None));
                resolved.problems.extend(named);
                return;
            }
        },
    };
    let common = mounts.common.layer.over(&descriptor.layer);
    let mut shared = vec![descriptor, mounts.common];
    let shared_right = shared.iter().all(|reading| reading.problems.is_empty());
    let alone = mounts.tables.len() == 1;
    for (index, mount) in mounts.tables.into_iter().enumerate() {
        let own = mount.reading.layer.over(&common);
        if own.flag(Name::Enabled) == Some(false) {
            let given = own.given(Name::Enabled);
            let place = given.map_or(&mount.place, |given| &given.place);
            let note = Note::new(Level::Info, "the mount is left out").setting(
                Name::Enabled.key(),
                "false",
                place,
            );
            resolved.notes.push(note.of(&plugin.name, queue_of(&own)));
            continue;
        }
        // What all mounts of a plugin share is reported once, with the first that uses it.
        for reading in shared.drain(..) {
            resolved.report(reading, &plugin.name, queue_of(&own).filter(|_| alone));
        }
        let Mount { reading, place } = mount;
        let reading_right = reading.problems.is_empty();
        resolved.report(reading, &plugin.name, queue_of(&own));
        let assembled = Assembly::new(plugin, index, &own, &host.defaults, place).finish();
        let right = shared_right && reading_right && assembled.problems.is_empty();
        resolved
            .subscriptions
            .extend(assembled.subscription.filter(|_| right));
        let reading = Reading {
            problems: assembled.problems,
            notes: assembled.notes,
            ..Reading::default()
        };
        resolved.report(reading, &plugin.name, queue_of(&own));
    }
}

impl Resolved {
    fn report(&mut self, reading: Reading, plugin: &str, queue: Option<&str>) {
        let problems = reading.problems.into_iter();
        self.problems
            .extend(problems.map(|problem| problem.of(plugin, queue)));
        let notes = reading.notes.into_iter();
        self.notes.extend(notes.map(|note| note.of(plugin, queue)));
    }
}

fn queue_of(layer: &Layer) -> Option<&str> {
    layer.queue(Name::Queue).map(|queue| queue.name().as_str())
}

/// A warning for each subscription whose queue another one reads, as far as the way the queues
/// are named shows it.
fn queues_read_twice(host: &HostConfig, subscriptions: &[SqsSubscription]) -> Vec<Note> {
    let host_region = host.aws.region.as_deref();
    let known = |subscription: &SqsSubscription| Location {
        name: subscription.queue.name().clone(),
        region: subscription
            .region
            .clone()
            .or_else(|| host_region.map(str::to_owned)),
        account: subscription.queue.account().map(str::to_owned),
    };
    let mut notes = Vec::new();
    for (index, second) in subscriptions.iter().enumerate() {
        let location = known(second);
        let first = subscriptions[..index]
            .iter()
            .find(|first| known(first).may_be(&location));
        if let Some(first) = first {
            let message = format!(
                "plugin {}, mount {}, reads this queue too: each message goes to one of them, \
                 whichever receives it first",
                first.plugin,
                first.mount + 1
            );
            let written = second.explain().iter().find_map(|row| match &row.origin {
                Origin::Written(place) if row.setting == Name::Queue.key() => Some((row, place)),
                _ => None,
            });
            let note = Note::new(Level::Warn, message);
            let note = match written {
                Some((row, place)) => note.setting(row.setting, &row.value, place),
                None => note,
            };
            notes.push(note.of(&second.plugin, Some(location.name.as_str())));
        }
    }
    notes
}
