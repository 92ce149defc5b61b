//! The settings of one source, and how one source lies over another.

use std::collections::BTreeMap;
use std::time::Duration;

use super::document::{Entry, Node};
use super::env;
use super::http_rule::HttpRule;
use super::problem::{Class, Note, Place, Problem};
use super::queue::QueueRef;
use super::sandbox::EnvValue;
use super::target::{TargetRef, TopicRef};
use super::value::{self, Given, Value};
use super::vocabulary::{Kind, Name, SETTINGS, Setting, listed, nearest};
use crate::limits;
use crate::plugin::Digest;

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

/// Who writes, which says what may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// The operator, of one mount.
    Mount,
    /// The plugin itself, which must not give itself anything.
    Descriptor,
    /// The operator, of every mount at once.
    Defaults,
}

impl Writer {
    fn may_set(self, setting: &Setting) -> bool {
        match self {
            Writer::Mount => true,
            Writer::Descriptor => !setting.grant,
            Writer::Defaults => setting.host_wide,
        }
    }

    fn why_not(self) -> &'static str {
        match self {
            Writer::Mount | Writer::Defaults => {
                "it is a setting of one mount; write it in the plugin's mount file"
            }
            Writer::Descriptor => {
                "a plugin must not grant itself this; the operator writes it in the mount file"
            }
        }
    }
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
        Self::of(entries, also, Writer::Mount)
    }

    /// Reads what a plugin says of itself.
    pub(super) fn descriptor(pairs: &[(String, String)]) -> Self {
        let entries = pairs.iter().map(|(key, text)| Entry {
            key: key.clone(),
            node: Node::Text(text.clone()),
            place: Place::Descriptor,
        });
        Self::of(entries.collect(), &[], Writer::Descriptor)
    }

    /// Reads entries that may set only what makes sense for every mount at once.
    pub(super) fn host_wide(entries: Vec<Entry>) -> Self {
        Self::of(entries, &[], Writer::Defaults)
    }

    fn of(entries: Vec<Entry>, also: &[&str], writer: Writer) -> Self {
        let mut reading = Reading::default();
        for entry in entries {
            match known(&entry, also, writer) {
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
            Node::Table(table) if setting.kind == Kind::Env => match env::read(table) {
                Ok(values) => Ok(Given {
                    text: env::shown(&values),
                    value: Value::Env(values),
                    place: entry.place,
                }),
                Err(problems) => {
                    self.problems.extend(problems);
                    slots.insert(setting.name, Slot::Refused);
                    return;
                }
            },
            Node::Bare(text) if !setting.kind.is_list() => {
                value::read(setting, text, entry.place, &mut self.notes)
            }
            Node::Text(text) => value::read(setting, text, entry.place, &mut self.notes),
            // As a descriptor spells it.
            Node::List(items) if setting.kind.is_list() => {
                value::read(setting, items.join(", "), entry.place, &mut self.notes)
            }
            other => {
                let takes = match setting.kind {
                    Kind::Env => "a table of names and values",
                    kind if kind.is_list() => "a text or a list of texts",
                    _ => "one value",
                };
                let message = format!("it takes {takes}, and this is {}", other.kind());
                Err(Box::new(
                    Problem::new(setting.class(), message)
                        .setting(setting.key)
                        .allowed(setting.kind.allowed())
                        .at(&entry.place),
                ))
            }
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
fn known(entry: &Entry, also: &[&str], writer: Writer) -> Result<&'static Setting, Box<Problem>> {
    let key = entry.key.as_str();
    // What was meant for `[env]` perhaps, and is shown to nobody.
    let may_be_secret;
    let message = match Setting::of(key) {
        Some(setting) if writer.may_set(setting) => return Ok(setting),
        Some(setting) => {
            may_be_secret = setting.kind == Kind::Env;
            writer.why_not().to_owned()
        }
        None => {
            let served = SETTINGS.iter().filter(|setting| writer.may_set(setting));
            let keys = served
                .map(|setting| setting.key)
                .chain(also.iter().copied());
            let guess = match nearest(key, keys.clone()) {
                Some(near) => {
                    may_be_secret = near == Name::Env.key();
                    format!("the nearest is `{near}`")
                }
                None => {
                    may_be_secret = true;
                    format!("the known names are {}", listed(keys))
                }
            };
            format!("no setting has this name; {guess}")
        }
    };
    let problem = Problem::new(Class::Config, message)
        .setting(key)
        .at(&entry.place);
    Err(Box::new(match &entry.node {
        Node::Text(text) | Node::Bare(text) if !may_be_secret => problem.given(text),
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

    /// The size that a setting names.
    pub(super) fn size(&self, name: Name) -> Option<usize> {
        match self.given(name)?.value {
            Value::Size(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The environment that a setting lists.
    pub(super) fn env(&self) -> Option<&BTreeMap<String, EnvValue>> {
        match &self.given(Name::Env)?.value {
            Value::Env(values) => Some(values),
            _ => None,
        }
    }

    /// The rules of a handler's HTTP.
    pub(super) fn http(&self) -> Option<&[HttpRule]> {
        match &self.given(Name::Http)?.value {
            Value::HttpRules(rules) => Some(rules),
            _ => None,
        }
    }

    /// The digests that the plugin's file may have.
    pub(super) fn digests(&self) -> Option<&[Digest]> {
        match &self.given(Name::Sha256)?.value {
            Value::Digests(digests) => Some(digests),
            _ => None,
        }
    }

    /// Holds the retry delays and the pauses of the circuit to their order (SPEC 5.6, 8.7). What is
    /// not set has its default.
    pub(super) fn check_orders(&self) -> Vec<Problem> {
        let retries = self.check_order(
            (Name::RetryDelay, limits::DEFAULT_RETRY_DELAY),
            (Name::RetryMaxDelay, limits::DEFAULT_RETRY_MAX_DELAY),
        );
        let pauses = self.check_order(
            (Name::CircuitPause, limits::CIRCUIT_PAUSE),
            (Name::CircuitMaxPause, limits::CIRCUIT_PAUSE_MAX),
        );
        retries.into_iter().chain(pauses).collect()
    }

    /// Why the first of two lengths, each with its default, is above the second.
    fn check_order(
        &self,
        (first, of_first): (Name, Duration),
        (most, of_most): (Name, Duration),
    ) -> Option<Problem> {
        // Where one is refused, there is nothing to compare with; where none is set, both are
        // defaults, which are in order.
        if self.is_refused(first) || self.is_refused(most) {
            return None;
        }
        let blamed = self.given(first).map(|given| (first, given));
        let (name, given) = blamed.or_else(|| self.given(most).map(|given| (most, given)))?;
        let first_length = self.duration(first).unwrap_or(of_first);
        let most_length = self.duration(most).unwrap_or(of_most);
        if first_length <= most_length {
            return None;
        }
        let origin = |name| match self.given(name) {
            Some(given) => given.place.to_string(),
            None => "default".to_owned(),
        };
        let message = format!(
            "{} is {} ({}) and {} is {} ({}); lower the first or raise the second",
            first.key(),
            humantime::format_duration(first_length),
            origin(first),
            most.key(),
            humantime::format_duration(most_length),
            origin(most)
        );
        Some(
            Problem::new(Class::Config, message)
                .setting(name.key())
                .given(&given.text)
                .allowed(format!("{} up to {}", first.key(), most.key()))
                .at(&given.place),
        )
    }
}
