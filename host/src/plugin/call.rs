//! A loaded plugin, and its calls: each on a fresh store and instance.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime::Store;

use super::bindings::batch::BatchHandlerPre;
use super::bindings::single::SingleHandlerPre;
use super::convert::{Lent, answer};
use super::digest::Digest;
use super::engine::Guests;
use super::guest::{Guest, Subject, failure, store};
use crate::handler::{
    Answer, Call, Failure, Handler, HandlerKind, Handling, MessageId, Reason, SqsMessage,
};

/// A component that is linked, ready to be instantiated.
#[derive(Clone)]
pub(super) enum Linked {
    Single(SingleHandlerPre<Guest>),
    Batch(BatchHandlerPre<Guest>),
}

/// One version of a handler: compiled, linked, and asked for its descriptor.
pub struct Plugin {
    pub(super) name: Arc<str>,
    pub(super) digest: Digest,
    pub(super) short: Arc<str>,
    pub(super) contract: String,
    pub(super) descriptor: Vec<(String, String)>,
    pub(super) linked: Linked,
    pub(super) guests: Arc<Guests>,
}

impl Plugin {
    /// The plugin's name: its file's, without `.wasm`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of its file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The version of the contract that it was built for.
    pub fn contract(&self) -> &str {
        &self.contract
    }

    /// The settings that it says of itself, in its own order.
    pub fn descriptor(&self) -> &[(String, String)] {
        &self.descriptor
    }

    fn store(
        &self,
        call: &Call,
        message: Option<&MessageId>,
        deadline: Option<Instant>,
    ) -> Store<Guest> {
        let subject = Subject {
            plugin: Arc::clone(&self.name),
            digest: Arc::clone(&self.short),
            queue: Arc::clone(&call.queue),
            message: message.map(|id| id.as_str().to_owned()),
        };
        store(&self.guests, subject, deadline)
    }
}

impl Handler for Plugin {
    fn kind(&self) -> HandlerKind {
        match self.linked {
            Linked::Single(_) => HandlerKind::Single,
            Linked::Batch(_) => HandlerKind::Batch,
        }
    }

    fn handle(&self, call: Call, message: Arc<SqsMessage>) -> Handling<Answer> {
        let Linked::Single(pre) = self.linked.clone() else {
            return Box::pin(std::future::ready(Err(wrong_kind(self.kind()))));
        };
        let deadline = Deadline::after(call.timeout);
        let mut store = self.store(&call, message.id.as_ref(), deadline.at);
        let running = self.guests.run(deadline.limit(async move {
            let answered = async {
                let handler = pre.instantiate_async(&mut store).await?;
                let lent = Lent::new(&message);
                let single = handler.queuelet_handler_single();
                single.call_handle(&mut store, lent.message()).await
            }
            .await;
            store.data().finish();
            answered.map_err(|error| failure(&error)).and_then(answer)
        }));
        Box::pin(async move {
            running
                .await
                .unwrap_or_else(|error| Err(host_fault(&error)))
        })
    }

    fn handle_batch(
        &self,
        call: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let Linked::Batch(pre) = self.linked.clone() else {
            return Box::pin(std::future::ready(Err(wrong_kind(self.kind()))));
        };
        let deadline = Deadline::after(call.timeout);
        let mut store = self.store(&call, None, deadline.at);
        let running = self.guests.run(deadline.limit(async move {
            let answered = async {
                let handler = pre.instantiate_async(&mut store).await?;
                let lent: Vec<_> = messages.iter().map(|m| Lent::new(m)).collect();
                let list: Vec<_> = lent.iter().map(Lent::message).collect();
                let batch = handler.queuelet_handler_batch();
                batch.call_handle(&mut store, &list).await
            }
            .await;
            store.data().finish();
            match answered {
                Ok(answers) => Ok(answers.into_iter().map(answer).collect()),
                Err(error) => Err(failure(&error)),
            }
        }));
        Box::pin(async move {
            running
                .await
                .unwrap_or_else(|error| Err(host_fault(&error)))
        })
    }
}

/// When a call must end.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Option<Instant>,
    limit: Option<Duration>,
}

impl Deadline {
    pub(super) fn after(limit: Option<Duration>) -> Self {
        Self {
            // A limit too long for the clock is none.
            at: limit.and_then(|limit| Instant::now().checked_add(limit)),
            limit,
        }
    }

    /// Ends a call that waits in the host past the deadline. One that burns the CPU is ended by
    /// the epoch, which looks at the same deadline.
    pub(super) async fn limit<T>(
        self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let late = || {
            let limit = self.limit.unwrap_or_default();
            Failure::new(
                Reason::Timeout,
                format!("the handler passed its time limit of {limit:?}"),
            )
        };
        let Some(at) = self.at else {
            return call.await;
        };
        match tokio::time::timeout_at(at, call).await {
            Ok(Err(failure)) if failure.reason == Reason::Timeout => Err(late()),
            Ok(answer) => answer,
            Err(_) => Err(late()),
        }
    }
}

fn wrong_kind(kind: HandlerKind) -> Failure {
    Failure::new(
        Reason::Answer,
        format!("the host called a {kind} handler the other way; please report this"),
    )
}

fn host_fault(error: &tokio::task::JoinError) -> Failure {
    Failure::new(
        Reason::Trap,
        format!("the host failed while the handler ran; please report this: {error}"),
    )
}
