//! Requests as they are on the wire. Everything is optional here, and members nobody knows are
//! passed over: what is missing is refused by name where it is needed.

use crate::local::engine::attribute::{Attribute, Attributes, Data};
use crate::local::engine::limits;
use crate::local::engine::refusal::Refusal;
use crate::local::engine::{AttributeMap, Tags, queue_of_arn};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A request that can be counted.
pub(crate) trait Input: DeserializeOwned {
    /// The name of the queue it is for.
    fn queue(&self) -> Option<&str>;
    /// How many entries it has: one, if it is no batch.
    fn entries(&self) -> usize {
        1
    }
}

/// A request that is for a queue by its URL and says nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ForQueue {
    queue_url: Option<String>,
}

/// `CreateQueue`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CreateQueue {
    pub(crate) queue_name: Option<String>,
    pub(crate) attributes: Option<AttributeMap>,
    // Lower case, unlike everywhere else: so the service's model has it.
    #[serde(rename = "tags", alias = "Tags")]
    pub(crate) tags: Option<Tags>,
}

/// `GetQueueUrl`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GetQueueUrl {
    pub(crate) queue_name: Option<String>,
}

/// `ListQueues` and `ListDeadLetterSourceQueues`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct List {
    queue_url: Option<String>,
    pub(crate) queue_name_prefix: Option<String>,
    pub(crate) max_results: Option<i64>,
    pub(crate) next_token: Option<String>,
}

/// `GetQueueAttributes`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GetAttributes {
    queue_url: Option<String>,
    pub(crate) attribute_names: Option<Vec<String>>,
}

/// `SetQueueAttributes`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SetAttributes {
    queue_url: Option<String>,
    pub(crate) attributes: Option<AttributeMap>,
}

/// `SendMessage`, and an entry of `SendMessageBatch`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Send {
    queue_url: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) message_body: Option<String>,
    pub(crate) delay_seconds: Option<i64>,
    pub(crate) message_attributes: Option<BTreeMap<String, WireAttribute>>,
    pub(crate) message_system_attributes: Option<BTreeMap<String, WireAttribute>>,
    pub(crate) message_group_id: Option<String>,
    pub(crate) message_deduplication_id: Option<String>,
}

/// A message attribute in a request.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WireAttribute {
    data_type: Option<String>,
    string_value: Option<String>,
    binary_value: Option<String>,
}

/// `ReceiveMessage`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Receive {
    queue_url: Option<String>,
    pub(crate) max_number_of_messages: Option<i64>,
    pub(crate) visibility_timeout: Option<i64>,
    pub(crate) wait_time_seconds: Option<i64>,
    pub(crate) receive_request_attempt_id: Option<String>,
    pub(crate) message_attribute_names: Option<Vec<String>>,
    pub(crate) message_system_attribute_names: Option<Vec<String>>,
    /// What `MessageSystemAttributeNames` was called before; old clients still send it.
    pub(crate) attribute_names: Option<Vec<String>>,
}

/// `DeleteMessage`, `ChangeMessageVisibility`, and an entry of their batches.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Settle {
    queue_url: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) receipt_handle: Option<String>,
    pub(crate) visibility_timeout: Option<i64>,
}

/// `TagQueue`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tag {
    queue_url: Option<String>,
    pub(crate) tags: Option<Tags>,
}

/// `UntagQueue`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Untag {
    queue_url: Option<String>,
    pub(crate) tag_keys: Option<Vec<String>>,
}

/// `AddPermission` and `RemovePermission`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Permission {
    queue_url: Option<String>,
    pub(crate) label: Option<String>,
    #[serde(rename = "AWSAccountIds")]
    pub(crate) accounts: Option<Vec<String>>,
    pub(crate) actions: Option<Vec<String>>,
}

/// `StartMessageMoveTask`, `ListMessageMoveTasks`: of a queue by its ARN.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Move {
    pub(crate) source_arn: Option<String>,
    pub(crate) destination_arn: Option<String>,
    pub(crate) max_number_of_messages_per_second: Option<i64>,
    pub(crate) max_results: Option<i64>,
}

/// `CancelMessageMoveTask`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CancelMove {
    pub(crate) task_handle: Option<String>,
}

/// A batch of any kind.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Batch<T> {
    queue_url: Option<String>,
    pub(crate) entries: Option<Vec<T>>,
}

impl Input for CreateQueue {
    fn queue(&self) -> Option<&str> {
        self.queue_name.as_deref()
    }
}

impl Input for GetQueueUrl {
    fn queue(&self) -> Option<&str> {
        self.queue_name.as_deref()
    }
}

