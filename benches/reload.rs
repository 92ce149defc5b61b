//! What reloads cost the messages that flow meanwhile: a plugin is replaced again and again, in
//! every way that people replace files, beside a run without a reload.
//!
//! The host is a process of its own. Fails where a message was lost, handled twice, or handled by a
//! version that was not live when it began; or where the 99th percentile of the pause between two
//! handled messages grew by over 100 ms.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};
use queuelet::build::build;
use queuelet::config::AwsSettings;
use queuelet::local::LocalServer;
use queuelet::plugin::Digest;
use queuelet::sqs::{AwsSqs, Connection, Outgoing, QueueUrl, Receive, SqsApi};
use serde::Deserialize;

use crate::host;

const A_SECOND: u64 = 500;
const SECONDS: u64 = 60;
const REPLACEMENTS: u32 = 50;
const ALLOWED_GROWTH: Duration = Duration::from_millis(100);
/// Milliseconds.
const LOG_LAG: u64 = 50;

/// Runs both and says what does not hold.
pub(crate) async fn holds() -> bool {
    match compare().await {
        Ok(()) => true,
        Err(error) => {
            eprintln!("{error:#}");
            false
        }
    }
}

async fn compare() -> anyhow::Result<()> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guest = build(&tree, &["guest-versioned"])?.remove(0);
    let component = fs::read(guest)?;
    let program = host::program()?;
    println!(
        "{A_SECOND} messages a second for {SECONDS} s, without a reload and with {REPLACEMENTS}"
    );
    println!("| run | handled | versions | pause p50 | p99 | longest |");
    println!("|---|---|---|---|---|---|");
    let alone = run(&program, &component, 0).await?;
    alone.print("no reload");
    let reloads = run(&program, &component, REPLACEMENTS).await?;
    reloads.print("reloads");
    let growth = reloads.percentile(99).saturating_sub(alone.percentile(99));
    println!("the 99th percentile grew by {growth:?}");
    ensure!(
        growth <= ALLOWED_GROWTH,
        "more than the {ALLOWED_GROWTH:?} that are allowed"
    );
    Ok(())
}

/// What a handled message tells of its handling.
#[derive(Deserialize)]
struct Handled {
    version: u32,
    began: u64,
    receive_count: u32,
    body: String,
}

struct Outcome {
    handled: usize,
    versions: usize,
    /// Between the beginnings of two handlings, sorted.
    pauses: Vec<Duration>,
}

impl Outcome {
    fn percentile(&self, of: usize) -> Duration {
        let place = self.pauses.len() * of / 100;
        self.pauses[place.min(self.pauses.len() - 1)]
    }

    fn print(&self, name: &str) {
        println!(
            "| {name} | {} | {} | {:?} | {:?} | {:?} |",
            self.handled,
            self.versions,
            self.percentile(50),
            self.percentile(99),
            self.percentile(100),
        );
    }
}

async fn run(program: &Path, component: &[u8], replacements: u32) -> anyhow::Result<Outcome> {
    let server = LocalServer::bind(([127, 0, 0, 1], 0).into()).await?;
    let connection = Connection::local(&server.endpoint(), &AwsSettings::default()).await;
    let api = connection.client(None)?;
    let source = api.create_queue("versioned", &[]).await?;
    let target = api.create_queue("handled", &[]).await?;

    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    fs::write(plugins.join("versioned.wasm"), version(component, 1))?;
    let mount = "queue = 'versioned'\nreply = 'handled'\nworkers = 4\nvisibility = '2m'\n";
    fs::write(plugins.join("versioned.toml"), mount)?;
    let host = Host::start(program, &plugins, &server.endpoint())?;

    let sent = A_SECOND * SECONDS;
    let sending = tokio::spawn(send(Arc::clone(&api), source));
    let replacing = tokio::task::spawn_blocking({
        let (component, folder) = (component.to_vec(), folder.path().to_owned());
        move || replace(&component, &folder, replacements)
    });
    let handled = collect(&*api, target, usize::try_from(sent)?).await?;
    sending.await??;
    replacing.await??;
    let swaps = host.stop()?;
    server.stop().await;
    let lives = lives(component, &swaps, replacements + 1);
    judge(handled, &lives, replacements + 1)
}

