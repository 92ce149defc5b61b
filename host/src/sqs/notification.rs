//! Notifications of SNS: what a topic delivers to a queue that is subscribed without raw message
//! delivery.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::payload::decode;
use crate::handler::{Header, HeaderValue, SqsMessage};

/// The header that carries the ARN of the topic.
const TOPIC_ARN: &str = "sns-topic-arn";
/// The header that carries the subject, where the notification has one.
const SUBJECT: &str = "sns-subject";

/// The envelope, as far as it says something of the message in it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification {
    #[serde(rename = "Type")]
    kind: String,
    topic_arn: String,
    message: String,
    subject: Option<String>,
    #[serde(default)]
    message_attributes: std::collections::BTreeMap<String, Attribute>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attribute {
    #[serde(rename = "Type")]
    data_type: String,
    value: String,
}

/// The message inside a notification: its body is `Message`, its headers are `MessageAttributes`
/// and `sns-topic-arn`. Everything else (ids, times, receive count) is that of the envelope. A
/// message that is no notification is left as it is.
///
/// Like an attribute, what a notification says never hides what SQS says: a header that is there
/// already stays.
pub fn unwrap_sns(mut message: SqsMessage) -> SqsMessage {
    let Some(notification) = notification(&message.body) else {
        return message;
    };
    message.body = Bytes::from(notification.message);
    let text = |name: &str, text| Header {
        name: name.into(),
        value: HeaderValue::Text(text),
        label: None,
    };
    let own = [
        Some(text(TOPIC_ARN, notification.topic_arn)),
        notification.subject.map(|subject| text(SUBJECT, subject)),
    ];
    let attributes = notification.message_attributes.into_iter();
    for header in own.into_iter().flatten().chain(attributes.map(header)) {
        if !message.headers.iter().any(|h| h.name == header.name) {
            message.headers.push(header);
        }
    }
    message.headers.sort_by(|a, b| a.name.cmp(&b.name));
    decode(&mut message);
    message
}

fn notification(body: &[u8]) -> Option<Notification> {
    // What is no object is not looked at: most bodies that are not wrapped are told by this.
    let body = body.trim_ascii_start();
    if !body.starts_with(b"{") {
        return None;
    }
    let notification: Notification = serde_json::from_slice(body).ok()?;
    (notification.kind == "Notification").then_some(notification)
}

fn header((name, attribute): (String, Attribute)) -> Header {
    let (kind, label) = match attribute.data_type.split_once('.') {
        Some((kind, label)) => (kind, Some(label.to_owned())),
        None => (attribute.data_type.as_str(), None),
    };
    let value = match kind {
        "Number" => HeaderValue::Number(attribute.value),
        "Binary" => match STANDARD.decode(&attribute.value) {
            Ok(bytes) => HeaderValue::Bytes(bytes.into()),
            Err(_) => HeaderValue::Text(attribute.value),
        },
        _ => HeaderValue::Text(attribute.value),
    };
    Header { name, value, label }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:news";

    fn received(body: impl Into<Bytes>) -> SqsMessage {
        SqsMessage {
            body: body.into(),
            id: Some("id".into()),
            headers: vec![Header {
                name: "partition-key".into(),
                value: HeaderValue::Text("group".into()),
                label: None,
            }],
            ..SqsMessage::default()
        }
    }

    fn envelope(attributes: Value) -> Value {
        json!({
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": TOPIC,
            "Subject": "a subject",
            "Message": "{\"a\": 1}",
            "Timestamp": "2012-05-02T00:54:06.655Z",
            "SignatureVersion": "1",
            "MessageAttributes": attributes,
        })
    }

    fn headers(message: &SqsMessage) -> Vec<(&str, HeaderValue, Option<&str>)> {
        let headers = message.headers.iter();
        headers
            .map(|h| (h.name.as_str(), h.value.clone(), h.label.as_deref()))
            .collect()
    }

    #[test]
    fn a_notification_becomes_the_message_in_it() {
        let body = envelope(json!({
            "n": {"Type": "Number.int", "Value": "7"},
            "bin": {"Type": "Binary", "Value": "AP8="},
            "list": {"Type": "String.Array", "Value": "[1]"},
            "partition-key": {"Type": "String", "Value": "forged"},
            "sns-topic-arn": {"Type": "String", "Value": "forged"},
        }));
        let message = unwrap_sns(received(body.to_string()));
        assert_eq!(message.body, "{\"a\": 1}");
        assert_eq!(message.id, Some("id".into()), "SQS's own");
        let text = |text: &str| HeaderValue::Text(text.into());
        assert_eq!(
            headers(&message),
            [
                ("bin", HeaderValue::Bytes(vec![0, 255].into()), None),
                ("list", text("[1]"), Some("Array")),
                ("n", HeaderValue::Number("7".into()), Some("int")),
                ("partition-key", text("group"), None),
                ("sns-subject", text("a subject"), None),
                ("sns-topic-arn", text(TOPIC), None),
            ]
        );
    }

    // Rule 3.5.
    #[test]
    fn an_encoded_body_inside_a_notification_is_decoded() {
        let mark = json!({"queuelet-payload-encoding": {"Type": "String", "Value": "base64"}});
        let mut body = envelope(mark.clone());
        body["Message"] = "AP8=".into();
        let message = unwrap_sns(received(body.to_string()));
        assert_eq!(message.body, vec![0, 255]);
        assert!(
            headers(&message)
                .iter()
                .all(|h| !h.0.starts_with("queuelet"))
        );
        let message = unwrap_sns(received(envelope(mark).to_string()));
        assert!(message.undecodable.is_some());
    }

    #[test]
    fn what_is_no_notification_is_left_as_it_is() {
        let mut other = envelope(json!({}));
        other["Type"] = "UnsubscribeConfirmation".into();
        let mut half = envelope(json!({}));
        half.as_object_mut().unwrap().remove("TopicArn");
        for body in [
            "text".to_owned(),
            String::new(),
            "{".into(),
            "[1]".into(),
            json!({"Type": "Notification"}).to_string(),
            json!({"Message": "m", "TopicArn": 1, "Type": "Notification"}).to_string(),
            other.to_string(),
            half.to_string(),
        ] {
            let before = received(body.clone());
            assert_eq!(unwrap_sns(before.clone()), before, "{body}");
        }
    }
}
