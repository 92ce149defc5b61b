//! `queuelet demo`: the main job, from an empty folder to a table, in local mode.

mod script;
mod tally;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use serde::Serialize;
use serde_json::json;

use self::script::{Expected, MAX_RECEIVES, PLUGINS, REDRIVE, REPLIES, SCENES, Scene};
use self::tally::Tally;
use super::options::guests;
use super::{ExitAs, Outcome, print_json};
use crate::Shutdown;
use crate::build::build;
use crate::config::{AwsSettings, HostConfig};
use crate::host::{Host, HostOptions, Plugins};
use crate::local::LocalServer;
use crate::observe::Tap;
use crate::sqs::{AwsSqs, Connection, Outgoing, QueueUrl, Receive, SqsApi};

/// How long the messages may take. They take about twelve seconds.
const PATIENCE: Duration = Duration::from_secs(25);

/// Build the example plugins, run them in local mode, and show what happens.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Print one JSON document on stdout: ok, queues. What happens is shown on stderr
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document {
    ok: bool,
    queues: Vec<Row>,
}

/// What came of one queue.
#[derive(Debug, Serialize)]
struct Row {
    queue: &'static str,
    /// Messages that the demo sent there.
    sent: usize,
    /// Messages handled to the end.
    handled: usize,
    /// Replies that lie on the reply queue.
    replied: usize,
    /// Times that a message was put back, to be handed out again.
    retried: usize,
    /// Messages that lie on the dead-letter queue.
    dead_lettered: usize,
    /// Messages still on the queue.
    left: usize,
    /// Messages handed to a handler although they were finished, or still being handled.
    handled_twice: usize,
}

impl Row {
    fn is(&self, expected: Expected) -> bool {
        let came = Expected {
            handled: self.handled,
            replied: self.replied,
            retried: self.retried,
            dead_lettered: self.dead_lettered,
        };
        came == expected && self.left == 0 && self.handled_twice == 0
    }
}

/// The tallies of the queues, by name.
type Tallies = Arc<Mutex<HashMap<Arc<str>, Tally>>>;

