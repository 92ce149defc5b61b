//! The real client: [`SqsApi`] by the AWS SDK, one per region.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
    MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};

use super::api::{Called, Outgoing, QueueAttributes, QueueUrl, Receive, Received, SqsApi};
use super::classify::call_error;
use super::entries::{by_entry, by_position, entry_error};
use super::message::{attribute, received};
use super::redrive::RedrivePolicy;
use crate::error::CallError;
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{CALL_TIMEOUT, CONNECT_TIMEOUT, RECEIVE_GRACE, whole_seconds};

/// [`SqsApi`] by the AWS SDK.
pub struct AwsSqs {
    config: aws_sdk_sqs::Config,
    /// For calls that the host itself tries again: no retries of the SDK's.
    once: Client,
    /// For calls that nobody else tries again.
    patient: Client,
    /// A receive's attempt may take its wait and five seconds, so each wait has a client.
    receive: Mutex<HashMap<Duration, Client>>,
}

impl AwsSqs {
    /// A client for `region`, or the configuration's own; `endpoint` is SQS's own, over the one of
    /// all services.
    pub(super) fn new(shared: &SdkConfig, region: Option<&str>, endpoint: Option<&str>) -> Self {
        let mut builder = aws_sdk_sqs::config::Builder::from(shared)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        if let Some(region) = region {
            builder = builder.region(Region::new(region.to_owned()));
        }
        if let Some(endpoint) = endpoint {
            builder = builder.endpoint_url(endpoint);
        }
        let config = builder.build();
        Self {
            once: client(&config, RetryConfig::disabled(), CALL_TIMEOUT),
            patient: client(&config, RetryConfig::standard(), CALL_TIMEOUT),
            receive: Mutex::default(),
            config,
        }
    }

    fn receiver(&self, wait: Duration) -> Client {
        let mut by_wait = self.receive.lock().unwrap_or_else(PoisonError::into_inner);
        by_wait
            .entry(wait)
            .or_insert_with(|| client(&self.config, RetryConfig::disabled(), wait + RECEIVE_GRACE))
            .clone()
    }
}

fn client(config: &aws_sdk_sqs::Config, retries: RetryConfig, attempt: Duration) -> Client {
    Client::from_conf(
        config
            .to_builder()
            .retry_config(retries)
            .timeout_config(timeouts(attempt))
            .build(),
    )
}

/// How long one attempt of a call may take, its connection counted in.
pub(super) fn timeouts(attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(attempt)
        .build()
}

/// Whole seconds, a fraction rounded up (rules 1.3, 1.4, 5.4).
fn seconds(duration: Duration) -> i32 {
    i32::try_from(whole_seconds(duration).as_secs()).unwrap_or(i32::MAX)
}

impl SqsApi for AwsSqs {
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>> {
        let client = self.receiver(receive.wait);
        Box::pin(async move {
            let answer = client
                .receive_message()
                .queue_url(receive.queue.as_str())
                .max_number_of_messages(receive.max.into())
                .wait_time_seconds(seconds(receive.wait))
                .set_visibility_timeout(receive.visibility.map(seconds))
                .set_receive_request_attempt_id(receive.attempt)
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .map_err(|e| call_error("ReceiveMessage", e))?;
            let messages = answer.messages.unwrap_or_default();
            Ok(messages.into_iter().map(received).collect())
        })
    }

