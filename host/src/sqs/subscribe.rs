//! Subscribing a queue to a topic (rule 6.7).

use std::sync::Arc;

use super::api::{QueueUrl, SqsApi};
use super::policy::granting;
use super::sns::{SnsApi, Subscription, TopicArn, TopicHome, create_topic, topic_arn};
use crate::config::TopicRef;
use crate::error::code::name_of;
use crate::error::{CallError, ErrorClass, SqsError};

/// A queue that is subscribed to a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    /// The topic.
    pub topic: TopicArn,
    /// The queue's ARN.
    pub queue: String,
    /// The subscription. One that is pending delivers nothing until the queue's owner confirms it.
    pub subscription: Subscription,
    /// Whether the queue's access policy was written: it did not let SNS send for the topic before.
    pub policy_written: bool,
}

/// Subscribes a queue to a topic with raw message delivery, so that its messages are those that
/// were published. `create` makes a topic that is named by its name and is missing.
///
/// First it adds to the queue's access policy the one statement that lets SNS send for this topic,
/// and keeps every other; a policy that grants it already is not written. Two that write the policy
/// of one queue at the same moment may lose a statement, SQS knows no condition on a write: calling
/// again mends it.
///
/// # Errors
/// [`SqsError::QueuePolicy`] where the policy cannot be read, understood or written, which is before
/// anything is subscribed; [`SqsError::Admin`] where the topic cannot be created or subscribed to.
pub async fn subscribe_queue_to_topic(
    sqs: &dyn SqsApi,
    sns: &dyn SnsApi,
    queue: &QueueUrl,
    topic: &TopicRef,
    create: bool,
) -> Result<Subscribed, SqsError> {
    let attributes = sqs.queue_attributes(queue).await;
    let attributes = attributes.map_err(|error| policy_error(queue, error))?;
    let home = attributes.arn.as_deref().and_then(TopicHome::of_queue);
    let (Some(queue_arn), Some(home)) = (attributes.arn, home) else {
        return Err(SqsError::QueuePolicy {
            queue: queue.to_string(),
            message: "SQS did not say the queue's ARN".into(),
            cause: None,
        });
    };
    if queue_arn.ends_with(".fifo") && !topic.name().is_fifo() {
        return Err(refused(
            topic,
            "a standard topic does not deliver to a FIFO queue: name a topic that ends in .fifo, \
             or a standard queue",
        ));
    }
    let arn = topic_arn(topic, Some(&home)).map_err(|error| subscribe_error(topic, error))?;
    if create && matches!(topic, TopicRef::Name(_)) {
        create_if_missing(sns, topic, &arn).await?;
    }
    let policy = granting(attributes.policy.as_deref(), &queue_arn, arn.as_str());
    let policy = policy.map_err(|message| SqsError::QueuePolicy {
        queue: queue.to_string(),
        message: format!("{message}; nothing was changed"),
        cause: None,
    })?;
    if let Some(policy) = &policy {
        let written = sqs.set_queue_attributes(queue, &[("Policy", policy)]).await;
        written.map_err(|error| policy_error(queue, error))?;
    }
    let subscription = subscribe(sns, &arn, &queue_arn).await;
    Ok(Subscribed {
        subscription: subscription.map_err(|error| subscribe_error(topic, error))?,
        topic: arn,
        queue: queue_arn,
        policy_written: policy.is_some(),
    })
}

async fn create_if_missing(
    sns: &dyn SnsApi,
    topic: &TopicRef,
    arn: &TopicArn,
) -> Result<(), SqsError> {
    match sns.topic_attributes(arn).await {
        Err(error) if error.class == ErrorClass::Missing => create_topic(sns, topic, arn).await,
        // Whatever else there is, Subscribe says it.
        _ => Ok(()),
    }
}

/// Subscribe answers with the subscription that is there, unless that has other attributes: then
/// the one attribute that we ask for is set.
async fn subscribe(
    sns: &dyn SnsApi,
    topic: &TopicArn,
    queue: &str,
) -> Result<Subscription, CallError> {
    let refused = match sns.subscribe(topic, queue).await {
        Err(error) if has_other_attributes(&error) => error,
        answer => return answer,
    };
    match sns.subscription_of(topic, queue).await? {
        Some(there) => {
            if let Subscription::Confirmed(arn) = &there {
                sns.deliver_raw(arn).await?;
            }
            Ok(there)
        }
        None => Err(refused),
    }
}

fn has_other_attributes(error: &CallError) -> bool {
    error.code.as_deref().map(name_of) == Some("InvalidParameter")
        && error.message.contains("already exists")
}

fn policy_error(queue: &QueueUrl, error: CallError) -> SqsError {
    SqsError::QueuePolicy {
        queue: queue.to_string(),
        message: error.to_string(),
        cause: Some(Arc::new(error)),
    }
}

fn subscribe_error(topic: &TopicRef, error: CallError) -> SqsError {
    SqsError::Admin {
        operation: "Subscribe",
        queue: topic.to_string(),
        cause: Arc::new(error),
    }
}

