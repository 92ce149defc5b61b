//! `queuelet check`.

use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use serde_json::json;

use super::options::{PluginOptions, guests};
use super::{ExitAs, Outcome, print_json};
use crate::config::Level;
use crate::host::Plugins;

/// Check every plugin and every mount, with no network call.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    plugins: PluginOptions,
    /// Print one JSON document: ok, plugins, refused, subscriptions, problems, notes
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) async fn run(self) -> Outcome {
        let config = self.plugins.config()?;
        let plugins = Plugins::load_folder(&guests()?, &config, &config.plugins)
            .await
            .or_input()?;
        if self.json {
            print_json(&document(&plugins))?;
        } else {
            print(&plugins);
        }
        let nothing = plugins.resolved.subscriptions.is_empty();
        Ok(if plugins.has_problems() || nothing {
            ExitCode::from(2)
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn document(plugins: &Plugins) -> serde_json::Value {
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
    json!({
        "ok": !plugins.has_problems() && !plugins.resolved.subscriptions.is_empty(),
        "plugins": loaded,
        "refused": refused,
        "subscriptions": plugins.resolved.subscriptions,
        "problems": plugins.resolved.problems,
        "notes": plugins.resolved.notes,
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
    let wrong = plugins.refused.len() + plugins.resolved.problems.len();
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
