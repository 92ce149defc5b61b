//! One run: a server of its own with a backlog, and a contestant that works it off.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use queuelet::build::build;

use super::contestant::{Contestant, Handed, Instances, Settle, Who};
use crate::host;
use crate::order::QUEUE;
use crate::process::Started;
use crate::role::{ROLE, Role};
use crate::sample::Sample;
use crate::server::Server;

/// What runs are made of.
pub(super) struct Built {
    host: PathBuf,
    /// The host's handlers.
    single: PathBuf,
    batch: PathBuf,
}

impl Built {
    /// Builds the handlers, and the host where there is none to be taken.
    pub(super) fn with(host: Option<PathBuf>) -> anyhow::Result<Self> {
        let host = host.map_or_else(host::program, Ok)?;
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let [single, batch] = build(&tree, &["guest-decode", "guest-decode-batch"])?
            .try_into()
            .map_err(|_| anyhow::anyhow!("two guests are two files"))?;
        Ok(Self {
            host,
            single,
            batch,
        })
    }

    fn handler(&self, handed: Handed) -> &Path {
        match handed {
            Handed::Single => &self.single,
            Handed::Batch => &self.batch,
        }
    }
}

/// Has a contestant work off a backlog.
pub(super) fn run(contestant: Contestant, messages: u32, built: &Built) -> anyhow::Result<Sample> {
    let mut server = Server::start()?;
    server.fill(messages)?;
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let said = File::create(&log)?;
    let mount = matches!(contestant.who, Who::Queuelet(_)).then(|| mount(contestant));
    if let Some(mount) = &mount {
        fs::copy(
            built.handler(contestant.handed),
            folder.path().join("decode.wasm"),
        )?;
        fs::write(folder.path().join("decode.toml"), mount)?;
    }
    // All find the server the same way.
    let role = role(contestant);
    let prepare = |command: &mut Command| {
        command
            .env("AWS_ENDPOINT_URL", server.endpoint())
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "bench")
            .env("AWS_SECRET_ACCESS_KEY", "bench")
            .stderr(said);
        match role {
            Some(role) => command.env(ROLE, role.name()),
            None => command
                .args(["run", "--admin", "off", "--plugins"])
                .arg(folder.path()),
        };
    };
    let started = match role {
        Some(_) => Started::again(prepare),
        None => Started::program(&built.host, prepare),
    }?;
    server.watch(started.id(), messages).with_context(|| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        format!("{contestant}\n{said}")
    })
}

/// The role of a contestant that is not the host.
fn role(contestant: Contestant) -> Option<Role> {
    match contestant.who {
        Who::Raw => Some(Role::Raw(contestant.settle)),
        Who::Ruststream => Some(Role::Ruststream(contestant.handed, contestant.workers)),
        Who::Queuelet(_) => None,
    }
}

/// The host's mount file: what a default has is not named.
fn mount(contestant: Contestant) -> String {
    let mut mount = format!("queue = '{QUEUE}'\nworkers = {}\n", contestant.workers);
    if contestant.settle == Settle::Batched {
        mount += "settle = 'batched'\n";
    }
    if contestant.who == Who::Queuelet(Instances::Reuse) {
        mount += "instances = 'reuse'\n";
    }
    mount
}
