//! The binary as a child: its arguments, its environment, its lines, its end.

use std::io;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::folder::Folder;
use crate::{LOOK, PATIENCE, until, when};

/// `queuelet` with these arguments and nothing of this process's environment. Nothing listens where
/// its SQS would be, unless a test says otherwise.
pub(crate) fn queuelet(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuelet"));
    // A home of its own keeps profiles out, and its cache of compiled guests between the tests.
    let home = env!("CARGO_TARGET_TMPDIR");
    command
        .args(args)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        // Hosts run beside each other here, and all of them would want the same port.
        .env("QUEUELET_ADMIN", "off")
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .current_dir(home)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs `queuelet` to its end.
pub(crate) async fn output(args: &[&str]) -> Finished {
    Finished::of(queuelet(args).output().await)
}

/// How a process ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn of(output: io::Result<Output>) -> Self {
        let output = output.expect("the binary starts");
        let text = |bytes| String::from_utf8(bytes).expect("what it writes is text");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// What it printed, which is JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that it ended by wrong input and said all of this.
    pub(crate) fn assert_refused(&self, says: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        for word in says {
            assert!(
                self.stderr.contains(word),
                "it does not say {word:?}: {self:?}"
            );
        }
    }
}

/// A line of a log.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// The line's fields, where it is one of the host's log.
    pub(crate) fields: Value,
}

impl Line {
    /// A field's text, or none.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.field("message")
    }

    pub(crate) fn receive_count(&self) -> u64 {
        self.fields["receive_count"].as_u64().unwrap_or_default()
    }

    /// When it was written, in seconds.
    pub(crate) fn at(&self) -> f64 {
        let time = self.field("timestamp");
        let moment = humantime::parse_rfc3339(time).expect("a log line has its time");
        let since = moment.duration_since(std::time::UNIX_EPOCH);
        since.expect("it is not 1969").as_secs_f64()
    }
}

/// A process that runs.
pub(crate) struct Process {
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

/// What a pipe has brought.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    lines: Vec<Line>,
    /// Whether the process has closed its end, which it does by ending.
    over: bool,
}

impl Lines {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        command
            .env("QUEUELET_LOG", "info,queuelet=debug")
            .env("QUEUELET_LOG_FORMAT", "json");
        Self::start_as_it_is(command)
    }

    /// A process whose log is what its command says.
    pub(crate) fn start_as_it_is(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        Self {
            stdout: collect(child.stdout.take().expect("it is piped")),
            stderr: collect(child.stderr.take().expect("it is piped")),
            child,
        }
    }

    /// `run` with the plugins of `folder` against the SQS at `endpoint`.
    pub(crate) fn run(folder: &Folder, endpoint: &str, more: &[&str]) -> Self {
        let args = ["run", "--plugins", folder.arg()];
        let mut command = queuelet(&[&args, more].concat());
        command.env("AWS_ENDPOINT_URL", endpoint);
        Self::start(command)
    }

    /// `run --local`, and the endpoint that it says. What the environment says of another goes for
    /// nothing.
    pub(crate) async fn run_local(folder: &Folder) -> (Self, String) {
        let process = Self::start(queuelet(&["run", "--local", "--plugins", folder.arg()]));
        let endpoint = process.first_line().await;
        (process, endpoint)
    }

    /// The first line of stdout, once it is there.
    pub(crate) async fn first_line(&self) -> String {
        until("a line on stdout", async || {
            let kept = self.stdout.kept();
            kept.lines.first().map(|line| line.text.clone())
        })
        .await
    }

    /// Everything on stdout so far.
    pub(crate) fn stdout(&self) -> Vec<String> {
        let kept = self.stdout.kept();
        kept.lines.iter().map(|line| line.text.clone()).collect()
    }

    /// The log so far.
    pub(crate) fn log(&self) -> Vec<Line> {
        self.stderr.kept().lines.clone()
    }

    /// The lines of the log so far that `is` takes.
    pub(crate) fn lines(&self, is: impl Fn(&Line) -> bool) -> Vec<Line> {
        let mut lines = self.log();
        lines.retain(is);
        lines
    }

    /// The lines so far of one queue with this message.
    pub(crate) fn of(&self, queue: &str, message: &str) -> Vec<Line> {
        self.lines(|line| line.field("queue") == queue && line.message() == message)
    }

    /// Waits for so many lines that `is` takes, and answers them.
    pub(crate) async fn logs(
        &self,
        what: &str,
        count: usize,
        is: impl Fn(&Line) -> bool,
    ) -> Vec<Line> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Asked first: what it wrote before its end counts.
            let over = self.stderr.kept().over;
            let lines = self.lines(&is);
            if lines.len() >= count {
                return lines;
            }
            let seen = lines.len();
            assert!(
                !over,
                "it ended with {seen} of {count} × {what}; {}",
                self.tail()
            );
            assert!(
                Instant::now() < deadline,
                "waited in vain: {seen} of {count} × {what}; {}",
                self.tail()
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits for so many lines of one queue with this message.
    pub(crate) async fn logs_of(&self, queue: &str, message: &str, count: usize) -> Vec<Line> {
        self.logs(&format!("{message:?} on {queue}"), count, |line| {
            line.field("queue") == queue && line.message() == message
        })
        .await
    }

    /// Waits for so many failures of handlers of one queue, and answers their lines.
    pub(crate) async fn failures(&self, queue: &str, count: usize) -> Vec<Line> {
        self.logs(&format!("failure on {queue}"), count, |line| {
            line.field("queue") == queue && !line.field("reason").is_empty()
        })
        .await
    }

    /// Waits until every queue of its mounts has been tried.
    pub(crate) async fn started(&self) {
        self.logs("\"started\"", 1, |line| line.message() == "started")
            .await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id as i32));
        kill_process(pid.expect("it still runs"), signal).expect("it can be signalled");
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end and answers the exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let status = match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => status.expect("it can be waited for"),
            Err(_) => panic!("it did not end; {}", self.tail()),
        };
        until("the rest of what it wrote", async || {
            when(self.stdout.kept().over && self.stderr.kept().over)
        })
        .await;
        status.code()
    }

    /// The end of the log, for whoever reads of a test that failed.
    fn tail(&self) -> String {
        let log = self.log();
        let last = log.iter().rev().take(40).rev();
        let lines: Vec<_> = last.map(|line| line.text.as_str()).collect();
        format!("the end of the log:\n{}", lines.join("\n"))
    }
}

fn collect(pipe: impl AsyncRead + Unpin + Send + 'static) -> Lines {
    let lines = Lines::default();
    let filled = lines.clone();
    // It ends with the pipe.
    tokio::spawn(async move {
        let mut reader = BufReader::new(pipe).lines();
        while let Ok(Some(text)) = reader.next_line().await {
            let fields = serde_json::from_str(&text).unwrap_or_default();
            filled.kept().lines.push(Line { text, fields });
        }
        filled.kept().over = true;
    });
    lines
}
