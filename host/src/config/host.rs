//! The host's own file, `queuelet.toml`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::document::{self, Entry, Node};
use super::layer::{Layer, Reading};
use super::problem::{Class, Note, Place, Problem};
use super::value;
use super::vocabulary::{Setting, listed, nearest};
use crate::limits;

const KEYS: [&str; 8] = [
    "aws",
    "plugins",
    "drain",
    "defaults",
    "on_bad_plugin",
    "plugins_sha256",
    "max_instances",
    "admin",
];
const AWS_KEYS: [&str; 3] = ["endpoint_url", "region", "profile"];

/// What the host itself is told, and what `[defaults]` says for mounts that do not say it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// `[aws]`: how SQS is reached.
    pub aws: AwsSettings,
    /// `plugins`: the folder of the plugins and their mount files, relative to the folder of
    /// `queuelet.toml`. Default `plugins`.
    pub plugins: PathBuf,
    /// `drain`: how long handlers in flight may go on once the host is told to stop, 0 s to 12 h.
    /// Default 25 s (SPEC 7.3).
    pub drain: Duration,
    /// `on_bad_plugin`: what a plugin or a mount that cannot be served does to the start. Default
    /// `stop` (SPEC 7.2).
    pub on_bad_plugin: OnBadPlugin,
    /// `plugins_sha256`: the file of the digests that plugins' files must have, relative to the
    /// folder of `queuelet.toml`. Default none.
    pub plugins_sha256: Option<PathBuf>,
    /// `max_instances`: how many instances of plugins may be alive at once, 1 to 10,000. Default
    /// 1,000.
    pub max_instances: NonZeroUsize,
    /// `admin`: where status, health and metrics are served.
    pub admin: Admin,
    pub(super) defaults: Layer,
    pub(super) notes: Vec<Note>,
}

/// What a plugin or a mount that cannot be served does to the start (SPEC 7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadPlugin {
    /// Nothing starts.
    #[default]
    Stop,
    /// The others start without it, and it is taken up once it can be served.
    Skip,
}

impl FromStr for OnBadPlugin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "stop" => Ok(Self::Stop),
            "skip" => Ok(Self::Skip),
            _ => Err("no such word; write stop or skip".to_owned()),
        }
    }
}

/// Where a running host says how it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admin {
    /// At [`limits::ADMIN_PORT`] of this machine alone, and nowhere if another has that port.
    #[default]
    Default,
    /// `off`: nowhere.
    Off,
    /// Here, or the host does not start.
    At(SocketAddr),
}

impl FromStr for Admin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let address = text.parse().map_err(|_| {
            "no address; write ADDRESS:PORT such as 127.0.0.1:9640, or off".to_owned()
        })?;
        Ok(Self::At(address))
    }
}

/// How SQS is reached. What is none comes from the SDK's own chain: the environment, the files of
/// `~/.aws`, the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsSettings {
    /// `endpoint_url`: an `http` or `https` URL that every call goes to in place of AWS.
    pub endpoint_url: Option<String>,
    /// What calls to SQS alone go to, over `endpoint_url`. Only the environment says it.
    pub sqs_endpoint_url: Option<String>,
    /// What calls to SNS alone go to, over `endpoint_url`. Only the environment says it.
    pub sns_endpoint_url: Option<String>,
    /// `region`: the region of every queue that does not say its own.
    pub region: Option<String>,
    /// `profile`: the profile of `~/.aws/config` that is used.
    pub profile: Option<String>,
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig {
            aws: AwsSettings::default(),
            plugins: PathBuf::from("plugins"),
            drain: limits::DEFAULT_DRAIN,
            on_bad_plugin: OnBadPlugin::default(),
            plugins_sha256: None,
            max_instances: limits::DEFAULT_MAX_INSTANCES,
            admin: Admin::default(),
            defaults: Layer::default(),
            notes: Vec::new(),
        }
    }
}

impl HostConfig {
    /// Reads the host's file from the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or everything that is wrong with it.
    pub fn load(path: &Path) -> Result<HostConfig, Vec<Problem>> {
        match crate::file::read_text(path, crate::file::SETTINGS) {
            Ok(text) => Self::parse(path, &text),
            Err(error) => {
                let message = format!("the file cannot be read: {error}");
                Err(vec![
                    Problem::new(Class::Config, message).at(&Place::file(path)),
                ])
            }
        }
    }

