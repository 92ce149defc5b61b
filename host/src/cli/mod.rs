//! The command line: one file a subcommand.
//!
//! Exit codes: 0 fine, 1 failed while running, 2 wrong input.

/// Prints a line on stdout. A reader that has gone (`queuelet check | head -1`) is its own choice.
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($line)*);
    }};
}

/// Prints a line on stderr, if anybody reads it.
macro_rules! complain {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($line)*);
    }};
}

mod check;
mod demo;
mod inspect;
mod local;
mod options;
mod run;
mod send;
mod signals;
mod status;
mod subscribe;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::SqsError;
use crate::observe::{LogFormat, init_logging};

/// A native host for Amazon SQS consumers whose handlers are WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "queuelet", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    logs: Logs,
}

#[derive(Debug, clap::Args)]
struct Logs {
    /// Which lines are logged to stderr: a level (off, error, warn, info, debug, trace), or filters as
    /// `queuelet=debug,warn`. Filters without a level alone leave what they do not name at info, and
    /// libraries at warn
    #[arg(long, global = true, value_name = "FILTER", env = "QUEUELET_LOG")]
    log: Option<String>,
    /// How log lines look
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "QUEUELET_LOG_FORMAT"
    )]
    log_format: Option<LogFormat>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Receive from the queues that the plugins are mounted on, until SIGTERM
    Run(run::Run),
    /// Build the example plugins, run them in local mode, and show what happens
    Demo(demo::Demo),
    /// Serve a local SQS and SNS alone, for any AWS client, until SIGTERM
    Local(local::Local),
    /// Say how a running host is: its plugins, queues, circuits and counts
    Status(status::StatusOf),
    /// Check every plugin and every mount, with no network call
    Check(check::Check),
    /// Say what a plugin's file is
    Inspect(inspect::Inspect),
    /// Send a message to a queue
    Send(send::SendMessage),
    /// Subscribe a queue to a topic, and let the topic send to it
    Subscribe(subscribe::Subscribe),
}

/// How a command ended.
type Outcome = Result<ExitCode, Failed>;

/// A command that failed, and its exit code.
enum Failed {
    /// What was given is wrong: exit code 2.
    Input(anyhow::Error),
    /// It failed while running: exit code 1.
    Running(anyhow::Error),
}

/// Says which exit code an error has.
trait ExitAs<T> {
    /// What was given is wrong.
    fn or_input(self) -> Result<T, Failed>;
    /// It failed while running.
    fn or_running(self) -> Result<T, Failed>;
}

impl<T, E: Into<anyhow::Error>> ExitAs<T> for Result<T, E> {
    fn or_input(self) -> Result<T, Failed> {
        self.map_err(|error| Failed::Input(error.into()))
    }

    fn or_running(self) -> Result<T, Failed> {
        self.map_err(|error| Failed::Running(error.into()))
    }
}

/// Runs the command line of this process and answers its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = cli.logs.log.as_deref().unwrap_or(cli.command.default_log());
    // Lines are written by a thread of their own, which has its last ones out before we end.
    let _lines = match init_logging(cli.logs.log_format.unwrap_or_default(), filter) {
        Ok(lines) => lines,
        Err(error) => {
            complain!("error: --log {filter}: {error}");
            return ExitCode::from(2);
        }
    };
    // SQS I/O and timers; guests have threads of their own.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .thread_name("io")
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            complain!("error: the I/O threads could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(cli.command.run());
    // What is still open (a connection, a blocking read) must not hold up the exit.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => code,
        Err(Failed::Input(error)) => {
            complain!("error: {error:#}");
            ExitCode::from(2)
        }
        Err(Failed::Running(error)) => {
            complain!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Command {
    async fn run(self) -> Outcome {
        match self {
            Self::Run(run) => run.run().await,
            Self::Demo(demo) => demo.run().await,
            Self::Local(local) => local.run().await,
            Self::Status(status) => status.run().await,
            Self::Check(check) => check.run().await,
            Self::Inspect(inspect) => inspect.run().await,
            Self::Send(send) => send.run().await,
            Self::Subscribe(subscribe) => subscribe.run().await,
        }
    }

    /// What is logged where nobody says.
    fn default_log(&self) -> &'static str {
        match self {
            Self::Run(_) | Self::Local(_) => "info",
            // The demo shows what happens by itself.
            Self::Demo(_) => "warn,queuelet=error",
            Self::Check(_)
            | Self::Inspect(_)
            | Self::Send(_)
            | Self::Status(_)
            | Self::Subscribe(_) => "warn,aws_config=error",
        }
    }
}

/// An error of a call, with what can be done about it.
fn advised(error: SqsError) -> anyhow::Error {
    match error.remedy().advice_for_any_call() {
        "" => anyhow::Error::new(error),
        advice => anyhow::anyhow!("{error}{advice}"),
    }
}

/// Prints a value as one JSON document on stdout.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failed> {
    use std::io::Write;
    let text = serde_json::to_string_pretty(value).or_running()?;
    writeln!(std::io::stdout().lock(), "{text}").or_running()
}
