//! Options that several commands share.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::{ExitAs, Failed};
use crate::config::{AwsSettings, HostConfig, Problem};

/// The file of the working directory that is taken where no other is named.
const CONFIG_FILE: &str = "queuelet.toml";

/// Where SQS is.
#[derive(Clone, Debug, Args)]
pub(super) struct AwsOptions {
    /// The endpoint instead of AWS's own, for a local SQS [env: AWS_ENDPOINT_URL_SQS,
    /// AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL")]
    endpoint_url: Option<String>,
    /// The region of queues that are named without one
    #[arg(long, value_name = "REGION", env = "AWS_REGION")]
    region: Option<String>,
    /// The profile of the AWS configuration files
    #[arg(long, value_name = "NAME", env = "AWS_PROFILE")]
    profile: Option<String>,
}

impl AwsOptions {
    /// What flags and environment say, over what the file says. The environment's endpoint of SQS
    /// alone wins over that of all services, as in every AWS tool.
    pub(super) fn over(&self, file: &AwsSettings) -> AwsSettings {
        let pick = |flag: &Option<String>, file: &Option<String>| flag.clone().or(file.clone());
        let of_environment = || {
            ["AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL"]
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|url| !url.is_empty()))
        };
        AwsSettings {
            endpoint_url: self
                .endpoint_url
                .clone()
                .or_else(of_environment)
                .or(file.endpoint_url.clone()),
            region: pick(&self.region, &file.region),
            profile: pick(&self.profile, &file.profile),
        }
    }
}

/// Where the plugins and the configuration are.
#[derive(Clone, Debug, Args)]
pub(super) struct PluginOptions {
    /// The configuration file; without it `queuelet.toml` of the working directory, if it is there
    #[arg(long, value_name = "FILE", env = "QUEUELET_CONFIG")]
    config: Option<PathBuf>,
    /// The folder of .wasm files and mount files; without it the configuration's, or `plugins`
    #[arg(long, value_name = "DIR", env = "QUEUELET_PLUGINS")]
    plugins: Option<PathBuf>,
}

impl PluginOptions {
    /// The configuration in force.
    pub(super) fn config(&self) -> Result<HostConfig, Failed> {
        let mut config = host_config(self.config.as_deref())?;
        if let Some(plugins) = &self.plugins {
            config.plugins.clone_from(plugins);
        }
        if !config.plugins.is_dir() {
            return Err(Failed::Input(anyhow!(
                "there is no plugins folder {}: make it and put .wasm files there, or name another \
                 with --plugins",
                config.plugins.display()
            )));
        }
        Ok(config)
    }
}

/// The configuration of `file`, or of the working directory's own, or none.
pub(super) fn host_config(file: Option<&Path>) -> Result<HostConfig, Failed> {
    let own = Path::new(CONFIG_FILE);
    match file {
        Some(file) => HostConfig::load(file),
        None if own.exists() => HostConfig::load(own),
        None => Ok(HostConfig::default()),
    }
    .map_err(|problems| Failed::Input(all(&problems)))
}

/// Every problem, one below the other.
fn all(problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    anyhow!("{}", lines.join("\n"))
}

/// A duration of the command line, as in a mount file: `25s`, `1m 30s`.
pub(super) fn duration(text: &str) -> Result<std::time::Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 25s or 1m 30s"))
}

/// Loads what `or_input` cannot: the guests' engine.
pub(super) fn guests() -> Result<std::sync::Arc<crate::plugin::Guests>, Failed> {
    crate::plugin::Guests::start().or_running()
}
