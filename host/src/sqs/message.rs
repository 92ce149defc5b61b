//! What SQS sends, as the host's own message, and headers as SQS's attributes.

use std::collections::HashMap;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName as System};
use bytes::Bytes;

use super::api::Received;
use super::payload::decode;
use crate::handler::{Header, HeaderValue, SqsMessage};

/// The header that carries a message's group.
pub const PARTITION_KEY: &str = "partition-key";
/// The header that carries a message's receive count.
pub const RECEIVE_COUNT: &str = "sqs-receive-count";

/// The host's message of one of the SDK's. Nothing is copied but the names of attributes.
pub(super) fn received(message: Message) -> Received {
    let system = message.attributes.unwrap_or_default();
    let text = |name: System| system.get(&name).cloned();
    let group_id = text(System::MessageGroupId);
    let receive_count = text(System::ApproximateReceiveCount).and_then(|n| n.parse().ok());
    let mut mapped = SqsMessage {
        body: Bytes::from(message.body.unwrap_or_default()),
        headers: headers(
            message.message_attributes.unwrap_or_default(),
            group_id.as_deref(),
            receive_count,
        ),
        id: message.message_id.map(Into::into),
        receive_count,
        deduplication_id: text(System::MessageDeduplicationId),
        sequence_number: text(System::SequenceNumber),
        sent_at: text(System::SentTimestamp).and_then(|ms| ms.parse().ok()),
        first_received_at: text(System::ApproximateFirstReceiveTimestamp)
            .and_then(|ms| ms.parse().ok()),
        group_id: group_id.map(Into::into),
        system_attributes: sorted(system),
        undecodable: None,
    };
    decode(&mut mapped);
    Received {
        handle: message.receipt_handle.map(Into::into),
        message: mapped,
    }
}

fn sorted(system: HashMap<System, String>) -> Vec<(String, String)> {
    let mut all: Vec<_> = system
        .into_iter()
        .map(|(name, value)| (name.as_str().to_owned(), value))
        .collect();
    all.sort();
    all
}

/// Headers by name. A value of the system's takes the place of a user's attribute of its name
/// (rule 3.3); without one the user's attribute is what it is.
fn headers(
    attributes: HashMap<String, MessageAttributeValue>,
    group: Option<&str>,
    receive_count: Option<u32>,
) -> Vec<Header> {
    let mut headers: Vec<Header> = attributes
        .into_iter()
        .filter(|(name, _)| {
            !(name == PARTITION_KEY && group.is_some()
                || name == RECEIVE_COUNT && receive_count.is_some())
        })
        .map(|(name, value)| header(name, value))
        .collect();
    if let Some(group) = group {
        headers.push(Header {
            name: PARTITION_KEY.into(),
            value: HeaderValue::Text(group.into()),
            label: None,
        });
    }
    if let Some(count) = receive_count {
        headers.push(Header {
            name: RECEIVE_COUNT.into(),
            value: HeaderValue::Number(count.to_string()),
            label: None,
        });
    }
    headers.sort_by(|a, b| a.name.cmp(&b.name));
    headers
}

fn header(name: String, attribute: MessageAttributeValue) -> Header {
    let (kind, label) = match attribute.data_type.split_once('.') {
        Some((kind, label)) => (kind, Some(label.to_owned())),
        None => (attribute.data_type.as_str(), None),
    };
    let text = attribute.string_value.unwrap_or_default();
    let value = match (kind, attribute.binary_value) {
        ("Number", _) => HeaderValue::Number(text),
        ("Binary", Some(bytes)) => HeaderValue::Bytes(Bytes::from(bytes.into_inner())),
        ("Binary", None) => HeaderValue::Bytes(Bytes::new()),
        _ => HeaderValue::Text(text),
    };
    Header { name, value, label }
}

/// A header as SQS and SNS write one: its data type with the label, and its value.
pub(super) struct Attribute {
    pub(super) data_type: String,
    pub(super) text: Option<String>,
    pub(super) bytes: Option<Vec<u8>>,
}

