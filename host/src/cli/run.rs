//! `queuelet run`.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use tracing::{error, info, warn};

use super::options::{AwsOptions, PluginOptions};
use super::signals::Signals;
use super::{ExitAs, Failed, Outcome, local};
use crate::Shutdown;
use crate::admin::{AdminServer, HostView};
use crate::config::{Admin, HostConfig, OnBadPlugin, duration};
use crate::host::{HostOptions, Plugins, WatchedHost};
use crate::limits::ADMIN_PORT;
use crate::plugin::Guests;
use crate::sqs::Connection;

/// Receive from the queues that the plugins are mounted on.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    plugins: PluginOptions,
    #[command(flatten)]
    aws: AwsOptions,
    /// Run against an SQS and SNS inside this process, and print its URL on the first line of stdout.
    /// Queues that mounts name are created. ADDR is a loopback address, by default with a free port
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0",
        conflicts_with = "endpoint_url"
    )]
    local: Option<SocketAddr>,
    /// Keep what is in the queues and topics of --local in FILE: it is read from it at the start, and
    /// written to it within a second or so of a change and at the end
    #[arg(long, value_name = "FILE", requires = "local")]
    snapshot: Option<PathBuf>,
    /// How long handlers may go on after SIGTERM, before they are interrupted
    #[arg(long, value_name = "DURATION", env = "QUEUELET_DRAIN", value_parser = duration)]
    drain: Option<Duration>,
    /// What to do at the start about a plugin that cannot be loaded or mounted: stop, with exit code 2,
    /// or start without it and watch its files
    #[arg(long, value_name = "stop|skip", env = "QUEUELET_ON_BAD_PLUGIN")]
    on_bad_plugin: Option<OnBadPlugin>,
    /// How many instances of all plugins together may be alive at once
    #[arg(
        long,
        value_name = "N",
        env = "QUEUELET_MAX_INSTANCES",
        value_parser = HostConfig::parse_max_instances
    )]
    max_instances: Option<NonZeroUsize>,
    /// Where status, health and metrics are served: an address and port, of which 0 takes a free one,
    /// or off. Without it port 9640 of this machine alone
    #[arg(long, value_name = "ADDR|off", env = "QUEUELET_ADMIN")]
    admin: Option<Admin>,
}

impl Run {
    pub(super) async fn run(self) -> Outcome {
        let mut signals = Signals::listen().or_running()?;
        let config = self.plugins.config()?;
        let max_instances = self.max_instances.unwrap_or(config.max_instances);
        let guests = Guests::with(max_instances).or_running()?;
        let plugins = tokio::select! {
            plugins = Plugins::load_folder(&guests, &config, &config.plugins) => plugins.or_input()?,
            signal = signals.next() => {
                info!("{signal}: stopped before anything was started");
                return Ok(ExitCode::SUCCESS);
            }
        };
        let on_bad_plugin = self.on_bad_plugin.unwrap_or(config.on_bad_plugin);
        let skips_bad = on_bad_plugin == OnBadPlugin::Skip;
        if skips_bad {
            // The host says itself what it does not take, as it does later.
            plugins.log_notes();
        } else {
            plugins.log();
        }
        if plugins.has_problems() && !skips_bad {
            return Err(Failed::Input(anyhow!(
                "nothing was started: mend what is named above; `queuelet check` shows it again"
            )));
        }
        if plugins.resolved.subscriptions.is_empty() && !skips_bad {
            return Err(Failed::Input(anyhow!(
                "no plugin in {} is mounted: put a .wasm file there",
                config.plugins.display()
            )));
        }

        let settings = self.aws.over(&config.aws)?;
        let local = match self.local {
            Some(listen) => Some(local::start(listen, self.snapshot.as_deref()).await?),
            None => None,
        };
        let connection = match &local {
            Some(server) => Connection::local(&server.endpoint(), &settings).await,
            None => Connection::open(&settings).await,
        };
        info!(
            endpoint = connection.endpoint(),
            region = connection.region(),
            "queues are those of"
        );
        let options = HostOptions {
            drain: self.drain.unwrap_or(config.drain),
            create_missing: local.is_some(),
            tap: None,
        };
        let drain = options.drain;
        let admin = self.admin.unwrap_or(config.admin);
        let host = WatchedHost::new(Arc::new(connection), options, config, skips_bad, plugins);
        let shutdown = Shutdown::default();
        let view = HostView::new(host.roster(), guests, &shutdown);
        // Before any queue is open, and until everything is over.
        let admin = serve_admin(admin, view).await?;
        let running = host.run(shutdown.clone(), || info!("started"));
        tokio::pin!(running);
        let ended = tokio::select! {
            ended = &mut running => ended,
            signal = signals.next() => {
                info!(
                    "{signal}: no more receives; handlers in flight have {drain:?}, and an open long \
                     poll ends by itself (SQS could hand messages to one that is cut); a second \
                     signal ends at once"
                );
                shutdown.stop.cancel();
                if let Some(server) = &local {
                    server.end_polls();
                }
                tokio::select! {
                    ended = &mut running => ended,
                    signal = signals.next() => {
                        warn!("{signal}: ended at once; what was held comes back when its visibility lapses");
                        return Ok(ExitCode::FAILURE);
                    }
                }
            }
        };
        let report = match ended {
            Ok(report) => report,
            Err(refused) => {
                for refused in refused {
                    error!("{refused}");
                }
                return Err(Failed::Input(anyhow!(
                    "nothing was received: mend what is named above"
                )));
            }
        };
        let is_kept = match local {
            Some(server) => server.stop().await,
            None => true,
        };
        if let Some(admin) = admin {
            admin.stop().await;
        }
        if report.left > 0 {
            warn!(
                messages = report.left,
                "stopped; the drain deadline interrupted messages, which come back"
            );
            return Ok(ExitCode::FAILURE);
        }
        if !is_kept {
            return Ok(ExitCode::FAILURE);
        }
        info!("stopped, nothing held");
        Ok(ExitCode::SUCCESS)
    }
}

/// Serves status, health and metrics where that is asked for. An address that nobody named is one
/// that the host can do without.
async fn serve_admin(admin: Admin, view: HostView) -> Result<Option<AdminServer>, Failed> {
    let server = match admin {
        Admin::Off => return Ok(None),
        Admin::At(address) => AdminServer::bind(address, view)
            .await
            .with_context(|| format!("the admin endpoint cannot listen on {address}"))
            .or_input()?,
        Admin::Default => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ADMIN_PORT));
            match AdminServer::bind(address, view).await {
                Ok(server) => server,
                Err(error) => {
                    warn!(
                        "no admin endpoint: {address} cannot be listened on ({error}), perhaps \
                         because another host has it; name another with --admin ADDRESS:PORT, or \
                         none with --admin off"
                    );
                    return Ok(None);
                }
            }
        }
    };
    let address = server.address();
    info!("admin endpoint: http://{address}");
    if !address.ip().to_canonical().is_loopback() {
        warn!(
            "the admin endpoint on {address} has no authentication: whoever reaches it can read how \
             this host is"
        );
    }
    Ok(Some(server))
}
