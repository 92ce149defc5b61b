//! A loaded plugin, and its calls: each on a fresh store and instance.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;

use super::bindings::batch::BatchHandlerPre;
use super::bindings::single::SingleHandlerPre;
use super::convert::{Lent, answer};
use super::deadline::Deadline;
use super::digest::Digest;
use super::engine::Guests;
use super::failure::failure;
use super::guest::{Guest, store};
use super::log::Subject;
use super::publish::Publishing;
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

    fn subject(&self, call: &Call, message: Option<&MessageId>) -> Subject {
        Subject {
            plugin: Arc::clone(&self.name),
            digest: Arc::clone(&self.short),
            queue: Arc::clone(&call.queue),
            message: message.map(|id| id.as_str().to_owned()),
        }
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
        let subject = self.subject(&call, message.id.as_ref());
        let publishing = call.publish.map(Publishing::from_here);
        let guests = Arc::clone(&self.guests);
        let limit = call.timeout;
        let answered = on_fresh_store(guests, subject, publishing, limit, async move |store| {
            let handler = pre.instantiate_async(&mut *store).await?;
            let lent = Lent::new(&message);
            let single = handler.queuelet_handler_single();
            single.call_handle(store, lent.message()).await
        });
        let answered = self.guests.run(answered);
        Box::pin(async move { answered.await.and_then(answer) })
    }

    fn handle_batch(
        &self,
        call: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let Linked::Batch(pre) = self.linked.clone() else {
            return Box::pin(std::future::ready(Err(wrong_kind(self.kind()))));
        };
        let subject = self.subject(&call, None);
        let publishing = call.publish.map(Publishing::from_here);
        let guests = Arc::clone(&self.guests);
        let limit = call.timeout;
        let answered = on_fresh_store(guests, subject, publishing, limit, async move |store| {
            let handler = pre.instantiate_async(&mut *store).await?;
            let lent: Vec<_> = messages.iter().map(|m| Lent::new(m)).collect();
            let list: Vec<_> = lent.iter().map(Lent::message).collect();
            let batch = handler.queuelet_handler_batch();
            batch.call_handle(store, &list).await
        });
        let answered = self.guests.run(answered);
        Box::pin(async move { Ok(answered.await?.into_iter().map(answer).collect()) })
    }
}

/// Makes a call on a fresh store. Its time begins here, so not before there is a place for its
/// instance.
pub(super) async fn on_fresh_store<T>(
    guests: Arc<Guests>,
    subject: Subject,
    publishing: Option<Publishing>,
    limit: Option<Duration>,
    call: impl AsyncFnOnce(&mut Store<Guest>) -> wasmtime::Result<T>,
) -> Result<T, Failure> {
    let deadline = Deadline::after(limit, None);
    let mut store = store(&guests);
    store
        .data_mut()
        .begin(subject, publishing, deadline.clone());
    let answered = async {
        let answered = call(&mut store).await;
        answered.map_err(|error| failure(&error))
    };
    deadline.limit(answered).await
}

fn wrong_kind(kind: HandlerKind) -> Failure {
    Failure::new(
        Reason::Answer,
        format!("the host called a {kind} handler the other way; please report this"),
    )
}
