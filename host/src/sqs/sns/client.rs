//! The real client: [`SnsApi`] by the AWS SDK, one per region.

use std::collections::HashMap;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_sns::Client;
use aws_sdk_sns::primitives::Blob;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};

use super::{SnsApi, Subscription, TopicArn, TopicAttributes};
use crate::error::CallError;
use crate::handler::{Header, MessageId};
use crate::limits::CALL_TIMEOUT;
use crate::sqs::api::{Called, Outgoing};
use crate::sqs::classify::call_error;
use crate::sqs::client::timeouts;
use crate::sqs::entries::{by_entry, failure};
use crate::sqs::message::Attribute;

/// The attribute of a subscription that leaves a message as it was published.
const RAW: &str = "RawMessageDelivery";
/// The protocol of a subscription whose endpoint is a queue.
const SQS: &str = "sqs";

/// [`SnsApi`] by the AWS SDK.
pub struct AwsSns {
    client: Client,
}

impl AwsSns {
    /// A client for `region`, or the configuration's own; `endpoint` is SNS's own, over the one of
    /// all services.
    pub(in crate::sqs) fn new(
        shared: &SdkConfig,
        region: Option<&str>,
        endpoint: Option<&str>,
    ) -> Self {
        let mut builder = aws_sdk_sns::config::Builder::from(shared)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts(CALL_TIMEOUT));
        if let Some(region) = region {
            builder = builder.region(Region::new(region.to_owned()));
        }
        if let Some(endpoint) = endpoint {
            builder = builder.endpoint_url(endpoint);
        }
        Self {
            client: Client::from_conf(builder.build()),
        }
    }
}

fn attributes(message: &Outgoing) -> Option<HashMap<String, MessageAttributeValue>> {
    let headers = message.headers.iter();
    (!message.headers.is_empty()).then(|| headers.map(attribute).collect())
}

fn attribute(header: &Header) -> (String, MessageAttributeValue) {
    let attribute = Attribute::from(header);
    let value = MessageAttributeValue::builder()
        .data_type(attribute.data_type)
        .set_string_value(attribute.text)
        .set_binary_value(attribute.bytes.map(Blob::new))
        .build()
        .expect("the one required field, the data type, is set");
    (header.name.clone(), value)
}

/// SNS answers with words where the ARN of a subscription would be, until it is confirmed.
fn subscription(arn: Option<String>) -> Subscription {
    match arn {
        Some(arn) if arn.starts_with("arn:") => Subscription::Confirmed(arn),
        _ => Subscription::Pending,
    }
}

impl SnsApi for AwsSns {
    fn publish<'a>(&'a self, topic: &'a TopicArn, message: &'a Outgoing) -> Called<'a, MessageId> {
        Box::pin(async move {
            let answer = self
                .client
                .publish()
                .topic_arn(topic.as_str())
                .message(&message.body)
                .set_message_attributes(attributes(message))
                .set_message_group_id(message.group_id.clone())
                .set_message_deduplication_id(message.deduplication_id.clone())
                .send()
                .await
                .map_err(|e| call_error("Publish", e))?;
            Ok(answer.message_id.unwrap_or_default().into())
        })
    }

    fn publish_batch<'a>(
        &'a self,
        topic: &'a TopicArn,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        const OPERATION: &str = "PublishBatch";
        Box::pin(async move {
            let list = messages.iter().enumerate().map(|(position, message)| {
                PublishBatchRequestEntry::builder()
                    .id(position.to_string())
                    .message(&message.body)
                    .set_message_attributes(attributes(message))
                    .set_message_group_id(message.group_id.clone())
                    .set_message_deduplication_id(message.deduplication_id.clone())
                    .build()
                    .expect("id and message, the required fields, are set")
            });
            let answer = self
                .client
                .publish_batch()
                .topic_arn(topic.as_str())
                .set_publish_batch_request_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let sent = answer.successful.unwrap_or_default().into_iter();
            let sent = sent.filter_map(|sent| {
                let message: MessageId = sent.message_id.unwrap_or_default().into();
                Some((sent.id?, message))
            });
            let failed = answer.failed.unwrap_or_default().into_iter();
            let failed = failed.map(|entry| {
                let error = failure(OPERATION, entry.code, entry.message, entry.sender_fault);
                (entry.id, error)
            });
            Ok(by_entry(OPERATION, messages.len(), sent, failed))
        })
    }

    fn create_topic<'a>(&'a self, name: &'a str) -> Called<'a, TopicArn> {
        Box::pin(async move {
            let mut call = self.client.create_topic().name(name);
            if name.ends_with(".fifo") {
                call = call
                    .attributes("FifoTopic", "true")
                    .attributes("ContentBasedDeduplication", "true");
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("CreateTopic", e))?;
            Ok(TopicArn::new(answer.topic_arn.unwrap_or_default()))
        })
    }

    fn topic_attributes<'a>(&'a self, topic: &'a TopicArn) -> Called<'a, TopicAttributes> {
        Box::pin(async move {
            let answer = self
                .client
                .get_topic_attributes()
                .topic_arn(topic.as_str())
                .send()
                .await
                .map_err(|e| call_error("GetTopicAttributes", e))?;
            let attributes = answer.attributes.unwrap_or_default();
            Ok(TopicAttributes {
                maximum_message_size: attributes
                    .get("MaximumMessageSize")
                    .and_then(|size| size.parse().ok()),
            })
        })
    }

    fn subscribe<'a>(&'a self, topic: &'a TopicArn, queue: &'a str) -> Called<'a, Subscription> {
        Box::pin(async move {
            let answer = self
                .client
                .subscribe()
                .topic_arn(topic.as_str())
                .protocol(SQS)
                .endpoint(queue)
                .attributes(RAW, "true")
                .send()
                .await
                .map_err(|e| call_error("Subscribe", e))?;
            Ok(subscription(answer.subscription_arn))
        })
    }

    fn subscription_of<'a>(
        &'a self,
        topic: &'a TopicArn,
        queue: &'a str,
    ) -> Called<'a, Option<Subscription>> {
        Box::pin(async move {
            let mut pages = self
                .client
                .list_subscriptions_by_topic()
                .topic_arn(topic.as_str())
                .into_paginator()
                .items()
                .send();
            while let Some(next) = pages.next().await {
                let next = next.map_err(|e| call_error("ListSubscriptionsByTopic", e))?;
                if next.protocol.as_deref() == Some(SQS) && next.endpoint.as_deref() == Some(queue)
                {
                    return Ok(Some(subscription(next.subscription_arn)));
                }
            }
            Ok(None)
        })
    }

    fn deliver_raw<'a>(&'a self, subscription: &'a str) -> Called<'a, ()> {
        Box::pin(async move {
            self.client
                .set_subscription_attributes()
                .subscription_arn(subscription)
                .attribute_name(RAW)
                .attribute_value("true")
                .send()
                .await
                .map_err(|e| call_error("SetSubscriptionAttributes", e))?;
            Ok(())
        })
    }
}
