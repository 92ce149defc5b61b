//! AWS JSON 1.0 as SQS speaks it: an action's name, a JSON object in, a JSON object or an error out.

mod batch;
mod extras;
mod fault;
mod input;
mod messages;
mod output;
mod queues;
mod select;

pub(crate) use fault::Fault;

use super::calls::Counter;
use super::hub::Hub;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The content type of requests and replies.
pub(crate) const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// What the `X-Amz-Target` header puts before an action's name.
const TARGET_PREFIX: &str = "AmazonSQS.";

/// A call as it came in.
pub(crate) struct Call<'a> {
    /// The state that calls work on.
    pub(crate) hub: &'a Hub,
    /// Counts this call.
    pub(crate) counter: &'a Counter,
    /// `host:port` as the client wrote it: queue URLs are made from it, so that they lead back here
    /// by whatever name or forwarded port the client came.
    pub(crate) host: &'a str,
    /// The `X-Amz-Target` header.
    pub(crate) target: Option<&'a str>,
    /// The request's JSON.
    pub(crate) body: &'a [u8],
}

impl Call<'_> {
    /// Carries the call out and gives the reply's JSON. `client_is_there` is asked before a
    /// receive takes messages.
    ///
    /// # Errors
    /// What SQS would answer instead.
    pub(crate) async fn answer(
        &self,
        client_is_there: impl Fn() -> bool,
    ) -> Result<Vec<u8>, Fault> {
        let target = self.target.ok_or_else(Fault::no_target)?;
        let Some(action) = target.strip_prefix(TARGET_PREFIX) else {
            return Err(Fault::unknown_action(target));
        };
        match action {
            "CreateQueue" => queues::create(self, self.read("CreateQueue")?),
            "GetQueueUrl" => queues::url(self, self.read("GetQueueUrl")?),
            "ListQueues" => queues::list(self, self.read("ListQueues")?),
            "ListDeadLetterSourceQueues" => {
                queues::dead_letter_sources(self, self.read("ListDeadLetterSourceQueues")?)
            }
            "DeleteQueue" => queues::delete(self, self.read("DeleteQueue")?),
            "PurgeQueue" => queues::purge(self, self.read("PurgeQueue")?),
            "GetQueueAttributes" => queues::attributes(self, self.read("GetQueueAttributes")?),
            "SetQueueAttributes" => queues::set_attributes(self, self.read("SetQueueAttributes")?),
            "TagQueue" => extras::tag(self, self.read("TagQueue")?),
            "UntagQueue" => extras::untag(self, self.read("UntagQueue")?),
            "ListQueueTags" => extras::tags(self, self.read("ListQueueTags")?),
            "AddPermission" => extras::add_permission(self, self.read("AddPermission")?),
            "RemovePermission" => extras::remove_permission(self, self.read("RemovePermission")?),
            "StartMessageMoveTask" => extras::start_move(self, self.read("StartMessageMoveTask")?),
            "ListMessageMoveTasks" => extras::list_moves(self, self.read("ListMessageMoveTasks")?),
            "CancelMessageMoveTask" => {
                extras::cancel_move(self, self.read("CancelMessageMoveTask")?)
            }
            "SendMessage" => messages::send(self, self.read("SendMessage")?),
            "SendMessageBatch" => messages::send_batch(self, self.read("SendMessageBatch")?),
            "ReceiveMessage" => {
                messages::receive(self, self.read("ReceiveMessage")?, client_is_there).await
            }
            "DeleteMessage" => messages::delete(self, self.read("DeleteMessage")?),
            "DeleteMessageBatch" => messages::delete_batch(self, self.read("DeleteMessageBatch")?),
            "ChangeMessageVisibility" => {
                messages::change_visibility(self, self.read("ChangeMessageVisibility")?)
            }
            "ChangeMessageVisibilityBatch" => {
                messages::change_visibility_batch(self, self.read("ChangeMessageVisibilityBatch")?)
            }
            _ => Err(Fault::unknown_action(target)),
        }
    }

    /// Reads the request, and counts it.
    fn read<T: input::Input>(&self, action: &'static str) -> Result<T, Fault> {
        let request: T = parse(self.body)?;
        self.counter
            .count(action, request.queue(), request.entries());
        Ok(request)
    }

    /// The URL of a queue, by the host that the client came to.
    fn queue_url(&self, name: &str) -> String {
        let account = super::engine::limits::ACCOUNT;
        format!("http://{}/{account}/{name}", self.host)
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    // Some clients leave the body out when no parameter is set.
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| Fault::unreadable(&error))
}

fn reply(output: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(output).map_err(|error| Fault::internal(&error))
}
