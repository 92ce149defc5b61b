//! Sending while the handler runs.

use std::fmt;

use crate::{Reply, bindings};

/// Sends a message to a queue or a topic now, and waits until it is there. The answer is the id that
/// SQS or SNS gave it.
///
/// The destination is a queue, by name, URL or ARN, or a topic, by ARN or as `sns:NAME`. The
/// descriptor lists it in [`destinations`](crate::SqsQueue::destinations), and the operator may have
/// taken it away. Most handlers need not wait: what they return as a [`Reply`] is sent when they are
/// done, and the message that they handled is deleted only if it could be.
///
/// The wait counts against the handler's time limit. It blocks, in an `async fn` too: a component
/// does one thing at a time. Nothing is taken back: where the handler fails afterwards the message
/// that it handled comes back, and what it sent for it is sent again.
///
/// # Errors
///
/// A [`PublishError`], with which a handler may end: the message that it handled is retried then.
/// Outside a component, in a handler's own unit tests, there is no host, and the code is `no-host`.
///
/// ```
/// use queuelet_guest::{HandlerOutcome, PublishError, Reply, SqsQueue, publish, subscriber};
///
/// #[subscriber(SqsQueue::new("orders").destinations(["billing"]))]
/// fn bill(order: &[u8]) -> Result<HandlerOutcome, PublishError> {
///     match publish("billing", Reply::new(order)) {
///         Ok(_) => Ok(HandlerOutcome::ack()),
///         Err(error) if error.retry() => Err(error),
///         Err(error) => Ok(HandlerOutcome::dead_letter(error.to_string())),
///     }
/// }
/// ```
pub fn publish(destination: impl Into<String>, message: Reply) -> Result<String, PublishError> {
    let message = message.to(destination).into_wire().map_err(|failure| {
        // As the host would say of a message that SQS does not take.
        PublishError::new("invalid", failure.message, false)
    })?;
    if cfg!(target_family = "wasm") {
        bindings::publish::send(&message).map_err(PublishError)
    } else {
        let why = "only a component has a host that publishes";
        Err(PublishError::new("no-host", why.to_owned(), false))
    }
}

/// A message that is not known to be out.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishError(bindings::publish::PublishError);

impl PublishError {
    fn new(code: &str, message: String, retry: bool) -> Self {
        Self(bindings::publish::PublishError {
            code: code.to_owned(),
            message,
            retry,
        })
    }

    /// What kind of error: `not-granted` where the subscription does not let the handler send there,
    /// `invalid` where the message is none that the target takes, `network` where AWS was out of
    /// reach, else AWS's own code, such as `KmsAccessDenied`. Hosts may say others.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// What was wrong and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the same message may go out a little later, with nobody mending anything. Where only
    /// the answer was lost it is out already, and then goes out twice.
    pub fn retry(&self) -> bool {
        self.0.retry
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message())
    }
}

impl std::error::Error for PublishError {}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 6.6.
    #[test]
    fn an_error_says_its_code_and_whether_to_retry() {
        let error = PublishError::new("KmsThrottled", "slow down".into(), true);
        assert_eq!(
            (error.code(), error.message()),
            ("KmsThrottled", "slow down")
        );
        assert!(error.retry());
        assert_eq!(error.to_string(), "KmsThrottled: slow down");
    }

    #[test]
    fn a_message_that_cannot_be_encoded_is_not_sent() {
        let keyless = std::collections::HashMap::from([((1, 2), 3)]);
        let error = publish("billing", Reply::json(&keyless)).unwrap_err();
        assert_eq!((error.code(), error.retry()), ("invalid", false));
        assert!(error.message().contains("JSON"), "{error}");
    }

    #[test]
    fn without_a_host_nothing_is_sent_and_nothing_is_said_to_be() {
        let error = publish("billing", Reply::new("a")).unwrap_err();
        assert_eq!((error.code(), error.retry()), ("no-host", false));
    }
}
