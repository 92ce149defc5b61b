//! One mount: the checks that need more than one setting, and every setting in force.

mod checks;

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use super::layer::Layer;
use super::problem::{Class, Level, Note, Place, Problem};
use super::queue::{QueueName, QueueRef};
use super::resolve::PluginSettings;
use super::sandbox::{Circuit, Instances, OnLostLease, Reuse, Sandbox};
use super::subscription::{InForce, Origin, RetryPolicy, SettleMode, SqsSubscription};
use super::target::TargetRef;
use super::vocabulary::Name;
use super::{env, size};
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
        self.problems.extend(self.layer.check_orders());
        self.check_reuse();
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

    /// Which of `batch` and `receive` a handler of this kind has. `[defaults]` may hold both, for
    /// handlers of both kinds.
    fn size_names(&self) -> (Name, Name) {
        match self.plugin.kind {
            HandlerKind::Single => (Name::Receive, Name::Batch),
            HandlerKind::Batch => (Name::Batch, Name::Receive),
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
        let sandbox = self.sandbox();
        let instances = self.instances();
        let on_lost_lease = match self.layer.text(Name::OnLostLease) {
            Some("interrupt") => OnLostLease::Interrupt,
            _ => OnLostLease::Continue,
        };
        self.put(
            Name::OnLostLease,
            match on_lost_lease {
                OnLostLease::Continue => "continue",
                OnLostLease::Interrupt => "interrupt",
            },
        );
        let circuit = self.circuit();
        let sha256 = self.own.digests().unwrap_or_default();
        self.put_or(
            Name::Sha256,
            (!sha256.is_empty()).then(|| list(sha256)),
            "any",
        );
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
            sandbox,
            instances,
            on_lost_lease,
            circuit,
            sha256: sha256.to_vec(),
            in_force: std::mem::take(&mut self.in_force),
        })
    }

    fn sandbox(&mut self) -> Sandbox {
        let memory = self.size(Name::Memory, limits::GUEST_MEMORY);
        let cpu_time = self.duration_or(Name::CpuTime, "none");
        let max_output = self.size(Name::MaxOutput, limits::GUEST_OUTPUT);
        let env = self.own.env().cloned().unwrap_or_default();
        self.put(Name::Env, env::shown(&env));
        let http = self.own.http().unwrap_or_default();
        self.put(Name::Http, list(http));
        Sandbox {
            memory,
            cpu_time,
            max_output,
            env,
            http: http.to_vec(),
        }
    }

    fn instances(&mut self) -> Instances {
        let reuses = self.layer.text(Name::Instances) == Some("reuse");
        self.put(Name::Instances, if reuses { "reuse" } else { "fresh" });
        let messages = self.whole(Name::ReuseMessages, limits::REUSE_MESSAGES);
        let age = self.duration(Name::ReuseAge, limits::REUSE_AGE);
        let growth = self.size(Name::ReuseGrowth, limits::REUSE_GROWTH);
        if !reuses {
            return Instances::Fresh;
        }
        Instances::Reuse(Reuse {
            messages: NonZeroU64::new(messages).unwrap_or(NonZeroU64::MIN),
            age,
            growth,
        })
    }

    fn circuit(&mut self) -> Circuit {
        let after = self.whole(Name::CircuitAfter, limits::CIRCUIT_AFTER.into());
        Circuit {
            // Held to its bounds, which fit, by the vocabulary.
            after: u32::try_from(after).unwrap_or(limits::CIRCUIT_AFTER_MAX),
            pause: self.duration(Name::CircuitPause, limits::CIRCUIT_PAUSE),
            max_pause: self.duration(Name::CircuitMaxPause, limits::CIRCUIT_PAUSE_MAX),
        }
    }

    fn size(&mut self, name: Name, default: usize) -> usize {
        let bytes = self.layer.size(name).unwrap_or(default);
        self.put(name, size::shown(bytes));
        bytes
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
