//! Whole hosts beside each other, each working off a backlog of one queue: a loop over the AWS SDK,
//! ruststream-sqs-sns, and queuelet in its modes.
//!
//! Each is a process of its own, started anew for each run, in turn, round after round: queuelet is the
//! program that users have, the server (local mode) and the others are this one, started again in a
//! [`Role`](crate::role::Role). What must hold is in [`claims`]. The peer is there with `--features peers`:
//!
//! ```text
//! cargo run --release -p benches --features peers -- compare
//! ```

mod claims;
mod contestant;
#[cfg(feature = "peers")]
pub(crate) mod peer;
pub(crate) mod raw;
mod report;
mod run;

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Parser;

pub(crate) use contestant::{Handed, Settle};

use crate::claim;
use crate::sample::Results;
use claims::claims;
use contestant::Contestant;
use report::Report;

/// Whole hosts beside each other
#[derive(Debug, Parser)]
#[command(name = "benches compare")]
struct Options {
    /// How many messages a run has [default: 20000, or 4000 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    messages: Option<u32>,
    /// How often each runs [default: 5, or 2 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// A look: few messages, few rounds, and nothing is written without --out
    #[arg(long)]
    quick: bool,
    /// Only those whose name has this in it; nothing is written without --out
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// The host to run [default: the one of this tree, which is built]
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    /// Where the tables and the plot go [default: docs/benchmarks]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Options {
    fn contestants(&self) -> Vec<Contestant> {
        let mut all = Contestant::all();
        all.retain(|one| {
            let name = one.to_string();
            self.only.is_empty() || self.only.iter().any(|text| name.contains(text))
        });
        all
    }

    /// Where the report goes, if it is to be kept: a part of it would replace the whole.
    fn out(&self) -> Option<PathBuf> {
        let is_whole =
            !self.quick && self.only.is_empty() && self.host.is_none() && cfg!(feature = "peers");
        let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        self.out.clone().or_else(|| is_whole.then(own))
    }
}

/// Whether everything holds that was measured.
pub(crate) fn holds(arguments: impl Iterator<Item = String>) -> bool {
    let name = "benches compare".to_owned();
    let options = Options::parse_from(std::iter::once(name).chain(arguments));
    match compare(&options) {
        Ok(holds) => holds,
        Err(error) => {
            eprintln!("{error:#}");
            false
        }
    }
}

fn compare(options: &Options) -> anyhow::Result<bool> {
    let (messages, rounds) = if options.quick {
        (4000, 2)
    } else {
        (20_000, 5)
    };
    let messages = options.messages.unwrap_or(messages);
    let rounds = options.rounds.unwrap_or(rounds);
    let contestants = options.contestants();
    ensure!(!contestants.is_empty(), "--only leaves nobody");
    let built = run::Built::with(options.host.clone())?;
    let runs = contestants.into_iter().map(|one| (one, Vec::new()));
    let mut results: Results<Contestant> = Results(runs.collect());
    for round in 1..=rounds {
        for (contestant, samples) in &mut results.0 {
            let sample = run::run(*contestant, messages, &built)?;
            eprintln!(
                "{round}/{rounds} {contestant}: {:.0} messages/s, {:.0} µs, {:.3} calls, {:.0} MiB",
                sample.pace(),
                sample.cpu(),
                sample.calls(),
                sample.peak()
            );
            samples.push(sample);
        }
    }
    let claims = claims(&results);
    let report = Report {
        messages,
        rounds,
        results: &results,
        claims: &claims,
    };
    println!("{}", report.markdown());
    if let Some(folder) = options.out() {
        report.write(&folder)?;
    }
    if !cfg!(feature = "peers") {
        eprintln!("without --features peers nothing was compared with ruststream-sqs-sns");
    }
    Ok(claim::all_hold(&claims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_report_does_not_replace_the_whole() {
        let out = |arguments: &[&str]| Options::parse_from(arguments).out();
        assert_eq!(out(&["compare"]).is_some(), cfg!(feature = "peers"));
        assert_eq!(out(&["compare", "--quick"]), None);
        assert_eq!(out(&["compare", "--only", "raw"]), None);
        assert_eq!(out(&["compare", "--host", "another"]), None);
        assert!(out(&["compare", "--quick", "--out", "here"]).is_some());
    }
}
