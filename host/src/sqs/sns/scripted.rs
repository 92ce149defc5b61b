//! An SNS that answers what a test tells it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::{SnsApi, Subscription, TopicArn, TopicAttributes};
use crate::error::{CallError, ErrorClass};
use crate::handler::MessageId;
use crate::sqs::api::{Called, Outgoing};
use crate::sqs::scripted::error;

/// A call that was made, in a form that tests can compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Publish(TopicArn, Vec<Outgoing>),
    Create(String),
    Attributes(TopicArn),
    Subscribe(String),
    Raw(String),
}

#[derive(Default)]
struct Script {
    made: Vec<Made>,
    attributes: TopicAttributes,
    attributes_fail: VecDeque<ErrorClass>,
    subscribe_fails: Option<CallError>,
    subscribed: Option<Subscription>,
}

/// A call without a script succeeds.
#[derive(Default)]
pub(crate) struct ScriptedSns {
    script: Mutex<Script>,
}

impl ScriptedSns {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(crate) fn has(&self, attributes: TopicAttributes) {
        self.script().attributes = attributes;
    }

    pub(crate) fn will_fail_to_say_attributes(&self, class: ErrorClass) {
        self.script().attributes_fail.push_back(class);
    }

    /// There is a subscription already, and what Subscribe says of it.
    pub(crate) fn will_refuse_to_subscribe(&self, error: CallError, there: Subscription) {
        let mut script = self.script();
        script.subscribe_fails = Some(error);
        script.subscribed = Some(there);
    }

    /// The calls, in the order they were made.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.script().made.clone()
    }
}

impl SnsApi for ScriptedSns {
    fn publish<'a>(&'a self, topic: &'a TopicArn, message: &'a Outgoing) -> Called<'a, MessageId> {
        self.script()
            .made
            .push(Made::Publish(topic.clone(), vec![message.clone()]));
        Box::pin(async { Ok("published".into()) })
    }

    fn publish_batch<'a>(
        &'a self,
        topic: &'a TopicArn,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        self.script()
            .made
            .push(Made::Publish(topic.clone(), messages.to_vec()));
        Box::pin(async { Ok(messages.iter().map(|_| Ok("published".into())).collect()) })
    }

    fn create_topic<'a>(&'a self, name: &'a str) -> Called<'a, TopicArn> {
        self.script().made.push(Made::Create(name.to_owned()));
        let arn = TopicArn::new(format!("arn:aws:sns:eu-west-1:123456789012:{name}"));
        Box::pin(async { Ok(arn) })
    }

    fn topic_attributes<'a>(&'a self, topic: &'a TopicArn) -> Called<'a, TopicAttributes> {
        let mut script = self.script();
        script.made.push(Made::Attributes(topic.clone()));
        let answer = match script.attributes_fail.pop_front() {
            Some(class) => Err(error("GetTopicAttributes", class)),
            None => Ok(script.attributes.clone()),
        };
        Box::pin(async { answer })
    }

    fn subscribe<'a>(&'a self, _: &'a TopicArn, queue: &'a str) -> Called<'a, Subscription> {
        let mut script = self.script();
        script.made.push(Made::Subscribe(queue.to_owned()));
        let answer = match script.subscribe_fails.clone() {
            Some(error) => Err(error),
            None => Ok(Subscription::Confirmed("arn:subscription".into())),
        };
        Box::pin(async { answer })
    }

    fn subscription_of<'a>(
        &'a self,
        _: &'a TopicArn,
        _: &'a str,
    ) -> Called<'a, Option<Subscription>> {
        let there = self.script().subscribed.clone();
        Box::pin(async { Ok(there) })
    }

    fn deliver_raw<'a>(&'a self, subscription: &'a str) -> Called<'a, ()> {
        self.script().made.push(Made::Raw(subscription.to_owned()));
        Box::pin(async { Ok(()) })
    }
}
