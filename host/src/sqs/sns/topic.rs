//! From a topic's name to its ARN (rule 6.1).

use std::sync::Arc;

use super::{SnsApi, TopicArn};
use crate::config::TopicRef;
use crate::error::{CallError, ErrorClass, SqsError};

/// Where the topics are that are named by their names alone: the place of the queue that they are
/// used with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicHome {
    partition: String,
    region: String,
    account: String,
}

impl TopicHome {
    /// The place of the queue that has this ARN; none where it is no ARN.
    pub fn of_queue(arn: &str) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", partition, "sqs", region, account, _] = parts[..] else {
            return None;
        };
        Some(Self {
            partition: partition.to_owned(),
            region: region.to_owned(),
            account: account.to_owned(),
        })
    }

    /// The region: where the client has to be that reaches these topics.
    pub fn region(&self) -> &str {
        &self.region
    }
}

/// The ARN of a topic.
///
/// # Errors
/// Where it is named by its name and the place of its queue is not known.
pub(in crate::sqs) fn topic_arn(
    topic: &TopicRef,
    home: Option<&TopicHome>,
) -> Result<TopicArn, CallError> {
    let name = match topic {
        TopicRef::Arn { .. } => return Ok(TopicArn::new(topic.to_string())),
        TopicRef::Name(name) => name,
    };
    let Some(home) = home else {
        return Err(CallError {
            operation: "GetQueueAttributes",
            class: ErrorClass::Refused,
            code: None,
            message: format!(
                "the queue's ARN is not known, which says region and account of {topic}: allow \
                 sqs:GetQueueAttributes on the queue, or name the topic by its ARN"
            ),
        });
    };
    let TopicHome {
        partition,
        region,
        account,
    } = home;
    Ok(TopicArn::new(format!(
        "arn:{partition}:sns:{region}:{account}:{name}"
    )))
}

/// Creates the topic that `wanted` is the ARN of.
///
/// # Errors
/// [`SqsError::Admin`] where it cannot be created, or would be another account's.
pub(in crate::sqs) async fn create_topic(
    api: &dyn SnsApi,
    topic: &TopicRef,
    wanted: &TopicArn,
) -> Result<(), SqsError> {
    const OPERATION: &str = "CreateTopic";
    let failed = |cause| SqsError::Admin {
        operation: OPERATION,
        queue: topic.to_string(),
        cause: Arc::new(cause),
    };
    let created = api.create_topic(topic.name().as_str()).await;
    let created = created.map_err(failed)?;
    if created == *wanted {
        return Ok(());
    }
    Err(failed(CallError {
        operation: OPERATION,
        class: ErrorClass::Refused,
        code: None,
        message: format!(
            "the credentials in force make it {created}, and the place of the queue asks for \
             {wanted}: create the topic there, or name the one that is meant by its ARN"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqs::sns::scripted::ScriptedSns;

    fn topic(text: &str) -> TopicRef {
        text.parse().unwrap()
    }

    // Rule 6.1.
    #[test]
    fn a_topic_by_name_is_in_the_queues_partition_region_and_account() {
        let home = TopicHome::of_queue("arn:aws-cn:sqs:cn-north-1:123456789012:orders");
        let arn = topic_arn(&topic("sns:news.fifo"), home.as_ref()).unwrap();
        assert_eq!(
            arn.as_str(),
            "arn:aws-cn:sns:cn-north-1:123456789012:news.fifo"
        );
        let own = "arn:aws:sns:eu-west-1:210987654321:news";
        let arn = topic_arn(&topic(own), home.as_ref()).unwrap();
        assert_eq!(arn.as_str(), own, "an ARN is used as it is");
        assert_eq!(topic_arn(&topic(own), None).unwrap().as_str(), own);
        let error = topic_arn(&topic("news"), None).unwrap_err();
        assert!(error.message.contains("by its ARN"), "{error}");
        for arn in ["", "orders", "arn:aws:sns:eu-west-1:123456789012:news"] {
            assert_eq!(TopicHome::of_queue(arn), None, "{arn}");
        }
    }

    // Rules 1.8 and 6.1.
    #[tokio::test]
    async fn a_topic_that_would_be_created_in_another_account_is_an_error() {
        let sns = ScriptedSns::new();
        let there = TopicArn::new("arn:aws:sns:eu-west-1:123456789012:news");
        create_topic(&*sns, &topic("news"), &there).await.unwrap();
        let elsewhere = TopicArn::new("arn:aws:sns:eu-west-1:210987654321:news");
        let error = create_topic(&*sns, &topic("news"), &elsewhere).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(there.as_str()), "{error}");
        assert!(error.contains(elsewhere.as_str()), "{error}");
    }
}
