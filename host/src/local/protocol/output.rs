//! Replies as they go on the wire. They borrow from the messages they tell of.

use crate::local::engine::attribute::{Attribute, Data};
use crate::local::engine::message::{Content, Receipt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The reply of an action that has nothing to say.
#[derive(Serialize)]
pub(crate) struct Nothing {}

/// The reply of `CreateQueue` and `GetQueueUrl`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct QueueUrl {
    pub(crate) queue_url: String,
}

/// The reply of `SendMessage`, and of an entry of its batch.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Sent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    body_md5: &'a str,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    attributes_md5: Option<&'a str>,
    #[serde(
        rename = "MD5OfMessageSystemAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    system_md5: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<String>,
}

impl<'a> Sent<'a> {
    /// `id` is the batch entry's.
    pub(crate) fn new(id: Option<&'a str>, receipt: &Receipt, content: &'a Content) -> Self {
        Self {
            id,
            message_id: receipt.id.to_string(),
            sequence_number: receipt.sequence_number.map(|number| number.to_string()),
            body_md5: &content.body_md5,
            attributes_md5: content.attributes_md5.as_deref(),
            system_md5: content.system_md5.as_deref(),
        }
    }
}

/// The reply of a batch.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BatchReply<'a, T> {
    pub(crate) successful: Vec<T>,
    pub(crate) failed: Vec<FailedEntry<'a>>,
}

/// An entry of a batch that was settled.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SettledEntry<'a> {
    pub(crate) id: &'a str,
}

/// An entry of a batch that was refused.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct FailedEntry<'a> {
    pub(crate) id: &'a str,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) sender_fault: bool,
}

/// The reply of `ReceiveMessage`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Received<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<ReceivedMessage<'a>>,
}

/// One received message.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ReceivedMessage<'a> {
    pub(crate) message_id: String,
    pub(crate) receipt_handle: &'a str,
    #[serde(rename = "MD5OfBody")]
    pub(crate) body_md5: &'a str,
    pub(crate) body: &'a str,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub(crate) attributes: Pairs<&'static str, Cow<'a, str>>,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) attributes_md5: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub(crate) message_attributes: Pairs<&'a str, AttributeValue<'a>>,
}

/// An object written from pairs, in their order.
pub(crate) struct Pairs<K, V>(pub(crate) Vec<(K, V)>);

impl<K, V> Pairs<K, V> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A message attribute in a reply.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AttributeValue<'a> {
    data_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

impl<'a> From<&'a Attribute> for AttributeValue<'a> {
    fn from(attribute: &'a Attribute) -> Self {
        let (string_value, binary_value) = match &attribute.data {
            Data::Text(text) => (Some(text.as_str()), None),
            Data::Binary(bytes) => (None, Some(STANDARD.encode(bytes))),
        };
        Self {
            data_type: &attribute.data_type,
            string_value,
            binary_value,
        }
    }
}
