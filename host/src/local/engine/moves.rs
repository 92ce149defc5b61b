//! Message move tasks: a dead-letter queue's messages on their way back, or elsewhere.
//!
//! A task moves its messages at its rate, by the time that is passed in: whatever comes due is moved
//! before anything else is done at that time. As on AWS a moved message is a new one, with an id and
//! an age of its own.

use super::message::{Message, MessageId};
use super::redrive::{queue_arn, queue_of_arn};
use super::refusal::{Kind, Refusal, between};
use super::time::Time;
use super::{Engine, limits};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// One task, from its start to when it is forgotten.
#[derive(Clone, Debug)]
pub(crate) struct MoveTask {
    id: MessageId,
    /// The name of the queue it takes from.
    pub(crate) source: String,
    /// The ARN of the queue it moves to, as it was given; none sends each message back to where it
    /// came from.
    pub(crate) destination: Option<String>,
    /// Messages a second, if it was said how many.
    pub(crate) rate: Option<u32>,
    pub(crate) started: Time,
    /// How many messages could be received when it started.
    pub(crate) to_move: usize,
    pub(crate) moved: usize,
    pub(crate) status: Status,
    /// Why it failed.
    pub(crate) failure: Option<&'static str>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    Completed,
    Cancelled,
    Failed,
}

impl Status {
    /// Its name in a reply.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }
}

/// What a task's handle says, in base64 of JSON, as on AWS.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandleText {
    task_id: String,
    source_arn: String,
}

impl MoveTask {
    /// What it is cancelled by; only a running task has one.
    pub(crate) fn handle(&self) -> Option<String> {
        let text = HandleText {
            task_id: self.id.to_string(),
            source_arn: queue_arn(&self.source),
        };
        let text = serde_json::to_vec(&text).ok()?;
        (self.status == Status::Running).then(|| STANDARD.encode(text))
    }

    fn per_second(&self) -> u64 {
        u64::from(self.rate.unwrap_or(limits::MOVES_PER_SECOND))
    }

    /// How many messages it should have moved by now: the first at its start.
    fn due(&self, now: Time) -> usize {
        let elapsed = now.millis().saturating_sub(self.started.millis());
        let due = elapsed.saturating_mul(self.per_second()) / 1000 + 1;
        usize::try_from(due).unwrap_or(usize::MAX)
    }

    /// When it moves its next message.
    fn next(&self) -> Time {
        let moved = u64::try_from(self.moved).unwrap_or(u64::MAX);
        let after = moved.saturating_mul(1000).div_ceil(self.per_second());
        Time::from_millis(self.started.millis().saturating_add(after))
    }
}

