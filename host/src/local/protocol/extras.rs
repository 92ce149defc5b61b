//! The actions around queues: tags, permissions, and the moves of dead letters.

use super::input::{self, queue_of, ranged};
use super::output::Nothing;
use super::{Call, Fault, reply};
use crate::local::engine::refusal::Refusal;
use crate::local::engine::{MoveTask, Tags, limits, queue_arn};
use serde::Serialize;

/// `TagQueue`
pub(crate) fn tag(call: &Call<'_>, request: input::Tag) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?.to_owned();
    let tags = request.tags.ok_or_else(|| Refusal::missing("Tags"))?;
    call.hub.with(|engine, now| engine.tag(now, &name, tags))?;
    reply(&Nothing {})
}

/// `UntagQueue`
pub(crate) fn untag(call: &Call<'_>, request: input::Untag) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let keys = needed("TagKeys", request.tag_keys.as_deref())?;
    call.hub.with(|engine, now| engine.untag(now, name, keys))?;
    reply(&Nothing {})
}

/// `ListQueueTags`
pub(crate) fn tags(call: &Call<'_>, request: input::ForQueue) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let tags = call.hub.with(|engine, now| engine.tags(now, name))?;
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        tags: Tags,
    }
    reply(&Output { tags })
}

/// `AddPermission`
pub(crate) fn add_permission(
    call: &Call<'_>,
    request: input::Permission,
) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let label = needed("Label", request.label.as_deref())?;
    let accounts = needed("AWSAccountIds", request.accounts.as_deref())?;
    let actions = needed("Actions", request.actions.as_deref())?;
    call.hub
        .with(|engine, now| engine.add_permission(now, name, label, accounts, actions))?;
    reply(&Nothing {})
}

/// `RemovePermission`
pub(crate) fn remove_permission(
    call: &Call<'_>,
    request: input::Permission,
) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let label = needed("Label", request.label.as_deref())?;
    call.hub
        .with(|engine, now| engine.remove_permission(now, name, label))?;
    reply(&Nothing {})
}

/// `StartMessageMoveTask`
pub(crate) fn start_move(call: &Call<'_>, request: input::Move) -> Result<Vec<u8>, Fault> {
    let source = needed("SourceArn", request.source_arn.as_deref())?;
    let destination = request.destination_arn.as_deref();
    let rate = request.max_number_of_messages_per_second;
    let task_handle = call
        .hub
        .with(|engine, now| engine.start_move(now, source, destination, rate))?;
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        task_handle: String,
    }
    reply(&Output { task_handle })
}

/// `ListMessageMoveTasks`
pub(crate) fn list_moves(call: &Call<'_>, request: input::Move) -> Result<Vec<u8>, Fault> {
    let source = needed("SourceArn", request.source_arn.as_deref())?;
    let most = ranged("MaxResults", request.max_results, &limits::MOVES_LISTED)?;
    let most = most.map_or(1, |most| usize::try_from(most).unwrap_or(1));
    let tasks = call
        .hub
        .with(|engine, now| engine.moves(now, source, most))?;
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output<'a> {
        results: Vec<ListedMove<'a>>,
    }
    reply(&Output {
        results: tasks.iter().map(ListedMove::from).collect(),
    })
}

/// `CancelMessageMoveTask`
pub(crate) fn cancel_move(call: &Call<'_>, request: input::CancelMove) -> Result<Vec<u8>, Fault> {
    let handle = needed("TaskHandle", request.task_handle.as_deref())?;
    let moved = call
        .hub
        .with(|engine, now| engine.cancel_move(now, handle))?;
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        approximate_number_of_messages_moved: usize,
    }
    reply(&Output {
        approximate_number_of_messages_moved: moved,
    })
}

/// A move task in a listing.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ListedMove<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_number_of_messages_per_second: Option<u32>,
    approximate_number_of_messages_moved: usize,
    approximate_number_of_messages_to_move: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    started_timestamp: u64,
}

impl<'a> From<&'a MoveTask> for ListedMove<'a> {
    fn from(task: &'a MoveTask) -> Self {
        Self {
            task_handle: task.handle(),
            status: task.status.name(),
            source_arn: queue_arn(&task.source),
            destination_arn: task.destination.as_deref(),
            max_number_of_messages_per_second: task.rate,
            approximate_number_of_messages_moved: task.moved,
            approximate_number_of_messages_to_move: task.to_move,
            failure_reason: task.failure,
            started_timestamp: task.started.millis(),
        }
    }
}

/// A parameter that must be there.
fn needed<'a, T: ?Sized>(parameter: &str, value: Option<&'a T>) -> Result<&'a T, Refusal> {
    value.ok_or_else(|| Refusal::missing(parameter))
}