    /// How many instances may be alive at once, wherever it is written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_max_instances(text: &str) -> Result<NonZeroUsize, String> {
        let most = text.parse().ok();
        most.filter(|most: &NonZeroUsize| most.get() <= limits::INSTANCES_MAX)
            .ok_or_else(|| {
                let most = limits::INSTANCES_MAX;
                format!("no number that a host can have; write one from 1 to {most}")
            })
    }

    /// Reads the text of the host's file. `path` is what problems name, and what the folder of the
    /// plugins is relative to.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse(path: &Path, text: &str) -> Result<HostConfig, Vec<Problem>> {
        let root = document::parse(path, text)?;
        let mut config = HostConfig::default();
        let mut problems = Vec::new();
        let folder = path.parent().unwrap_or(Path::new(""));
        config.plugins = folder.join(&config.plugins);
        for entry in root.entries {
            let done = match entry.key.as_str() {
                "aws" => table(entry).map(|entries| config.aws.read(entries, &mut problems)),
                "defaults" => table(entry).map(|entries| {
                    let reading = Reading::host_wide(entries);
                    config.defaults = reading.layer;
                    config.notes = reading.notes;
                    problems.extend(reading.problems);
                }),
                "plugins" => filled(&entry).map(|text| config.plugins = folder.join(text)),
                "drain" => drain(&entry).map(|length| config.drain = length),
                "on_bad_plugin" => parsed(&entry).map(|word| config.on_bad_plugin = word),
                "plugins_sha256" => {
                    filled(&entry).map(|text| config.plugins_sha256 = Some(folder.join(text)))
                }
                "max_instances" => instances(&entry).map(|most| config.max_instances = most),
                "admin" => parsed(&entry).map(|at| config.admin = at),
                _ => Err(unknown(&entry, &KEYS)),
            };
            problems.extend(done.err().map(|problem| *problem));
        }
        problems.extend(config.defaults.check_orders());
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(problems)
        }
    }
}

impl AwsSettings {
    /// The URL of an endpoint, wherever it is written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_endpoint(text: &str) -> Result<String, String> {
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"));
        match rest {
            Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(text.to_owned()),
            _ => Err("not the URL of an endpoint; write one such as http://localhost:4566".into()),
        }
    }

    /// A region, wherever it is written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_region(text: &str) -> Result<String, String> {
        value::region(text)
    }

    fn read(&mut self, entries: Vec<Entry>, problems: &mut Vec<Problem>) {
        for entry in entries {
            let done = match entry.key.as_str() {
                "endpoint_url" => endpoint(&entry).map(|url| self.endpoint_url = Some(url)),
                "profile" => filled(&entry).map(|text| self.profile = Some(text.to_owned())),
                "region" => text(&entry).and_then(|text| match value::region(text) {
                    Ok(region) => {
                        self.region = Some(region);
                        Ok(())
                    }
                    Err(message) => Err(wrong(&entry, message)),
                }),
                _ => Err(unknown(&entry, &AWS_KEYS)),
            };
            problems.extend(done.err().map(|problem| *problem));
        }
    }
}

fn drain(entry: &Entry) -> Result<Duration, Box<Problem>> {
    // No message can be held for longer than SQS hides it.
    let most = limits::MAX_VISIBILITY;
    value::bounded_duration(&entry.key, text(entry)?, &entry.place, most)
}

fn parsed<T: FromStr<Err = String>>(entry: &Entry) -> Result<T, Box<Problem>> {
    text(entry)?
        .parse()
        .map_err(|message| wrong(entry, message))
}

fn instances(entry: &Entry) -> Result<NonZeroUsize, Box<Problem>> {
    HostConfig::parse_max_instances(text(entry)?).map_err(|message| wrong(entry, message))
}

fn endpoint(entry: &Entry) -> Result<String, Box<Problem>> {
    AwsSettings::parse_endpoint(text(entry)?).map_err(|message| wrong(entry, message))
}

fn text(entry: &Entry) -> Result<&str, Box<Problem>> {
    match &entry.node {
        Node::Text(text) | Node::Bare(text) => Ok(text),
        other => Err(wrong(
            entry,
            format!("it takes one value, and this is {}", other.kind()),
        )),
    }
}

fn filled(entry: &Entry) -> Result<&str, Box<Problem>> {
    match text(entry)? {
        text if text.trim().is_empty() => Err(wrong(
            entry,
            "it is empty; fill it in or remove the line".to_owned(),
        )),
        text => Ok(text),
    }
}

fn table(entry: Entry) -> Result<Vec<Entry>, Box<Problem>> {
    match entry.node {
        Node::Table(table) => Ok(table.entries),
        ref other => {
            let message = format!(
                "it is a table, and this is {}; write [{}] over its settings",
                other.kind(),
                entry.key
            );
            Err(wrong(&entry, message))
        }
    }
}

fn unknown(entry: &Entry, keys: &[&str]) -> Box<Problem> {
    let message = if Setting::of(&entry.key).is_some_and(|setting| setting.host_wide) {
        "it is a setting of mounts; write it under [defaults]".to_owned()
    } else {
        let guess = match nearest(&entry.key, keys.iter().copied()) {
            Some(near) => format!("the nearest is `{near}`"),
            None => format!("the known names are {}", listed(keys.iter().copied())),
        };
        format!("nothing has this name here; {guess}")
    };
    wrong(entry, message)
}

