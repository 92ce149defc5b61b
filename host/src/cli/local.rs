//! `queuelet local`.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::signals::Signals;
use super::{ExitAs, Failed, Outcome};
use crate::local::LocalServer;

/// Serve a local SQS alone.
#[derive(Debug, Args)]
pub(super) struct Local {
    /// The loopback address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9324")]
    listen: SocketAddr,
}

impl Local {
    pub(super) async fn run(self) -> Outcome {
        let mut signals = Signals::listen().or_running()?;
        let server = start(self.listen).await?;
        let signal = signals.next().await;
        tracing::info!("{signal}: stopping");
        tokio::select! {
            () = server.stop() => {}
            _ = signals.next() => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Starts a local SQS and prints its URL alone on the first line of stdout.
pub(super) async fn start(listen: SocketAddr) -> Result<LocalServer, Failed> {
    let server = LocalServer::bind(listen)
        .await
        .with_context(|| format!("the local SQS cannot listen on {listen}"))
        .or_input()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", server.endpoint()).or_running()?;
    stdout.flush().or_running()?;
    Ok(server)
}