/// From when to when each version was live: milliseconds since 1970.
fn lives(component: &[u8], swaps: &[Swap], versions: u32) -> HashMap<u32, (u64, u64)> {
    let numbers: HashMap<_, _> = (1..=versions)
        .map(|number| {
            let digest = Digest::of(&version(component, number)).to_string();
            (digest, number)
        })
        .collect();
    let ends = swaps.iter().skip(1).map(|swap| swap.at);
    let lives = swaps.iter().zip(ends.chain([u64::MAX]));
    lives
        .filter_map(|(swap, end)| Some((*numbers.get(&swap.digest)?, (swap.at, end))))
        .collect()
}

/// A version that went live, by the host's log.
struct Swap {
    at: u64,
    digest: String,
}

/// The host, in a process of its own.
struct Host {
    child: Child,
    swaps: std::thread::JoinHandle<Vec<Swap>>,
}

impl Host {
    fn start(program: &Path, plugins: &Path, endpoint: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .env("QUEUELET_LOG_FORMAT", "json")
            .args(["run", "--admin", "off", "--region", "us-east-1"])
            .args(["--endpoint-url", endpoint, "--plugins"])
            .arg(plugins)
            .env("AWS_ACCESS_KEY_ID", "bench")
            .env("AWS_SECRET_ACCESS_KEY", "bench")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let swaps = std::thread::spawn(move || {
            let lines = lines.map_while(Result::ok);
            lines.filter_map(|line| swap(&line)).collect()
        });
        Ok(Self { child, swaps })
    }

    /// Stops it and answers which versions went live.
    fn stop(mut self) -> anyhow::Result<Vec<Swap>> {
        let pid = i32::try_from(self.child.id())?;
        let pid = rustix::process::Pid::from_raw(pid).context("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the host ended with {status}");
        let swaps = self.swaps.join();
        swaps.map_err(|_| anyhow::anyhow!("the host's log could not be read"))
    }
}

/// The version that a line of the log tells of. Other lines of the host are shown: there should be
/// none that matter.
fn swap(line: &str) -> Option<Swap> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    if matches!(line["level"].as_str(), Some("WARN" | "ERROR")) {
        eprintln!("{line}");
    }
    let message = line["message"].as_str()?;
    if !matches!(message, "loaded" | "replaced") {
        return None;
    }
    let at = humantime::parse_rfc3339(line["timestamp"].as_str()?).ok()?;
    let at = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Swap {
        at: u64::try_from(at.as_millis()).ok()?,
        digest: line["digest"].as_str()?.to_owned(),
    })
}

/// The component with another number in it.
fn version(component: &[u8], number: u32) -> Vec<u8> {
    let (old, new) = (
        "queuelet-version-0000001",
        format!("queuelet-version-{number:07}"),
    );
    let mut version = component.to_vec();
    let places: Vec<_> = version
        .windows(old.len())
        .enumerate()
        .filter_map(|(place, bytes)| (bytes == old.as_bytes()).then_some(place))
        .collect();
    assert_eq!(places.len(), 1, "the number stands once in the component");
    version[places[0]..][..new.len()].copy_from_slice(new.as_bytes());
    version
}

/// Sends in small batches, by absolute time.
async fn send(api: Arc<AwsSqs>, queue: QueueUrl) -> anyhow::Result<()> {
    let begun = tokio::time::Instant::now();
    for batch in 0..A_SECOND * SECONDS / 10 {
        tokio::time::sleep_until(
            begun + Duration::from_secs(10) * u32::try_from(batch)? / u32::try_from(A_SECOND)?,
        )
        .await;
        let messages: Vec<_> = (0..10)
            .map(|n| Outgoing {
                body: format!("message {}", batch * 10 + n),
                ..Outgoing::default()
            })
            .collect();
        for sent in api.send_batch(&queue, &messages).await? {
            sent?;
        }
    }
    Ok(())
}

