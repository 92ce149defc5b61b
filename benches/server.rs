//! The SQS of a run: local mode in a process of its own, which is told on stdin what to do and answers
//! each line with one of JSON on stdout. It also watches, since it is where every call arrives: it
//! takes the contestant's CPU time at the very calls that a run begins and ends with.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use queuelet::config::AwsSettings;
use queuelet::local::{CallCounts, LocalServer};
use queuelet::sqs::{AwsSqs, Connection, Outgoing, QueueUrl, SqsApi};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::order::{QUEUE, body};
use crate::process::{Started, cpu, peak_kib};
use crate::role::{ROLE, Role};
use crate::sample::Sample;

/// How often the calls are looked at: what a run's time is exact to.
const LOOK: Duration = Duration::from_millis(2);
/// How often the contestant is looked at, in looks.
const SELDOM: u32 = 100;
/// How long a run may take without a single delete.
const STUCK: Duration = Duration::from_secs(60);
/// How long the last deletes may take to be carried out.
const SETTLED: Duration = Duration::from_secs(5);
/// How many tasks fill the queue.
const FILLERS: u32 = 4;
/// How many messages a call takes.
const TOGETHER: u32 = 10;

/// What the server is told to do.
#[derive(Serialize, Deserialize)]
enum Told {
    /// Put so many messages into the queue.
    Fill(u32),
    /// Watch this process until it has deleted so many.
    Watch { process: u32, messages: u32 },
}

/// What it answers.
#[derive(Serialize, Deserialize)]
enum Answer {
    Listening(String),
    Filled,
    Watched(Sample),
    Failed(String),
}

/// The server of a run. It ends with its owner.
pub(crate) struct Server {
    _process: Started,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    endpoint: String,
}

impl Server {
    /// Starts it.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut process = Started::again(|command| {
            command.env(ROLE, Role::Server.name());
        })?;
        let orders = process.0.stdin.take().context("no stdin")?;
        let answers = process.0.stdout.take().context("no stdout")?;
        let mut server = Self {
            _process: process,
            orders,
            answers: BufReader::new(answers),
            endpoint: String::new(),
        };
        match server.answer()? {
            Answer::Listening(endpoint) => server.endpoint = endpoint,
            other => bail!(unexpected(other)),
        }
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Puts so many messages into the queue.
    pub(crate) fn fill(&mut self, messages: u32) -> anyhow::Result<()> {
        match self.told(&Told::Fill(messages))? {
            Answer::Filled => Ok(()),
            other => bail!(unexpected(other)),
        }
    }

    /// Waits until this process has deleted so many messages, and answers what that took.
    pub(crate) fn watch(&mut self, process: u32, messages: u32) -> anyhow::Result<Sample> {
        match self.told(&Told::Watch { process, messages })? {
            Answer::Watched(sample) => Ok(sample),
            other => bail!(unexpected(other)),
        }
    }

    fn told(&mut self, order: &Told) -> anyhow::Result<Answer> {
        writeln!(self.orders, "{}", serde_json::to_string(order)?)?;
        self.answer()
    }

    fn answer(&mut self) -> anyhow::Result<Answer> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line)?;
        ensure!(read > 0, "the server ended");
        Ok(serde_json::from_str(&line)?)
    }
}

fn unexpected(answer: Answer) -> String {
    match answer {
        Answer::Failed(why) => why,
        _ => "the server answered something else".to_owned(),
    }
}

