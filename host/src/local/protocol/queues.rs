//! The actions on queues themselves.

use super::input::{self, queue_of, ranged};
use super::output::{Nothing, QueueUrl};
use super::{Call, Fault, reply};
use crate::local::engine::refusal::Refusal;
use crate::local::engine::{AttributeMap, Page, limits};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde::Serialize;

/// `CreateQueue`
pub(crate) fn create(call: &Call<'_>, request: input::CreateQueue) -> Result<Vec<u8>, Fault> {
    let name = request
        .queue_name
        .ok_or_else(|| Refusal::missing("QueueName"))?;
    let attributes = request.attributes.unwrap_or_default();
    let tags = request.tags.unwrap_or_default();
    call.hub
        .with(|engine, now| engine.create(now, &name, &attributes, tags))?;
    reply(&QueueUrl {
        queue_url: call.queue_url(&name),
    })
}

/// `GetQueueUrl`
pub(crate) fn url(call: &Call<'_>, request: input::GetQueueUrl) -> Result<Vec<u8>, Fault> {
    let name = request
        .queue_name
        .ok_or_else(|| Refusal::missing("QueueName"))?;
    call.hub.with(|engine, _| engine.find(&name))?;
    reply(&QueueUrl {
        queue_url: call.queue_url(&name),
    })
}

/// `ListQueues`
pub(crate) fn list(call: &Call<'_>, request: input::List) -> Result<Vec<u8>, Fault> {
    let prefix = request.queue_name_prefix.as_deref().unwrap_or_default();
    let (after, most) = position(&request)?;
    let page = call
        .hub
        .with(|engine, _| engine.list(prefix, after.as_deref(), most));
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        queue_urls: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        next_token: Option<String>,
    }
    reply(&Output {
        queue_urls: page.names.iter().map(|name| call.queue_url(name)).collect(),
        next_token: next_token(&request, &page),
    })
}

/// `ListDeadLetterSourceQueues`
pub(crate) fn dead_letter_sources(call: &Call<'_>, request: input::List) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let (after, most) = position(&request)?;
    let page = call.hub.with(|engine, _| {
        engine.find(name)?;
        Ok::<_, Refusal>(engine.dead_letter_sources(name, after.as_deref(), most))
    })?;
    // Lower case, unlike in ListQueues: so the service's model has it.
    #[derive(Serialize)]
    struct Output {
        #[serde(rename = "queueUrls")]
        queue_urls: Vec<String>,
        #[serde(rename = "NextToken", skip_serializing_if = "Option::is_none")]
        next_token: Option<String>,
    }
    reply(&Output {
        queue_urls: page.names.iter().map(|name| call.queue_url(name)).collect(),
        next_token: next_token(&request, &page),
    })
}

/// `DeleteQueue`
pub(crate) fn delete(call: &Call<'_>, request: input::ForQueue) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    call.hub.with(|engine, _| engine.delete_queue(name))?;
    reply(&Nothing {})
}

/// `PurgeQueue`
pub(crate) fn purge(call: &Call<'_>, request: input::ForQueue) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    call.hub.with(|engine, now| engine.purge(now, name))?;
    reply(&Nothing {})
}

/// `GetQueueAttributes`
pub(crate) fn attributes(call: &Call<'_>, request: input::GetAttributes) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let asked = request.attribute_names.as_deref().unwrap_or_default();
    let attributes = call
        .hub
        .with(|engine, now| engine.attributes(now, name, asked))?;
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        attributes: AttributeMap,
    }
    reply(&Output { attributes })
}

/// `SetQueueAttributes`
pub(crate) fn set_attributes(
    call: &Call<'_>,
    request: input::SetAttributes,
) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let attributes = request
        .attributes
        .as_ref()
        .ok_or_else(|| Refusal::missing("Attributes"))?;
    call.hub
        .with(|engine, now| engine.set_attributes(now, name, attributes))?;
    reply(&Nothing {})
}

/// Where a listing goes on, and how long its page is.
fn position(request: &input::List) -> Result<(Option<String>, usize), Refusal> {
    let most =
        ranged("MaxResults", request.max_results, &limits::PAGE)?.unwrap_or(*limits::PAGE.end());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let Some(token) = request.next_token.as_deref() else {
        return Ok((None, most));
    };
    // A token is the last name of the page before: pages stay right when queues come and go.
    let name = URL_SAFE
        .decode(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    match name {
        Some(name) => Ok((Some(name), most)),
        None => Err(Refusal::value(
            "NextToken",
            token,
            "It is not from a listing of this server",
        )),
    }
}

/// As on AWS there is a token only for those who asked for pages.
fn next_token(request: &input::List, page: &Page) -> Option<String> {
    request.max_results?;
    let last = page.names.last().filter(|_| page.more)?;
    Some(URL_SAFE.encode(last))
}
