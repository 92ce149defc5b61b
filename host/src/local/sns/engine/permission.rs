//! Statements of a topic's access policy. They are kept and given back; nobody is kept out here.

use super::Engine;
use crate::local::sns::arn;
use crate::local::sns::refusal::Refusal;
use serde_json::{Value, json};

/// The actions a statement of `AddPermission` can allow.
const ACTIONS: &[&str] = &[
    "GetTopicAttributes",
    "SetTopicAttributes",
    "AddPermission",
    "RemovePermission",
    "DeleteTopic",
    "Subscribe",
    "ListSubscriptionsByTopic",
    "Publish",
    "Receive",
];

impl Engine {
    /// Adds a statement that allows accounts some actions.
    ///
    /// # Errors
    /// `NotFound`; `InvalidParameter` for a label that is taken and for an action nobody knows.
    pub(crate) fn add_permission(
        &mut self,
        topic_arn: &str,
        label: &str,
        accounts: &[String],
        actions: &[String],
    ) -> Result<(), Refusal> {
        let known = |action: &String| ACTIONS.contains(&action.as_str());
        if accounts.is_empty() || actions.is_empty() || !actions.iter().all(known) {
            return Err(Refusal::invalid(
                "Policy statement action out of service scope!",
            ));
        }
        let user = |account: &String| match account.contains(':') {
            true => account.clone(),
            false => format!("arn:aws:iam::{account}:root"),
        };
        self.change_policy(topic_arn, |name, statements| {
            if statements.iter().any(|statement| is(statement, label)) {
                return Err(Refusal::invalid("Statement already exists"));
            }
            let actions = actions.iter().map(|action| format!("SNS:{action}"));
            statements.push(json!({
                "Sid": label,
                "Effect": "Allow",
                "Principal": {"AWS": accounts.iter().map(user).collect::<Vec<_>>()},
                "Action": actions.collect::<Vec<_>>(),
                "Resource": arn::topic(name),
            }));
            Ok(())
        })
    }

    /// Takes the statement of this label away, if it is there.
    ///
    /// # Errors
    /// `NotFound` for the topic.
    pub(crate) fn remove_permission(
        &mut self,
        topic_arn: &str,
        label: &str,
    ) -> Result<(), Refusal> {
        self.change_policy(topic_arn, |_, statements| {
            statements.retain(|statement| !is(statement, label));
            Ok(())
        })
    }

    fn change_policy(
        &mut self,
        topic_arn: &str,
        change: impl FnOnce(&str, &mut Vec<Value>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let (name, topic) = self.topic_mut(topic_arn)?;
        // What was set was checked to be a JSON object, and the default is one.
        let mut policy: Value = serde_json::from_str(&topic.policy(&name)).unwrap_or_default();
        let mut statements = match policy["Statement"].take() {
            Value::Array(statements) => statements,
            Value::Null => Vec::new(),
            single => vec![single],
        };
        change(&name, &mut statements)?;
        policy["Statement"] = Value::Array(statements);
        topic
            .settings
            .insert("Policy".to_owned(), policy.to_string());
        Ok(())
    }
}

fn is(statement: &Value, label: &str) -> bool {
    statement["Sid"] == label
}