fn refused(topic: &TopicRef, message: &str) -> SqsError {
    subscribe_error(
        topic,
        CallError {
            operation: "Subscribe",
            class: ErrorClass::Refused,
            code: None,
            message: message.into(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqs::QueueAttributes;
    use crate::sqs::scripted::{Made, On, Say, Scripted};
    use crate::sqs::sns::scripted::{Made as MadeOfSns, ScriptedSns};

    const QUEUE: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
    const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:news";

    fn queue(arn: &str, policy: Option<&str>) -> Arc<Scripted> {
        let sqs = Scripted::new();
        sqs.has_attributes(QueueAttributes {
            arn: Some(arn.into()),
            policy: policy.map(Into::into),
            ..QueueAttributes::default()
        });
        sqs
    }

    async fn subscribe(
        sqs: &Scripted,
        sns: &ScriptedSns,
        topic: &str,
        create: bool,
    ) -> Result<Subscribed, SqsError> {
        let url = QueueUrl::new("http://sqs/orders");
        subscribe_queue_to_topic(sqs, sns, &url, &topic.parse().unwrap(), create).await
    }

    // Rule 6.7: first the policy, then the subscription; and the policy only where it is needed.
    #[tokio::test]
    async fn a_policy_that_grants_already_is_not_written_again() {
        let (sqs, sns) = (queue(QUEUE, None), ScriptedSns::new());
        let first = subscribe(&sqs, &sns, "news", false).await.unwrap();
        assert!(first.policy_written);
        assert_eq!((first.topic.as_str(), first.queue.as_str()), (TOPIC, QUEUE));
        let [Made::SetAttributes(written)] = &sqs.made()[..] else {
            panic!("{:?}", sqs.made());
        };
        let (name, policy) = &written[0];
        assert_eq!(name, "Policy");
        assert_eq!(sns.made(), [MadeOfSns::Subscribe(QUEUE.into())]);

        let sqs = queue(QUEUE, Some(policy));
        let again = subscribe(&sqs, &sns, TOPIC, false).await.unwrap();
        assert!(!again.policy_written);
        assert_eq!(sqs.made(), []);
    }

    // Rule 6.7.
    #[tokio::test]
    async fn a_subscription_without_raw_delivery_gets_it() {
        let (sqs, sns) = (queue(QUEUE, None), ScriptedSns::new());
        let message = "InvalidParameter: Invalid parameter: Attributes Reason: Subscription \
                       already exists with different attributes";
        let refused = CallError {
            operation: "Subscribe",
            class: ErrorClass::Refused,
            code: Some("InvalidParameter".into()),
            message: message.into(),
        };
        let there = Subscription::Confirmed("arn:there".into());
        sns.will_refuse_to_subscribe(refused, there.clone());
        let subscribed = subscribe(&sqs, &sns, TOPIC, false).await.unwrap();
        assert_eq!(subscribed.subscription, there);
        let raw = MadeOfSns::Raw("arn:there".into());
        assert_eq!(sns.made().last(), Some(&raw));
    }

    // Rule 6.7.
    #[tokio::test]
    async fn nothing_is_subscribed_where_the_policy_cannot_be_written() {
        let denied = Say::Class(ErrorClass::Denied);
        for (on, policy) in [
            (Some(On::Attributes), None),
            (Some(On::SetAttributes), None),
            (None, Some("no json")),
        ] {
            let (sqs, sns) = (queue(QUEUE, policy), ScriptedSns::new());
            if let Some(on) = on {
                sqs.will_say(on, denied.clone());
            }
            let error = subscribe(&sqs, &sns, TOPIC, false).await.unwrap_err();
            assert!(matches!(error, SqsError::QueuePolicy { .. }), "{error}");
            assert_eq!(error.class(), on.map(|_| ErrorClass::Denied));
            assert_eq!(sns.made(), []);
        }
    }

    #[tokio::test]
    async fn a_standard_topic_and_a_fifo_queue_are_refused_before_anything_is_changed() {
        let fifo = format!("{QUEUE}.fifo");
        let (sqs, sns) = (queue(&fifo, None), ScriptedSns::new());
        let error = subscribe(&sqs, &sns, "news", true).await.unwrap_err();
        assert!(error.to_string().contains(".fifo"), "{error}");
        assert_eq!((sqs.made(), sns.made()), (vec![], vec![]));
        assert!(subscribe(&sqs, &sns, "news.fifo", false).await.is_ok());
    }

    // Rules 1.8 and 6.1.
    #[tokio::test]
    async fn a_missing_topic_is_created_where_that_is_asked_for() {
        let (sqs, sns) = (queue(QUEUE, None), ScriptedSns::new());
        sns.will_fail_to_say_attributes(ErrorClass::Missing);
        subscribe(&sqs, &sns, "news", true).await.unwrap();
        assert!(sns.made().contains(&MadeOfSns::Create("news".into())));
        // One that is there is left alone.
        subscribe(&sqs, &sns, "news", true).await.unwrap();
        let created = |made: &&MadeOfSns| matches!(made, MadeOfSns::Create(_));
        assert_eq!(sns.made().iter().filter(created).count(), 1);
    }
}
