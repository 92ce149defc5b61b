//! The settings of one source, and how one source lies over another.

use std::collections::BTreeMap;
use std::time::Duration;

use super::document::{Entry, Node};
use super::problem::{Class, Note, Place, Problem};
use super::queue::QueueRef;
use super::target::{TargetRef, TopicRef};
use super::value::{self, Given, Value};
use super::vocabulary::{LATER, Name, SETTINGS, Setting, listed, nearest};
use crate::limits;

/// What one source sets: a mount table, the common settings of a mount file, a descriptor, or
/// `[defaults]`; or what is in force once one lies over another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layer(BTreeMap<Name, Slot>);

#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Given(Given),
    /// It was written, and a problem is reported for it: it is not missing, and what lies below
    /// it does not show.
    Refused,
}

/// A layer that was read, with what there is to say of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) layer: Layer,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
}

impl Reading {
    /// Reads entries that may set anything. `also` are keys with a meaning of their own in that
    /// place, which an unknown key may have been meant for.
    pub(super) fn mount(entries: Vec<Entry>, also: &[&str]) -> Self {
        Self::of(entries, also, false)
    }

    /// Reads what a plugin says of itself.
    pub(super) fn descriptor(pairs: &[(String, String)]) -> Self {
        let entries = pairs.iter().map(|(key, text)| Entry {
            key: key.clone(),
            node: Node::Text(text.clone()),
            place: Place::Descriptor,
        });
        Self::of(entries.collect(), &[], false)
    }

    /// Reads entries that may set only what makes sense for every mount at once.
    pub(super) fn host_wide(entries: Vec<Entry>) -> Self {
        Self::of(entries, &[], true)
    }

    fn of(entries: Vec<Entry>, also: &[&str], host_wide: bool) -> Self {
        let mut reading = Reading::default();
        for entry in entries {
            match known(&entry, also, host_wide) {
                Ok(setting) => reading.take(setting, entry),
                Err(problem) => reading.problems.push(*problem),
            }
        }
        reading
    }

    fn take(&mut self, setting: &Setting, entry: Entry) {
        let slots = &mut self.layer.0;
        // TOML has no key twice; a descriptor may.
        if let Some(slot) = slots.get_mut(&setting.name) {
            *slot = Slot::Refused;
            self.problems.push(
                Problem::new(Class::Config, "named twice; name it once")
                    .setting(setting.key)
                    .at(&entry.place),
            );
            return;
        }
        let read = match entry.node {
            Node::Text(text) => value::read(setting, text, entry.place, &mut self.notes),
            // As a descriptor spells it.
            Node::List(items) if setting.kind.is_list() => {
                value::read(setting, items.join(", "), entry.place, &mut self.notes)
            }
            other => Err(Box::new(
                Problem::new(
                    setting.class(),
                    format!("it takes one value, and this is {}", other.kind()),
                )
                .setting(setting.key)
                .allowed(setting.kind.allowed())
                .at(&entry.place),
            )),
        };
        let slot = match read {
            Ok(given) => Slot::Given(given),
            Err(problem) => {
                self.problems.push(*problem);
                Slot::Refused
            }
        };
        slots.insert(setting.name, slot);
    }
}

/// The setting that a key names, where it may stand here.
fn known(entry: &Entry, also: &[&str], host_wide: bool) -> Result<&'static Setting, Box<Problem>> {
    let key = entry.key.as_str();
    let message = if LATER.contains(&key) {
        "this version does not have it; remove it, or use a version that does".to_owned()
    } else {
        match Setting::of(key) {
            Some(setting) if !host_wide || setting.host_wide => return Ok(setting),
            Some(_) => {
                "it is a setting of one mount; write it in the plugin's mount file".to_owned()
            }
            None => {
                let keys = SETTINGS
                    .iter()
                    .filter(|setting| !host_wide || setting.host_wide)
                    .map(|setting| setting.key);
                let served = keys.chain(also.iter().copied());
                let guess = match nearest(key, served.clone().chain(LATER)) {
                    Some(later) if LATER.contains(&later) => {
                        format!("the nearest is `{later}`, which this version does not have")
                    }
                    Some(near) => format!("the nearest is `{near}`"),
                    None => format!("the known names are {}", listed(served)),
                };
                format!("no setting has this name; {guess}")
            }
        }
    };
    let problem = Problem::new(Class::Config, message)
        .setting(key)
        .at(&entry.place);
    Err(Box::new(match &entry.node {
        Node::Text(text) => problem.given(text),
        _ => problem,
    }))
}

