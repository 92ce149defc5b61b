//! One mount: the checks that need more than one setting, and every setting in force.

use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::time::Duration;

use super::layer::Layer;
use super::problem::{Class, Level, Note, Place, Problem};
use super::queue::{QueueName, QueueRef};
use super::resolve::PluginSettings;
use super::subscription::{InForce, Origin, RetryPolicy, SettleMode, SqsSubscription};
use super::target::TargetRef;
use super::vocabulary::Name;
use crate::handler::HandlerKind;
use crate::limits;

/// One mount on its way to a subscription.
pub(super) struct Assembly<'a> {
    plugin: &'a PluginSettings,
    mount: usize,
    /// What the mount and the descriptor set.
    own: &'a Layer,
    /// The same, over `[defaults]`.
    layer: Layer,
    /// Where the mount begins.
    place: Place,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    in_force: Vec<InForce>,
}

/// What came of it.
pub(super) struct Assembled {
    /// None where no queue could be read.
    pub(super) subscription: Option<SqsSubscription>,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
}

/// Which queue it is, as far as the way it is named shows.
pub(super) struct Location {
    pub(super) name: QueueName,
    pub(super) region: Option<String>,
    pub(super) account: Option<String>,
}

impl Location {
    /// Whether nothing that is known of the two tells them apart.
    pub(super) fn may_be(&self, other: &Location) -> bool {
        let agree = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        self.name == other.name
            && agree(&self.region, &other.region)
            && agree(&self.account, &other.account)
    }
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        plugin: &'a PluginSettings,
        mount: usize,
        own: &'a Layer,
        defaults: &Layer,
        place: Place,
    ) -> Self {
        Assembly {
            plugin,
            mount,
            own,
            layer: own.over(defaults),
            place,
            problems: Vec::new(),
            notes: Vec::new(),
            in_force: Vec::new(),
        }
    }

    /// Checks the settings against each other, and puts each in force.
    pub(super) fn finish(mut self) -> Assembled {
        self.check_queue();
        self.check_region();
        self.check_size();
        let delays = self.layer.check_delays();
        self.problems.extend(delays.err().map(|problem| *problem));
        self.check_redrive();
        self.check_reply();
        self.check_destinations();
        self.check_subscribe();
        Assembled {
            subscription: self.subscription(),
            problems: self.problems,
            notes: self.notes,
        }
    }

    fn check_queue(&mut self) {
        if self.own.is_refused(Name::Queue) {
            return;
        }
        if self.own.given(Name::Queue).is_none() {
            let message = match self.plugin.mount_file {
                Some(_) => "neither the mount nor the descriptor names a queue; \
                            write queue = \"NAME\" in the mount"
                    .to_owned(),
                None => format!(
                    "the descriptor names no queue and there is no mount file; \
                     write queue = \"NAME\" in {0}.toml beside {0}.wasm",
                    self.plugin.name
                ),
            };
            self.problems.push(
                Problem::new(Class::InvalidQueue, message)
                    .setting(Name::Queue.key())
                    .allowed(Name::Queue.setting().kind.allowed())
                    .at(&self.place),
            );
            return;
        }
        self.notes.extend(name_changed(self.own, Name::Queue));
    }

    /// The two halves of a redrive policy, and what SQS asks of its dead-letter queue (SPEC 1.9).
    fn check_redrive(&mut self) {
        self.notes.extend(name_changed(self.own, Name::DeadLetter));
        let refused = |name| self.own.is_refused(name);
        if refused(Name::MaxAttempts) || refused(Name::DeadLetter) {
            return;
        }
        let halves = (
            self.own.given(Name::MaxAttempts),
            self.own.given(Name::DeadLetter),
        );
        let (given, has, missing) = match halves {
            (Some(attempts), None) => (attempts, Name::MaxAttempts, Name::DeadLetter),
            (None, Some(queue)) => (queue, Name::DeadLetter, Name::MaxAttempts),
            (None, None) => return,
            (Some(_), Some(given)) => {
                let problem = self.unlike_dead_letter();
                let problem = problem.map(|(message, allowed)| {
                    Problem::new(Class::InvalidQueue, message)
                        .setting(Name::DeadLetter.key())
                        .given(&given.text)
                        .allowed(allowed)
                        .at(&given.place)
                });
                self.problems.extend(problem);
                return;
            }
        };
        let message = format!(
            "half of a redrive policy: `{}` is missing; set both, or neither and leave the queue's \
             own policy as it is",
            missing.key()
        );
        self.problems.push(
            Problem::new(Class::IncompleteRedrive, message)
                .setting(has.key())
                .given(&given.text)
                .allowed("max_attempts and dead_letter together")
                .at(&given.place),
        );
    }

    /// Why SQS would not take the dead-letter queue, and what it would, as far as the way the two
    /// queues are named shows it.
    fn unlike_dead_letter(&self) -> Option<(String, String)> {
        let queue = self.own.queue(Name::Queue)?;
        let dead = self.own.queue(Name::DeadLetter)?;
        if queue.name().is_fifo() != dead.name().is_fifo() {
            let kind = |queue: &QueueRef| {
                if queue.name().is_fifo() {
                    "FIFO"
                } else {
                    "standard"
                }
            };
            return Some((
                format!(
                    "it is a {} queue and {queue} is a {} queue; SQS moves messages between \
                     queues of one type alone",
                    kind(dead),
                    kind(queue)
                ),
                format!("a {} queue", kind(queue)),
            ));
        }
        let here = Location {
            region: queue
                .region()
                .or(self.own.region(Name::Region))
                .map(str::to_owned),
            ..location(queue)
        };
        let there = location(dead);
        if here.may_be(&there) {
            return Some((
                "it is the queue that is read; name another one".to_owned(),
                "another queue".to_owned(),
            ));
        }
        for (what, here, there) in [
            ("region", here.region, there.region),
            ("account", here.account, there.account),
        ] {
            if let (Some(here), Some(there)) = (here, there)
                && here != there
            {
                return Some((
                    format!(
                        "it is in the {what} {there} and {queue} is in {here}; SQS moves messages \
                         within one {what} alone"
                    ),
                    format!("a queue of {here}"),
                ));
            }
        }
        None
    }

    fn check_reply(&mut self) {
        let Some(given) = self.own.given(Name::Reply) else {
            return;
        };
        self.notes.extend(name_changed(self.own, Name::Reply));
        let (Some(queue), Some(TargetRef::Queue(reply))) =
            (self.own.queue(Name::Queue), self.own.target(Name::Reply))
        else {
            return;
        };
        // A name is resolved where the queue that is read is, so its region is that queue's.
        if location(queue).may_be(&location(reply)) {
            let message = "replies go to the queue that is read, and are handled like any message: \
                           name another queue unless the handler ends the loop";
            self.notes.push(Note::new(Level::Warn, message).setting(
                Name::Reply.key(),
                &given.text,
                &given.place,
            ));
        }
    }

    fn check_destinations(&mut self) {
        let Some(given) = self.own.given(Name::Destinations) else {
            return;
        };
        let written = given.text.split(',').map(str::trim);
        let targets = self.own.targets(Name::Destinations).unwrap_or_default();
        let notes = written.zip(targets).filter_map(|(text, target)| {
            let TargetRef::Queue(QueueRef::Name(mapped)) = target else {
                return None;
            };
            let note = mapping(text, mapped)?;
            Some(note.setting(Name::Destinations.key(), text, &given.place))
        });
        self.notes.extend(notes);
    }

    /// A standard topic does not deliver to a FIFO queue (SPEC 6.7).
    fn check_subscribe(&mut self) {
        let (Some(queue), Some(topics), Some(given)) = (
            self.own.queue(Name::Queue),
            self.own.topics(Name::Subscribe),
            self.own.given(Name::Subscribe),
        ) else {
            return;
        };
        let standard = topics.iter().filter(|topic| !topic.name().is_fifo());
        let problems = standard.filter(|_| queue.name().is_fifo()).map(|topic| {
            let message = format!("{topic} is a standard topic, which delivers to no FIFO queue");
            Problem::new(Class::InvalidQueue, message)
                .setting(Name::Subscribe.key())
                .given(&given.text)
                .allowed("topics that end in .fifo, or a standard queue")
                .at(&given.place)
        });
        self.problems.extend(problems);
    }

    /// The region of a URL or an ARN wins, and who sets another one beside it is told (SPEC 1.1).
    /// A mount may name a queue elsewhere than the descriptor had it.
    fn check_region(&mut self) {
        let (Some(queue), Some(named)) = (
            self.own.queue(Name::Queue).and_then(QueueRef::region),
            self.own.region(Name::Region),
        ) else {
            return;
        };
        let (Some(of_queue), Some(given)) =
            (self.own.given(Name::Queue), self.own.given(Name::Region))
        else {
            return;
        };
        let outdone = given.place == Place::Descriptor && of_queue.place != Place::Descriptor;
        if named == queue || outdone {
            return;
        }
        let message = format!(
            "the queue, {}, is in {queue}; remove the region, or name a queue of {named}",
            of_queue.text
        );
        self.problems.push(
            Problem::new(Class::InvalidQueue, message)
                .setting(Name::Region.key())
                .given(&given.text)
                .allowed(queue)
                .at(&given.place),
        );
    }

    /// Which of `batch` and `receive` a handler of this kind has. `[defaults]` may hold both, for
    /// handlers of both kinds.
    fn size_names(&self) -> (Name, Name) {
        match self.plugin.kind {
            HandlerKind::Single => (Name::Receive, Name::Batch),
            HandlerKind::Batch => (Name::Batch, Name::Receive),
        }
    }

    fn check_size(&mut self) {
        let (has, has_not) = self.size_names();
        let takes = match self.plugin.kind {
            HandlerKind::Single => "one message at a time",
            HandlerKind::Batch => "batches",
        };
        if let Some(given) = self.own.given(has_not) {
            let message = format!("the handler takes {takes}; use `{}`", has.key());
            self.problems.push(
                Problem::new(Class::Config, message)
                    .setting(has_not.key())
                    .given(&given.text)
                    .at(&given.place),
            );
        }
    }

    fn subscription(&mut self) -> Option<SqsSubscription> {
        let queue = self.own.queue(Name::Queue)?.clone();
        self.put(Name::Queue, &queue);
        let region = self.region(&queue);
        let wait = self.duration(Name::Wait, limits::DEFAULT_WAIT);
        let visibility = self.duration_or(Name::Visibility, "the queue's own");
        let receive = self.whole(self.size_names().0, limits::MAX_BATCH.into());
        let workers = self.whole(Name::Workers, limits::DEFAULT_WORKERS as u64);
        let prefetch = self.flag(Name::Prefetch, true);
        let create_if_missing = self.flag(Name::CreateIfMissing, false);
        let attempts = self.own.whole(Name::MaxAttempts);
        let max_attempts = attempts
            .and_then(|attempts| u32::try_from(attempts).ok())
            .and_then(NonZeroU32::new);
        self.put_or(
            Name::MaxAttempts,
            max_attempts,
            "as the queue's own redrive policy says",
        );
        let dead_letter = self.own.queue(Name::DeadLetter).cloned();
        self.put_or(Name::DeadLetter, dead_letter.as_ref(), "none");
        let reply = self.own.target(Name::Reply).cloned();
        self.put_or(Name::Reply, reply.as_ref(), "none");
        let reply_group = self.own.text(Name::ReplyGroup).map(str::to_owned);
        self.put_or(
            Name::ReplyGroup,
            reply_group.as_ref(),
            "the source message's",
        );
        let destinations = self.own.targets(Name::Destinations).unwrap_or_default();
        self.put(Name::Destinations, list(destinations));
        let subscribe = self.own.topics(Name::Subscribe).unwrap_or_default();
        self.put(Name::Subscribe, list(subscribe));
        let unwrap_sns = self.flag(Name::UnwrapSns, false);
        let settle = match self.layer.text(Name::Settle) {
            Some("batched") => SettleMode::Batched,
            _ => SettleMode::Each,
        };
        self.put(
            Name::Settle,
            match settle {
                SettleMode::Each => "each",
                SettleMode::Batched => "batched",
            },
        );
        let role_arn = self.layer.text(Name::RoleArn).map(str::to_owned);
        self.put_or(Name::RoleArn, role_arn.as_ref(), "none");
        let timeout = self.duration_or(Name::Timeout, "none");
        let delay = self.duration(Name::RetryDelay, limits::DEFAULT_RETRY_DELAY);
        let max_delay = self.duration(Name::RetryMaxDelay, limits::DEFAULT_RETRY_MAX_DELAY);
        let jitter = self.layer.fraction(Name::RetryJitter);
        let jitter = jitter.unwrap_or(limits::DEFAULT_RETRY_JITTER);
        self.put(Name::RetryJitter, jitter);
        Some(SqsSubscription {
            plugin: self.plugin.name.clone(),
            mount: self.mount,
            queue,
            region,
            wait,
            visibility,
            // Both are held to their bounds, which fit, by the vocabulary.
            receive: u8::try_from(receive)
                .ok()
                .and_then(NonZeroU8::new)
                .unwrap_or(NonZeroU8::MIN),
            workers: usize::try_from(workers)
                .ok()
                .and_then(NonZeroUsize::new)
                .unwrap_or(NonZeroUsize::MIN),
            prefetch,
            create_if_missing,
            dead_letter,
            max_attempts,
            reply,
            reply_group,
            destinations: destinations.to_vec(),
            subscribe: subscribe.to_vec(),
            unwrap_sns,
            settle,
            role_arn,
            timeout,
            retry: RetryPolicy {
                delay,
                max_delay,
                jitter,
            },
            in_force: std::mem::take(&mut self.in_force),
        })
    }

    fn region(&mut self, queue: &QueueRef) -> Option<String> {
        match (queue.region(), self.own.region(Name::Region)) {
            // It is the queue's line that says it.
            (Some(region), _) => {
                let origin = self.origin(Name::Queue);
                self.in_force.push(InForce {
                    setting: Name::Region.key(),
                    value: region.to_owned(),
                    origin,
                });
                Some(region.to_owned())
            }
            (None, Some(region)) => {
                let region = region.to_owned();
                self.put(Name::Region, &region);
                Some(region)
            }
            (None, None) => {
                self.put(Name::Region, "the host's own");
                None
            }
        }
    }

    fn duration(&mut self, name: Name, default: Duration) -> Duration {
        let length = self.layer.duration(name).unwrap_or(default);
        self.put(name, humantime::format_duration(length));
        length
    }

    fn duration_or(&mut self, name: Name, none: &str) -> Option<Duration> {
        let length = self.layer.duration(name);
        self.put_or(name, length.map(humantime::format_duration), none);
        length
    }

    fn whole(&mut self, name: Name, default: u64) -> u64 {
        let number = self.layer.whole(name).unwrap_or(default);
        self.put(name, number);
        number
    }

    fn flag(&mut self, name: Name, default: bool) -> bool {
        let flag = self.layer.flag(name).unwrap_or(default);
        self.put(name, flag);
        flag
    }

    fn put(&mut self, name: Name, value: impl ToString) {
        let origin = self.origin(name);
        self.in_force.push(InForce {
            setting: name.key(),
            value: value.to_string(),
            origin,
        });
    }

    fn put_or(&mut self, name: Name, value: Option<impl ToString>, none: &str) {
        match value {
            Some(value) => self.put(name, value),
            None => self.put(name, none),
        }
    }

    fn origin(&self, name: Name) -> Origin {
        match self.layer.given(name) {
            Some(given) => Origin::Written(given.place.clone()),
            None => Origin::Default,
        }
    }
}

fn location(queue: &QueueRef) -> Location {
    Location {
        name: queue.name().clone(),
        region: queue.region().map(str::to_owned),
        account: queue.account().map(str::to_owned),
    }
}

/// A name that was mapped is said once (SPEC 1.2).
fn name_changed(layer: &Layer, name: Name) -> Option<Note> {
    let given = layer.given(name)?;
    let queue = match layer.target(name) {
        Some(TargetRef::Queue(queue)) => Some(queue),
        _ => layer.queue(name),
    };
    let Some(QueueRef::Name(mapped)) = queue else {
        return None;
    };
    let note = mapping(&given.text, mapped)?;
    Some(note.setting(name.key(), &given.text, &given.place))
}

fn mapping(text: &str, mapped: &QueueName) -> Option<Note> {
    (mapped.as_str() != text).then(|| {
        let message = format!("SQS does not take every character of it: the queue is {mapped}");
        Note::new(Level::Info, message)
    })
}

fn list(items: &[impl ToString]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(", ")
    }
}
