//! The redrive policy of a source queue: what it says, and writing the one that a mount declares
//! (rule 1.9).

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{QueueAttributes, QueueUrl, SqsApi};
use super::open::{QueueState, resolve};
use crate::config::{QueueRef, SqsSubscription};
use crate::error::{CallError, ErrorClass, SqsError};
use crate::observe::{Event, Observer};

/// Where SQS moves a message that was received too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// The ARN of the dead-letter queue.
    pub dead_letter: String,
    /// How many receives it allows a message: 1 to 1,000.
    pub max_receive_count: u32,
}

impl RedrivePolicy {
    /// Reads a policy as SQS sends it. The count is a number, or text where the policy was written
    /// so.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let policy: Value = serde_json::from_str(text).ok()?;
        let max_receive_count = match policy.get("maxReceiveCount")? {
            Value::String(text) => text.parse().ok()?,
            number => u32::try_from(number.as_u64()?).ok()?,
        };
        let dead_letter = policy.get("deadLetterTargetArn")?.as_str()?.to_owned();
        Some(Self {
            dead_letter,
            max_receive_count,
        })
    }

    /// The policy as SQS takes it.
    fn to_json(&self) -> String {
        json!({
            "deadLetterTargetArn": self.dead_letter,
            "maxReceiveCount": self.max_receive_count,
        })
        .to_string()
    }
}

/// What it takes to write a mount's redrive policy again, on a queue that was created anew.
#[derive(Clone, Debug)]
pub struct Redrive {
    /// The mount.
    pub subscription: Arc<SqsSubscription>,
    /// Whether a dead-letter queue that is missing is created.
    pub create: bool,
    /// What stands in for host and port of a URL that SQS returns.
    pub endpoint: Option<String>,
}

impl Redrive {
    /// Writes the policy, where the mount declares one and the queue, as it was `read`, has another one
    /// or none; its receive count is in force from then on. A failure is an event: the queue is served all the same, as the one before it was.
    pub(super) async fn write(
        &self,
        api: &dyn SqsApi,
        queue: &QueueUrl,
        read: Result<QueueAttributes, CallError>,
        state: &QueueState,
        observer: &Observer,
    ) {
        if self.subscription.max_attempts.is_none() {
            return;
        }
        let written = async {
            let attributes = read.map_err(|error| refused(&self.subscription, error))?;
            let (subscription, queue) = (&self.subscription, (queue, &attributes));
            let endpoint = self.endpoint.as_deref();
            write_redrive(api, subscription, queue, self.create, endpoint, observer).await
        };
        match written.await {
            Ok(policy) => {
                state.set_max_receive_count(policy.map(|policy| policy.max_receive_count));
            }
            Err(error) => observer.emit(None, Event::RedriveNotWritten { error: &error }),
        }
    }
}

/// Writes the redrive policy that a mount declares, where the queue has another one or none. Answers
/// the policy in force.
///
/// # Errors
/// [`SqsError::Queue`] where the dead-letter queue cannot be found or read, [`SqsError::Admin`] where
/// the policy cannot be written.
pub(super) async fn write_redrive(
    api: &dyn SqsApi,
    subscription: &SqsSubscription,
    queue: (&QueueUrl, &QueueAttributes),
    create: bool,
    endpoint: Option<&str>,
    observer: &Observer,
) -> Result<Option<RedrivePolicy>, SqsError> {
    let (url, attributes) = queue;
    let (Some(max), Some(dead)) = (subscription.max_attempts, &subscription.dead_letter) else {
        return Ok(attributes.redrive.clone());
    };
    let wanted = RedrivePolicy {
        dead_letter: arn(api, dead, create, endpoint).await?,
        max_receive_count: max.get(),
    };
    if attributes.redrive.as_ref() == Some(&wanted) {
        return Ok(Some(wanted));
    }
    if let Some(message) = attributes
        .arn
        .as_deref()
        .and_then(|own| apart(own, &wanted.dead_letter))
    {
        return Err(refused(
            subscription,
            CallError {
                operation: "SetQueueAttributes",
                class: ErrorClass::Refused,
                code: None,
                message,
            },
        ));
    }
    let new = wanted.to_json();
    api.set_queue_attributes(url, &[("RedrivePolicy", &new)])
        .await
        .map_err(|error| refused(subscription, error))?;
    let old = attributes.redrive.as_ref().map(RedrivePolicy::to_json);
    let (old, new) = (old.as_deref(), new.as_str());
    observer.emit(None, Event::RedriveWritten { old, new });
    Ok(Some(wanted))
}

