//! Trying what a mount needs, without receiving a message or sending one (`queuelet check --online`).
//!
//! SQS looks at who asks before it looks at what is asked. So a call that it must refuse for its
//! content (a handle that is none, more messages than a receive can bring) tells whether the like of
//! it would be allowed. A server that is not AWS's own might do what AWS refuses, so none is asked to
//! receive or to send.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::api::{Outgoing, QueueUrl, Receive, SqsApi};
use super::client::AwsSqs;
use super::connection::Connection;
use super::open::resolve;
use super::sns::{AwsSns, SnsApi, TopicArn, TopicHome, topic_arn};
use crate::config::{QueueRef, SqsSubscription, TargetRef, TopicRef};
use crate::error::{CallError, ErrorClass, SqsError};
use crate::handler::ReceiptHandle;
use crate::limits::{MAX_BATCH, MAX_DELAY};

/// Why a call is not tried that only AWS is sure to refuse.
const NOT_AWS: &str = "the endpoint is not AWS's own, and might do it";

/// What became of one try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "lowercase")]
pub enum Verdict {
    /// It works, or would.
    Allowed,
    /// The permission is missing.
    Denied(String),
    /// There is no such queue or topic.
    Missing(String),
    /// It fails for another reason.
    Failed(String),
    /// It can be tried only by doing it.
    Untried(String),
}

/// One action on one queue or topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// The queue or topic.
    pub resource: String,
    /// The action, as a policy of IAM names it.
    pub action: &'static str,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Probe {
    /// A call that has to work.
    pub fn of<T>(resource: &str, action: &'static str, tried: &Result<T, CallError>) -> Self {
        let advised = |error: &CallError| {
            let advice = error.remedy().advice_for_any_call();
            format!("{error}{advice}")
        };
        let verdict = match tried {
            Ok(_) => Verdict::Allowed,
            Err(error) if error.class == ErrorClass::Denied => Verdict::Denied(advised(error)),
            Err(error) if error.class == ErrorClass::Missing => {
                Verdict::Missing(format!("{error} (create it, or set create_if_missing)"))
            }
            Err(error) => Verdict::Failed(advised(error)),
        };
        Self {
            resource: resource.to_owned(),
            action,
            verdict,
        }
    }

    /// An action that failed.
    fn failed(resource: &str, action: &'static str, error: &SqsError) -> Self {
        let tried: Result<(), _> = Err(error.call().cloned().unwrap_or(CallError {
            operation: "connect",
            class: ErrorClass::Refused,
            code: None,
            message: error.to_string(),
        }));
        Self::of(resource, action, &tried)
    }

    /// An action that is not tried.
    pub fn untried(resource: &str, action: &'static str, why: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            action,
            verdict: Verdict::Untried(why.to_owned()),
        }
    }

    /// A call that SQS must refuse for its content, once it has let it through.
    fn of_refused(resource: &str, action: &'static str, tried: &Result<(), CallError>) -> Self {
        match tried {
            Err(error) if matches!(error.class, ErrorClass::Refused | ErrorClass::LostHandle) => {
                Self::of(resource, action, &Ok(()))
            }
            other => Self::of(resource, action, other),
        }
    }

    /// Whether something has to be mended.
    pub fn is_wrong(&self) -> bool {
        !matches!(self.verdict, Verdict::Allowed | Verdict::Untried(_))
    }
}

impl Verdict {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied(_) => "DENIED",
            Self::Missing(_) => "MISSING",
            Self::Failed(_) => "FAILED",
            Self::Untried(_) => "not tried",
        }
    }

    /// Why, where there is something to say.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Allowed => None,
            Self::Denied(why) | Self::Missing(why) | Self::Failed(why) | Self::Untried(why) => {
                Some(why)
            }
        }
    }
}