    fn delete<'a>(&'a self, queue: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        Box::pin(async move {
            self.once
                .delete_message()
                .queue_url(queue.as_str())
                .receipt_handle(handle.as_str())
                .send()
                .await
                .map_err(|e| call_error("DeleteMessage", e))?;
            Ok(())
        })
    }

    fn delete_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        const OPERATION: &str = "DeleteMessageBatch";
        Box::pin(async move {
            let list = handles.iter().enumerate().map(|(position, handle)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(position.to_string())
                    .receipt_handle(handle.as_str())
                    .build()
                    .expect("id and handle, the required fields, are set")
            });
            let answer = self
                .once
                .delete_message_batch()
                .queue_url(queue.as_str())
                .set_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let done = answer.successful.iter().map(|done| done.id.as_str());
            Ok(by_position(OPERATION, handles.len(), done, answer.failed))
        })
    }

    fn change_visibility<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()> {
        Box::pin(async move {
            self.once
                .change_message_visibility()
                .queue_url(queue.as_str())
                .receipt_handle(handle.as_str())
                .visibility_timeout(seconds(visibility))
                .send()
                .await
                .map_err(|e| call_error("ChangeMessageVisibility", e))?;
            Ok(())
        })
    }

    fn change_visibility_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        const OPERATION: &str = "ChangeMessageVisibilityBatch";
        Box::pin(async move {
            let list = entries.iter().enumerate().map(|(position, entry)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(position.to_string())
                    .receipt_handle(entry.0.as_str())
                    .visibility_timeout(seconds(entry.1))
                    .build()
                    .expect("id and handle, the required fields, are set")
            });
            let answer = self
                .once
                .change_message_visibility_batch()
                .queue_url(queue.as_str())
                .set_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let done = answer.successful.iter().map(|done| done.id.as_str());
            Ok(by_position(OPERATION, entries.len(), done, answer.failed))
        })
    }

    fn send<'a>(&'a self, queue: &'a QueueUrl, message: &'a Outgoing) -> Called<'a, MessageId> {
        Box::pin(async move {
            let answer = self
                .patient
                .send_message()
                .queue_url(queue.as_str())
                .message_body(&message.body)
                .set_message_attributes(attributes(message))
                .set_message_group_id(message.group_id.clone())
                .set_message_deduplication_id(message.deduplication_id.clone())
                .set_delay_seconds(message.delay.map(seconds))
                .send()
                .await
                .map_err(|e| call_error("SendMessage", e))?;
            Ok(answer.message_id.unwrap_or_default().into())
        })
    }

    fn send_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        const OPERATION: &str = "SendMessageBatch";
        Box::pin(async move {
            let list = messages.iter().enumerate().map(|(position, message)| {
                SendMessageBatchRequestEntry::builder()
                    .id(position.to_string())
                    .message_body(&message.body)
                    .set_message_attributes(attributes(message))
                    .set_message_group_id(message.group_id.clone())
                    .set_message_deduplication_id(message.deduplication_id.clone())
                    .set_delay_seconds(message.delay.map(seconds))
                    .build()
                    .expect("id and body, the required fields, are set")
            });
            let answer = self
                .patient
                .send_message_batch()
                .queue_url(queue.as_str())
                .set_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let sent = answer.successful.into_iter();
            let sent = sent.map(|sent| (sent.id, MessageId::from(sent.message_id)));
            let failed = answer.failed.into_iter();
            let failed = failed.map(|entry| (entry.id.clone(), entry_error(OPERATION, entry)));
            Ok(by_entry(OPERATION, messages.len(), sent, failed))
        })
    }

    fn queue_url<'a>(&'a self, name: &'a str, account: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            let answer = self
                .patient
                .get_queue_url()
                .queue_name(name)
                .set_queue_owner_aws_account_id(account.map(str::to_owned))
                .send()
                .await
                .map_err(|e| call_error("GetQueueUrl", e))?;
            Ok(QueueUrl::new(answer.queue_url.unwrap_or_default()))
        })
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            let mut call = self.patient.create_queue().queue_name(name);
            for (attribute, value) in attributes {
                call = call.attributes(QueueAttributeName::from(*attribute), *value);
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("CreateQueue", e))?;
            Ok(QueueUrl::new(answer.queue_url.unwrap_or_default()))
        })
    }

    fn queue_attributes<'a>(&'a self, queue: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(async move {
            let mut call = self
                .patient
                .get_queue_attributes()
                .queue_url(queue.as_str())
                .attribute_names(QueueAttributeName::VisibilityTimeout)
                .attribute_names(QueueAttributeName::RedrivePolicy)
                .attribute_names(QueueAttributeName::QueueArn)
                .attribute_names(QueueAttributeName::Policy)
                .attribute_names(QueueAttributeName::MaximumMessageSize);
            for count in BACKLOG {
                call = call.attribute_names(count);
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("GetQueueAttributes", e))?;
            let attributes = answer.attributes.unwrap_or_default();
            let text = |name: QueueAttributeName| attributes.get(&name).cloned();
            let number = |name| text(name).and_then(|text| text.parse::<u64>().ok());
            Ok(QueueAttributes {
                visibility: number(QueueAttributeName::VisibilityTimeout).map(Duration::from_secs),
                redrive: attributes
                    .get(&QueueAttributeName::RedrivePolicy)
                    .and_then(|policy| RedrivePolicy::parse(policy)),
                backlog: BACKLOG.into_iter().filter_map(number).sum(),
                arn: text(QueueAttributeName::QueueArn),
                // A queue without a policy may say so with an empty one.
                policy: text(QueueAttributeName::Policy).filter(|policy| !policy.is_empty()),
                maximum_message_size: number(QueueAttributeName::MaximumMessageSize)
                    .and_then(|size| size.try_into().ok()),
            })
        })
    }

    fn set_queue_attributes<'a>(
        &'a self,
        queue: &'a QueueUrl,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, ()> {
        Box::pin(async move {
            let mut call = self.patient.set_queue_attributes();
            for (attribute, value) in attributes {
                call = call.attributes(QueueAttributeName::from(*attribute), *value);
            }
            call.queue_url(queue.as_str())
                .send()
                .await
                .map_err(|e| call_error("SetQueueAttributes", e))?;
            Ok(())
        })
    }
}

fn attributes(message: &Outgoing) -> Option<HashMap<String, MessageAttributeValue>> {
    let headers = message.headers.iter();
    (!message.headers.is_empty()).then(|| headers.map(attribute).collect())
}

/// The three states that a message of a queue can be in.
const BACKLOG: [QueueAttributeName; 3] = [
    QueueAttributeName::ApproximateNumberOfMessages,
    QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
    QueueAttributeName::ApproximateNumberOfMessagesDelayed,
];

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 1.4.
    #[test]
    fn a_fraction_of_a_second_is_rounded_up() {
        for (ms, want) in [(0, 0), (1, 1), (1000, 1), (1200, 2), (43_200_000, 43_200)] {
            assert_eq!(seconds(Duration::from_millis(ms)), want, "{ms} ms");
        }
    }
}