/// The ARN of a queue: as it is written, or as the queue says.
async fn arn(
    api: &dyn SqsApi,
    queue: &QueueRef,
    create: bool,
    endpoint: Option<&str>,
) -> Result<String, SqsError> {
    let url = resolve(api, queue, create, endpoint).await?;
    if let QueueRef::Arn { .. } = queue {
        return Ok(queue.to_string());
    }
    let failed = |error| SqsError::Queue {
        queue: queue.to_string(),
        cause: Arc::new(error),
    };
    let attributes = api.queue_attributes(&url).await.map_err(failed)?;
    attributes.arn.ok_or_else(|| {
        failed(CallError {
            operation: "GetQueueAttributes",
            class: ErrorClass::Refused,
            code: None,
            message: "SQS did not say the queue's ARN; name it by its ARN".into(),
        })
    })
}

/// Why SQS moves nothing between two queues, by their ARNs.
fn apart(own: &str, dead: &str) -> Option<String> {
    let part = |arn: &str, place| arn.split(':').nth(place).unwrap_or("").to_owned();
    let (ours, theirs) = (part(own, 4), part(dead, 4));
    if ours != theirs {
        return Some(format!(
            "the queue belongs to account {ours} and its dead-letter queue to {theirs}: SQS moves \
             messages within one account, and lets only the owner of a queue write its redrive \
             policy; have the owner write it, and remove max_attempts and dead_letter here"
        ));
    }
    let (ours, theirs) = (part(own, 3), part(dead, 3));
    (ours != theirs).then(|| {
        format!(
            "the queue is in {ours} and its dead-letter queue in {theirs}: SQS moves messages within \
             one region alone; name a dead-letter queue of {ours}"
        )
    })
}

fn refused(subscription: &SqsSubscription, mut error: CallError) -> SqsError {
    if error.class == ErrorClass::Denied && subscription.queue.account().is_some() {
        error.message.push_str(
            " (SQS lets only the account that owns a queue write its redrive policy: if that is \
             another one, have it written there and remove max_attempts and dead_letter here)",
        );
    }
    SqsError::Admin {
        operation: "SetQueueAttributes",
        queue: subscription.queue.to_string(),
        cause: Arc::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_as_number_and_as_text() {
        for policy in [
            r#"{"deadLetterTargetArn":"arn","maxReceiveCount":3}"#,
            r#"{"deadLetterTargetArn":"arn","maxReceiveCount":"3"}"#,
        ] {
            let read = RedrivePolicy::parse(policy).unwrap();
            assert_eq!((read.max_receive_count, &*read.dead_letter), (3, "arn"));
            assert_eq!(RedrivePolicy::parse(&read.to_json()), Some(read));
        }
        assert_eq!(RedrivePolicy::parse("no json"), None);
    }

    // Rule 1.9.
    #[test]
    fn queues_of_two_accounts_or_regions_are_told_apart() {
        let own = "arn:aws:sqs:eu-west-1:123456789012:orders";
        for (dead, what) in [
            ("arn:aws:sqs:eu-west-1:123456789012:dead", None),
            (
                "arn:aws:sqs:eu-west-1:210987654321:dead",
                Some("210987654321"),
            ),
            ("arn:aws:sqs:us-east-1:123456789012:dead", Some("us-east-1")),
        ] {
            let message = apart(own, dead);
            assert_eq!(message.is_some(), what.is_some(), "{dead}");
            if let (Some(message), Some(what)) = (message, what) {
                assert!(message.contains(what), "{message}");
            }
        }
    }
}