impl Engine {
    /// Starts to move the messages of the queue at `source`, and gives the task's handle.
    ///
    /// # Errors
    /// `ResourceNotFound` when one of the two queues is not there; `InvalidParameterValue` when no
    /// queue sends its dead letters to the source, when the queues are of different types, when a
    /// task for this source is running, and for a rate out of range.
    pub(crate) fn start_move(
        &mut self,
        now: Time,
        source: &str,
        destination: Option<&str>,
        rate: Option<i64>,
    ) -> Result<String, Refusal> {
        let source = self.named("SourceArn", source)?;
        if self.sources_of(&source).next().is_none() {
            let message = "Source queue must be configured as a Dead Letter Queue.";
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        let (id, queue) = self.at(now, &source)?;
        let (to_move, is_fifo) = (queue.takeable(), queue.settings.fifo.is_some());
        if let Some(arn) = destination {
            let name = self.named("DestinationArn", arn)?;
            let invalid = |reason: &str| Err(Refusal::value("DestinationArn", arn, reason));
            if name == source {
                return invalid("Source and destination are the same queue");
            }
            if self.at(now, &name)?.1.settings.fifo.is_some() != is_fifo {
                return invalid("The destination must be of the same type as the source");
            }
        }
        let rate = rate.map(per_second).transpose()?;
        if self.running(&source).is_some() {
            let message = format!(
                "There is already a task running for {}. Only one at a time is allowed for a source queue.",
                queue_arn(&source)
            );
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        let task = MoveTask {
            id: MessageId::from_random(self.random.random()),
            source,
            destination: destination.map(str::to_owned),
            rate,
            started: now,
            to_move,
            moved: 0,
            status: Status::Running,
            failure: None,
        };
        let handle = task.handle().unwrap_or_default();
        self.forget_oldest(&task.source);
        self.moves.push(task);
        self.touched.push(id);
        self.go_on(now);
        Ok(handle)
    }

    /// The tasks of the queue at `source`, the latest first, at most `most` of them.
    ///
    /// # Errors
    /// `ResourceNotFound` when the queue is not there.
    pub(crate) fn moves(
        &mut self,
        now: Time,
        source: &str,
        most: usize,
    ) -> Result<Vec<MoveTask>, Refusal> {
        let source = self.named("SourceArn", source)?;
        self.go_on(now);
        let of_source = self.moves.iter().rev().filter(|task| task.source == source);
        Ok(of_source.take(most).cloned().collect())
    }

    /// Ends a running task where it is, and says how many messages it moved.
    ///
    /// # Errors
    /// `InvalidParameterValue` for what is not a handle, `ResourceNotFound` when the queue or the task
    /// is not there, `UnsupportedOperation` when it has ended.
    pub(crate) fn cancel_move(&mut self, now: Time, handle: &str) -> Result<usize, Refusal> {
        let text = STANDARD
            .decode(handle)
            .ok()
            .and_then(|text| serde_json::from_slice::<HandleText>(&text).ok());
        let Some(text) = text else {
            let message = "Value for parameter TaskHandle is invalid.";
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        };
        let source = self.named("SourceArn", &text.source_arn)?;
        self.go_on(now);
        let is_meant =
            |task: &&mut MoveTask| task.source == source && task.id.to_string() == text.task_id;
        let Some(task) = self.moves.iter_mut().find(is_meant) else {
            return Err(Refusal::new(Kind::ResourceNotFound, "Task does not exist."));
        };
        if task.status != Status::Running {
            let message = format!(
                "Only a running task can be cancelled; this one is {}.",
                task.status.name()
            );
            return Err(Refusal::new(Kind::UnsupportedOperation, message));
        }
        task.status = Status::Cancelled;
        Ok(task.moved)
    }

    /// Moves what is due by now.
    pub(super) fn go_on(&mut self, now: Time) {
        for at in 0..self.moves.len() {
            while let Some(task) = self.moves.get(at)
                && task.status == Status::Running
            {
                if task.moved < task.to_move && task.due(now) <= task.moved {
                    break;
                }
                let ended = if task.moved < task.to_move {
                    self.move_one(now, at)
                } else {
                    Some((Status::Completed, None))
                };
                if let (Some((status, failure)), Some(task)) = (ended, self.moves.get_mut(at)) {
                    (task.status, task.failure) = (status, failure);
                }
            }
        }
    }

    /// When the next message is moved.
    pub(super) fn next_move(&self) -> Option<Time> {
        let running = |task: &&MoveTask| task.status == Status::Running;
        self.moves.iter().filter(running).map(MoveTask::next).min()
    }

    /// Moves the first message of a task's queue; if that cannot be, how the task ends.
    fn move_one(&mut self, now: Time, at: usize) -> Option<(Status, Option<&'static str>)> {
        let task = self.moves.get(at)?;
        let source = self.names.get(&task.source).copied();
        let Some(queue) = source.and_then(|id| self.queues.get_mut(&id)) else {
            return Some((
                Status::Failed,
                Some("AWS.SimpleQueueService.NonExistentQueue"),
            ));
        };
        queue.catch_up(now);
        let Some((sequence, first)) = queue.first() else {
            return Some((Status::Completed, None));
        };
        let arn = match &task.destination {
            Some(arn) => Some(arn.as_str()),
            None => first.dead_letter_source.as_deref(),
        };
        let Some(arn) = arn else {
            return Some((Status::Failed, Some("CouldNotDetermineMessageSource")));
        };
        let target = queue_of_arn(arn).and_then(|name| self.names.get(name).copied());
        let Some(target) = target.filter(|id| self.queues.contains_key(id)) else {
            return Some((
                Status::Failed,
                Some("AWS.SimpleQueueService.NonExistentQueue"),
            ));
        };
        let id = MessageId::from_random(self.random.random());
        let queue = self.queues.get_mut(&source?)?;
        let message = queue.remove(now, sequence)?;
        let moved = Message {
            id,
            sent: now,
            receives: 0,
            first_received: None,
            dead_letter_source: None,
            ..message
        };
        let queue = self.queues.get_mut(&target)?;
        let delay = queue.settings.delay;
        queue.put(now, moved, delay);
        self.moves.get_mut(at)?.moved += 1;
        self.touched.push(target);
        self.changes += 1;
        None
    }

    fn named(&self, parameter: &str, arn: &str) -> Result<String, Refusal> {
        let name = queue_of_arn(arn)
            .ok_or_else(|| Refusal::value(parameter, arn, "It is not the ARN of a queue"))?;
        if self.names.contains_key(name) {
            return Ok(name.to_owned());
        }
        let message =
            format!("The resource that you specified for the {parameter} parameter doesn't exist.");
        Err(Refusal::new(Kind::ResourceNotFound, message))
    }

    fn running(&self, source: &str) -> Option<&MoveTask> {
        let meant = |task: &&MoveTask| task.source == source && task.status == Status::Running;
        self.moves.iter().find(meant)
    }

    /// Forgets the tasks of a queue that is deleted, with the one that is running.
    pub(super) fn forget_moves(&mut self, source: &str) {
        self.moves.retain(|task| task.source != source);
    }

    /// Makes room for one more task of this source among those that are listed.
    fn forget_oldest(&mut self, source: &str) {
        let of_source = |task: &MoveTask| task.source == source;
        let kept = self.moves.iter().filter(|task| of_source(task)).count();
        if kept >= limits::MOVES_KEPT
            && let Some(oldest) = self.moves.iter().position(of_source)
        {
            self.moves.remove(oldest);
        }
    }
}

fn per_second(rate: i64) -> Result<u32, Refusal> {
    match u32::try_from(rate) {
        Ok(rate) if limits::MOVE_RATE.contains(&rate) => Ok(rate),
        _ => Err(Refusal::value(
            "MaxNumberOfMessagesPerSecond",
            rate,
            between(&limits::MOVE_RATE),
        )),
    }
}
