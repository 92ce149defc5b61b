//! What a guest sends while it runs (rule 6.6).

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use super::bindings::single::queuelet::handler::publish;
use super::bindings::single::queuelet::handler::types::Reply;
use super::convert::reply;
use super::guest::Guest;
use crate::handler::{Publish, PublishError};

/// What the guest of one call publishes with, and the runtime that its messages go out from.
pub(super) struct Publishing {
    publish: Arc<dyn Publish>,
    io: Handle,
}

impl Publishing {
    /// Publishes from the runtime that this is called on: the I/O runtime, which no guest holds up
    /// (rule 4.2).
    pub(super) fn from_here(publish: Arc<dyn Publish>) -> Self {
        Self {
            publish,
            io: Handle::current(),
        }
    }
}

impl publish::Host for Guest {
    /// The guest waits for the result, so a call that ends before it (its time limit, an interrupted
    /// handler) drops this future, and the task ends with it.
    async fn send(&mut self, message: Reply) -> Result<String, publish::PublishError> {
        let Some(Publishing { publish, io }) = &self.publishing else {
            return Err(nothing_granted().into());
        };
        let sent = publish.publish(reply(message));
        let sent = AbortOnDropHandle::new(io.spawn(sent)).await;
        match sent.unwrap_or_else(|error| Err(lost(&error))) {
            Ok(id) => Ok(id.as_str().to_owned()),
            Err(error) => Err(error.into()),
        }
    }
}

/// No destination, for any message.
fn nothing_granted() -> PublishError {
    let message = "this call may publish nothing: a handler may while it handles a message, to \
                   what `destinations` of its subscription lists";
    PublishError {
        code: "not-granted".into(),
        message: message.into(),
        retry: false,
    }
}

/// The task ended without an answer: the host is stopping, or has a fault.
fn lost(error: &tokio::task::JoinError) -> PublishError {
    PublishError {
        code: "interrupted".into(),
        message: format!("the host did not end the publish: {error}"),
        retry: true,
    }
}

impl From<PublishError> for publish::PublishError {
    fn from(error: PublishError) -> Self {
        let PublishError {
            code,
            message,
            retry,
        } = error;
        Self {
            code,
            message,
            retry,
        }
    }
}