impl From<&Header> for Attribute {
    fn from(header: &Header) -> Self {
        let (kind, text, bytes) = match &header.value {
            HeaderValue::Text(text) => ("String", Some(text), None),
            HeaderValue::Number(text) => ("Number", Some(text), None),
            HeaderValue::Bytes(bytes) => ("Binary", None, Some(bytes)),
        };
        Self {
            data_type: match &header.label {
                Some(label) => format!("{kind}.{label}"),
                None => kind.to_owned(),
            },
            text: text.cloned(),
            bytes: bytes.map(|bytes| bytes.to_vec()),
        }
    }
}

/// A header as a message attribute of SQS's.
pub(super) fn attribute(header: &Header) -> (String, MessageAttributeValue) {
    let attribute = Attribute::from(header);
    let value = MessageAttributeValue::builder()
        .data_type(attribute.data_type)
        .set_string_value(attribute.text)
        .set_binary_value(attribute.bytes.map(Blob::new))
        .build()
        .expect("the one required field, the data type, is set");
    (header.name.clone(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(data_type: &str, value: &str) -> MessageAttributeValue {
        MessageAttributeValue::builder()
            .data_type(data_type)
            .string_value(value)
            .build()
            .unwrap()
    }

    fn message() -> aws_sdk_sqs::types::builders::MessageBuilder {
        Message::builder().body("b").receipt_handle("h")
    }

    // Rules 3.2 and 3.4.
    #[test]
    fn types_and_custom_labels_are_kept() {
        let png = MessageAttributeValue::builder()
            .data_type("Binary.png")
            .binary_value(Blob::new([0, 255]))
            .build()
            .unwrap();
        let received = received(
            message()
                .message_attributes("text", string("String", "v"))
                .message_attributes("n", string("Number.int", "007.50"))
                .message_attributes("pic", png)
                .build(),
        );
        let want = [
            ("n", HeaderValue::Number("007.50".into()), Some("int")),
            (
                "pic",
                HeaderValue::Bytes(Bytes::from_static(&[0, 255])),
                Some("png"),
            ),
            ("text", HeaderValue::Text("v".into()), None),
        ];
        let got: Vec<_> = received
            .message
            .headers
            .iter()
            .map(|h| (h.name.as_str(), h.value.clone(), h.label.as_deref()))
            .collect();
        assert_eq!(got, want);
    }

    // Rule 3.2: what came in goes out the same.
    #[test]
    fn a_header_goes_out_as_the_attribute_it_came_as() {
        for data_type in ["String", "String.uuid", "Number", "Number.int"] {
            let header = header("x".into(), string(data_type, "12"));
            let (name, value) = attribute(&header);
            assert_eq!((name.as_str(), value), ("x", string(data_type, "12")));
        }
    }

    // Rule 3.3.
    #[test]
    fn a_users_attribute_never_hides_the_systems_value() {
        let received = received(
            message()
                .message_attributes(PARTITION_KEY, string("String", "forged"))
                .message_attributes(RECEIVE_COUNT, string("Number", "99"))
                .attributes(System::MessageGroupId, "tenant-1")
                .attributes(System::ApproximateReceiveCount, "2")
                .build(),
        );
        let values: Vec<_> = received
            .message
            .headers
            .into_iter()
            .map(|h| h.value)
            .collect();
        assert_eq!(
            values,
            [
                HeaderValue::Text("tenant-1".into()),
                HeaderValue::Number("2".into())
            ]
        );
        assert_eq!(received.message.receive_count, Some(2));
    }

    // Rule 3.4.
    #[test]
    fn a_system_attribute_of_the_future_is_handed_over_raw() {
        let received = received(
            message()
                .attributes(System::from("NotYetKnown"), "x")
                .attributes(System::SequenceNumber, "18849496460467696128")
                .attributes(System::SentTimestamp, "1700000000123")
                .build(),
        );
        let message = received.message;
        assert!(
            message
                .system_attributes
                .contains(&("NotYetKnown".into(), "x".into()))
        );
        assert_eq!(
            message.sequence_number.as_deref(),
            Some("18849496460467696128")
        );
        assert_eq!(message.sent_at, Some(1_700_000_000_123));
        assert_eq!((message.id, message.receive_count), (None, None));
    }
}
