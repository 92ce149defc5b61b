//! Whether a subscription can receive: what its events say of that, kept for whoever asks.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::event::Event;
use crate::error::ErrorClass;

/// How a subscription stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// Its queue is not open yet.
    #[default]
    Opening,
    /// It receives.
    Yes,
    /// It cannot receive: its queue is denied, missing or out of reach. It is tried until it can
    /// (rule 2.4).
    No {
        /// What is wrong, and what to do.
        why: Arc<str>,
    },
    /// It has ended.
    Ended,
}

/// The readiness of one subscription, as it is now and as it changes.
#[derive(Debug)]
pub struct Readiness {
    state: watch::Sender<Ready>,
    /// Where its queue is, once that was open.
    region: OnceLock<Arc<str>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(Ready::default()),
            region: OnceLock::new(),
        }
    }
}

impl Readiness {
    /// How the subscription stands.
    pub fn now(&self) -> Ready {
        self.state.borrow().clone()
    }

    /// The region that its queue was found in, once it was.
    pub fn region(&self) -> Option<&str> {
        self.region.get().map(|region| &**region)
    }

    /// Whether it receives.
    pub fn is_ready(&self) -> bool {
        *self.state.borrow() == Ready::Yes
    }

    /// Sees every change.
    pub fn watch(&self) -> watch::Receiver<Ready> {
        self.state.subscribe()
    }

    /// Takes what an event says of it.
    pub(super) fn note(&self, event: &Event<'_>) {
        if let Event::Ready {
            region: Some(region),
            ..
        } = event
        {
            self.region.get_or_init(|| (*region).into());
        }
        if let Some(ready) = after(event) {
            self.state.send_if_modified(|now| {
                let changes = *now != ready;
                *now = ready;
                changes
            });
        }
    }
}

/// What an event says of a subscription's readiness, where it says anything.
///
/// A receive that is throttled is only slow. One that had no answer may have met a server that was
/// just restarted; the second in a row has not.
fn after(event: &Event<'_>) -> Option<Ready> {
    let no = |why: String| Some(Ready::No { why: why.into() });
    match event {
        Event::Ready { .. } | Event::ReceiveRecovered => Some(Ready::Yes),
        Event::NotReady { error } => no(format!("{error}{}", error.remedy().advice())),
        Event::ReceiveFailed { error, still, .. } => match (error.class, still) {
            (ErrorClass::Throttled, _) | (ErrorClass::Network, false) => None,
            _ => no(format!("{error}{}", error.remedy().advice())),
        },
        Event::Ended => Some(Ready::Ended),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::{CallError, Remedy};

    fn failed(readiness: &Readiness, class: ErrorClass, still: bool) {
        let error = CallError {
            operation: "ReceiveMessage",
            class,
            code: None,
            message: "no".into(),
        };
        readiness.note(&Event::ReceiveFailed {
            error: &error,
            still,
            pause: Duration::ZERO,
        });
    }

    // Rule 2.4: denied, missing and out of reach are not ready; the first success is.
    #[test]
    fn a_subscription_is_not_ready_while_it_cannot_receive() {
        for (class, still, ready) in [
            (ErrorClass::Denied, false, false),
            (ErrorClass::Missing, false, false),
            (ErrorClass::Network, false, true),
            (ErrorClass::Network, true, false),
            (ErrorClass::Throttled, true, true),
        ] {
            let readiness = Readiness::default();
            assert_eq!(readiness.now(), Ready::Opening);
            readiness.note(&Event::Ready {
                url: "http://sqs/q",
                region: None,
                visibility: Duration::from_secs(30),
            });
            failed(&readiness, class, still);
            assert_eq!(readiness.is_ready(), ready, "{class}, still: {still}");
            readiness.note(&Event::ReceiveRecovered);
            assert!(readiness.is_ready());
        }
    }

    // Rule 2.4: whoever watches is told once a change.
    #[test]
    fn a_change_of_readiness_is_told_once() {
        let readiness = Readiness::default();
        let mut watch = readiness.watch();
        for still in [false, true, true] {
            failed(&readiness, ErrorClass::Denied, still);
        }
        assert!(watch.has_changed().unwrap());
        let Ready::No { why } = watch.borrow_and_update().clone() else {
            panic!("it is ready");
        };
        assert!(why.starts_with("ReceiveMessage: no; "), "{why}");
        assert!(why.ends_with(Remedy::Credentials.advice()), "{why}");
        failed(&readiness, ErrorClass::Denied, true);
        assert!(!watch.has_changed().unwrap());
    }
}