/// Tries everything that a mount needs of SQS and SNS, as far as that changes nothing. What is
/// missing and would be created when `run` opens the mount is no fault.
///
/// `connection` is the one of the mount's role.
pub async fn probe(connection: &Connection, subscription: &SqsSubscription) -> Vec<Probe> {
    let mut probes = try_all(connection, subscription).await;
    if subscription.create_if_missing {
        for probe in &mut probes {
            if let Verdict::Missing(_) = probe.verdict {
                let why = "it is missing, and is created when `run` opens the mount";
                probe.verdict = Verdict::Untried(why.to_owned());
            }
        }
    }
    probes
}

async fn try_all(connection: &Connection, subscription: &SqsSubscription) -> Vec<Probe> {
    let mut probes = Vec::new();
    let region = subscription.region.as_deref();
    let is_aws = connection.endpoint().is_none();
    let mut home = None;
    if let Some((api, url)) = find(connection, &subscription.queue, region, &mut probes).await {
        let name = subscription.queue.to_string();
        let read = api.queue_attributes(&url).await;
        probes.push(Probe::of(&name, "sqs:GetQueueAttributes", &read));
        probes.extend(probe_source(&*api, &url, &name, is_aws).await);
        let attributes = read.unwrap_or_default();
        home = attributes.arn.as_deref().and_then(TopicHome::of_queue);
        if let (Some(max), Some(dead)) = (subscription.max_attempts, &subscription.dead_letter) {
            let same = attributes.redrive.is_some_and(|policy| {
                policy.max_receive_count == max.get()
                    && policy.dead_letter.ends_with(&format!(":{}", dead.name()))
            });
            if !same {
                let why = "`run` writes the redrive policy, which is another one now";
                probes.push(Probe::untried(&name, "sqs:SetQueueAttributes", why));
            }
        }
    }
    let dead_letter = subscription.dead_letter.clone().map(TargetRef::Queue);
    let targets = subscription.reply.iter().chain(&subscription.destinations);
    for target in targets.chain(&dead_letter) {
        match target {
            TargetRef::Queue(queue) => {
                if let Some((api, url)) = find(connection, queue, region, &mut probes).await {
                    let name = queue.to_string();
                    probes.extend(probe_queue_target(&*api, &url, &name, is_aws).await);
                }
            }
            TargetRef::Topic(topic) => {
                if let Some((api, arn)) = find_topic(connection, topic, &home, &mut probes) {
                    probes.extend(probe_topic_target(&*api, &arn, is_aws).await);
                }
            }
        }
    }
    for topic in &subscription.subscribe {
        if let Some((api, arn)) = find_topic(connection, topic, &home, &mut probes) {
            let read = api.topic_attributes(&arn).await;
            probes.push(Probe::of(arn.as_str(), "sns:GetTopicAttributes", &read));
            let why = "the queue is subscribed when `run` opens it";
            probes.push(Probe::untried(arn.as_str(), "sns:Subscribe", why));
        }
    }
    probes
}

/// A queue's client and URL; what went wrong becomes a probe.
async fn find(
    connection: &Connection,
    queue: &QueueRef,
    region: Option<&str>,
    probes: &mut Vec<Probe>,
) -> Option<(Arc<AwsSqs>, QueueUrl)> {
    const ACTION: &str = "sqs:GetQueueUrl";
    let name = queue.to_string();
    let api = match connection.client(queue.region().or(region)) {
        Ok(api) => api,
        Err(error) => {
            probes.push(Probe::failed(&name, ACTION, &error));
            return None;
        }
    };
    match resolve(&*api, queue, false, connection.endpoint().as_deref()).await {
        Ok(url) => {
            if !matches!(queue, QueueRef::Url { .. }) {
                probes.push(Probe::of(&name, ACTION, &Ok(())));
            }
            Some((api, url))
        }
        Err(error) => {
            probes.push(Probe::failed(&name, ACTION, &error));
            None
        }
    }
}

