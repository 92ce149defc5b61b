//! Options that several commands share.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::{ExitAs, Failed};
use crate::config::{AwsSettings, HostConfig, Problem};
use crate::sqs::Connection;

/// The file of the working directory that is taken where no other is named.
const CONFIG_FILE: &str = "queuelet.toml";

/// Where SQS is.
#[derive(Clone, Debug, Args)]
pub(super) struct AwsOptions {
    /// The endpoint instead of AWS's own, for a local SQS [env: AWS_ENDPOINT_URL_SQS,
    /// AWS_ENDPOINT_URL_SNS, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL")]
    endpoint_url: Option<String>,
    /// The region of queues that are named without one [env: AWS_REGION]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// The profile of the AWS configuration files [env: AWS_PROFILE]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

impl AwsOptions {
    /// What flags and environment say, over what the file says. The environment's endpoint of one
    /// service wins over that of all services, as in every AWS tool, and a flag over both; an empty
    /// variable says nothing.
    pub(super) fn over(&self, file: &AwsSettings) -> Result<AwsSettings, Failed> {
        let of_environment_only = |name| match self.endpoint_url {
            Some(_) => Ok(None),
            None => parsed(
                of_environment(name).map(|url| (name, url)),
                AwsSettings::parse_endpoint,
            ),
        };
        let endpoint = match &self.endpoint_url {
            Some(flag) => Some(("--endpoint-url", flag.clone())),
            None => of_environment("AWS_ENDPOINT_URL").map(|url| ("AWS_ENDPOINT_URL", url)),
        };
        let region = match &self.region {
            Some(flag) => Some(("--region", flag.clone())),
            None => of_environment("AWS_REGION").map(|region| ("AWS_REGION", region)),
        };
        let profile = self
            .profile
            .clone()
            .or_else(|| of_environment("AWS_PROFILE"));
        Ok(AwsSettings {
            endpoint_url: parsed(endpoint, AwsSettings::parse_endpoint)?
                .or_else(|| file.endpoint_url.clone()),
            sqs_endpoint_url: of_environment_only("AWS_ENDPOINT_URL_SQS")?,
            sns_endpoint_url: of_environment_only("AWS_ENDPOINT_URL_SNS")?,
            region: parsed(region, AwsSettings::parse_region)?.or_else(|| file.region.clone()),
            profile: profile.or_else(|| file.profile.clone()),
        })
    }
}

fn of_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn parsed(
    given: Option<(&str, String)>,
    parse: impl Fn(&str) -> Result<String, String>,
) -> Result<Option<String>, Failed> {
    given
        .map(|(name, text)| {
            parse(&text).map_err(|wrong| Failed::Input(anyhow!("{name} {text:?}: {wrong}")))
        })
        .transpose()
}

/// Where SQS is, for commands that need no plugins.
#[derive(Clone, Debug, Args)]
pub(super) struct ConnectOptions {
    #[command(flatten)]
    aws: AwsOptions,
    /// The configuration file; without it `queuelet.toml` of the working directory, if it is there
    #[arg(long, value_name = "FILE", env = "QUEUELET_CONFIG")]
    config: Option<PathBuf>,
}

impl ConnectOptions {
    /// The connection that flags, environment and file name.
    pub(super) async fn connect(&self) -> Result<Connection, Failed> {
        let config = host_config(self.config.as_deref())?;
        Ok(Connection::open(&self.aws.over(&config.aws)?).await)
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
    /// The list of the digests that .wasm files may have, as sha256sum writes it
    #[arg(long, value_name = "FILE", env = "QUEUELET_PLUGINS_SHA256")]
    plugins_sha256: Option<PathBuf>,
}

impl PluginOptions {
    /// The configuration in force.
    pub(super) fn config(&self) -> Result<HostConfig, Failed> {
        let mut config = host_config(self.config.as_deref())?;
        if let Some(plugins) = &self.plugins {
            config.plugins.clone_from(plugins);
        }
        if let Some(list) = &self.plugins_sha256 {
            config.plugins_sha256 = Some(list.clone());
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

/// The guests' engine and threads.
pub(super) fn guests() -> Result<std::sync::Arc<crate::plugin::Guests>, Failed> {
    crate::plugin::Guests::start().or_running()
}
