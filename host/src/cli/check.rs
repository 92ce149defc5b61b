//! `queuelet check`.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use serde_json::json;

use super::options::{AwsOptions, PluginOptions, guests};
use super::{ExitAs, Outcome, print_json};
use crate::config::{AwsSettings, Level};
use crate::host::Plugins;
use crate::sqs::{Connection, Probe, Verdict, iam_policy, probe};

/// Check every plugin and every mount, with no network call unless --online asks for them.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    plugins: PluginOptions,
    #[command(flatten)]
    aws: AwsOptions,
    /// Try every queue, topic and permission too, without receiving or sending a message
    #[arg(long, conflicts_with = "iam")]
    online: bool,
    /// Print the smallest IAM policy that the mounts need, and nothing else
    #[arg(long, conflicts_with = "json")]
    iam: bool,
    /// Print one JSON document: ok, plugins, refused, subscriptions, problems, notes, online
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) async fn run(self) -> Outcome {
        let config = self.plugins.config()?;
        let plugins = Plugins::load_folder(&guests()?, &config, &config.plugins)
            .await
            .or_input()?;
        let aws = self.aws.over(&config.aws)?;
        if self.iam && !plugins.has_problems() {
            let subscriptions = &plugins.resolved.subscriptions;
            print_json(&iam_policy(subscriptions, aws.region.as_deref()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let online = if self.online {
            probe_all(&plugins, &aws).await
        } else {
            Vec::new()
        };
        if self.json {
            print_json(&document(&plugins, &online))?;
        } else {
            print(&plugins);
            print_online(&online);
            sum_up(&plugins, &online);
        }
        if !plugins.has_problems() && online.iter().any(|(_, probe)| probe.is_wrong()) {
            return Ok(ExitCode::FAILURE);
        }
        let nothing = plugins.resolved.subscriptions.is_empty();
        Ok(if plugins.has_problems() || nothing {
            ExitCode::from(2)
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// Each mount's probes, with the name of its plugin.
type Online = Vec<(String, Probe)>;

async fn probe_all(plugins: &Plugins, aws: &AwsSettings) -> Online {
    let connection = Arc::new(Connection::open(aws).await);
    let mut online = Vec::new();
    for subscription in &plugins.resolved.subscriptions {
        let connection = connection.as_role(subscription.role_arn.as_deref()).await;
        let probes = probe(&connection, subscription).await;
        let plugin = &subscription.plugin;
        online.extend(probes.into_iter().map(|probe| (plugin.clone(), probe)));
    }
    online
}

fn print_online(online: &Online) {
    if online.is_empty() {
        return;
    }
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    // Reasons are sentences, and stand below.
    for (plugin, probe) in online {
        table.add_row([
            plugin.as_str(),
            &probe.resource,
            probe.action,
            probe.verdict.word(),
        ]);
    }
    say!("{table}");
    for (plugin, probe) in online {
        if let Some(why) = probe.verdict.why() {
            let line = format!("{plugin}: {} on {}: {why}", probe.action, probe.resource);
            if probe.is_wrong() {
                complain!("error: {line}");
            } else {
                say!("not tried: {line}");
            }
        }
    }
    let is_denied = |probe: &Probe| matches!(probe.verdict, Verdict::Denied(_));
    if online.iter().any(|(_, probe)| is_denied(probe)) {
        complain!("`queuelet check --iam` prints the policy that the mounts need");
    }
}

fn document(plugins: &Plugins, online: &Online) -> serde_json::Value {
    let loaded: Vec<_> = plugins
        .loaded
        .iter()
        .map(|plugin| json!({"name": plugin.name(), "digest": plugin.digest()}))
        .collect();
    let refused: Vec<_> = plugins
        .refused
        .iter()
        .map(|error| json!({"file": error.file, "digest": error.digest, "message": error.reason}))
        .collect();
    let wrong = online.iter().any(|(_, probe)| probe.is_wrong());
    let online: Vec<_> = online
        .iter()
        .map(|(plugin, probe)| json!({"plugin": plugin, "probe": probe}))
        .collect();
    json!({
        "ok": !plugins.has_problems() && !plugins.resolved.subscriptions.is_empty() && !wrong,
        "plugins": loaded,
        "refused": refused,
        "subscriptions": plugins.resolved.subscriptions,
        "problems": plugins.resolved.problems,
        "notes": plugins.resolved.notes,
        "online": online,
    })
}

fn print(plugins: &Plugins) {
    for subscription in &plugins.resolved.subscriptions {
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        for in_force in subscription.explain() {
            table.add_row([
                in_force.setting.to_owned(),
                in_force.value.clone(),
                in_force.origin.to_string(),
            ]);
        }
        say!("{} on {}", subscription.plugin, subscription.queue);
        say!("{table}");
    }
    for note in &plugins.resolved.notes {
        say!("{note}");
    }
    for refused in &plugins.refused {
        complain!("error: {refused}");
    }
    for problem in &plugins.resolved.problems {
        complain!("error: {problem}");
    }
}

/// What it comes to.
fn sum_up(plugins: &Plugins, online: &Online) {
    let failed = online.iter().filter(|(_, probe)| probe.is_wrong()).count();
    let wrong = plugins.refused.len() + plugins.resolved.problems.len();
    if failed > 0 {
        complain!("error: {failed} of {} tries failed", online.len());
        if wrong == 0 {
            return;
        }
    }
    let warnings = plugins
        .resolved
        .notes
        .iter()
        .filter(|note| note.level == Level::Warn)
        .count();
    match (wrong, plugins.resolved.subscriptions.len(), warnings) {
        (0, 0, _) => {
            complain!("error: nothing is mounted: put a .wasm file into the plugins folder")
        }
        (0, n, 0) => say!("{n} mounted, nothing wrong"),
        (0, n, warnings) => say!("{n} mounted, nothing wrong, {warnings} to look at"),
        (n, ..) => say!("{n} to mend"),
    }
}
