//! Which attributes a receiver asked for, and the reply that has those and no others.

use super::input;
use super::output::{AttributeValue, Pairs, Received, ReceivedMessage};
use crate::local::engine::limits;
use crate::local::engine::md5_of_attributes;
use crate::local::engine::message::{Content, Delivery, Message};
use crate::local::engine::refusal::{Kind, Refusal};
use std::borrow::Cow;

/// What a receiver may ask for that the queue knows about a message. The last two are of FIFO
/// queues: they may be asked for anywhere, and a standard queue has nothing to answer.
const SYSTEM_ATTRIBUTES: &[&str] = &[
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
    "MessageGroupId",
    "MessageDeduplicationId",
    "SequenceNumber",
];

/// What a receiver asked for.
#[derive(Debug)]
pub(crate) struct Selection {
    system: Vec<&'static str>,
    message: Wanted,
}

#[derive(Debug)]
enum Wanted {
    All,
    Some {
        exact: Vec<String>,
        prefixes: Vec<String>,
    },
}

impl Selection {
    /// Reads the lists of names of a receive.
    ///
    /// # Errors
    /// `InvalidAttributeName` for a system attribute nobody knows.
    pub(crate) fn of(request: &input::Receive) -> Result<Self, Refusal> {
        let lists = [
            &request.message_system_attribute_names,
            &request.attribute_names,
        ];
        let mut asked = Vec::new();
        for name in lists.into_iter().flatten().flatten() {
            if name == "All" {
                asked.extend(SYSTEM_ATTRIBUTES.iter().copied());
            } else if let Some(known) = SYSTEM_ATTRIBUTES.iter().find(|known| *known == name) {
                asked.push(*known);
            } else {
                return Err(Refusal::new(
                    Kind::InvalidAttributeName,
                    format!("Unknown Attribute {name}."),
                ));
            }
        }
        let in_order = SYSTEM_ATTRIBUTES
            .iter()
            .copied()
            .filter(|name| asked.contains(name));
        Ok(Self {
            system: in_order.collect(),
            message: Wanted::of(
                request
                    .message_attribute_names
                    .as_deref()
                    .unwrap_or_default(),
            ),
        })
    }

    /// The reply for these deliveries.
    pub(crate) fn reply<'a>(&self, deliveries: &'a [Delivery]) -> Received<'a> {
        Received {
            messages: deliveries
                .iter()
                .map(|delivery| self.one(delivery))
                .collect(),
        }
    }

    fn one<'a>(&self, delivery: &'a Delivery) -> ReceivedMessage<'a> {
        let message = &delivery.message;
        let content = &*message.content;
        let (message_attributes, attributes_md5) = self.message.from(content);
        let system =
            |name: &&'static str| system_attribute(message, name).map(|value| (*name, value));
        ReceivedMessage {
            message_id: message.id.to_string(),
            receipt_handle: &delivery.handle,
            body_md5: &content.body_md5,
            body: &content.body,
            attributes: Pairs(self.system.iter().filter_map(system).collect()),
            attributes_md5,
            message_attributes,
        }
    }
}

impl Wanted {
    fn of(names: &[String]) -> Self {
        if names.iter().any(|name| name == "All" || name == ".*") {
            return Self::All;
        }
        let (mut exact, mut prefixes) = (Vec::new(), Vec::new());
        for name in names {
            match name.strip_suffix(".*") {
                Some(prefix) => prefixes.push(format!("{prefix}.")),
                None => exact.push(name.clone()),
            }
        }
        Self::Some { exact, prefixes }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some { exact, prefixes } => {
                exact.iter().any(|wanted| wanted == name)
                    || prefixes
                        .iter()
                        .any(|prefix| name.starts_with(prefix.as_str()))
            }
        }
    }

    /// The attributes asked for, and the MD5 of those, so that a receiver who got a part of them can
    /// check that part.
    fn from<'a>(
        &self,
        content: &'a Content,
    ) -> (Pairs<&'a str, AttributeValue<'a>>, Option<Cow<'a, str>>) {
        let all = &content.attributes;
        let wanted: Vec<_> = all.iter().filter(|(name, _)| self.has(name)).collect();
        let md5 = if wanted.len() == all.len() {
            content.attributes_md5.as_deref().map(Cow::Borrowed)
        } else {
            md5_of_attributes(wanted.iter().copied()).map(Cow::Owned)
        };
        let pairs = wanted
            .into_iter()
            .map(|(name, value)| (name.as_str(), value.into()));
        (Pairs(pairs.collect()), md5)
    }
}

fn system_attribute<'a>(message: &'a Message, name: &str) -> Option<Cow<'a, str>> {
    let owned = |number: u64| Some(Cow::Owned(number.to_string()));
    match name {
        "SenderId" => Some(Cow::Borrowed(limits::SENDER)),
        "SentTimestamp" => owned(message.sent.millis()),
        "ApproximateReceiveCount" => owned(u64::from(message.receives)),
        "ApproximateFirstReceiveTimestamp" => owned(message.first_received?.millis()),
        "AWSTraceHeader" => message.content.trace_header.as_deref().map(Cow::Borrowed),
        "DeadLetterQueueSourceArn" => message.dead_letter_source.as_deref().map(Cow::Borrowed),
        "MessageGroupId" => message.content.group.as_deref().map(Cow::Borrowed),
        "MessageDeduplicationId" => message.deduplication.as_deref().map(Cow::Borrowed),
        "SequenceNumber" => Some(Cow::Owned(message.sequence_number?.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_asked_for_by_name_by_prefix_or_all() {
        let table: [(&[&str], &str, bool); 9] = [
            (&[], "a", false),
            (&["a"], "a", true),
            (&["a"], "ab", false),
            (&["a.*"], "a.b", true),
            (&["a.*"], "ab", false),
            (&["a.*"], "a", false),
            (&["All"], "a", true),
            (&[".*"], "a", true),
            (&["b", "a"], "a", true),
        ];
        for (asked, name, given) in table {
            let asked: Vec<_> = asked.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(Wanted::of(&asked).has(name), given, "{asked:?} {name}");
        }
    }
}
