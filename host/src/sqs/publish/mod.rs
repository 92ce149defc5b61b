//! Sending messages for handlers: their replies, and what they publish while they run (rule 6).
//!
//! `check` says what AWS takes and `ids` what a message is told by, `calls` shares messages out to
//! calls; these are pure. `target` is one queue or topic, `handling` what a running handler holds.

mod calls;
mod check;
mod handling;
mod ids;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::join_all;

use calls::{Waiting, next_call};
use check::{Refusal, outgoing};
use ids::Groups;
use target::Open;

pub use target::Target;

use super::api::Outgoing;
use super::connection::Connection;
use super::sns::TopicHome;
use crate::config::TargetRef;
use crate::error::{CallError, ErrorClass, SqsError};
use crate::handler::{GroupId, Publish, Reply, SqsMessage, Voice};
use crate::line::name;
use crate::observe::{Event, Observer};

/// The code of a destination that was not granted.
const NOT_GRANTED: &str = "not-granted";

/// Where the messages of one subscription's handler may go, as its mount says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Targets<'a> {
    /// `reply`: where a message goes that names no destination.
    pub reply: Option<&'a TargetRef>,
    /// `destinations`: where else one may go that names it.
    pub destinations: &'a [TargetRef],
    /// `reply_group`: the message group on a FIFO target, where a message says none.
    pub reply_group: Option<&'a str>,
    /// Whether what is missing is created.
    pub create: bool,
    /// The region of what is named without one.
    pub region: Option<&'a str>,
    /// Where topics are that are named by their names alone.
    pub home: Option<&'a TopicHome>,
    /// Whether a destination means the target of its name, whatever URL or ARN it is: in local mode,
    /// where the targets themselves are named by their names.
    pub by_name: bool,
}

impl Targets<'_> {
    fn connect(&self, connection: &Connection, target: &TargetRef) -> Result<Target, SqsError> {
        Ok(match target {
            TargetRef::Queue(queue) => {
                let api = connection.client(queue.region().or(self.region))?;
                Target::queue(api, queue.clone(), self.create, connection.endpoint())
            }
            TargetRef::Topic(topic) => {
                let home = self.home.map(TopicHome::region);
                let api = connection.sns(topic.region().or(home).or(self.region))?;
                Target::topic(api, topic.clone(), self.create, self.home.cloned())
            }
        })
    }
}

/// Sends the messages of one subscription's handler.
pub struct Publisher {
    /// The reply target first, where there is one.
    targets: Vec<Arc<Target>>,
    has_reply_target: bool,
    reply_group: Option<String>,
    by_name: bool,
    observer: Observer,
}

impl Publisher {
    /// A publisher to `targets`, none of which is resolved yet.
    ///
    /// # Errors
    /// [`SqsError::NotConnected`] where no region is known.
    pub fn connect(
        connection: &Connection,
        targets: Targets<'_>,
        observer: Observer,
    ) -> Result<Self, SqsError> {
        let connect = |target: &TargetRef| targets.connect(connection, target);
        let reply = targets.reply.map(connect).transpose()?;
        let others = targets.destinations.iter().map(connect);
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let group = targets.reply_group.map(str::to_owned);
        Ok(Self {
            by_name: targets.by_name,
            ..Self::new(reply, others, group, observer)
        })
    }

    /// A publisher to `reply`, where a message names no destination, and to `destinations`.
    pub fn new(
        reply: Option<Target>,
        destinations: Vec<Target>,
        reply_group: Option<String>,
        observer: Observer,
    ) -> Self {
        Self {
            has_reply_target: reply.is_some(),
            targets: reply
                .into_iter()
                .chain(destinations)
                .map(Arc::new)
                .collect(),
            reply_group,
            by_name: false,
            observer,
        }
    }

    /// Whether a reply that names no destination has somewhere to go (rule 1.10).
    pub fn has_reply_target(&self) -> bool {
        self.has_reply_target
    }