impl Demo {
    pub(super) async fn run(self) -> Outcome {
        self.say("building the example plugins into plugins/");
        let folder = tokio::task::spawn_blocking(build_plugins)
            .await
            .context("the build ended by a fault of ours")
            .and_then(|built| built)
            .or_running()?;
        let guests = guests()?;
        let config = HostConfig::default();
        let plugins = Plugins::load(&guests, &config, &folder, &PLUGINS).await;
        plugins.log();
        if plugins.has_problems() {
            return Err(anyhow::anyhow!("the example plugins cannot be mounted")).or_input();
        }
        let rows = self.play(config, &plugins).await.or_running()?;
        let ok = SCENES
            .iter()
            .zip(&rows)
            .all(|(scene, row)| row.is(scene.expected));
        if self.json {
            print_json(&Document { ok, queues: rows })?;
        } else {
            print(&rows, ok);
        }
        Ok(if ok {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn say(&self, line: &str) {
        if self.json {
            complain!("{line}");
        } else {
            say!("{line}");
        }
    }

    async fn play(&self, config: HostConfig, plugins: &Plugins) -> Result<Vec<Row>> {
        let server = LocalServer::bind(([127, 0, 0, 1], 0).into())
            .await
            .context("the local SQS cannot listen")?;
        let endpoint = server.endpoint();
        self.say(&format!("a local SQS listens on {endpoint}\n"));
        for scene in &SCENES {
            if !scene.shows.is_empty() {
                self.say(&format!("  {:<9} {}", scene.queue, scene.shows));
            }
        }
        self.say("");
        let connection = Arc::new(Connection::local(&endpoint, &AwsSettings::default()).await);
        let api = connection.client(None)?;
        prepare_redrive(&api).await?;
        // Before the host starts, so that a receive brings several and a batch is one.
        let urls = send_all(&api).await?;

        let tallies = Tallies::default();
        let options = HostOptions {
            drain: config.drain,
            create_missing: true,
            tap: Some(self.tap(&tallies)),
        };
        let host = Host::new(connection, options, plugins.mounts());
        let shutdown = Shutdown::default();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let running = tokio::spawn(host.run(shutdown.clone(), || {
            let _ = ready.send(());
        }));
        is_ready.await.context("the host did not start")?;

        let finished = wait(&api, &urls).await;
        shutdown.stop.cancel();
        server.end_polls();
        let report = running.await.context("the host failed")?;
        if let Err(refused) = report {
            bail!("the host refused to start: {refused:?}");
        }
        let rows = self.count(&api, &urls, &tallies).await;
        server.stop().await;
        finished?;
        rows
    }

    /// Counts and shows each event of the host.
    fn tap(&self, tallies: &Tallies) -> Tap {
        let (tallies, json, since) = (Arc::clone(tallies), self.json, Instant::now());
        Arc::new(move |source, message, event| {
            if let Some(message) = message {
                let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
                let tally = tallies.entry(Arc::clone(&source.queue)).or_default();
                tally.take(message, event);
            }
            match tally::line(since, source, message, event) {
                Some(line) if json => complain!("{line}"),
                Some(line) => say!("{line}"),
                None => {}
            }
        })
    }

    async fn count(&self, api: &AwsSqs, urls: &[QueueUrl], tallies: &Tallies) -> Result<Vec<Row>> {
        let replied = read_replies(api).await?;
        let (redriven, dead_letters) = REDRIVE;
        let mut rows = Vec::new();
        for (scene, url) in SCENES.iter().zip(urls) {
            let tally = tallies
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(scene.queue)
                .cloned()
                .unwrap_or_default();
            rows.push(Row {
                queue: scene.queue,
                sent: scene.bodies.len(),
                handled: tally.handled,
                replied: if scene.expected.replied > 0 {
                    replied
                } else {
                    0
                },
                retried: tally.retried,
                dead_lettered: if scene.queue == redriven {
                    backlog(api, &api.queue_url(dead_letters, None).await?).await?
                } else {
                    0
                },
                left: backlog(api, url).await?,
                handled_twice: tally.handled_twice,
            });
        }
        Ok(rows)
    }
}

/// Builds the example plugins and answers their folder.
fn build_plugins() -> Result<PathBuf> {
    let tree = source_tree()?;
    let made = build(&tree, &PLUGINS)?;
    let folder = tree.join("plugins");
    let files = PLUGINS.map(|name| folder.join(format!("{name}.wasm")));
    for (made, file) in made.iter().zip(&files) {
        // Put in its place whole: a host that looks at the folder never sees half of it.
        let part = file.with_extension("wasm.part");
        std::fs::copy(made, &part)
            .and_then(|_| std::fs::rename(&part, file))
            .with_context(|| format!("{} could not be written", file.display()))?;
    }
    Ok(folder)
}

/// The folder above or around us that holds the example plugins' sources.
fn source_tree() -> Result<PathBuf> {
    let mut starts = vec![std::env::current_dir().context("no working directory")?];
    // `cargo run` says where the crate lies, wherever it is called from.
    starts.extend(std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from));
    starts
        .iter()
        .flat_map(|start| start.ancestors())
        .find(|folder| folder.join("plugins/report/Cargo.toml").is_file())
        .map(Path::to_owned)
        .context(
            "the demo builds the example plugins from queuelet's sources: run it in a clone of \
             the repository",
        )
}

/// Makes the queue with the redrive policy and its dead-letter queue, as an operator would have.
async fn prepare_redrive(api: &AwsSqs) -> Result<()> {
    let (queue, dead_letters) = REDRIVE;
    api.create_queue(dead_letters, &[]).await?;
    let policy = json!({
        "deadLetterTargetArn": format!("arn:aws:sqs:us-east-1:000000000000:{dead_letters}"),
        "maxReceiveCount": MAX_RECEIVES,
    });
    api.create_queue(queue, &[("RedrivePolicy", &policy.to_string())])
        .await?;
    Ok(())
}

/// Sends every message of the script and answers the queues' URLs, in the script's order.
async fn send_all(api: &AwsSqs) -> Result<Vec<QueueUrl>> {
    let mut urls = Vec::new();
    for Scene { queue, bodies, .. } in &SCENES {
        let url = match *queue {
            queue if queue == REDRIVE.0 => api.queue_url(queue, None).await?,
            queue => api.create_queue(queue, &[]).await?,
        };
        for body in *bodies {
            let message = Outgoing {
                body: (*body).to_owned(),
                ..Outgoing::default()
            };
            api.send(&url, &message).await?;
        }
        urls.push(url);
    }
    Ok(urls)
}

/// Waits until every queue is empty.
async fn wait(api: &AwsSqs, urls: &[QueueUrl]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let mut left = 0;
        for url in urls {
            left += backlog(api, url).await?;
        }
        if left == 0 {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < PATIENCE,
            "{left} messages were still there after {PATIENCE:?}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn backlog(api: &AwsSqs, url: &QueueUrl) -> Result<usize> {
    let attributes = api.queue_attributes(url).await?;
    Ok(usize::try_from(attributes.backlog)?)
}

/// Reads the replies as whoever waits for them would, and answers how many orders have one.
async fn read_replies(api: &AwsSqs) -> Result<usize> {
    let queue = api.queue_url(REPLIES, None).await?;
    let mut orders = BTreeSet::new();
    loop {
        let replies = api
            .receive(Receive {
                queue: queue.clone(),
                max: 10,
                wait: Duration::ZERO,
                visibility: None,
                attempt: None,
            })
            .await?;
        if replies.is_empty() {
            return Ok(orders.len());
        }
        for reply in replies {
            let body: serde_json::Value = serde_json::from_slice(&reply.message.body)?;
            let order = body["order"].as_str().unwrap_or_default().to_owned();
            ensure!(
                orders.insert(order.clone()),
                "order {order} was replied to twice"
            );
            if let Some(handle) = &reply.handle {
                api.delete(&queue, handle).await?;
            }
        }
    }
}

fn print(rows: &[Row], ok: bool) {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header([
        "queue",
        "sent",
        "handled",
        "replied",
        "retried",
        "dead-lettered",
        "left",
        "handled twice",
    ]);
    for row in rows {
        let numbers = [
            row.sent,
            row.handled,
            row.replied,
            row.retried,
            row.dead_lettered,
            row.left,
            row.handled_twice,
        ];
        let cells = numbers.map(|number| number.to_string());
        table.add_row(std::iter::once(row.queue.to_owned()).chain(cells));
    }
    say!("\n{table}");
    say!(
        "{}",
        if ok {
            "as expected"
        } else {
            "NOT as expected; please report this"
        }
    );
}