/// A topic's client and ARN; what went wrong becomes a probe.
fn find_topic(
    connection: &Connection,
    topic: &TopicRef,
    home: &Option<TopicHome>,
    probes: &mut Vec<Probe>,
) -> Option<(Arc<AwsSns>, TopicArn)> {
    const ACTION: &str = "sns:GetTopicAttributes";
    let name = topic.to_string();
    let Ok(arn) = topic_arn(topic, home.as_ref()) else {
        let why = "its account and region are the source queue's, whose ARN could not be read";
        probes.push(Probe::untried(&name, ACTION, why));
        return None;
    };
    let region = arn.as_str().split(':').nth(3);
    match connection.sns(region) {
        Ok(api) => Some((api, arn)),
        Err(error) => {
            probes.push(Probe::failed(&name, ACTION, &error));
            None
        }
    }
}

/// Tries what a source queue is used for. `name` is what the probes call it.
async fn probe_source(api: &dyn SqsApi, queue: &QueueUrl, name: &str, is_aws: bool) -> Vec<Probe> {
    let none = ReceiptHandle::from("queuelet-check-is-no-receipt-handle");
    let received = if is_aws {
        let receive = Receive {
            queue: queue.clone(),
            // One more than SQS gives.
            max: MAX_BATCH + 1,
            visibility: Some(Duration::ZERO),
            wait: Duration::ZERO,
            attempt: None,
        };
        let received = api.receive(receive).await.map(drop);
        Probe::of_refused(name, "sqs:ReceiveMessage", &received)
    } else {
        Probe::untried(name, "sqs:ReceiveMessage", NOT_AWS)
    };
    let deleted = api.delete(queue, &none).await;
    let changed = api.change_visibility(queue, &none, Duration::ZERO).await;
    vec![
        received,
        Probe::of_refused(name, "sqs:DeleteMessage", &deleted),
        Probe::of_refused(name, "sqs:ChangeMessageVisibility", &changed),
    ]
}

/// Tries what a queue is used for that messages are sent to.
async fn probe_queue_target(
    api: &dyn SqsApi,
    queue: &QueueUrl,
    name: &str,
    is_aws: bool,
) -> Vec<Probe> {
    const SEND: &str = "sqs:SendMessage";
    let read = api.queue_attributes(queue).await;
    let sent = if is_aws {
        let late = Outgoing {
            body: "sent by no one: its delay is longer than SQS takes".into(),
            delay: Some(MAX_DELAY + Duration::from_secs(1)),
            ..Outgoing::default()
        };
        let sent = api.send(queue, &late).await.map(drop);
        Probe::of_refused(name, SEND, &sent)
    } else {
        Probe::untried(name, SEND, NOT_AWS)
    };
    vec![Probe::of(name, "sqs:GetQueueAttributes", &read), sent]
}

/// Tries what a topic is used for that messages are published to.
async fn probe_topic_target(api: &dyn SnsApi, topic: &TopicArn, is_aws: bool) -> Vec<Probe> {
    const PUBLISH: &str = "sns:Publish";
    let name = topic.as_str();
    let read = api.topic_attributes(topic).await;
    let sent = if is_aws {
        // SNS takes no empty message.
        let sent = api.publish(topic, &Outgoing::default()).await.map(drop);
        Probe::of_refused(name, PUBLISH, &sent)
    } else {
        Probe::untried(name, PUBLISH, NOT_AWS)
    };
    vec![Probe::of(name, "sns:GetTopicAttributes", &read), sent]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: ErrorClass) -> Result<(), CallError> {
        Err(crate::sqs::scripted::error("DeleteMessage", class))
    }

    #[test]
    fn a_refusal_of_the_content_tells_that_the_call_is_allowed() {
        for (tried, allowed) in [
            (Ok(()), true),
            (failed(ErrorClass::Refused), true),
            (failed(ErrorClass::LostHandle), true),
            (failed(ErrorClass::Denied), false),
            (failed(ErrorClass::Network), false),
            (failed(ErrorClass::Missing), false),
        ] {
            let probe = Probe::of_refused("q", "sqs:DeleteMessage", &tried);
            assert_eq!(!probe.is_wrong(), allowed, "{probe:?}");
        }
        let denied = Probe::of("q", "sqs:DeleteMessage", &failed(ErrorClass::Denied));
        assert_eq!(denied.verdict.word(), "DENIED");
    }
}
