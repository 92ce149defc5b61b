//! Why a request was not carried out.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// The kinds of refusal SQS documents. How each is called on the wire is the protocol's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two entries of a batch share an id.
    BatchEntryIdsNotDistinct,
    /// The messages of a batch are too large together.
    BatchRequestTooLong,
    /// A batch without entries.
    EmptyBatchRequest,
    /// A queue or message attribute nobody knows.
    InvalidAttributeName,
    /// A queue attribute outside its range.
    InvalidAttributeValue,
    /// A batch entry's id has a form that is not allowed.
    InvalidBatchEntryId,
    /// A character that XML 1.0, and so SQS, cannot carry.
    InvalidMessageContents,
    /// A parameter outside its range.
    InvalidParameterValue,
    /// The message is not hidden by a receive at the moment.
    MessageNotInflight,
    /// A parameter that must be there is not.
    MissingParameter,
    /// Too many messages in flight.
    OverLimit,
    /// The queue was purged less than 60 seconds ago.
    PurgeQueueInProgress,
    /// No queue of that name.
    QueueDoesNotExist,
    /// A queue of that name has other attributes.
    QueueNameExists,
    /// A receipt handle by which a message of a FIFO queue is no longer in flight.
    ReceiptHandleExpired,
    /// A receipt handle that this queue never gave out.
    ReceiptHandleIsInvalid,
    /// A move of messages, or a queue of one, that is not there.
    ResourceNotFound,
    /// More than ten entries in a batch.
    TooManyEntriesInBatchRequest,
    /// A thing SQS can do and this server cannot.
    UnsupportedOperation,
}

/// A request that SQS refuses.
pub(crate) type Refusal = crate::local::refusal::Refusal<Kind>;

impl Refusal {
    /// A parameter's value cannot be used, and why.
    pub(crate) fn value(parameter: &str, value: impl Display, reason: impl Display) -> Self {
        let message =
            format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}.");
        Self::new(Kind::InvalidParameterValue, message)
    }

    /// A number lies outside its range.
    pub(crate) fn range(parameter: &str, value: impl Display, range: &RangeInclusive<u32>) -> Self {
        Self::value(parameter, value, between(range))
    }

    /// A parameter that must be there is not.
    pub(crate) fn missing(parameter: &str) -> Self {
        let message = format!("The request must contain the parameter {parameter}.");
        Self::new(Kind::MissingParameter, message)
    }

    /// No queue has this name.
    pub(crate) fn no_queue(name: &str) -> Self {
        let message = format!("The specified queue does not exist: \"{name}\".");
        Self::new(Kind::QueueDoesNotExist, message)
    }

    /// The receipt handle is not one of this queue's.
    pub(crate) fn bad_handle(handle: &str) -> Self {
        let message = format!("The receipt handle \"{handle}\" is not valid for this queue.");
        Self::new(Kind::ReceiptHandleIsInvalid, message)
    }

    /// The receipt handle was this queue's, and holds its message no longer.
    pub(crate) fn expired_handle(handle: &str) -> Self {
        let reason = "The receipt handle has expired";
        let message = Self::value("ReceiptHandle", handle, reason).message;
        Self::new(Kind::ReceiptHandleExpired, message)
    }

    /// The parameter is not one for queues of this kind.
    pub(crate) fn wrong_kind(parameter: &str, value: impl Display) -> Self {
        Self::value(
            parameter,
            value,
            "The parameter is not valid for this queue type",
        )
    }
}

/// How a refusal words a range.
pub(crate) fn between(range: &RangeInclusive<u32>) -> String {
    format!("Must be between {} and {}", range.start(), range.end())
}