/// Replaces the plugin through the time of sending, in each way in turn.
fn replace(component: &[u8], folder: &Path, times: u32) -> anyhow::Result<()> {
    let plugin = folder.join("plugins/versioned.wasm");
    for time in 0..times {
        let next = Instant::now() + Duration::from_secs(SECONDS) / times;
        let content = version(component, time + 2);
        replaced(&content, &plugin, folder, time)
            .with_context(|| format!("replacement {}", time + 1))?;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

fn replaced(content: &[u8], plugin: &Path, folder: &Path, time: u32) -> std::io::Result<()> {
    let aside = folder.join(format!("version-{time}.wasm"));
    match time % 6 {
        // cp: the file is cut to nothing and filled again.
        0 => fs::write(plugin, content),
        // mv
        1 => {
            fs::write(&aside, content)?;
            fs::rename(aside, plugin)
        }
        // install: removed, and made anew.
        2 => {
            fs::remove_file(plugin)?;
            fs::write(plugin, content)
        }
        // An editor: what was there moves to a backup, then the file is written.
        3 => {
            let backup = plugin.with_extension("wasm~");
            fs::rename(plugin, &backup)?;
            fs::write(plugin, content)?;
            fs::remove_file(backup)
        }
        // A link that is pointed elsewhere.
        4 => {
            fs::write(&aside, content)?;
            let link = folder.join("plugins/.link");
            std::os::unix::fs::symlink(aside, &link)?;
            fs::rename(link, plugin)
        }
        // A slow copy. What was a link is made a file again.
        _ => {
            fs::remove_file(plugin)?;
            let mut file = fs::File::create(plugin)?;
            for piece in content.chunks(content.len() / 5 + 1) {
                file.write_all(piece)?;
                std::thread::sleep(Duration::from_millis(80));
            }
            Ok(())
        }
    }
}

async fn collect(api: &dyn SqsApi, queue: QueueUrl, all: usize) -> anyhow::Result<Vec<Handled>> {
    let mut handled = Vec::with_capacity(all);
    let mut quiet = 0;
    while quiet < 2 {
        let receive = Receive {
            queue: queue.clone(),
            max: 10,
            // Everything is here: what comes now came twice.
            wait: Duration::from_secs(if handled.len() >= all { 1 } else { 10 }),
            visibility: None,
            attempt: None,
        };
        let received = api.receive(receive).await?;
        quiet = if received.is_empty() { quiet + 1 } else { 0 };
        let handles: Vec<_> = received
            .iter()
            .filter_map(|one| one.handle.clone())
            .collect();
        for one in &received {
            handled.push(serde_json::from_slice(&one.message.body)?);
        }
        if !handles.is_empty() {
            api.delete_batch(&queue, &handles).await?;
        }
    }
    Ok(handled)
}

/// What must hold of each message.
fn judge(
    mut handled: Vec<Handled>,
    lives: &HashMap<u32, (u64, u64)>,
    versions: u32,
) -> anyhow::Result<Outcome> {
    let mut times: HashMap<&str, u32> = HashMap::new();
    for one in &handled {
        *times.entry(&one.body).or_default() += 1;
    }
    let sent = usize::try_from(A_SECOND * SECONDS)?;
    ensure!(
        times.len() == sent,
        "{} of {sent} were handled",
        times.len()
    );
    let twice = times.values().filter(|times| **times > 1).count();
    ensure!(twice == 0, "{twice} were handled more than once");
    let again = handled.iter().filter(|one| one.receive_count != 1).count();
    ensure!(again == 0, "{again} were received more than once");

    handled.sort_by_key(|one| one.began);
    let last = handled.last().map_or(0, |one| one.version);
    ensure!(
        last == versions,
        "the last was handled by version {last}, not by the last file"
    );
    for one in &handled {
        let life = lives.get(&one.version);
        let (from, to) = life.with_context(|| format!("version {} never was live", one.version))?;
        // The log's clock and the guest's are one, but a line is written a moment after the swap.
        let live = from.saturating_sub(LOG_LAG)..=to.saturating_add(LOG_LAG);
        ensure!(
            live.contains(&one.began),
            "a message that began at {} was handled by version {}, which was live from {from} to {to}",
            one.began,
            one.version
        );
    }
    let mut seen: Vec<_> = handled.iter().map(|one| one.version).collect();
    seen.sort_unstable();
    seen.dedup();
    let mut pauses: Vec<_> = handled
        .windows(2)
        .map(|two| Duration::from_millis(two[1].began - two[0].began))
        .collect();
    pauses.sort_unstable();
    Ok(Outcome {
        handled: handled.len(),
        versions: seen.len(),
        pauses,
    })
}
