//! The actions on topics, their tags and their policies.

use super::Answer;
use super::form::Form;
use super::xml::Xml;
use crate::local::sns::engine::Engine;

/// `CreateTopic`
pub(super) fn create(engine: &mut Engine, form: &Form) -> Answer {
    let arn = engine.create_topic(
        form.required("Name")?,
        &form.map("Attributes"),
        form.tags()?,
    )?;
    Xml::answer(|xml| xml.text("TopicArn", &arn))
}

/// `DeleteTopic`
pub(super) fn delete(engine: &mut Engine, form: &Form) -> Answer {
    engine.delete_topic(form.required("TopicArn")?)?;
    Ok(None)
}

/// `ListTopics`
pub(super) fn list(engine: &mut Engine, form: &Form) -> Answer {
    let page = engine.topics(form.get("NextToken"))?;
    Xml::answer(|xml| {
        xml.list("Topics", &page.items, |xml, arn| xml.text("TopicArn", arn));
        xml.maybe("NextToken", page.next.as_deref());
    })
}

/// `GetTopicAttributes`
pub(super) fn attributes(engine: &mut Engine, form: &Form) -> Answer {
    let attributes = engine.topic_attributes(form.required("TopicArn")?)?;
    Xml::answer(|xml| xml.map("Attributes", &attributes))
}

/// `SetTopicAttributes`
pub(super) fn set_attribute(engine: &mut Engine, form: &Form) -> Answer {
    engine.set_topic_attribute(
        form.required("TopicArn")?,
        form.required("AttributeName")?,
        form.get("AttributeValue").unwrap_or_default(),
    )?;
    Ok(None)
}

/// `ListTagsForResource`
pub(super) fn tags(engine: &mut Engine, form: &Form) -> Answer {
    let tags = engine.tags(form.required("ResourceArn")?)?;
    Xml::answer(|xml| {
        xml.list("Tags", tags, |xml, (key, value)| {
            xml.text("Key", key);
            xml.text("Value", value);
        });
    })
}

/// `TagResource`
pub(super) fn tag(engine: &mut Engine, form: &Form) -> Answer {
    engine.tag(
        form.required("ResourceArn")?,
        form.tags()?.unwrap_or_default(),
    )?;
    Xml::answer(|_| {})
}

/// `UntagResource`
pub(super) fn untag(engine: &mut Engine, form: &Form) -> Answer {
    engine.untag(form.required("ResourceArn")?, &form.texts("TagKeys"))?;
    Xml::answer(|_| {})
}

/// `AddPermission`
pub(super) fn add_permission(engine: &mut Engine, form: &Form) -> Answer {
    engine.add_permission(
        form.required("TopicArn")?,
        form.required("Label")?,
        &form.texts("AWSAccountId"),
        &form.texts("ActionName"),
    )?;
    Ok(None)
}

/// `RemovePermission`
pub(super) fn remove_permission(engine: &mut Engine, form: &Form) -> Answer {
    engine.remove_permission(form.required("TopicArn")?, form.required("Label")?)?;
    Ok(None)
}
