//! The actions on messages.

use super::batch;
use super::input::{self, Batch, Settle, queue_of, ranged};
use super::output::{BatchReply, Nothing, Sent, SettledEntry};
use super::select::Selection;
use super::{Call, Fault, reply};
use crate::local::engine::message::{Content, Outgoing, check_id};
use crate::local::engine::refusal::{Kind, Refusal};
use crate::local::engine::time::Time;
use crate::local::engine::{Engine, limits};
use crate::local::hub;
use std::sync::Arc;

/// `SendMessage`
pub(crate) fn send(call: &Call<'_>, request: input::Send) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?.to_owned();
    let outgoing = outgoing(request);
    let (receipt, content) = call.hub.with(|engine, now| {
        engine.find(&name)?;
        let outgoing = outgoing?;
        let receipt = engine.send(now, &name, &outgoing)?;
        Ok::<_, Refusal>((receipt, outgoing.content))
    })?;
    reply(&Sent::new(None, &receipt, &content))
}

/// `SendMessageBatch`
pub(crate) fn send_batch(call: &Call<'_>, request: Batch<input::Send>) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?.to_owned();
    call.hub.with(|engine, _| engine.find(&name))?;
    // Everything that can be done before the lock is: bodies are checked and summed out here.
    let entries: Vec<_> = batch::entries(request.entries)?
        .into_iter()
        .map(|(id, entry)| (id, outgoing(entry)))
        .collect();
    let size: usize = entries
        .iter()
        .flat_map(|(_, outgoing)| outgoing)
        .map(|outgoing| outgoing.content.size())
        .sum();
    if size > limits::BATCH_BYTES {
        let message = format!(
            "Batch requests cannot be longer than {} bytes. You have sent {size} bytes.",
            limits::BATCH_BYTES
        );
        return Err(Refusal::new(Kind::BatchRequestTooLong, message).into());
    }
    let receipts: Vec<_> = call.hub.with(|engine, now| {
        engine.check_batch(&name, entries.iter().flat_map(|(_, outgoing)| outgoing))?;
        let mut send = |outgoing: &Result<Outgoing, Refusal>| match outgoing {
            Ok(outgoing) => engine.send(now, &name, outgoing),
            Err(refusal) => Err(refusal.clone()),
        };
        let receipts = entries.iter().map(|(_, outgoing)| send(outgoing));
        Ok::<_, Refusal>(receipts.collect())
    })?;
    let outcomes = entries
        .iter()
        .zip(receipts)
        .map(|((id, outgoing), receipt)| {
            let sent = receipt.and_then(|receipt| {
                let outgoing = outgoing.as_ref().map_err(Clone::clone)?;
                Ok(Sent::new(Some(id), &receipt, &outgoing.content))
            });
            (id.as_str(), sent)
        });
    reply(&BatchReply::of(outcomes))
}

/// `ReceiveMessage`
pub(crate) async fn receive(
    call: &Call<'_>,
    request: input::Receive,
    client_is_there: impl Fn() -> bool,
) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?;
    let most = ranged(
        "MaxNumberOfMessages",
        request.max_number_of_messages,
        &limits::RECEIVE_MESSAGES,
    )?;
    let wanted = hub::Receive {
        most: most.map_or(1, |most| usize::try_from(most).unwrap_or(1)),
        visibility: visibility(request.visibility_timeout)?,
        wait: ranged(
            "WaitTimeSeconds",
            request.wait_time_seconds,
            &limits::WAIT_SECONDS,
        )?,
        attempt: attempt(request.receive_request_attempt_id.as_deref())?,
    };
    let selection = Selection::of(&request)?;
    let deliveries = call.hub.receive(name, wanted, client_is_there).await?;
    reply(&selection.reply(&deliveries))
}

/// `DeleteMessage`
pub(crate) fn delete(call: &Call<'_>, request: Settle) -> Result<Vec<u8>, Fault> {
    settle(call, &request, delete_one)
}

/// `DeleteMessageBatch`
pub(crate) fn delete_batch(call: &Call<'_>, request: Batch<Settle>) -> Result<Vec<u8>, Fault> {
    settle_batch(call, request, delete_one)
}

/// `ChangeMessageVisibility`
pub(crate) fn change_visibility(call: &Call<'_>, request: Settle) -> Result<Vec<u8>, Fault> {
    settle(call, &request, change_one)
}

/// `ChangeMessageVisibilityBatch`
pub(crate) fn change_visibility_batch(
    call: &Call<'_>,
    request: Batch<Settle>,
) -> Result<Vec<u8>, Fault> {
    settle_batch(call, request, change_one)
}

/// Does to the message of one handle what a request asks.
type SettleOne = fn(&mut Engine, Time, &str, &Settle) -> Result<(), Refusal>;

fn delete_one(engine: &mut Engine, now: Time, queue: &str, entry: &Settle) -> Result<(), Refusal> {
    engine.delete(now, queue, handle(entry)?)
}

fn change_one(engine: &mut Engine, now: Time, queue: &str, entry: &Settle) -> Result<(), Refusal> {
    let timeout = visibility(entry.visibility_timeout)?
        .ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
    engine.change_visibility(now, queue, handle(entry)?, timeout)
}

fn settle(call: &Call<'_>, request: &Settle, one: SettleOne) -> Result<Vec<u8>, Fault> {
    let name = queue_of(request)?;
    call.hub.with(|engine, now| {
        engine.find(name)?;
        one(engine, now, name, request)
    })?;
    reply(&Nothing {})
}

fn settle_batch(call: &Call<'_>, request: Batch<Settle>, one: SettleOne) -> Result<Vec<u8>, Fault> {
    let name = queue_of(&request)?.to_owned();
    call.hub.with(|engine, _| engine.find(&name))?;
    let entries = batch::entries(request.entries)?;
    let outcomes: Vec<_> = call.hub.with(|engine, now| {
        let mut settle = |entry: &Settle| one(engine, now, &name, entry);
        entries.iter().map(|(_, entry)| settle(entry)).collect()
    });
    let outcomes = entries.iter().zip(outcomes);
    reply(&BatchReply::of(outcomes.map(|((id, _), outcome)| {
        (id.as_str(), outcome.map(|()| SettledEntry { id }))
    })))
}

fn handle(entry: &Settle) -> Result<&str, Refusal> {
    entry
        .receipt_handle
        .as_deref()
        .ok_or_else(|| Refusal::missing("ReceiptHandle"))
}

fn visibility(seconds: Option<i64>) -> Result<Option<u32>, Refusal> {
    ranged("VisibilityTimeout", seconds, &limits::VISIBILITY_SECONDS)
}

fn attempt(id: Option<&str>) -> Result<Option<Arc<str>>, Refusal> {
    let checked = id.map(|id| check_id("ReceiveRequestAttemptId", id).map(|()| id.into()));
    checked.transpose()
}

/// A message ready for the queue.
fn outgoing(request: input::Send) -> Result<Outgoing, Refusal> {
    let delay = input::delay(request.delay_seconds)?;
    let content = Content::new(
        request.message_body.unwrap_or_default(),
        input::attributes(request.message_attributes)?,
        input::trace_header(request.message_system_attributes)?,
        request.message_group_id,
    )?;
    Ok(Outgoing {
        delay,
        ..Outgoing::new(content, request.message_deduplication_id)?
    })
}
