//! Topics and subscriptions by name: making, finding, listing and describing them.

use super::subscription::{Ends, Settings, Subscription};
use super::topic::Topic;
use super::{Engine, Pairs, settings, tags};
use crate::local::sns::refusal::Refusal;
use crate::local::sns::{arn, limits};

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// What the next page is asked for with, if there is one.
    pub(crate) next: Option<String>,
}

/// A subscription as listings tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionEntry {
    pub(crate) subscription_arn: String,
    pub(crate) topic_arn: String,
    pub(crate) endpoint: String,
}

impl Engine {
    /// Creates a topic, or finds the one there is if it has these attributes; gives its ARN.
    ///
    /// # Errors
    /// `InvalidParameter` for a name, an attribute or a tag that SNS would not take, or if the topic
    /// there is has others.
    pub(crate) fn create_topic(
        &mut self,
        name: &str,
        attributes: &Pairs,
        tags: Option<Pairs>,
    ) -> Result<String, Refusal> {
        let wants_fifo = match attributes.get("FifoTopic").map(String::as_str) {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                return Err(Refusal::invalid(format!(
                    "Attributes Reason: FifoTopic: Invalid value [{other}]. Must be true or false."
                )));
            }
        };
        check_topic_name(name, wants_fifo)?;
        let mut wanted = Pairs::new();
        for (attribute, value) in attributes {
            if attribute != "FifoTopic" {
                let unknown = format!("Attributes Reason: Unknown attribute {attribute}");
                settings::set(&mut wanted, wants_fifo, attribute, value, &unknown)?;
            }
        }
        let tags = tags.map(tags::checked).transpose()?;
        let Some(topic) = self.topics.get(name) else {
            let topic = Topic::new(wanted, tags.unwrap_or_default());
            self.topics.insert(name.to_owned(), topic);
            return Ok(arn::topic(name));
        };
        // Attributes that the request does not name are as they are.
        let same = wanted
            .iter()
            .all(|(attribute, value)| topic.setting(attribute) == Some(value));
        if !same {
            return Err(Refusal::invalid(
                "Attributes Reason: Topic already exists with different attributes",
            ));
        }
        if tags.is_some_and(|tags| tags != topic.tags) {
            return Err(Refusal::invalid(
                "Tags Reason: Topic already exists with different tags",
            ));
        }
        Ok(arn::topic(name))
    }

    /// Deletes a topic and its subscriptions, if it is there.
    ///
    /// # Errors
    /// `InvalidParameter` for what is not the ARN of a topic.
    pub(crate) fn delete_topic(&mut self, topic_arn: &str) -> Result<(), Refusal> {
        let name = arn::topic_name("TopicArn", topic_arn)?;
        self.topics.remove(name);
        Ok(())
    }

    /// The ARNs of topics, by name.
    ///
    /// # Errors
    /// `InvalidParameter` for a token that no page gave.
    pub(crate) fn topics(&self, token: Option<&str>) -> Result<Page<String>, Refusal> {
        let after = token
            .map(|token| arn::topic_name("NextToken", token))
            .transpose()?;
        let rest = self
            .topics
            .keys()
            .filter(|name| after.is_none_or(|after| name.as_str() > after));
        Ok(page(rest, |name| arn::topic(name), |name| arn::topic(name)))
    }

    /// The attributes of a topic.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn topic_attributes(&self, topic_arn: &str) -> Result<Pairs, Refusal> {
        let (name, topic) = self.topic(topic_arn)?;
        Ok(topic.attributes(name))
    }

    /// Sets an attribute of a topic.
    ///
    /// # Errors
    /// `NotFound`; `InvalidParameter` for an attribute that cannot be set, or not to this.
    pub(crate) fn set_topic_attribute(
        &mut self,
        topic_arn: &str,
        attribute: &str,
        value: &str,
    ) -> Result<(), Refusal> {
        let (name, topic) = self.topic_mut(topic_arn)?;
        let fifo = arn::is_fifo(&name);
        settings::set(&mut topic.settings, fifo, attribute, value, "AttributeName")
    }

    /// Subscribes a queue to a topic, or finds its subscription if that has these attributes; gives
    /// the subscription's ARN. The queue need not be there yet.
    ///
    /// # Errors
    /// `NotFound` for the topic; `InvalidParameter` for a protocol, an endpoint or an attribute that
    /// SNS would not take, or if the subscription there is has others.
    pub(crate) fn subscribe(
        &mut self,
        topic_arn: &str,
        protocol: &str,
        endpoint: &str,
        attributes: &Pairs,
    ) -> Result<String, Refusal> {
        let (number, id) = (self.next_subscription, self.random_id());
        let (name, topic) = self.topic_mut(topic_arn)?;
        check_endpoint(&name, protocol, endpoint)?;
        let ends = Ends {
            topic: &name,
            endpoint,
        };
        let existing = topic
            .subscriptions
            .iter()
            .find(|subscription| subscription.endpoint == endpoint);
        let before = existing.map_or_else(Settings::default, |existing| existing.settings.clone());
        let settings = before
            .with(attributes, ends)
            .map_err(|reason| Refusal::invalid(format!("Attributes Reason: {reason}")))?;
        match existing {
            Some(existing) if settings == before => {
                return Ok(arn::subscription(&name, &existing.id));
            }
            Some(_) => {
                return Err(Refusal::invalid(
                    "Attributes Reason: Subscription already exists with different attributes",
                ));
            }
            None => {}
        }
        let subscription_arn = arn::subscription(&name, &id);
        topic.subscriptions.push(Subscription {
            id,
            number,
            endpoint: endpoint.to_owned(),
            settings,
        });
        self.next_subscription += 1;
        Ok(subscription_arn)
    }

    /// Ends a subscription, if it is there.
    ///
    /// # Errors
    /// `InvalidParameter` for what is not the ARN of a subscription.
    pub(crate) fn unsubscribe(&mut self, subscription_arn: &str) -> Result<(), Refusal> {
        let (topic, id) = arn::subscription_ids(subscription_arn)?;
        if let Some(topic) = self.topics.get_mut(topic) {
            let before = topic.subscriptions.len();
            topic
                .subscriptions
                .retain(|subscription| subscription.id != id);
            if topic.subscriptions.len() < before {
                topic.ended += 1;
            }
        }
        Ok(())
    }

    /// All subscriptions, or a topic's: by topic, and those of a topic in the order they were made.
    ///
    /// # Errors
    /// `NotFound` for the topic; `InvalidParameter` for a token that no page gave.
    pub(crate) fn subscriptions(
        &self,
        topic_arn: Option<&str>,
        token: Option<&str>,
    ) -> Result<Page<SubscriptionEntry>, Refusal> {
        let only = topic_arn
            .map(|topic_arn| self.topic(topic_arn))
            .transpose()?
            .map(|(name, _)| name);
        let after = token.map(place).transpose()?;
        let rest = self
            .topics
            .iter()
            .filter(|(name, _)| only.is_none_or(|only| only == name.as_str()))
            .flat_map(|(name, topic)| topic.subscriptions.iter().map(move |sub| (name, sub)))
            .filter(|(name, sub)| after.is_none_or(|after| (name.as_str(), sub.number) > after));
        let entry = |(name, sub): &(&String, &Subscription)| SubscriptionEntry {
            subscription_arn: arn::subscription(name, &sub.id),
            topic_arn: arn::topic(name),
            endpoint: sub.endpoint.clone(),
        };
        let token = |(name, sub): &(&String, &Subscription)| format!("{name}/{}", sub.number);
        Ok(page(rest, entry, token))
    }

    /// The attributes of a subscription.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn subscription_attributes(&self, subscription_arn: &str) -> Result<Pairs, Refusal> {
        let (name, id) = arn::subscription_ids(subscription_arn)?;
        let found = self
            .topics
            .get(name)
            .and_then(|topic| topic.subscriptions.iter().find(|sub| sub.id == id));
        let subscription = found.ok_or_else(Refusal::no_subscription)?;
        Ok(subscription.attributes(name))
    }

    /// Sets an attribute of a subscription.
    ///
    /// # Errors
    /// `NotFound`; `InvalidParameter` for an attribute that cannot be set, or not to this.
    pub(crate) fn set_subscription_attribute(
        &mut self,
        subscription_arn: &str,
        attribute: &str,
        value: &str,
    ) -> Result<(), Refusal> {
        let (name, id) = arn::subscription_ids(subscription_arn)?;
        let subscription = self
            .topics
            .get_mut(name)
            .and_then(|topic| topic.subscriptions.iter_mut().find(|sub| sub.id == id))
            .ok_or_else(Refusal::no_subscription)?;
        let ends = Ends {
            topic: name,
            endpoint: &subscription.endpoint,
        };
        let change = Pairs::from([(attribute.to_owned(), value.to_owned())]);
        subscription.settings = subscription
            .settings
            .with(&change, ends)
            .map_err(Refusal::invalid)?;
        Ok(())
    }
}