fn wrong(entry: &Entry, message: String) -> Box<Problem> {
    let problem = Problem::new(Class::Config, message)
        .setting(&entry.key)
        .at(&entry.place);
    Box::new(match &entry.node {
        Node::Text(text) | Node::Bare(text) => problem.given(text),
        _ => problem,
    })
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::Name;
    use super::*;

    fn refused(text: &str) -> Vec<String> {
        let refused = HostConfig::parse(Path::new("etc/queuelet.toml"), text);
        refused
            .unwrap_err()
            .iter()
            .map(Problem::to_string)
            .collect()
    }

    // SPEC 7.3
    #[test]
    fn an_empty_file_is_all_defaults() {
        let config = HostConfig::parse(Path::new("queuelet.toml"), "").unwrap();
        assert_eq!(config, HostConfig::default());
        assert_eq!(config.plugins, Path::new("plugins"));
        assert_eq!(config.drain, Duration::from_secs(25));
    }

    #[test]
    fn everything_that_a_host_may_be_told_is_taken() {
        let text = "plugins = 'handlers'\ndrain = '1m 30s'\non_bad_plugin = 'skip'\n\
                    plugins_sha256 = 'SHA256SUMS'\nmax_instances = 64\nadmin = '[::1]:80'\n\
                    [aws]\nendpoint_url = 'http://localhost:4566'\nregion = 'eu-west-1'\n\
                    profile = 'work'\n[defaults]\nwait = '5s'\nretry_delay = '2s'\n";
        let config = HostConfig::parse(Path::new("etc/queuelet.toml"), text).unwrap();
        assert_eq!(config.plugins, Path::new("etc/handlers"));
        assert_eq!(config.drain, Duration::from_secs(90));
        assert_eq!(config.on_bad_plugin, OnBadPlugin::Skip);
        let pins = config.plugins_sha256.as_deref();
        assert_eq!(pins, Some(Path::new("etc/SHA256SUMS")));
        assert_eq!(config.max_instances.get(), 64);
        assert_eq!(config.admin, Admin::At("[::1]:80".parse().unwrap()));
        let endpoint = config.aws.endpoint_url.as_deref();
        assert_eq!(endpoint, Some("http://localhost:4566"));
        assert_eq!(config.aws.region.as_deref(), Some("eu-west-1"));
        assert_eq!(config.aws.profile.as_deref(), Some("work"));
        let wait = config.defaults.duration(Name::Wait);
        assert_eq!(wait, Some(Duration::from_secs(5)));
    }

    // SPEC 1.11
    #[test]
    fn what_cannot_be_taken_is_refused_with_its_line_and_what_to_do() {
        for (line, what) in [
            ("plugin = 'x'", "nearest is `plugins`"),
            ("[awz]", "nearest is `aws`"),
            (
                "log = 'debug'",
                "the known names are aws, plugins, drain, defaults, on_bad_plugin, plugins_sha256, max_instances, admin",
            ),
            ("wait = '5s'", "under [defaults]"),
            ("aws = 'x'", "write [aws]"),
            ("plugins = ' '", "empty"),
            ("plugins = ['a']", "an array"),
            ("drain = 25", "write 25s"),
            ("drain = '13h'", "too long (allowed: 0s to 12h)"),
            ("aws.endpoint = 'x'", "nearest is `endpoint_url`"),
            (
                "aws.url = 'http://localhost'",
                "the known names are endpoint_url, region, profile",
            ),
            ("aws.endpoint_url = 'localhost:4566'", "http://localhost"),
            ("aws.region = 'Ireland'", "eu-west-1"),
            ("defaults.queue = 'orders'", "the plugin's mount file"),
            ("defaults.wiat = '5s'", "nearest is `wait`"),
            ("defaults.wait = '21s'", "0s to 20s"),
            ("defaults.http = 'a.example'", "the plugin's mount file"),
            ("defaults.circuit_pause = '10m'", "lower the first"),
            ("on_bad_plugin = 'ignore'", "write stop or skip"),
            ("max_instances = 0", "1 to 10000"),
            ("max_instances = 10001", "1 to 10000"),
            ("admin = '9640'", "127.0.0.1:9640"),
            ("defaults.retry_delay = '10m'", "lower the first"),
        ] {
            let problems = refused(&format!("\n{line}\n"));
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(what), "{line}: {problems:?}");
            assert!(problems[0].contains("etc/queuelet.toml:2"), "{problems:?}");
        }
    }

    // SPEC 1.11
    #[test]
    fn every_mistake_is_reported_at_once() {
        let problems = refused("drain = 1\n[aws]\nregoin = 'x'\n[defaults]\nworkers = 0\n");
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_problem_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queuelet.toml");
        let problems = HostConfig::load(&path).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, Some(Place::file(&path)));
        std::fs::write(&path, "drain = '1s'").unwrap();
        let config = HostConfig::load(&path).unwrap();
        assert_eq!(config.plugins, folder.path().join("plugins"));
    }
}
