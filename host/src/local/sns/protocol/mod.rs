//! AWS's query protocol as SNS speaks it: a form in, XML out.

mod form;
mod publish;
mod subscriptions;
mod topics;
mod xml;

use super::delivery::Queues;
use super::engine::{Engine, Occasion};
use super::refusal::{Kind, Refusal};
use crate::local::calls::Counter;
use crate::local::engine::message::MessageId;
use form::Form;
use xml::Xml;

/// A reply in XML.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The document.
    pub(crate) body: Vec<u8>,
}

/// A request, and what it is answered with.
pub(super) struct Request<'a, Q> {
    pub(super) engine: &'a mut Engine,
    pub(super) queues: &'a Q,
    pub(super) counter: &'a Counter,
    pub(super) occasion: Occasion<'a>,
    /// The X-Ray trace header.
    pub(super) trace_header: Option<&'a str>,
}

/// What goes inside the `Result` element of a reply; nothing, for an action that has no result.
type Answer = Result<Option<Xml>, Refusal>;

/// Whether a query is that of the link in a notification that ends its subscription: the only call
/// that comes by GET, as it is a browser that follows the link.
pub(crate) fn is_unsubscribe_link(query: &str) -> bool {
    Form::parse(query.as_bytes()).get("Action") == Some("Unsubscribe")
}

/// Carries a request out.
pub(super) fn answer(request: Request<'_, impl Queues>, form: &[u8]) -> Reply {
    let id = MessageId::from_random(rand::random()).to_string();
    let form = Form::parse(form);
    let action = form.get("Action").unwrap_or_default();
    match request.carry_out(action, &form) {
        Ok(result) => Reply {
            status: 200,
            body: Xml::document(&format!("{action}Response"), |xml| {
                if let Some(result) = result {
                    xml.within(&format!("{action}Result"), |xml| xml.append(result));
                }
                xml.within("ResponseMetadata", |xml| xml.text("RequestId", &id));
            }),
        },
        Err(refusal) => {
            let (code, status) = code(refusal.kind);
            Reply {
                status,
                body: Xml::document("ErrorResponse", |xml| {
                    xml.within("Error", |xml| {
                        xml.text("Type", "Sender");
                        xml.text("Code", code);
                        xml.text("Message", &refusal.message);
                    });
                    xml.text("RequestId", &id);
                }),
            }
        }
    }
}

/// What an action does that delivers nothing.
type Act = fn(&mut Engine, &Form) -> Answer;

/// The actions that deliver nothing.
const ACTIONS: &[(&str, Act)] = &[
    ("AddPermission", topics::add_permission),
    ("ConfirmSubscription", subscriptions::confirm),
    ("CreateTopic", topics::create),
    ("DeleteTopic", topics::delete),
    ("GetSubscriptionAttributes", subscriptions::attributes),
    ("GetTopicAttributes", topics::attributes),
    ("ListSubscriptions", subscriptions::list),
    ("ListSubscriptionsByTopic", subscriptions::list_by_topic),
    ("ListTagsForResource", topics::tags),
    ("ListTopics", topics::list),
    ("RemovePermission", topics::remove_permission),
    ("SetSubscriptionAttributes", subscriptions::set_attribute),
    ("SetTopicAttributes", topics::set_attribute),
    ("Subscribe", subscriptions::subscribe),
    ("TagResource", topics::tag),
    ("Unsubscribe", subscriptions::unsubscribe),
    ("UntagResource", topics::untag),
];

impl<Q: Queues> Request<'_, Q> {
    fn carry_out(self, action: &str, form: &Form) -> Answer {
        match action {
            "Publish" => publish::publish(self, form),
            "PublishBatch" => publish::publish_batch(self, form),
            _ => {
                let (name, act) = ACTIONS
                    .iter()
                    .find(|(name, _)| *name == action)
                    .ok_or_else(|| unknown(action))?;
                self.count(name, form, 1);
                act(self.engine, form)
            }
        }
    }

    /// Counts this call, for the topic if it names one.
    fn count(&self, action: &'static str, form: &Form, entries: usize) {
        let topic = form.get("TopicArn").and_then(|arn| arn.rsplit(':').next());
        self.counter.count(action, topic, entries);
    }
}

fn unknown(action: &str) -> Refusal {
    if action.is_empty() {
        let message = "The request must contain the parameter Action.";
        return Refusal::new(Kind::MissingAction, message);
    }
    let message = format!("The action {action} is not known to the SNS of this server.");
    Refusal::new(Kind::InvalidAction, message)
}

/// The code on the wire, and the HTTP status that goes with it.
const fn code(kind: Kind) -> (&'static str, u16) {
    match kind {
        Kind::BatchEntryIdsNotDistinct => ("BatchEntryIdsNotDistinct", 400),
        Kind::BatchRequestTooLong => ("BatchRequestTooLong", 400),
        Kind::EmptyBatchRequest => ("EmptyBatchRequest", 400),
        Kind::InvalidAction => ("InvalidAction", 400),
        Kind::InvalidBatchEntryId => ("InvalidBatchEntryId", 400),
        Kind::InvalidParameter => ("InvalidParameter", 400),
        Kind::MissingAction => ("MissingAction", 400),
        Kind::NotFound => ("NotFound", 404),
        Kind::ParameterValueInvalid => ("ParameterValueInvalid", 400),
        Kind::ResourceNotFound => ("ResourceNotFound", 404),
        Kind::TagLimitExceeded => ("TagLimitExceeded", 400),
        Kind::TooManyEntriesInBatchRequest => ("TooManyEntriesInBatchRequest", 400),
        Kind::ValidationError => ("ValidationError", 400),
    }
}
