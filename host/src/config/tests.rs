//! What is in force, and what is refused, over all sources at once.

mod problems;
mod queues;
mod sources;

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::handler::HandlerKind;

fn plugin(name: &str, kind: HandlerKind) -> PluginSettings {
    PluginSettings {
        name: name.to_owned(),
        kind,
        descriptor: Vec::new(),
        mount_file: None,
    }
}

fn described(kind: HandlerKind, pairs: &[(&str, &str)]) -> PluginSettings {
    let pairs = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    PluginSettings {
        descriptor: pairs.collect(),
        ..plugin("orders", kind)
    }
}

fn mounted(name: &str, kind: HandlerKind, text: &str) -> PluginSettings {
    PluginSettings {
        mount_file: Some(MountFile {
            path: format!("plugins/{name}.toml").into(),
            text: text.to_owned(),
        }),
        ..plugin(name, kind)
    }
}

fn single(text: &str) -> PluginSettings {
    mounted("orders", HandlerKind::Single, text)
}

fn batch(text: &str) -> PluginSettings {
    mounted("orders", HandlerKind::Batch, text)
}

fn resolved(plugins: &[PluginSettings]) -> Resolved {
    resolve(&HostConfig::default(), plugins)
}

/// The one subscription of a plugin that nothing is wrong with.
fn served(host: &HostConfig, plugin: PluginSettings) -> SqsSubscription {
    let Resolved {
        subscriptions,
        problems,
        ..
    } = resolve(host, &[plugin]);
    assert_eq!(problems, []);
    let [subscription] = <[_; 1]>::try_from(subscriptions).unwrap();
    subscription
}

/// The problems of a plugin that is not served, as texts.
fn refused(plugin: PluginSettings) -> Vec<String> {
    let resolved = resolved(&[plugin]);
    assert_eq!(resolved.subscriptions, []);
    resolved.problems.iter().map(Problem::to_string).collect()
}

fn only(problems: Vec<String>) -> String {
    let [problem] = <[_; 1]>::try_from(problems).unwrap();
    problem
}

fn host(text: &str) -> HostConfig {
    HostConfig::parse(Path::new("queuelet.toml"), text).unwrap()
}

fn at(file: &str, line: u32) -> Option<Place> {
    Some(Place::File {
        file: file.into(),
        line: Some(line),
    })
}