/// The first items of what is left, and how to go on after them.
fn page<I: Iterator, T>(
    rest: I,
    item: impl Fn(&I::Item) -> T,
    token: impl Fn(&I::Item) -> String,
) -> Page<T> {
    let mut rest = rest.peekable();
    let found: Vec<_> = rest.by_ref().take(limits::PAGE).collect();
    let more = rest.peek().is_some();
    Page {
        next: found.last().filter(|_| more).map(token),
        items: found.iter().map(item).collect(),
    }
}

/// The topic and the number in a token of a listing of subscriptions.
fn place(token: &str) -> Result<(&str, u64), Refusal> {
    let parse = |(name, number): (_, &str)| Some((name, number.parse().ok()?));
    token
        .split_once('/')
        .and_then(parse)
        .ok_or_else(|| Refusal::invalid("NextToken"))
}

fn check_topic_name(name: &str, fifo: bool) -> Result<(), Refusal> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let stem = name.strip_suffix(".fifo").filter(|_| fifo);
    let right = match (fifo, stem) {
        (true, None) => false,
        (_, stem) => {
            let stem = stem.unwrap_or(name);
            !stem.is_empty() && stem.bytes().all(allowed)
        }
    };
    if right && name.len() <= limits::TOPIC_NAME_CHARS {
        return Ok(());
    }
    let rule = if fifo {
        "Fifo Topic names must end with .fifo and"
    } else {
        "Topic names"
    };
    Err(Refusal::invalid(format!(
        "Topic Name Reason: {rule} must be made up of only uppercase and lowercase ASCII letters, \
         numbers, underscores, and hyphens, and must be between 1 and 256 characters long."
    )))
}

fn check_endpoint(topic: &str, protocol: &str, endpoint: &str) -> Result<(), Refusal> {
    match protocol {
        "sqs" => {}
        "http" | "https" | "email" | "email-json" | "sms" | "application" | "lambda"
        | "firehose" => {
            return Err(Refusal::invalid(format!(
                "Protocol Reason: this server delivers to queues (sqs) only, not by {protocol}"
            )));
        }
        _ => {
            return Err(Refusal::invalid(format!(
                "Amazon SNS does not support this protocol string: {protocol}"
            )));
        }
    }
    if arn::queue_name(endpoint).is_none() {
        return Err(Refusal::invalid("SQS endpoint ARN"));
    }
    if arn::is_fifo(endpoint) && !arn::is_fifo(topic) {
        return Err(Refusal::invalid(
            "Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics",
        ));
    }
    Ok(())
}
