//! `AddPermission` and `RemovePermission`: a queue's policy, written one statement at a time.

use super::Engine;
use super::limits;
use super::redrive::queue_arn;
use super::refusal::{Kind, Refusal};
use super::time::Time;
use serde_json::{Value, json};

/// The actions that can be given away with `AddPermission`.
const ACTIONS: &[&str] = &[
    "*",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
];

impl Engine {
    /// Adds a statement to the queue's policy that lets `accounts` carry out `actions`.
    ///
    /// # Errors
    /// `QueueDoesNotExist`; `InvalidParameterValue` for a label that is taken or has a form SQS would
    /// not take, and for an account or an action that is none; `OverLimit` for more than 7 actions.
    pub(crate) fn add_permission(
        &mut self,
        now: Time,
        name: &str,
        label: &str,
        accounts: &[String],
        actions: &[String],
    ) -> Result<(), Refusal> {
        check(label, accounts, actions)?;
        let (_, queue) = self.at(now, name)?;
        let arn = queue_arn(name);
        let mut policy = read(queue.settings.policy.as_deref()).unwrap_or_else(|| {
            json!({
                "Version": "2008-10-17",
                "Id": format!("{arn}/SQSDefaultPolicy"),
                "Statement": [],
            })
        });
        let mut statements = statements(&mut policy);
        if statements.iter().any(|statement| is(statement, label)) {
            return Err(Refusal::value("Label", label, "Already exists"));
        }
        let principals = accounts.iter().map(|id| format!("arn:aws:iam::{id}:root"));
        let actions = actions.iter().map(|action| format!("SQS:{action}"));
        statements.push(json!({
            "Sid": label,
            "Effect": "Allow",
            "Principal": {"AWS": one_or_many(principals)},
            "Action": one_or_many(actions),
            "Resource": arn,
        }));
        policy["Statement"] = Value::Array(statements);
        queue.settings.policy = Some(policy.to_string());
        queue.modified = now;
        self.changes += 1;
        Ok(())
    }

    /// Takes the statement of this label out of the queue's policy, and the policy away with its last.
    ///
    /// # Errors
    /// `QueueDoesNotExist`, `InvalidParameterValue` when there is no such statement.
    pub(crate) fn remove_permission(
        &mut self,
        now: Time,
        name: &str,
        label: &str,
    ) -> Result<(), Refusal> {
        let (_, queue) = self.at(now, name)?;
        let mut policy = read(queue.settings.policy.as_deref()).unwrap_or_default();
        let mut statements = statements(&mut policy);
        let before = statements.len();
        statements.retain(|statement| !is(statement, label));
        if statements.len() == before {
            return Err(Refusal::value("Label", label, "can't find label"));
        }
        let is_last = statements.is_empty();
        policy["Statement"] = Value::Array(statements);
        queue.settings.policy = (!is_last).then(|| policy.to_string());
        queue.modified = now;
        self.changes += 1;
        Ok(())
    }
}

fn check(label: &str, accounts: &[String], actions: &[String]) -> Result<(), Refusal> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !(1..=limits::NAME_CHARS).contains(&label.len()) || !label.bytes().all(allowed) {
        let reason = "A label has 1 to 80 letters, digits, hyphens and underscores";
        return Err(Refusal::value("Label", label, reason));
    }
    if accounts.is_empty() {
        return Err(Refusal::missing("AWSAccountIds"));
    }
    if actions.is_empty() {
        return Err(Refusal::missing("Actions"));
    }
    let is_account = |id: &&String| id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit());
    if let Some(id) = accounts.iter().find(|id| !is_account(id)) {
        return Err(Refusal::value(
            "PrincipalId",
            id,
            "An account id has 12 digits",
        ));
    }
    if let Some(action) = actions
        .iter()
        .find(|name| !ACTIONS.contains(&name.as_str()))
    {
        let reason = format!("Only {} can be given", ACTIONS.join(", "));
        return Err(Refusal::value("ActionName", action, reason));
    }
    if actions.len() > limits::PERMISSION_ACTIONS {
        let message = format!(
            "{} actions were given; a statement has at most {}.",
            actions.len(),
            limits::PERMISSION_ACTIONS
        );
        return Err(Refusal::new(Kind::OverLimit, message));
    }
    Ok(())
}

/// The policy as it stands; nothing if it is no object, as an owner may write what they like.
fn read(policy: Option<&str>) -> Option<Value> {
    let policy: Value = serde_json::from_str(policy?).ok()?;
    policy.is_object().then_some(policy)
}

/// Takes the statements out of a policy, which may have one alone, without a list.
fn statements(policy: &mut Value) -> Vec<Value> {
    match policy["Statement"].take() {
        Value::Null => Vec::new(),
        Value::Array(statements) => statements,
        alone => vec![alone],
    }
}

fn is(statement: &Value, label: &str) -> bool {
    statement["Sid"] == label
}

/// How AWS writes a list in a policy: one alone stands without brackets.
fn one_or_many(values: impl Iterator<Item = String>) -> Value {
    let mut values: Vec<_> = values.collect();
    if values.len() == 1 {
        json!(values.remove(0))
    } else {
        json!(values)
    }
}
