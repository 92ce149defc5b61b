//! The smallest access policy that mounts need: pure, from what is configured.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::config::{QueueRef, SqsSubscription, TargetRef, TopicRef};

/// Who makes calls: the host's own credentials, or a role that a mount names.
type Identity = Option<String>;

/// What is allowed on what.
#[derive(Default)]
struct Grants(BTreeMap<String, BTreeSet<&'static str>>);

impl Grants {
    fn allow(&mut self, resource: String, actions: &[&'static str]) {
        self.0.entry(resource).or_default().extend(actions);
    }

    /// A policy of IAM. Resources that need the same share a statement.
    fn policy(self) -> Value {
        let mut by_actions: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for (resource, actions) in self.0 {
            let actions = actions.into_iter().collect();
            by_actions.entry(actions).or_default().push(resource);
        }
        let statements = by_actions.into_iter().map(|(actions, resources)| {
            json!({"Effect": "Allow", "Action": actions, "Resource": resources})
        });
        json!({"Version": "2012-10-17", "Statement": statements.collect::<Vec<_>>()})
    }
}

/// The smallest policy that these mounts need, as a document of IAM: one, or where mounts assume
/// roles an object of one for each role and one, under `host`, for the host's own credentials.
///
/// `region` is the host's own. What the configuration does not say (an account, a region) is `*`.
/// Keys of KMS are not in it: which key a queue is encrypted with only the queue knows.
pub fn policy(subscriptions: &[SqsSubscription], region: Option<&str>) -> Value {
    let mut identities: BTreeMap<Identity, Grants> = BTreeMap::new();
    for subscription in subscriptions {
        if let Some(role) = &subscription.role_arn {
            let host = identities.entry(None).or_default();
            host.allow(role.clone(), &["sts:AssumeRole"]);
        }
        let grants = identities.entry(subscription.role_arn.clone()).or_default();
        grant(grants, subscription, region);
    }
    if identities.len() <= 1 && !identities.keys().any(Option::is_some) {
        let only = identities.into_values().next();
        return only.unwrap_or_default().policy();
    }
    let named = identities.into_iter().map(|(identity, grants)| {
        (
            identity.unwrap_or_else(|| "host".to_owned()),
            grants.policy(),
        )
    });
    Value::Object(named.collect())
}

fn grant(grants: &mut Grants, subscription: &SqsSubscription, region: Option<&str>) {
    let region = subscription.region.as_deref().or(region);
    let create = subscription.create_if_missing;
    let queue = queue_arn(&subscription.queue, region);
    grants.allow(
        queue.clone(),
        &[
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:ChangeMessageVisibility",
            "sqs:GetQueueAttributes",
        ],
    );
    grants.allow(queue.clone(), resolving(&subscription.queue, create));
    if subscription.max_attempts.is_some() || !subscription.subscribe.is_empty() {
        grants.allow(queue, &["sqs:SetQueueAttributes"]);
    }
    let dead_letter = subscription.dead_letter.clone().map(TargetRef::Queue);
    let targets = subscription.reply.iter().chain(&subscription.destinations);
    for target in targets.chain(&dead_letter) {
        match target {
            TargetRef::Queue(queue) => {
                let arn = queue_arn(queue, region);
                grants.allow(arn.clone(), &["sqs:SendMessage", "sqs:GetQueueAttributes"]);
                grants.allow(arn, resolving(queue, create));
            }
            TargetRef::Topic(topic) => {
                let arn = topic_arn(topic, region);
                grants.allow(arn.clone(), &["sns:Publish", "sns:GetTopicAttributes"]);
                if create {
                    grants.allow(arn, &["sns:CreateTopic"]);
                }
            }
        }
    }
    for topic in &subscription.subscribe {
        let arn = topic_arn(topic, region);
        grants.allow(
            arn.clone(),
            &[
                "sns:Subscribe",
                // Of a queue that is subscribed already, and not raw.
                "sns:ListSubscriptionsByTopic",
                "sns:SetSubscriptionAttributes",
            ],
        );
        if create {
            grants.allow(arn, &["sns:CreateTopic", "sns:GetTopicAttributes"]);
        }
    }
}

/// What it takes to find a queue, and to make one that is missing.
fn resolving(queue: &QueueRef, create: bool) -> &'static [&'static str] {
    match (queue, create) {
        (QueueRef::Url { .. }, _) => &[],
        (_, false) => &["sqs:GetQueueUrl"],
        (_, true) => &["sqs:GetQueueUrl", "sqs:CreateQueue"],
    }
}

fn queue_arn(queue: &QueueRef, region: Option<&str>) -> String {
    if let QueueRef::Arn { .. } = queue {
        return queue.to_string();
    }
    let region = queue.region().or(region);
    arn("sqs", region, queue.account(), queue.name().as_str())
}

fn topic_arn(topic: &TopicRef, region: Option<&str>) -> String {
    match topic {
        TopicRef::Arn { .. } => topic.to_string(),
        TopicRef::Name(name) => arn("sns", region, None, name.as_str()),
    }
}

fn arn(service: &str, region: Option<&str>, account: Option<&str>, name: &str) -> String {
    let partition = match region {
        Some(region) if region.starts_with("cn-") => "aws-cn",
        Some(region) if region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    };
    let (region, account) = (region.unwrap_or("*"), account.unwrap_or("*"));
    format!("arn:{partition}:{service}:{region}:{account}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::mounts_of_a_test;

    fn of(text: &str) -> Value {
        policy(&mounts_of_a_test(text), Some("eu-west-1"))
    }

    /// The actions on a resource.
    fn on(policy: &Value, resource: &str) -> Vec<String> {
        let mut actions = Vec::new();
        for statement in policy["Statement"].as_array().unwrap() {
            let resources = statement["Resource"].as_array().unwrap();
            if resources.contains(&json!(resource)) {
                let of = statement["Action"].as_array().unwrap();
                actions.extend(of.iter().map(|action| action.as_str().unwrap().to_owned()));
            }
        }
        actions
    }

    #[test]
    fn a_queue_that_is_only_read_is_only_read() {
        let policy = of("queue = 'https://sqs.eu-north-1.amazonaws.com/123456789012/q'");
        assert_eq!(
            on(&policy, "arn:aws:sqs:eu-north-1:123456789012:q"),
            [
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
            ]
        );
        assert_eq!(policy["Statement"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn each_setting_brings_the_actions_that_it_needs() {
        let policy = of(
            "queue = 'q'\nmax_attempts = 3\ndead_letter = 'd'\nreply = 'sns:t'\n\
             create_if_missing = true\nsubscribe = ['in']\n",
        );
        let arn = |service: &str, name: &str| format!("arn:aws:{service}:eu-west-1:*:{name}");
        for (resource, action) in [
            (arn("sqs", "q"), "sqs:SetQueueAttributes"),
            (arn("sqs", "q"), "sqs:CreateQueue"),
            (arn("sqs", "d"), "sqs:SendMessage"),
            (arn("sns", "t"), "sns:Publish"),
            (arn("sns", "t"), "sns:CreateTopic"),
            (arn("sns", "in"), "sns:Subscribe"),
            (arn("sns", "in"), "sns:ListSubscriptionsByTopic"),
            (arn("sns", "in"), "sns:GetTopicAttributes"),
        ] {
            let actions = on(&policy, &resource);
            assert!(
                actions.contains(&action.to_owned()),
                "{resource}: {actions:?}"
            );
        }
        let dead = on(&policy, &arn("sqs", "d"));
        assert!(!dead.contains(&"sqs:ReceiveMessage".to_owned()), "{dead:?}");
    }

    #[test]
    fn a_mount_with_a_role_has_a_policy_of_its_own() {
        let role = "arn:aws:iam::123456789012:role/orders";
        let policies = of(&format!("queue = 'q'\nrole_arn = '{role}'"));
        assert_eq!(on(&policies["host"], role), ["sts:AssumeRole"]);
        assert_eq!(on(&policies[role], "arn:aws:sqs:eu-west-1:*:q").len(), 5);
    }
}
