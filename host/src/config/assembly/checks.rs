//! The checks that need more than one setting.

use super::*;

impl Assembly<'_> {
    pub(super) fn check_queue(&mut self) {
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
    pub(super) fn check_redrive(&mut self) {
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

    pub(super) fn check_reply(&mut self) {
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

    pub(super) fn check_destinations(&mut self) {
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
    pub(super) fn check_subscribe(&mut self) {
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
    pub(super) fn check_region(&mut self) {
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

    pub(super) fn check_size(&mut self) {
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

    /// What is said of instances that are used again says nothing where none is.
    pub(super) fn check_reuse(&mut self) {
        if self.layer.text(Name::Instances) == Some("reuse") || self.own.is_refused(Name::Instances)
        {
            return;
        }
        for name in [Name::ReuseMessages, Name::ReuseAge, Name::ReuseGrowth] {
            if let Some(given) = self.own.given(name) {
                let message = "it says nothing while each call has a fresh instance; write \
                               instances = \"reuse\" as well, or remove it";
                let note = Note::new(Level::Warn, message);
                let note = note.setting(name.key(), &given.text, &given.place);
                self.notes.push(note);
            }
        }
    }
}