    /// Resolves every target.
    ///
    /// # Errors
    /// The first that cannot be resolved, read or created.
    pub async fn resolve(&self) -> Result<(), SqsError> {
        let opened = join_all(self.targets.iter().map(|target| target.open())).await;
        opened.into_iter().try_for_each(|open| open.map(drop))
    }

    /// Sends the replies of messages, each message's in order, and answers for each message whether
    /// all of them are out (rule 5.5).
    ///
    /// Of a message nothing is sent unless all its replies can be, as far as can be told before:
    /// what went out before a refusal would go out again with each retry. Once one of them fails,
    /// the later ones are not sent; nor to a FIFO target those of later messages of its group.
    pub async fn send_all(
        &self,
        sources: Vec<(Arc<SqsMessage>, Vec<Reply>)>,
    ) -> Vec<Result<(), SqsError>> {
        let mut sending = Sending {
            results: Vec::new(),
            messages: Vec::new(),
            targets: Vec::new(),
        };
        for (message, replies) in sources {
            let checked = self.check(&message, replies).await;
            sending.add(message, checked);
        }
        sending.run(&self.observer).await;
        sending.results
    }

    /// What the handler of `sources` publishes with while it runs (rule 6.6), and how the host
    /// speaks of that.
    pub fn for_call(
        self: &Arc<Self>,
        sources: &[Arc<SqsMessage>],
        voice: Arc<dyn Voice>,
    ) -> Arc<dyn Publish> {
        let publisher = Arc::clone(self);
        Arc::new(handling::CallPublisher::new(publisher, sources, voice))
    }

    /// Every reply of one message, ready to go out.
    async fn check(
        &self,
        message: &SqsMessage,
        replies: Vec<Reply>,
    ) -> Result<Vec<(Routed, Outgoing)>, SqsError> {
        let root = ids::root([message.id.as_ref()]);
        let mut checked = Vec::new();
        for (position, reply) in replies.into_iter().enumerate() {
            let target = self.target_of(&reply)?;
            let derived = ids::of_reply(&root, position);
            let group = message.group_id.as_ref();
            checked.push(self.prepare(target, reply, group, derived).await?);
        }
        Ok(checked)
    }

    /// The message of one reply and the open target that it goes to.
    async fn prepare(
        &self,
        target: Arc<Target>,
        reply: Reply,
        source_group: Option<&GroupId>,
        derived: String,
    ) -> Result<(Routed, Outgoing), SqsError> {
        let open = target.open().await?;
        let groups = Groups {
            default: self.reply_group.as_deref(),
            source: source_group.map(GroupId::as_str),
        };
        match outgoing(reply, open.takes, groups, derived) {
            Ok(message) => Ok((Routed { target, open }, message)),
            Err(refusal) => {
                if matches!(refusal, Refusal::Size(_)) {
                    // Whoever raises the limit need not start us again.
                    target.forget();
                }
                Err(target.refused(refusal))
            }
        }
    }

    /// The target that a message means.
    fn target_of(&self, reply: &Reply) -> Result<Arc<Target>, SqsError> {
        let Some(destination) = &reply.destination else {
            let first = self.targets.first().filter(|_| self.has_reply_target);
            return first.cloned().ok_or_else(|| {
                let why = "the message names no destination, and the subscription has no target: \
                           set `reply` to a queue or a topic in the mount file or the descriptor";
                not_granted("no target", why.to_owned())
            });
        };
        let named = destination.parse::<TargetRef>().ok();
        let meant = named.and_then(|named| {
            let named = if self.by_name { named.by_name() } else { named };
            let mut targets = self.targets.iter();
            let exactly = targets.clone().find(|target| *target.named() == named);
            exactly.or_else(|| targets.find(|target| target.is_meant_by(&named)))
        });
        meant.cloned().ok_or_else(|| {
            let granted: Vec<_> = self.targets.iter().map(|t| t.named().to_string()).collect();
            let granted = match &granted[..] {
                [] => "it may send nowhere".to_owned(),
                names => format!("it may send to {}", names.join(", ")),
            };
            not_granted(
                &name(destination),
                format!(
                    "the subscription does not grant this destination: {granted}; add it to \
                     `destinations` in the mount file"
                ),
            )
        })
    }
}

