//! One subscription: a queue that a topic delivers to, and how.

use super::Pairs;
use crate::local::engine::limits::ACCOUNT;
use crate::local::sns::arn;
use crate::local::sns::filter::{FilterPolicy, Scope};
use serde::{Deserialize, Serialize};

/// A queue's subscription to a topic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Subscription {
    /// Its part of the subscription's ARN.
    pub(super) id: String,
    /// Later subscriptions have higher numbers.
    pub(super) number: u64,
    /// The queue's ARN.
    pub(super) endpoint: String,
    pub(super) settings: Settings,
}

/// What the subscriber decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// Whether messages come as they are, and not inside a notification.
    pub(super) raw: bool,
    pub(super) filter: Option<FilterPolicy>,
    pub(super) scope: Scope,
    pub(super) redrive: Option<Redrive>,
}

/// Where messages go that cannot be delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Redrive {
    text: String,
    pub(super) target: String,
}

/// Whom a subscription is between: what some attributes are held against.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    /// The topic's name.
    pub(super) topic: &'a str,
    /// The queue's ARN.
    pub(super) endpoint: &'a str,
}

impl Settings {
    /// Sets attributes: all of them, or with an error none. An empty value takes away one that can be
    /// absent.
    ///
    /// # Errors
    /// What is wrong, without the words that the two actions begin it with.
    pub(super) fn with(&self, attributes: &Pairs, ends: Ends<'_>) -> Result<Self, String> {
        let mut settings = self.clone();
        for (name, value) in attributes {
            settings.set(name, value, ends)?;
        }
        let nested = settings
            .filter
            .as_ref()
            .is_some_and(FilterPolicy::is_nested);
        if nested && settings.scope == Scope::MessageAttributes {
            return Err(
                "Filter policy scope MessageAttributes does not support nested filter policy"
                    .to_owned(),
            );
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str, ends: Ends<'_>) -> Result<(), String> {
        let reason = |reason: String| format!("{name}: {reason}");
        match name {
            "RawMessageDelivery" => {
                self.raw = match value.to_ascii_lowercase().as_str() {
                    "true" => true,
                    "false" => false,
                    _ => {
                        return Err(reason(format!(
                            "Invalid value [{value}]. Must be true or false."
                        )));
                    }
                };
            }
            "FilterPolicyScope" => {
                self.scope = Scope::named(value).ok_or_else(|| {
                    reason(format!(
                        "Invalid value [{value}]. Please use either MessageBody or MessageAttributes"
                    ))
                })?;
            }
            "FilterPolicy" if value.is_empty() => self.filter = None,
            "FilterPolicy" => self.filter = Some(FilterPolicy::parse(value).map_err(reason)?),
            "RedrivePolicy" if value.is_empty() => self.redrive = None,
            "RedrivePolicy" => self.redrive = Some(Redrive::parse(value, ends).map_err(reason)?),
            _ => return Err("AttributeName".to_owned()),
        }
        Ok(())
    }
}

impl Redrive {
    fn parse(text: &str, ends: Ends<'_>) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            dead_letter_target_arn: Option<String>,
        }
        let wire: Wire =
            serde_json::from_str(text).map_err(|error| format!("failed to parse JSON. {error}"))?;
        let target = wire
            .dead_letter_target_arn
            .filter(|target| arn::queue_name(target).is_some())
            .ok_or_else(|| "deadLetterTargetArn is an invalid arn".to_owned())?;
        let both_fifo = arn::is_fifo(ends.topic) && arn::is_fifo(ends.endpoint);
        if both_fifo && !arn::is_fifo(&target) {
            return Err(
                "must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.".to_owned(),
            );
        }
        Ok(Self {
            text: text.to_owned(),
            target,
        })
    }
}

impl Subscription {
    /// Everything `GetSubscriptionAttributes` gives.
    pub(super) fn attributes(&self, topic: &str) -> Pairs {
        let truth = |truth: bool| truth.to_string();
        let settings = &self.settings;
        let mut attributes = vec![
            ("SubscriptionArn", arn::subscription(topic, &self.id)),
            ("TopicArn", arn::topic(topic)),
            ("Protocol", "sqs".to_owned()),
            ("Endpoint", self.endpoint.clone()),
            ("Owner", ACCOUNT.to_owned()),
            (
                "SubscriptionPrincipal",
                format!("arn:aws:iam::{ACCOUNT}:root"),
            ),
            // Queues of the topic's own account are confirmed from the start.
            ("ConfirmationWasAuthenticated", truth(true)),
            ("PendingConfirmation", truth(false)),
            ("RawMessageDelivery", truth(settings.raw)),
        ];
        if let Some(filter) = &settings.filter {
            attributes.push(("FilterPolicy", filter.text().to_owned()));
            attributes.push(("FilterPolicyScope", settings.scope.name().to_owned()));
        }
        if let Some(redrive) = &settings.redrive {
            attributes.push(("RedrivePolicy", redrive.text.clone()));
        }
        let own = |(name, value): (&str, String)| (name.to_owned(), value);
        attributes.into_iter().map(own).collect()
    }
}