impl Layer {
    /// This layer over another: what is set here wins.
    pub(super) fn over(&self, below: &Layer) -> Layer {
        let mut slots = below.0.clone();
        slots.extend(self.0.iter().map(|(name, slot)| (*name, slot.clone())));
        Layer(slots)
    }

    /// What is set for a setting and could be read.
    pub(super) fn given(&self, name: Name) -> Option<&Given> {
        match self.0.get(&name) {
            Some(Slot::Given(given)) => Some(given),
            Some(Slot::Refused) | None => None,
        }
    }

    /// Whether something was written for it that a problem is reported for.
    pub(super) fn is_refused(&self, name: Name) -> bool {
        self.0.get(&name) == Some(&Slot::Refused)
    }

    /// The queue that a setting names.
    pub(super) fn queue(&self, name: Name) -> Option<&QueueRef> {
        match &self.given(name)?.value {
            Value::Queue(queue) => Some(queue),
            _ => None,
        }
    }

    /// The queue or topic that a setting names.
    pub(super) fn target(&self, name: Name) -> Option<&TargetRef> {
        match &self.given(name)?.value {
            Value::Target(target) => Some(target),
            _ => None,
        }
    }

    /// The queues and topics that a setting lists.
    pub(super) fn targets(&self, name: Name) -> Option<&[TargetRef]> {
        match &self.given(name)?.value {
            Value::Targets(targets) => Some(targets),
            _ => None,
        }
    }

    /// The topics that a setting lists.
    pub(super) fn topics(&self, name: Name) -> Option<&[TopicRef]> {
        match &self.given(name)?.value {
            Value::Topics(topics) => Some(topics),
            _ => None,
        }
    }

    /// The text of a setting that is no more than one.
    pub(super) fn text(&self, name: Name) -> Option<&str> {
        match &self.given(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The region that a setting names.
    pub(super) fn region(&self, name: Name) -> Option<&str> {
        match &self.given(name)?.value {
            Value::Region(region) => Some(region),
            _ => None,
        }
    }

    /// The length of time that a setting names.
    pub(super) fn duration(&self, name: Name) -> Option<Duration> {
        match self.given(name)?.value {
            Value::Duration(length) => Some(length),
            _ => None,
        }
    }

    /// The whole number that a setting names.
    pub(super) fn whole(&self, name: Name) -> Option<u64> {
        match self.given(name)?.value {
            Value::Whole(number) => Some(number),
            _ => None,
        }
    }

    /// The fraction that a setting names.
    pub(super) fn fraction(&self, name: Name) -> Option<f64> {
        match self.given(name)?.value {
            Value::Fraction(number) => Some(number),
            _ => None,
        }
    }

    /// Whether a setting is on.
    pub(super) fn flag(&self, name: Name) -> Option<bool> {
        match self.given(name)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// Holds the two retry delays to their order (SPEC 5.6). What is not set has its default.
    pub(super) fn check_delays(&self) -> Result<(), Box<Problem>> {
        let (first, most) = (Name::RetryDelay, Name::RetryMaxDelay);
        // Where one is refused, there is nothing to compare with; where none is set, both are
        // defaults, which are in order.
        let blamed = self.given(first).map(|given| (first, given));
        let blamed = blamed.or_else(|| self.given(most).map(|given| (most, given)));
        let Some((name, given)) =
            blamed.filter(|_| !self.is_refused(first) && !self.is_refused(most))
        else {
            return Ok(());
        };
        let first_delay = self.duration(first).unwrap_or(limits::DEFAULT_RETRY_DELAY);
        let most_delay = self
            .duration(most)
            .unwrap_or(limits::DEFAULT_RETRY_MAX_DELAY);
        if first_delay <= most_delay {
            return Ok(());
        }
        let origin = |name| match self.given(name) {
            Some(given) => given.place.to_string(),
            None => "default".to_owned(),
        };
        let message = format!(
            "retry_delay is {} ({}) and retry_max_delay is {} ({}); lower the first or raise the \
             second",
            humantime::format_duration(first_delay),
            origin(first),
            humantime::format_duration(most_delay),
            origin(most)
        );
        Err(Box::new(
            Problem::new(Class::Config, message)
                .setting(name.key())
                .given(&given.text)
                .allowed("retry_delay up to retry_max_delay")
                .at(&given.place),
        ))
    }
}
