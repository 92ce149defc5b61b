//! The actions on subscriptions.

use super::Answer;
use super::form::Form;
use super::xml::Xml;
use crate::local::engine::limits::ACCOUNT;
use crate::local::sns::engine::{Engine, Page, SubscriptionEntry};
use crate::local::sns::refusal::Refusal;

/// `Subscribe`. A queue's subscription is confirmed at once, so its ARN is told in any case.
pub(super) fn subscribe(engine: &mut Engine, form: &Form) -> Answer {
    let arn = engine.subscribe(
        form.required("TopicArn")?,
        form.required("Protocol")?,
        form.required("Endpoint")?,
        &form.map("Attributes"),
    )?;
    Xml::answer(|xml| xml.text("SubscriptionArn", &arn))
}

/// `ConfirmSubscription`. No subscription here waits for it, so no token is right.
pub(super) fn confirm(engine: &mut Engine, form: &Form) -> Answer {
    engine.topic_attributes(form.required("TopicArn")?)?;
    form.required("Token")?;
    Err(Refusal::invalid("Token"))
}

/// `Unsubscribe`
pub(super) fn unsubscribe(engine: &mut Engine, form: &Form) -> Answer {
    engine.unsubscribe(form.required("SubscriptionArn")?)?;
    Ok(None)
}

/// `ListSubscriptions`
pub(super) fn list(engine: &mut Engine, form: &Form) -> Answer {
    page(&engine.subscriptions(None, form.get("NextToken"))?)
}

/// `ListSubscriptionsByTopic`
pub(super) fn list_by_topic(engine: &mut Engine, form: &Form) -> Answer {
    let topic = form.required("TopicArn")?;
    page(&engine.subscriptions(Some(topic), form.get("NextToken"))?)
}

/// `GetSubscriptionAttributes`
pub(super) fn attributes(engine: &mut Engine, form: &Form) -> Answer {
    let attributes = engine.subscription_attributes(form.required("SubscriptionArn")?)?;
    Xml::answer(|xml| xml.map("Attributes", &attributes))
}

/// `SetSubscriptionAttributes`
pub(super) fn set_attribute(engine: &mut Engine, form: &Form) -> Answer {
    engine.set_subscription_attribute(
        form.required("SubscriptionArn")?,
        form.required("AttributeName")?,
        form.get("AttributeValue").unwrap_or_default(),
    )?;
    Ok(None)
}

fn page(page: &Page<SubscriptionEntry>) -> Answer {
    Xml::answer(|xml| {
        xml.list("Subscriptions", &page.items, |xml, entry| {
            xml.text("SubscriptionArn", &entry.subscription_arn);
            xml.text("Owner", ACCOUNT);
            xml.text("Protocol", "sqs");
            xml.text("Endpoint", &entry.endpoint);
            xml.text("TopicArn", &entry.topic_arn);
        });
        xml.maybe("NextToken", page.next.as_deref());
    })
}
