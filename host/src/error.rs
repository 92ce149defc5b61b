//! The errors of the library, by who must act on them.

pub(crate) mod code;
pub(crate) mod remedy;

use std::fmt;
use std::sync::Arc;

pub use remedy::Remedy;

use crate::config::{Class, Problem};

/// The class of a failed call, for code to branch on (rule 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// SQS asks for less. Backing off mends it.
    Throttled,
    /// Access denied, credentials missing or expired, a key that may not be used. A person mends it.
    Denied,
    /// There is no such queue. A person mends it, or a deployment that is under way.
    Missing,
    /// No answer, a broken connection, or a server in trouble. Time mends it.
    Network,
    /// The receipt handle is no good any more: the lease of the message is lost.
    LostHandle,
    /// SQS hides the message no longer: the twelve hours of its receive are used up. Its handle
    /// still settles it.
    WindowUsed,
    /// SQS refuses what was asked, and will refuse it again.
    Refused,
}

impl ErrorClass {
    /// Whether the same call may succeed a little later, with nobody mending anything.
    pub fn passes(self) -> bool {
        matches!(self, Self::Throttled | Self::Network)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throttled => "throttled",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Network => "network",
            Self::LostHandle => "lost handle",
            Self::WindowUsed => "twelve hours used up",
            Self::Refused => "refused",
        })
    }
}

/// A call to SQS that failed: its class, the code SQS gave, and the SDK's cause chain.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation}: {message}")]
pub struct CallError {
    /// The operation, by SQS's name for it (`ReceiveMessage`).
    pub operation: &'static str,
    /// The class.
    pub class: ErrorClass,
    /// SQS's own code (`QueueDoesNotExist`), where an answer came; `not-granted` where none was
    /// asked for.
    pub code: Option<String>,
    /// The whole chain of causes in one line.
    pub message: String,
}

impl CallError {
    /// Of a call that had no answer.
    pub(crate) fn no_answer(operation: &'static str, message: impl Into<String>) -> Self {
        Self {
            operation,
            class: ErrorClass::Network,
            code: None,
            message: message.into(),
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> Remedy {
        Remedy::of(self)
    }
}

/// Every error of the library. Each carries what it was about and the chain of causes.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqsError {
    /// The configuration cannot be used. The operator mends it.
    #[error("{}", .0.line())]
    Config(Box<Problem>),
    /// A setting of a subscription is out of its range, or its queue cannot be named.
    #[error("{}", .0.line())]
    InvalidQueue(Box<Problem>),
    /// Half of a redrive policy.
    #[error("{}", .0.line())]
    IncompleteRedrive(Box<Problem>),
    /// A queue could not be resolved or read.
    #[error("queue {queue}: {cause}")]
    Queue {
        /// The queue, as it was named.
        queue: String,
        /// The call that failed.
        cause: Arc<CallError>,
    },
    /// Messages could not be received.
    #[error("receive from {queue}: {cause}")]
    Receive {
        /// The queue.
        queue: String,
        /// The call that failed.
        cause: Arc<CallError>,
    },
    /// A message could not be sent.
    #[error("send to {target}: {cause}")]
    Publish {
        /// The queue it was for.
        target: String,
        /// The call that failed.
        cause: Arc<CallError>,
    },
    /// A queue could not be created or changed.
    #[error("{operation} on {queue}: {cause}")]
    Admin {
        /// What was tried.
        operation: &'static str,
        /// The queue.
        queue: String,
        /// The call that failed.
        cause: Arc<CallError>,
    },
    /// A queue's access policy could not be read or written.
    #[error("access policy of {queue}: {message}")]
    QueuePolicy {
        /// The queue.
        queue: String,
        /// What is wrong with it.
        message: String,
        /// The call that failed, where one did.
        cause: Option<Arc<CallError>>,
    },
    /// There is no client to reach SQS with: no region or no credentials.
    #[error("not connected: {0}")]
    NotConnected(String),
    /// A deduplication id for a target that is no FIFO queue.
    #[error("{target} is not a FIFO queue: {message}")]
    NotFifo {
        /// The target.
        target: String,
        /// What was asked of it.
        message: String,
    },
}

impl SqsError {
    /// The call that failed, where one did.
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Queue { cause, .. }
            | Self::Receive { cause, .. }
            | Self::Publish { cause, .. }
            | Self::Admin { cause, .. } => Some(cause),
            Self::QueuePolicy { cause, .. } => cause.as_deref(),
            _ => None,
        }
    }

    /// The class of the call that failed, where one did.
    pub fn class(&self) -> Option<ErrorClass> {
        self.call().map(|call| call.class)
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> Remedy {
        self.call().map_or(Remedy::None, CallError::remedy)
    }
}

impl From<Problem> for SqsError {
    fn from(problem: Problem) -> Self {
        let class = problem.class;
        let problem = Box::new(problem);
        match class {
            Class::Config => Self::Config(problem),
            Class::InvalidQueue => Self::InvalidQueue(problem),
            Class::IncompleteRedrive => Self::IncompleteRedrive(problem),
        }
    }
}
