//! `queuelet status`.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};

use super::options::host_config;
use super::{ExitAs, Failed, Outcome, print_json};
use crate::admin::{FetchError, MountStatus, Place, PluginStatus, Status, fetch};
use crate::config::Admin;
use crate::line::{escaped_where, is_unruly};

/// Say how a running host is. Exit code 0: it is ready; 1: it is not, or no host answers.
#[derive(Debug, Args)]
pub(super) struct StatusOf {
    /// Where the host serves its status: an address or a URL. Without it what the configuration file
    /// says, or port 9640 of this machine
    #[arg(long, value_name = "ADDR|URL", env = "QUEUELET_ADMIN")]
    admin: Option<String>,
    /// The configuration file; without it `queuelet.toml` of the working directory, if it is there
    #[arg(long, value_name = "FILE", env = "QUEUELET_CONFIG")]
    config: Option<PathBuf>,
    /// Print the host's own document, which docs/operations.md describes
    #[arg(long)]
    json: bool,
}

impl StatusOf {
    pub(super) async fn run(self) -> Outcome {
        let place = self.place()?;
        let status = fetch(&place).await.map_err(|error| {
            let is_nobody = matches!(error, FetchError::Unreachable(..));
            let error = anyhow::Error::new(error);
            Failed::Running(if is_nobody {
                error.context(
                    "no host to ask: start one with `queuelet run`, or name with --admin where its \
                     log says that its admin endpoint is",
                )
            } else {
                error
            })
        })?;
        if self.json {
            print_json(&status)?;
        } else {
            print(&status);
        }
        Ok(if status.ready {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn place(&self) -> Result<Place, Failed> {
        let is_off = || {
            Failed::Input(anyhow!(
                "the admin endpoint is off, so no host says how it is; name another with --admin"
            ))
        };
        let place = match &self.admin {
            Some(named) if named == "off" => return Err(is_off()),
            Some(named) => named
                .parse()
                .with_context(|| format!("--admin {named:?}"))
                .or_input()?,
            None => match host_config(self.config.as_deref())?.admin {
                Admin::Default => Place::default(),
                Admin::At(address) => Place::from(address),
                Admin::Off => return Err(is_off()),
            },
        };
        if place.port() == 0 {
            return Err(Failed::Input(anyhow!(
                "with port 0 the host has chosen a port itself: name with --admin what its log says"
            )));
        }
        Ok(place)
    }
}

const HEAD: [&str; 11] = [
    "plugin", "state", "version", "digest", "loaded", "queue", "ready", "circuit", "received",
    "handled", "failed",
];

fn print(status: &Status) {
    let uptime = Duration::try_from_secs_f64(status.uptime_seconds).unwrap_or_default();
    say!(
        "queuelet {}, process {}, up {}, {}; {} of {} instances",
        shown(&status.version),
        status.pid,
        humantime::format_duration(Duration::from_secs(uptime.as_secs())),
        status.state.as_str(),
        status.instances.live,
        status.instances.max,
    );
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(HEAD);
    for number in 8..HEAD.len() {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for plugin in &status.plugins {
        for row in rows(status, plugin) {
            table.add_row(row.iter().map(|cell| shown(cell)));
        }
    }
    if status.plugins.is_empty() {
        say!("no plugins");
    } else {
        say!("{table}");
    }
    for plugin in &status.plugins {
        if let Some(refused) = &plugin.refused {
            let digest = refused.digest.as_deref().map_or("unreadable", short);
            say!(
                "{} {digest} is refused since {}: {}",
                shown(&plugin.name),
                shown(&refused.since),
                shown(&refused.reason),
            );
        }
    }
    for line in &status.not_ready {
        say!("not ready: {}", shown(line));
    }
    for plugin in &status.plugins {
        for mount in &plugin.mounts {
            for line in remarks(status, plugin, mount) {
                say!("{}", shown(&line));
            }
        }
    }
}

/// What is to be said of a mount that the table and what is not ready do not say.
fn remarks(status: &Status, plugin: &PluginStatus, mount: &MountStatus) -> Vec<String> {
    let of = format!("{} on {}", plugin.name, mount.queue);
    let mut remarks = Vec::new();
    if let (true, Some(why)) = (mount.covered, &mount.why) {
        remarks.push(format!(
            "to come: {of}: {why}; what was mounted before it is served until then"
        ));
    }
    let circuit = &mount.circuit;
    if let (false, Some(until)) = (mount.ending, &circuit.until) {
        let reason = circuit.reason.as_deref();
        remarks.push(format!(
            "circuit open: {of}: its messages keep failing{}, so the next one is tried in {}, at {}; \
             the log says why they fail",
            reason.map(|reason| format!(" ({reason})")).unwrap_or_default(),
            until_then(until, &status.now),
            time_of_day(until),
        ));
    }
    remarks
}

/// The time of day of a moment, to the second.
fn time_of_day(moment: &str) -> String {
    match moment.split_once('T').and_then(|(_, time)| time.get(..8)) {
        Some(time) => format!("{time} UTC"),
        None => moment.to_owned(),
    }
}

/// How long it is from `now` to a moment, in whole seconds.
fn until_then(moment: &str, now: &str) -> String {
    let parsed = |text| humantime::parse_rfc3339(text).ok();
    let Some((moment, now)) = parsed(moment).zip(parsed(now)) else {
        return moment.to_owned();
    };
    let left = moment.duration_since(now).unwrap_or_default();
    humantime::format_duration(Duration::from_secs(left.as_secs())).to_string()
}

/// The rows of a plugin: one for each mount, or one for itself.
fn rows(status: &Status, plugin: &PluginStatus) -> Vec<[String; HEAD.len()]> {
    let mut own = [
        plugin.name.clone(),
        state(plugin).to_owned(),
        String::new(),
        String::new(),
        String::new(),
    ];
    if let Some(version) = &plugin.serving {
        own[2] = version.version.to_string();
        own[3] = short(&version.digest).to_owned();
        own[4] = ago(&version.since, &status.now);
    }
    let mut rows = Vec::new();
    let none = || [const { String::new() }; 6];
    let mounts = plugin.mounts.iter().map(of_mount);
    let mounts: Vec<_> = mounts.collect();
    let mounts = if mounts.is_empty() {
        vec![none()]
    } else {
        mounts
    };
    for mount in mounts {
        let [plugin, state, version, digest, loaded] = std::mem::take(&mut own);
        let [queue, ready, circuit, received, handled, failed] = mount;
        rows.push([
            plugin, state, version, digest, loaded, queue, ready, circuit, received, handled,
            failed,
        ]);
    }
    rows
}

/// A mount's part of a row. Counts that two mounts share stand with the one that receives.
fn of_mount(mount: &MountStatus) -> [String; 6] {
    let shown = |count: u64| {
        if mount.covered {
            "-".to_owned()
        } else {
            count.to_string()
        }
    };
    let count = |name: &str| shown(mount.counts.get(name).copied().unwrap_or_default());
    let ready = match (mount.ending, mount.ready) {
        (true, _) if mount.until_next => "until the next is",
        (true, _) => "ending",
        (false, true) => "yes",
        (false, false) => "no",
    };
    [
        mount.queue.clone(),
        ready.to_owned(),
        mount.circuit.state.clone(),
        count("messages_received"),
        count("messages_handled"),
        shown(mount.failed.values().sum()),
    ]
}

/// What a plugin does, and what is with its files where they are not what serves.
fn state(plugin: &PluginStatus) -> &str {
    match (&plugin.serving, &plugin.refused, plugin.files.as_str()) {
        (Some(_), Some(_), _) => "serving; newer file refused",
        (Some(_), None, "known") => "serving",
        (Some(_), None, "gone" | "absent") => "serving; file gone",
        (Some(_), None, _) => "serving; newer file loading",
        (None, Some(_), _) => "refused",
        (None, None, "absent") => "ending",
        (None, None, files) => files,
    }
}

/// How long before `now` a moment was, in whole units.
fn ago(moment: &str, now: &str) -> String {
    let parsed = |text| humantime::parse_rfc3339(text).ok();
    let Some((moment, now)) = parsed(moment).zip(parsed(now)) else {
        return moment.to_owned();
    };
    let since = now.duration_since(moment).unwrap_or_default();
    let since = Duration::from_secs(since.as_secs());
    // The two largest units are what a person reads.
    let units = humantime::format_duration(since).to_string();
    let units: Vec<_> = units.split(' ').take(2).collect();
    format!("{} ago", units.join(" "))
}

/// The first digits of a digest.
fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}

/// A text without characters that a terminal would act on, or that turn the order of what is read.
fn shown(text: &str) -> Cow<'_, str> {
    escaped_where(text, |c| {
        is_unruly(c) || matches!(c, '\t' | '\u{200b}'..='\u{200d}' | '\u{feff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_shown() {
        assert_eq!(shown("größe 1"), "größe 1");
        assert_eq!(
            shown("a\x1b[31mb\nc\u{202e}d"),
            "a\\u{1b}[31mb\\nc\\u{202e}d"
        );
    }

    #[test]
    fn how_long_it_is_until_then_is_said_in_seconds() {
        let now = "2026-01-02T03:04:05.000Z";
        for (moment, said) in [
            ("2026-01-02T03:04:09.900Z", "4s"),
            ("2026-01-02T03:09:05.000Z", "5m"),
            ("2026-01-02T03:04:00.000Z", "0s"),
            ("later", "later"),
        ] {
            assert_eq!(until_then(moment, now), said);
        }
    }

    #[test]
    fn a_moment_is_told_by_its_time_of_day() {
        assert_eq!(time_of_day("2026-01-02T03:04:05.678Z"), "03:04:05 UTC");
        assert_eq!(time_of_day("later"), "later");
    }

    #[test]
    fn how_long_ago_is_said_in_two_units() {
        let now = "2026-01-02T03:04:05.678Z";
        for (moment, said) in [
            ("2026-01-02T03:04:05.100Z", "0s ago"),
            ("2026-01-02T03:03:01.000Z", "1m 4s ago"),
            ("2026-01-01T00:04:05.000Z", "1day 3h ago"),
            // A clock that was set back.
            ("2027-01-01T00:00:00.000Z", "0s ago"),
            ("whenever", "whenever"),
        ] {
            assert_eq!(ago(moment, now), said);
        }
    }
}