/// Is the server, until stdin ends.
pub(crate) async fn serve() -> ExitCode {
    match serving().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the server: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serving() -> anyhow::Result<()> {
    let server = LocalServer::bind(([127, 0, 0, 1], 0).into()).await?;
    let connection = Connection::local(&server.endpoint(), &AwsSettings::default()).await;
    let api = connection.client(None)?;
    let queue = api.create_queue(QUEUE, &[]).await?;
    let (lines, mut orders) = tokio::sync::mpsc::channel(1);
    // Stdin is read by blocking: on a thread that ends with the process at the latest.
    std::thread::spawn(move || {
        let told = std::io::stdin().lines().map_while(Result::ok);
        told.for_each(|line| {
            // Nobody listens any more: the process is about to end.
            let _ = lines.blocking_send(line);
        });
    });
    say(&Answer::Listening(server.endpoint()))?;
    while let Some(line) = orders.recv().await {
        let done = match serde_json::from_str(&line)? {
            Told::Fill(messages) => fill(&api, &queue, messages).await,
            Told::Watch { process, messages } => {
                watch(&server, &api, &queue, process, messages).await
            }
        };
        say(&done.unwrap_or_else(|error| Answer::Failed(format!("{error:#}"))))?;
    }
    Ok(())
}

fn say(answer: &Answer) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(answer)?)?;
    Ok(stdout.flush()?)
}

async fn fill(api: &Arc<AwsSqs>, queue: &QueueUrl, messages: u32) -> anyhow::Result<Answer> {
    let mut filling = JoinSet::new();
    for filler in 0..FILLERS {
        let (api, queue) = (Arc::clone(api), queue.clone());
        filling.spawn(async move {
            let first = filler * TOGETHER;
            let step = (FILLERS * TOGETHER) as usize;
            for from in (first..messages).step_by(step) {
                let several: Vec<_> = (from..messages.min(from + TOGETHER))
                    .map(|id| Outgoing {
                        body: body(id.into()),
                        ..Outgoing::default()
                    })
                    .collect();
                for sent in api.send_batch(&queue, &several).await? {
                    sent?;
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(filled) = filling.join_next().await {
        filled??;
    }
    Ok(Answer::Filled)
}

async fn watch(
    server: &LocalServer,
    api: &AwsSqs,
    queue: &QueueUrl,
    process: u32,
    messages: u32,
) -> anyhow::Result<Answer> {
    let before = server.calls().all();
    let mut looks = tokio::time::interval(LOOK);
    let mut pulse = Pulse::new(process);
    while server.calls().of("ReceiveMessage", QUEUE) == 0 {
        looks.tick().await;
        pulse.check(0)?;
    }
    let (began, cpu_began) = (Instant::now(), cpu(process)?);
    let calls = loop {
        let calls = server.calls();
        let deleted = deleted(&calls);
        if deleted >= u64::from(messages) {
            break calls.all();
        }
        pulse.check(deleted)?;
        looks.tick().await;
    };
    let sample = Sample {
        messages,
        seconds: began.elapsed().as_secs_f64(),
        cpu_seconds: cpu(process)? - cpu_began,
        calls: u32::try_from(calls - before)?,
        peak_kib: peak_kib(process)?,
    };
    // A message that was deleted twice would hide one that was not.
    let until = Instant::now() + SETTLED;
    loop {
        let left = api.queue_attributes(queue).await?.backlog;
        if left == 0 {
            return Ok(Answer::Watched(sample));
        }
        ensure!(Instant::now() < until, "{left} messages were left");
        looks.tick().await;
    }
}

fn deleted(calls: &CallCounts) -> u64 {
    calls.entries("DeleteMessage", QUEUE) + calls.entries("DeleteMessageBatch", QUEUE)
}

/// Whether a contestant is alive and gets on.
struct Pulse {
    process: u32,
    looks: u32,
    deleted: u64,
    since: Instant,
}

impl Pulse {
    fn new(process: u32) -> Self {
        Self {
            process,
            looks: 0,
            deleted: 0,
            since: Instant::now(),
        }
    }

    fn check(&mut self, deleted: u64) -> anyhow::Result<()> {
        self.looks += 1;
        if !self.looks.is_multiple_of(SELDOM) {
            return Ok(());
        }
        cpu(self.process).context("the contestant")?;
        if deleted > self.deleted {
            (self.deleted, self.since) = (deleted, Instant::now());
        }
        ensure!(
            self.since.elapsed() < STUCK,
            "nothing was deleted for {STUCK:?}, after {deleted} messages"
        );
        Ok(())
    }
}
