//! One topic.

use super::Pairs;
use super::recent::Recent;
use super::settings;
use super::subscription::Subscription;
use crate::local::engine::limits::ACCOUNT;
use crate::local::sns::{arn, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A topic and who subscribed to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Topic {
    /// The attributes that were set.
    pub(super) settings: Pairs,
    pub(super) tags: Pairs,
    pub(super) subscriptions: Vec<Subscription>,
    /// How many subscriptions were ended.
    pub(super) ended: u64,
    /// How many messages a FIFO topic was sent.
    sequence: u64,
    /// What a FIFO topic was sent lately.
    pub(super) recent: Recent,
}

impl Topic {
    /// A topic with these attributes and tags.
    pub(super) fn new(settings: Pairs, tags: Pairs) -> Self {
        Self {
            settings,
            tags,
            ..Self::default()
        }
    }

    /// The value of a setting: the one that was set, or the default, if it has one.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        let set = self.settings.get(name).map(String::as_str);
        set.or_else(|| settings::default_of(name))
    }

    /// Whether repetitions are told by what messages say.
    pub(super) fn deduplicates_by_content(&self) -> bool {
        self.setting("ContentBasedDeduplication") == Some("true")
    }

    /// Whether a deduplication id counts within its message's group only.
    pub(super) fn deduplicates_by_group(&self) -> bool {
        self.setting("FifoThroughputScope") == Some("MessageGroup")
    }

    /// The next sequence number: 20 digits, and more than the last.
    pub(super) fn next_sequence(&mut self) -> String {
        self.sequence += 1;
        limits::FIRST_SEQUENCE
            .saturating_add(self.sequence)
            .to_string()
    }

    /// The access policy: the one that was set, or that by which the owner may do everything.
    pub(super) fn policy(&self, name: &str) -> String {
        self.settings
            .get("Policy")
            .cloned()
            .unwrap_or_else(|| default_policy(name).to_string())
    }

    /// Everything `GetTopicAttributes` gives.
    pub(super) fn attributes(&self, name: &str) -> Pairs {
        let mut attributes = self.settings.clone();
        let mut add = |name: &str, value: String| {
            attributes.entry(name.to_owned()).or_insert(value);
        };
        add("TopicArn", arn::topic(name));
        add("Owner", ACCOUNT.to_owned());
        add("DisplayName", String::new());
        add("Policy", self.policy(name));
        add("EffectiveDeliveryPolicy", effective_delivery_policy());
        add(
            "SubscriptionsConfirmed",
            self.subscriptions.len().to_string(),
        );
        add("SubscriptionsPending", "0".to_owned());
        add("SubscriptionsDeleted", self.ended.to_string());
        if arn::is_fifo(name) {
            add("FifoTopic", "true".to_owned());
            add("ContentBasedDeduplication", "false".to_owned());
        }
        attributes
    }
}

fn default_policy(name: &str) -> Value {
    const ACTIONS: [&str; 8] = [
        "SNS:GetTopicAttributes",
        "SNS:SetTopicAttributes",
        "SNS:AddPermission",
        "SNS:RemovePermission",
        "SNS:DeleteTopic",
        "SNS:Subscribe",
        "SNS:ListSubscriptionsByTopic",
        "SNS:Publish",
    ];
    json!({
        "Version": "2008-10-17",
        "Id": "__default_policy_ID",
        "Statement": [{
            "Sid": "__default_statement_ID",
            "Effect": "Allow",
            "Principal": {"AWS": "*"},
            "Action": ACTIONS,
            "Resource": arn::topic(name),
            "Condition": {"StringEquals": {"AWS:SourceOwner": ACCOUNT}},
        }],
    })
}

/// SNS's own defaults. They are for HTTP endpoints, and there are none here.
fn effective_delivery_policy() -> String {
    json!({"http": {
        "defaultHealthyRetryPolicy": {
            "minDelayTarget": 20,
            "maxDelayTarget": 20,
            "numRetries": 3,
            "numMaxDelayRetries": 0,
            "numNoDelayRetries": 0,
            "numMinDelayRetries": 0,
            "backoffFunction": "linear",
        },
        "disableSubscriptionOverrides": false,
        "defaultRequestPolicy": {"headerContentType": "text/plain; charset=UTF-8"},
    }})
    .to_string()
}
