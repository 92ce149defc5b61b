//! SNS beside the queues: topics that deliver into them.
//!
//! It is a client of the queues like any other, which reaches one by its ARN. From the inside out:
//!
//! - `filter`: filter policies, and `access`: the access policies of queues;
//! - `engine`: the topics, as a state machine that is told what time it is and gives the deliveries
//!   that a message comes to;
//! - `delivery`: making them;
//! - `protocol`: AWS's query protocol, a form in and XML out.
//!
//! Invariants:
//! - the lock on the topics is held while a message is delivered, so that a queue gets a FIFO topic's
//!   messages in the order of their sequence numbers; the queues' lock is always taken second;
//! - a queue that has an access policy gets only what that lets in, and one without gets everything;
//! - what is delivered to a queue wakes the receives that wait there, as any message does.

mod access;
mod arn;
mod delivery;
mod engine;
mod filter;
mod limits;
mod notification;
mod protocol;
mod refusal;

#[cfg(test)]
mod tests;

use super::calls::Counter;
use super::engine::message::{Content, Outgoing};
use super::engine::refusal::{Kind, Refusal};
use super::hub::Hub;
use delivery::{Letter, Queues, Undelivered};
use engine::{Engine, Occasion};
use protocol::Request;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use engine::Snapshot;
pub(crate) use protocol::{Reply, is_unsubscribe_link};

/// The topics and their subscriptions.
#[derive(Debug)]
pub(crate) struct Sns(Mutex<Engine>);

/// A call of the query protocol as it came in.
pub(crate) struct Call<'a> {
    /// The topics.
    pub(crate) sns: &'a Sns,
    /// The queues they deliver into.
    pub(crate) hub: &'a Hub,
    /// Counts this call.
    pub(crate) counter: &'a Counter,
    /// `host:port` as the client wrote it.
    pub(crate) host: &'a str,
    /// The `X-Amzn-Trace-Id` header, which goes along with what is published.
    pub(crate) trace_header: Option<&'a str>,
    /// The form: `Action=Publish&Version=2010-03-31&…`.
    pub(crate) form: &'a [u8],
}

impl Default for Sns {
    /// No topics yet.
    fn default() -> Self {
        Self(Mutex::new(Engine::new(rand::random())))
    }
}

impl Sns {
    /// The topics as they were.
    pub(crate) fn from_snapshot(snapshot: Snapshot) -> Self {
        Self(Mutex::new(Engine::from_snapshot(snapshot, rand::random())))
    }

    /// The topics as they are now.
    pub(crate) fn to_snapshot(&self) -> Snapshot {
        self.lock().to_snapshot()
    }

    fn lock(&self) -> MutexGuard<'_, Engine> {
        // A panic under the lock fails its own request; the topics of all others are still there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call<'_> {
    /// Carries the call out.
    pub(crate) fn answer(&self) -> Reply {
        let origin = format!("http://{}", self.host);
        let mut engine = self.sns.lock();
        let request = Request {
            engine: &mut engine,
            queues: self.hub,
            counter: self.counter,
            // The time is read under the lock, so that the engine never sees it go back.
            occasion: Occasion {
                now: self.hub.now(),
                origin: &origin,
            },
            trace_header: self.trace_header,
        };
        protocol::answer(request, self.form)
    }
}

impl Queues for Hub {
    fn put(
        &self,
        queue: &str,
        letter: &Letter,
        allows: &dyn Fn(&str) -> bool,
    ) -> Result<(), Undelivered> {
        let policy = self.policy(queue).map_err(undelivered)?;
        if !policy.is_none_or(|policy| allows(&policy)) {
            return Err(Undelivered::NotAllowed);
        }
        let letter = letter.clone();
        let content = Content::new(
            letter.body,
            letter.attributes,
            letter.trace_header,
            letter.group,
        );
        content
            .and_then(|content| Outgoing::new(content, letter.deduplication))
            .and_then(|outgoing| self.deliver(queue, &outgoing))
            .map(drop)
            .map_err(undelivered)
    }
}

fn undelivered(refusal: Refusal) -> Undelivered {
    match refusal.kind {
        Kind::QueueDoesNotExist => Undelivered::NoQueue,
        _ => Undelivered::Refused(refusal.message),
    }
}
