//! What a plugin's mounts need beside their settings: values of the environment, files, a digest.

use crate::config::{Class, Environment, Origin, Problem, SqsSubscription};
use crate::plugin::{MountGrants, Plugin};

use super::pins::not_allowed;

/// A mount that can be served, and what it grants.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    pub(crate) subscription: SqsSubscription,
    pub(crate) grants: MountGrants,
}

/// Reads what the mounts of a plugin refer to (rule 9.1), and holds the plugin against what they say
/// of it. It may block.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn granted(
    plugin: &Plugin,
    mounts: impl IntoIterator<Item = SqsSubscription>,
) -> Result<Vec<Mount>, Vec<Problem>> {
    let (mut granted, mut problems) = (Vec::new(), Vec::new());
    for subscription in mounts {
        let allowed = &subscription.sha256;
        if !allowed.is_empty() && !allowed.contains(&plugin.digest()) {
            let message = not_allowed(plugin.digest(), allowed);
            problems.push(problem(&subscription, "sha256", None, message));
        }
        let memory = subscription.sandbox.memory;
        if memory < plugin.memory() {
            let message = format!(
                "an instance of the plugin begins with {} bytes of memory, and may have {memory}: \
                 raise it",
                plugin.memory()
            );
            problems.push(problem(&subscription, "memory", None, message));
        }
        let environment = Environment::read(&subscription.sandbox.env).unwrap_or_else(|wrong| {
            problems.extend(wrong.into_iter().map(|(name, reason)| {
                let setting = format!("env.{name}");
                problem(&subscription, "env", Some(setting), reason)
            }));
            Environment::default()
        });
        granted.push(Mount {
            grants: MountGrants {
                sandbox: subscription.sandbox.clone(),
                environment,
                instances: subscription.instances.clone(),
            },
            subscription,
        });
    }
    if problems.is_empty() {
        Ok(granted)
    } else {
        Err(problems)
    }
}

/// Of a setting of a mount, where it is written.
fn problem(
    subscription: &SqsSubscription,
    key: &str,
    setting: Option<String>,
    message: String,
) -> Problem {
    let mut settings = subscription.explain().iter();
    let place = settings
        .find(|row| row.setting == key)
        .and_then(|row| match &row.origin {
            Origin::Written(place) => Some(place.clone()),
            _ => None,
        });
    Problem {
        class: Class::Config,
        plugin: Some(subscription.plugin.clone()),
        queue: Some(subscription.queue.to_string()),
        setting: Some(setting.unwrap_or_else(|| key.to_owned())),
        given: None,
        allowed: None,
        message,
        place,
    }
}
