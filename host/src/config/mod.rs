//! What an operator may write, and what a plugin says of itself (SPEC 1).
//!
//! What holds here:
//!
//! - One vocabulary ([`SETTINGS`]) and one parser read mount files, descriptors and `[defaults]`.
//! - Nothing that is written is passed over: an unknown key, a key of a later version and a value
//!   out of its bounds are each a [`Problem`].
//! - Problems are collected, never returned one by one: [`resolve`] looks at every setting of every
//!   mount of every plugin before it answers (SPEC 1.11).
//! - Nothing here touches the network, and only [`HostConfig::load`] touches the disk.

mod assembly;
mod document;
mod env;
mod environment;
mod host;
mod http_rule;
mod layer;
mod mount;
mod problem;
mod queue;
mod resolve;
mod sandbox;
mod settings;
mod size;
mod subscription;
mod target;
#[cfg(test)]
mod tests;
mod value;
mod vocabulary;

pub use environment::Environment;
pub use host::{Admin, AwsSettings, HostConfig, OnBadPlugin};
pub use http_rule::{
    Host, HostError, HttpRule, HttpRuleError, HttpScheme, Network, NetworkError, RuleHost,
};
pub(crate) use http_rule::{plain, split_port};
pub use mount::{MountFile, mount_files_without_plugin};
pub use problem::{Class, Level, Note, Place, Problem};
pub use queue::{QueueName, QueueRef, QueueRefError};
pub use resolve::{PluginSettings, Resolved, resolve};
pub use sandbox::{Circuit, EnvValue, Instances, OnLostLease, Reuse, Sandbox};
pub(crate) use size::shown;
pub use subscription::{InForce, Origin, RetryPolicy, SettleMode, SqsSubscription};
pub use target::{TargetRef, TargetRefError, TopicName, TopicRef};
pub use value::duration;
pub use vocabulary::{Kind, Name, SETTINGS, Setting};

/// The subscriptions of a mount file, for tests.
#[cfg(test)]
pub(crate) fn mounts_of_a_test(text: &str) -> Vec<SqsSubscription> {
    let plugin = PluginSettings {
        name: "p".into(),
        kind: crate::handler::HandlerKind::Single,
        descriptor: Vec::new(),
        mount_file: Some(MountFile {
            path: "p.toml".into(),
            text: text.into(),
        }),
    };
    let resolved = resolve(&HostConfig::default(), &[plugin]);
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    resolved.subscriptions
}
