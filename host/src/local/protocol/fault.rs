//! Errors on the wire: the JSON protocol's type, and the code of the query protocol beside it.
//!
//! SDKs read the type from the body, and those that knew SQS by its older protocol go on giving the
//! old code, which SQS sends in a header. The two differ for many errors.

use crate::local::engine::refusal::{Kind, Refusal};
use serde::Serialize;
use std::fmt::Display;

/// An error reply.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The code and whose fault it is, for the `x-amzn-query-error` header.
    pub(crate) query_error: Option<String>,
    shape: &'static str,
    message: String,
}

impl Fault {
    /// The reply's JSON.
    pub(crate) fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(rename = "__type")]
            shape: &'a str,
            message: &'a str,
        }
        let body = Body {
            shape: self.shape,
            message: &self.message,
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    /// The request names no action.
    pub(crate) fn no_target() -> Self {
        let message = "The request has no X-Amz-Target header. \
                       This server speaks the AWS JSON protocol 1.0 of SQS: use a current AWS SDK or CLI.";
        Self::plain(
            400,
            "com.amazon.coral.service#UnknownOperationException",
            message,
        )
    }

    /// The request names an action that is not here.
    pub(crate) fn unknown_action(target: &str) -> Self {
        let message = format!("The action {target} is not known here.");
        Self::plain(
            400,
            "com.amazon.coral.service#UnknownOperationException",
            message,
        )
    }

    /// The body is not the JSON it should be.
    pub(crate) fn unreadable(error: &impl Display) -> Self {
        let message = format!("The request's JSON cannot be read: {error}.");
        Self::plain(
            400,
            "com.amazon.coral.service#SerializationException",
            message,
        )
    }

    /// The body is larger than any request of SQS.
    pub(crate) fn too_large(most: usize) -> Self {
        let message = format!("The request is larger than {most} bytes.");
        Self::plain(
            413,
            "com.amazon.coral.service#RequestEntityTooLargeException",
            message,
        )
    }

    /// Not by POST.
    pub(crate) fn method(method: &impl Display) -> Self {
        let message = format!("The method is {method}; the AWS JSON protocol uses POST.");
        Self::plain(
            405,
            "com.amazon.coral.service#UnknownOperationException",
            message,
        )
    }

    /// Something went wrong in here.
    pub(crate) fn internal(error: &impl Display) -> Self {
        Self::plain(
            500,
            "com.amazon.coral.service#InternalFailure",
            error.to_string(),
        )
    }

    fn plain(status: u16, shape: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            query_error: None,
            shape,
            message: message.into(),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let (shape, code) = names(refusal.kind);
        Self {
            status: match refusal.kind {
                Kind::ResourceNotFound => 404,
                _ => 400,
            },
            query_error: Some(format!("{code};Sender")),
            shape,
            message: refusal.message,
        }
    }
}

/// What the failed entry of a batch carries: the query protocol's code, with one exception.
pub(crate) fn entry_code(kind: Kind) -> &'static str {
    match kind {
        // Alone it is an invalid parameter, in a batch AWS gives it the better name.
        Kind::ReceiptHandleExpired => "ReceiptHandleIsInvalid",
        kind => names(kind).1,
    }
}

/// The type in the JSON protocol, and the code in the query protocol.
const fn names(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::BatchEntryIdsNotDistinct => (
            "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        ),
        Kind::BatchRequestTooLong => (
            "com.amazonaws.sqs#BatchRequestTooLong",
            "AWS.SimpleQueueService.BatchRequestTooLong",
        ),
        Kind::EmptyBatchRequest => (
            "com.amazonaws.sqs#EmptyBatchRequest",
            "AWS.SimpleQueueService.EmptyBatchRequest",
        ),
        Kind::InvalidAttributeName => (
            "com.amazonaws.sqs#InvalidAttributeName",
            "InvalidAttributeName",
        ),
        Kind::InvalidAttributeValue => (
            "com.amazonaws.sqs#InvalidAttributeValue",
            "InvalidAttributeValue",
        ),
        Kind::InvalidBatchEntryId => (
            "com.amazonaws.sqs#InvalidBatchEntryId",
            "AWS.SimpleQueueService.InvalidBatchEntryId",
        ),
        Kind::InvalidMessageContents => (
            "com.amazonaws.sqs#InvalidMessageContents",
            "InvalidMessageContents",
        ),
        // These two are not in the model of SQS: they come from the framework below it.
        Kind::InvalidParameterValue | Kind::ReceiptHandleExpired => (
            "com.amazon.coral.service#InvalidParameterValueException",
            "InvalidParameterValue",
        ),
        Kind::MissingParameter => (
            "com.amazon.coral.service#MissingRequiredParameterException",
            "MissingParameter",
        ),
        Kind::MessageNotInflight => (
            "com.amazonaws.sqs#MessageNotInflight",
            "AWS.SimpleQueueService.MessageNotInflight",
        ),
        Kind::OverLimit => ("com.amazonaws.sqs#OverLimit", "OverLimit"),
        Kind::PurgeQueueInProgress => (
            "com.amazonaws.sqs#PurgeQueueInProgress",
            "AWS.SimpleQueueService.PurgeQueueInProgress",
        ),
        Kind::QueueDoesNotExist => (
            "com.amazonaws.sqs#QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
        ),
        Kind::QueueNameExists => ("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
        Kind::ReceiptHandleIsInvalid => (
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            "ReceiptHandleIsInvalid",
        ),
        Kind::ResourceNotFound => (
            "com.amazonaws.sqs#ResourceNotFoundException",
            "ResourceNotFoundException",
        ),
        Kind::TooManyEntriesInBatchRequest => (
            "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        ),
        Kind::UnsupportedOperation => (
            "com.amazonaws.sqs#UnsupportedOperation",
            "AWS.SimpleQueueService.UnsupportedOperation",
        ),
    }
}
