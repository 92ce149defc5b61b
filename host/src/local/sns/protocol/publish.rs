//! The actions that publish.

use super::form::Form;
use super::xml::Xml;
use super::{Answer, Request, code};
use crate::local::sns::delivery::{Queues, deliver};
use crate::local::sns::engine::Published;
use crate::local::sns::refusal::Refusal;

/// `Publish`
pub(super) fn publish(request: Request<'_, impl Queues>, form: &Form) -> Answer {
    request.count("Publish", form, 1);
    let topic = match (form.get("TopicArn"), form.get("TargetArn")) {
        (Some(arn), _) | (None, Some(arn)) => arn,
        (None, None) if form.get("PhoneNumber").is_some() => {
            return Err(Refusal::invalid(
                "PhoneNumber Reason: this server delivers to queues only",
            ));
        }
        (None, None) => return Err(Refusal::missing("TopicArn")),
    };
    let draft = form.draft(request.trace_header)?;
    let published = request.engine.publish(request.occasion, topic, &draft)?;
    hand_over(request.queues, &published);
    Xml::answer(|xml| tell(xml, &published))
}

/// `PublishBatch`
pub(super) fn publish_batch(request: Request<'_, impl Queues>, form: &Form) -> Answer {
    let topic = form.required("TopicArn")?;
    let entries = form.drafts(request.trace_header)?;
    request.count("PublishBatch", form, entries.len());
    let outcomes = request
        .engine
        .publish_batch(request.occasion, topic, &entries)?;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for (id, outcome) in outcomes {
        match outcome {
            Ok(published) => {
                hand_over(request.queues, &published);
                successful.push((id, published));
            }
            Err(refusal) => failed.push((id, refusal)),
        }
    }
    Xml::answer(|xml| {
        xml.list("Failed", failed, |xml, (id, refusal)| {
            xml.text("Id", id);
            xml.text("Code", code(refusal.kind).0);
            xml.text("Message", &refusal.message);
            xml.text("SenderFault", "true");
        });
        xml.list("Successful", successful, |xml, (id, published)| {
            xml.text("Id", id);
            tell(xml, &published);
        });
    })
}

fn hand_over(queues: &impl Queues, published: &Published) {
    for delivery in &published.deliveries {
        deliver(queues, delivery);
    }
}

fn tell(xml: &mut Xml, published: &Published) {
    xml.text("MessageId", &published.message_id);
    xml.maybe("SequenceNumber", published.sequence_number.as_deref());
}
