//! The JSON around a message for subscriptions without raw delivery.

use crate::local::engine::attribute::{Attributes, Data};
use crate::local::engine::limits::REGION;
use crate::local::engine::time::Time;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a notification tells of.
pub(crate) struct Notice<'a> {
    pub(crate) message_id: &'a str,
    /// Of a FIFO topic's message.
    pub(crate) sequence_number: Option<&'a str>,
    pub(crate) topic_arn: &'a str,
    pub(crate) subscription_arn: &'a str,
    pub(crate) subject: Option<&'a str>,
    pub(crate) text: &'a str,
    pub(crate) attributes: &'a Attributes,
    pub(crate) published: Time,
    /// The topic's `SignatureVersion`.
    pub(crate) signature_version: &'a str,
    /// The URL of this server, for the link that ends the subscription.
    pub(crate) origin: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Wire<'a> {
    r#type: &'static str,
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<&'a str>,
    topic_arn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    message: &'a str,
    timestamp: String,
    #[serde(flatten)]
    signature: Option<Signature<'a>>,
    #[serde(rename = "UnsubscribeURL")]
    unsubscribe_url: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<&'a str, Value<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Signature<'a> {
    signature_version: &'a str,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    signing_cert_url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Value<'a> {
    r#type: &'a str,
    value: String,
}

impl Notice<'_> {
    /// The notification's JSON.
    pub(crate) fn to_json(&self) -> String {
        let timestamp = timestamp(self.published);
        // Notifications of FIFO topics come unsigned.
        let signature = self.sequence_number.is_none().then(|| Signature {
            signature_version: self.signature_version,
            signature: self.signature(&timestamp),
            signing_cert_url: format!(
                "https://sns.{REGION}.amazonaws.com/SimpleNotificationService-0000000000000000.pem"
            ),
        });
        let value = |attribute: &Data| match attribute {
            Data::Text(text) => text.clone(),
            Data::Binary(bytes) => STANDARD.encode(bytes),
        };
        let attributes = self.attributes.iter().map(|(name, attribute)| {
            let (r#type, value) = (attribute.data_type.as_str(), value(&attribute.data));
            (name.as_str(), Value { r#type, value })
        });
        let wire = Wire {
            r#type: "Notification",
            message_id: self.message_id,
            sequence_number: self.sequence_number,
            topic_arn: self.topic_arn,
            subject: self.subject,
            message: self.text,
            timestamp,
            signature,
            unsubscribe_url: format!(
                "{}/?Action=Unsubscribe&SubscriptionArn={}",
                self.origin, self.subscription_arn
            ),
            message_attributes: attributes.collect(),
        };
        // Only a map with keys that are no text could fail, and there is none.
        serde_json::to_string(&wire).unwrap_or_default()
    }

    /// Stands where AWS's signature does: a sum of what AWS signs. There is no certificate to check
    /// it with.
    fn signature(&self, timestamp: &str) -> String {
        let mut sum = Sha256::new();
        let subject = self.subject.map(|subject| ("Subject", subject));
        let before = [("Message", self.text), ("MessageId", self.message_id)];
        let after = [
            ("Timestamp", timestamp),
            ("TopicArn", self.topic_arn),
            ("Type", "Notification"),
        ];
        for (name, value) in before.into_iter().chain(subject).chain(after) {
            sum.update(format!("{name}\n{value}\n"));
        }
        STANDARD.encode(sum.finalize())
    }
}

fn timestamp(time: Time) -> String {
    let moment = UNIX_EPOCH.checked_add(Duration::from_millis(time.millis()));
    humantime::format_rfc3339_millis(moment.unwrap_or(SystemTime::UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::engine::attribute::Attribute;
    use serde_json::json;

    fn notice(attributes: &Attributes) -> Notice<'_> {
        Notice {
            message_id: "id",
            sequence_number: None,
            topic_arn: "topic",
            subscription_arn: "topic:sub",
            subject: Some("subject"),
            text: "hé",
            attributes,
            published: Time::from_millis(1_700_000_000_123),
            signature_version: "1",
            origin: "http://127.0.0.1:9324",
        }
    }

    #[test]
    fn a_notification_says_what_was_published_and_when_and_carries_attributes_with_their_types() {
        let attribute = |data_type: &str, data| Attribute {
            data_type: data_type.to_owned(),
            data,
        };
        let attributes = Attributes::from([
            (
                "n".to_owned(),
                attribute("Number", Data::Text("5".to_owned())),
            ),
            (
                "b".to_owned(),
                attribute("Binary", Data::Binary(vec![1, 2, 3])),
            ),
        ]);
        let mut json: serde_json::Value =
            serde_json::from_str(&notice(&attributes).to_json()).unwrap();
        let members = json.as_object_mut().unwrap();
        assert!(members.remove("Signature").unwrap().is_string());
        assert!(members.remove("SigningCertURL").unwrap().is_string());
        let expected = json!({
            "Type": "Notification",
            "MessageId": "id",
            "TopicArn": "topic",
            "Subject": "subject",
            "Message": "hé",
            "Timestamp": "2023-11-14T22:13:20.123Z",
            "SignatureVersion": "1",
            "UnsubscribeURL": "http://127.0.0.1:9324/?Action=Unsubscribe&SubscriptionArn=topic:sub",
            "MessageAttributes": {
                "b": {"Type": "Binary", "Value": "AQID"},
                "n": {"Type": "Number", "Value": "5"},
            },
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn what_a_message_does_not_have_is_left_out() {
        let attributes = Attributes::new();
        let json = Notice {
            subject: None,
            sequence_number: Some("10000000000000000001"),
            ..notice(&attributes)
        }
        .to_json();
        for absent in [
            "Subject",
            "MessageAttributes",
            "Signature",
            "SigningCertURL",
        ] {
            assert!(!json.contains(absent), "{absent} in {json}");
        }
        assert!(json.contains(r#""SequenceNumber":"10000000000000000001""#));
    }
}
