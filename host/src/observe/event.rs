//! Events: what happens to a subscription and its messages.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::circuit::Closing;
use crate::error::{CallError, SqsError};
use crate::handler::{Answer, Reason, Voice};

/// Where events come from: one plugin's subscription of one queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// The queue's name.
    pub queue: Arc<str>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.plugin, self.queue)
    }
}

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The subscription's queue is resolved; it receives from now on.
    Ready {
        /// The queue's URL.
        url: &'a str,
        /// The region in force, where one is known.
        region: Option<&'a str>,
        /// How long messages stay hidden.
        visibility: Duration,
    },
    /// The subscription cannot receive. It is tried again.
    NotReady {
        /// Why.
        error: &'a SqsError,
    },
    /// A receive brought messages.
    Received {
        /// How many.
        messages: usize,
    },
    /// A message came without a receipt handle, so nothing can be done with it.
    NoHandle,
    /// A receive failed.
    ReceiveFailed {
        /// Why.
        error: &'a CallError,
        /// Whether the receive before it had failed with the same class.
        still: bool,
        /// How long until the next one.
        pause: Duration,
    },
    /// A receive succeeded after some had failed.
    ReceiveRecovered,
    /// The queue was missing, and was created.
    Created,
    /// The queue is missing, and could not be created. It is tried again.
    NotCreated {
        /// Why.
        error: &'a SqsError,
        /// Whether the try before it had failed of the same.
        still: bool,
    },
    /// A message came that is here already: its lease goes on under the newer handle.
    HeldAlready,
    /// A message came that was finished before: it is deleted, and not handled again.
    FinishedAlready,
    /// A handler is called.
    Handling {
        /// How often the message has been received.
        receive_count: Option<u32>,
    },
    /// A handler answered, or failed.
    Handled {
        /// Its answer.
        answer: &'a Answer,
        /// How long it took.
        took: Duration,
        /// How often the message has been received.
        receive_count: Option<u32>,
        /// After how long it is handed out again, where it is: whole seconds, which is all SQS knows.
        again_after: Option<Duration>,
    },
    /// A message's lease ended before a handler was free: it is not handled here.
    NotBegun,
    /// A failed message has no receive left: SQS moves it to the dead-letter queue.
    GivenUp {
        /// How many receives the queue's redrive policy allows.
        max_receive_count: u32,
        /// Whether it has had more than those: the dead-letter queue does not take it.
        is_past: bool,
    },
    /// A reply was sent.
    ReplySent {
        /// To where.
        target: &'a str,
    },
    /// A reply could not be sent. The message is retried.
    ReplyFailed {
        /// Why.
        error: &'a SqsError,
        /// How the host speaks of its handler.
        voice: &'a dyn Voice,
    },
    /// A handler published a message while it ran.
    Published {
        /// To where.
        target: &'a str,
        /// How the host speaks of its handler.
        voice: &'a dyn Voice,
    },
    /// A message that a handler published was not sent; the handler is told.
    PublishFailed {
        /// Why.
        error: &'a SqsError,
        /// How the host speaks of its handler.
        voice: &'a dyn Voice,
    },
    /// Every reply of a message was sent.
    Replied,
    /// A message was sent to the dead-letter queue because its handler gave it up.
    DeadLettered {
        /// Why.
        reason: &'a str,
    },
    /// A message's outcome counts as a retry: one before it in its group stays on the queue.
    HeldBack,
    /// The queue's redrive policy was written.
    RedriveWritten {
        /// What was there.
        old: Option<&'a str>,
        /// What is there now.
        new: &'a str,
    },
    /// The queue was created anew, and its redrive policy could not be written.
    RedriveNotWritten {
        /// Why.
        error: &'a SqsError,
    },
    /// The queue is subscribed to a topic.
    SubscribedTo {
        /// The topic's ARN.
        topic: &'a str,
        /// Whether the queue's access policy was written for it.
        policy_written: bool,
        /// Whether the queue's owner has to confirm it first.
        pending: bool,
    },
    /// A message was deleted.
    Deleted,
    /// A message's visibility was changed: it comes back after `delay`.
    PutBack {
        /// After how long.
        delay: Duration,
    },
    /// A delay was longer than the twelve hours leave, and was shortened.
    DelayShortened {
        /// What was asked.
        asked: Duration,
        /// What was given.
        given: Duration,
    },
    /// The lease of a message that is to be retried is lost: it comes back by itself.
    RetryNotSent,
    /// A settlement failed and is tried again.
    SettleRetried {
        /// Why.
        error: &'a CallError,
    },
    /// A settlement was given up. The message comes back when its time-out lapses.
    SettleFailed {
        /// Why.
        error: &'a CallError,
    },
    /// Messages that no handler finished were released.
    Released {
        /// How many.
        messages: usize,
    },
    /// A handler was interrupted at the drain deadline.
    Interrupted,
    /// A lease was extended.
    Extended,
    /// A lease was extended for the last time: the twelve hours end.
    LeaseEnds {
        /// What is left.
        visibility: Duration,
    },
    /// An extension failed and is tried again.
    ExtensionFailed {
        /// Why.
        error: &'a CallError,
    },
    /// A lease is lost: the message may be handed to another consumer.
    LeaseLost {
        /// Why.
        error: &'a CallError,
    },
    /// A handler was stopped because the lease of its message, or of all of its batch, is lost.
    Abandoned,
    /// So many messages in a row have failed that nothing is received for a while.
    CircuitOpened {
        /// For how long.
        pause: Duration,
        /// How many messages failed in a row.
        failures: u32,
        /// Why the last of them did.
        reason: Reason,
    },
    /// One message is received, to see how its handler fares.
    CircuitProbes,
    /// Messages are received as before.
    CircuitClosed {
        /// Why.
        why: Closing,
    },
    /// The queue's own visibility timeout has changed.
    VisibilityChanged {
        /// What it was.
        old: Duration,
        /// What it is.
        new: Duration,
    },
    /// The subscription has ended.
    Ended,
    /// A task of the host panicked and is started again.
    Panicked {
        /// Which.
        task: &'static str,
        /// What it said.
        message: &'a str,
    },
}