fn not_granted(target: &str, message: String) -> SqsError {
    SqsError::Publish {
        target: target.to_owned(),
        cause: Arc::new(CallError {
            operation: "SendMessage",
            class: ErrorClass::Refused,
            code: Some(NOT_GRANTED.into()),
            message,
        }),
    }
}

/// An open target.
#[derive(Clone)]
struct Routed {
    target: Arc<Target>,
    open: Arc<Open>,
}

/// Messages on their way out, by target.
struct Sending {
    messages: Vec<Arc<SqsMessage>>,
    /// What has become of each message.
    results: Vec<Result<(), SqsError>>,
    targets: Vec<(Routed, VecDeque<Waiting>)>,
}

impl Sending {
    fn add(
        &mut self,
        message: Arc<SqsMessage>,
        checked: Result<Vec<(Routed, Outgoing)>, SqsError>,
    ) {
        let source = self.messages.len();
        self.messages.push(message);
        let replies = match checked {
            Ok(replies) => replies,
            Err(error) => {
                self.results.push(Err(error));
                return;
            }
        };
        self.results.push(Ok(()));
        for (to, message) in replies {
            let waiting = Waiting::new(source, message);
            let mut targets = self.targets.iter_mut();
            match targets.find(|(other, _)| Arc::ptr_eq(&other.target, &to.target)) {
                Some((_, queue)) => queue.push_back(waiting),
                None => self.targets.push((to, VecDeque::from([waiting]))),
            }
        }
    }

    async fn run(&mut self, observer: &Observer) {
        for (to, mut waiting) in std::mem::take(&mut self.targets) {
            self.send_to(&to, &mut waiting, observer).await;
        }
    }

    async fn send_to(&mut self, to: &Routed, waiting: &mut VecDeque<Waiting>, observer: &Observer) {
        let Routed { target, open } = to;
        let fifo = open.takes.fifo;
        loop {
            waiting.retain(|next| self.may_go(next.source, fifo, target));
            let call = next_call(waiting, fifo, open.room());
            if call.is_empty() {
                return;
            }
            let (sources, messages): (Vec<_>, Vec<_>) =
                call.into_iter().map(|w| (w.source, w.message)).unzip();
            let results = open.send(&messages).await;
            for (source, result) in sources.into_iter().zip(results) {
                let id = self.messages[source].id.as_ref();
                match result {
                    Ok(_) => {
                        let target = target.named().name();
                        observer.emit(id, Event::ReplySent { target });
                    }
                    Err(error) if self.results[source].is_ok() => {
                        self.results[source] = Err(target.failed(error));
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Whether a reply of this message may still go out; if not, its message has failed.
    fn may_go(&mut self, source: usize, fifo: bool, target: &Target) -> bool {
        if self.results[source].is_err() {
            return false;
        }
        let Some(group) = self.messages[source].fifo_group().filter(|_| fifo) else {
            return true;
        };
        let mut before = self.messages[..source].iter().zip(&self.results);
        let failed = before.find_map(|(message, result)| {
            let class = result.as_ref().err()?.class();
            (message.fifo_group() == Some(group)).then_some(class)
        });
        let Some(class) = failed else { return true };
        self.results[source] = Err(target.error(CallError {
            operation: "SendMessage",
            class: class.unwrap_or(ErrorClass::Refused),
            code: None,
            message: "not sent, because the reply to an earlier message of its group could not be"
                .into(),
        }));
        false
    }
}

impl SqsMessage {
    /// The group that orders this message: on a standard queue a group id orders nothing.
    fn fifo_group(&self) -> Option<&GroupId> {
        self.sequence_number.as_ref().and(self.group_id.as_ref())
    }
}