/// Requests that name their queue by its URL.
macro_rules! by_url {
    ($($request:ty),*) => {$(
        impl Input for $request {
            fn queue(&self) -> Option<&str> {
                self.queue_url.as_deref().map(name_in_url)
            }
        }
    )*};
}
by_url!(
    ForQueue,
    List,
    GetAttributes,
    SetAttributes,
    Send,
    Receive,
    Settle,
    Tag,
    Untag,
    Permission
);

impl Input for Move {
    fn queue(&self) -> Option<&str> {
        self.source_arn.as_deref().and_then(queue_of_arn)
    }
}

impl Input for CancelMove {
    fn queue(&self) -> Option<&str> {
        None
    }
}

impl<T: DeserializeOwned> Input for Batch<T> {
    fn queue(&self) -> Option<&str> {
        self.queue_url.as_deref().map(name_in_url)
    }

    fn entries(&self) -> usize {
        self.entries.as_ref().map_or(0, Vec::len)
    }
}

/// A queue's name is the last segment of its URL. Host and account are not looked at: the URL may
/// have been made under another name of this machine, or be one of AWS's own.
fn name_in_url(url: &str) -> &str {
    let path = url
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .trim_end_matches('/');
    path.rsplit('/').next().unwrap_or_default()
}

/// The name of the queue, which the request must have.
pub(crate) fn queue_of(request: &impl Input) -> Result<&str, Refusal> {
    request.queue().ok_or_else(|| Refusal::missing("QueueUrl"))
}

/// A number that must be in `range` if it is given.
pub(crate) fn ranged(
    parameter: &str,
    value: Option<i64>,
    range: &RangeInclusive<u32>,
) -> Result<Option<u32>, Refusal> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => Err(Refusal::range(parameter, value, range)),
    }
}

/// The attributes of a message, decoded.
pub(crate) fn attributes(
    wire: Option<BTreeMap<String, WireAttribute>>,
) -> Result<Attributes, Refusal> {
    let decode = |(name, attribute): (String, WireAttribute)| {
        let parameter = format!("MessageAttributes.{name}");
        let data_type = attribute
            .data_type
            .ok_or_else(|| Refusal::missing(&format!("{parameter}.DataType")))?;
        let data = match (attribute.string_value, attribute.binary_value) {
            (Some(text), None) => Data::Text(text),
            (None, Some(text)) => match STANDARD.decode(&text) {
                Ok(bytes) => Data::Binary(bytes),
                Err(_) => {
                    return Err(Refusal::value(
                        &parameter,
                        text,
                        "BinaryValue must be in base64",
                    ));
                }
            },
            (None, None) => return Err(Refusal::value(&parameter, "(none)", "It has no value")),
            (Some(text), Some(_)) => {
                return Err(Refusal::value(&parameter, text, "It has two values"));
            }
        };
        Ok((name, Attribute { data_type, data }))
    };
    wire.unwrap_or_default().into_iter().map(decode).collect()
}

/// The trace header, which is the only system attribute a sender may set.
pub(crate) fn trace_header(
    wire: Option<BTreeMap<String, WireAttribute>>,
) -> Result<Option<String>, Refusal> {
    let mut header = None;
    for (name, attribute) in wire.unwrap_or_default() {
        let parameter = format!("MessageSystemAttributes.{name}");
        if name != "AWSTraceHeader" {
            return Err(Refusal::value(
                &parameter,
                name,
                "Only AWSTraceHeader can be sent",
            ));
        }
        match (attribute.data_type.as_deref(), attribute.string_value) {
            (Some("String"), Some(text)) if !text.is_empty() => header = Some(text),
            _ => {
                return Err(Refusal::value(
                    &parameter,
                    name,
                    "It must be a String with a StringValue",
                ));
            }
        }
    }
    Ok(header)
}

/// The delay a sender asks for.
pub(crate) fn delay(seconds: Option<i64>) -> Result<Option<u32>, Refusal> {
    ranged("DelaySeconds", seconds, &limits::DELAY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_known_by_the_last_segment_of_its_url() {
        let table = [
            ("http://127.0.0.1:9324/000000000000/jobs", "jobs"),
            (
                "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs",
                "jobs",
            ),
            ("http://localhost/queue/jobs/", "jobs"),
            ("jobs", "jobs"),
            ("http://localhost/0/jobs?x=/y", "jobs"),
            ("", ""),
        ];
        for (url, name) in table {
            assert_eq!(name_in_url(url), name, "{url}");
        }
    }
}
