//! `queuelet local`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::signals::Signals;
use super::{ExitAs, Failed, Outcome};
use crate::local::{LocalServer, SnapshotFile};

/// Serve a local SQS and SNS alone.
#[derive(Debug, Args)]
pub(super) struct Local {
    /// The loopback address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9324")]
    listen: SocketAddr,
    /// Keep queues, messages and topics in FILE: they are read from it at the start, and written to it
    /// within a second or so of a change and at the end
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
}

impl Local {
    pub(super) async fn run(self) -> Outcome {
        let mut signals = Signals::listen().or_running()?;
        let server = start(self.listen, self.snapshot.as_deref()).await?;
        let signal = signals.next().await;
        tracing::info!("{signal}: stopping");
        let is_kept = tokio::select! {
            is_kept = server.stop() => is_kept,
            _ = signals.next() => self.snapshot.is_none(),
        };
        Ok(if is_kept {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Starts a local SQS, with what the snapshot has if there is one, and prints its URL alone on the
/// first line of stdout.
pub(super) async fn start(
    listen: SocketAddr,
    snapshot: Option<&Path>,
) -> Result<LocalServer, Failed> {
    let server = match snapshot {
        Some(path) => {
            let file = SnapshotFile::open(path).await.or_input()?;
            LocalServer::bind_with(listen, file).await
        }
        None => LocalServer::bind(listen).await,
    };
    let server = server
        .with_context(|| format!("the local SQS cannot listen on {listen}"))
        .or_input()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", server.endpoint()).or_running()?;
    stdout.flush().or_running()?;
    Ok(server)
}
