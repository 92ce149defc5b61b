//! Between the host's messages and the contract's: borrowed on the way in, moved on the way out.

use std::time::Duration;

use super::bindings::single::queuelet::handler::types as wit;
use crate::handler::{
    Answer, Failure, GroupId, Header, HeaderValue, MessageId, Outcome, Reason, Reply, SqsMessage,
};

/// The lists that a message in the contract's form borrows.
pub(super) struct Lent<'a> {
    message: &'a SqsMessage,
    headers: Vec<wit::HeaderParam<'a>>,
    system: Vec<(&'a str, &'a str)>,
}

impl<'a> Lent<'a> {
    pub(super) fn new(message: &'a SqsMessage) -> Self {
        Self {
            message,
            headers: message.headers.iter().map(header).collect(),
            system: message
                .system_attributes
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        }
    }

    pub(super) fn message(&self) -> wit::Message<'_> {
        let message = self.message;
        wit::Message {
            body: &message.body,
            headers: &self.headers,
            id: message.id.as_ref().map(MessageId::as_str),
            receive_count: message.receive_count,
            group_id: message.group_id.as_ref().map(GroupId::as_str),
            deduplication_id: message.deduplication_id.as_deref(),
            sequence_number: message.sequence_number.as_deref(),
            sent_at: message.sent_at,
            first_received_at: message.first_received_at,
            system_attributes: &self.system,
        }
    }
}

fn header(header: &Header) -> wit::HeaderParam<'_> {
    wit::HeaderParam {
        name: &header.name,
        value: match &header.value {
            HeaderValue::Text(text) => wit::HeaderValueParam::Text(text),
            HeaderValue::Number(text) => wit::HeaderValueParam::Number(text),
            HeaderValue::Bytes(bytes) => wit::HeaderValueParam::Bytes(bytes),
        },
        label: header.label.as_deref(),
    }
}

/// A guest's answer for one message.
pub(super) fn answer(answer: Result<wit::Outcome, wit::Failure>) -> Answer {
    match answer {
        Ok(outcome) => Ok(match outcome {
            wit::Outcome::Ack => Outcome::Ack,
            wit::Outcome::Drop => Outcome::Drop,
            wit::Outcome::Retry => Outcome::Retry,
            wit::Outcome::RetryAfter(ms) => Outcome::RetryAfter(Duration::from_millis(ms)),
            wit::Outcome::DeadLetter(reason) => Outcome::DeadLetter(reason),
            wit::Outcome::Reply(replies) => {
                Outcome::Reply(replies.into_iter().map(reply).collect())
            }
        }),
        Err(wit::Failure { kind, message }) => Err(match kind {
            wit::FailureKind::Error => Failure::new(Reason::Error, message),
            wit::FailureKind::Decode => Failure::new(Reason::Decode, message),
            wit::FailureKind::Other(word) => {
                Failure::new(Reason::Error, format!("{word}: {message}"))
            }
        }),
    }
}

/// A message that a guest has the host send.
pub(super) fn reply(reply: wit::Reply) -> Reply {
    Reply {
        body: reply.body.into(),
        headers: reply
            .headers
            .into_iter()
            .map(|header| Header {
                name: header.name,
                value: match header.value {
                    wit::HeaderValueResult::Text(text) => HeaderValue::Text(text),
                    wit::HeaderValueResult::Number(text) => HeaderValue::Number(text),
                    wit::HeaderValueResult::Bytes(bytes) => HeaderValue::Bytes(bytes.into()),
                },
                label: header.label,
            })
            .collect(),
        destination: reply.destination,
        group_id: reply.group_id,
        deduplication_id: reply.deduplication_id,
        delay: reply.delay.map(Duration::from_millis),
    }
}
