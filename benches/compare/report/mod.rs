//! What is said of a comparison: tables, numbers to read by machine, and a plot.

mod markdown;
mod plot;

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::contestant::Contestant;
use crate::claim::{self, Claim};
use crate::machine::Machine;
use crate::order::LENGTH;
use crate::sample::{Results, Sample, Spread};

/// The plot's file, beside the tables.
const PLOT: &str = "compare.svg";

/// A comparison, told.
pub(super) struct Report<'a> {
    pub(super) messages: u32,
    pub(super) rounds: u16,
    pub(super) results: &'a Results<Contestant>,
    pub(super) claims: &'a [Claim],
}

/// One contestant's numbers.
struct Row {
    contestant: Contestant,
    pace: Spread,
    cpu: Spread,
    calls: Spread,
    peak: Spread,
}

impl Report<'_> {
    /// Those that ran.
    fn rows(&self) -> Vec<Row> {
        let row = |contestant| {
            Some(Row {
                contestant,
                pace: self.results.spread(contestant, Sample::pace)?,
                cpu: self.results.spread(contestant, Sample::cpu)?,
                calls: self.results.spread(contestant, Sample::calls)?,
                peak: self.results.spread(contestant, Sample::peak)?,
            })
        };
        let contestants = self.results.0.iter().map(|(contestant, _)| *contestant);
        contestants.filter_map(row).collect()
    }

    /// Everything, for a machine: the runs themselves too.
    fn json(&self) -> anyhow::Result<String> {
        #[derive(Serialize)]
        struct Document<'a, C> {
            machine: Machine,
            messages: u32,
            message_bytes: usize,
            rounds: u16,
            claims: Vec<C>,
            contestants: Vec<Ran<'a>>,
        }
        #[derive(Serialize)]
        struct Ran<'a> {
            name: String,
            #[serde(flatten)]
            contestant: Contestant,
            messages_per_second: Spread,
            cpu_micros_per_message: Spread,
            calls_per_message: Spread,
            peak_mib: Spread,
            runs: &'a [Sample],
        }
        let ran = |row: Row| Ran {
            name: row.contestant.to_string(),
            contestant: row.contestant,
            messages_per_second: row.pace,
            cpu_micros_per_message: row.cpu,
            calls_per_message: row.calls,
            peak_mib: row.peak,
            runs: self.results.of(row.contestant).unwrap_or_default(),
        };
        let document = Document {
            machine: Machine::of_this(),
            messages: self.messages,
            message_bytes: LENGTH,
            rounds: self.rounds,
            claims: claim::judged(self.claims),
            contestants: self.rows().into_iter().map(ran).collect(),
        };
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    /// Writes all three into a folder.
    ///
    /// # Errors
    /// Where it cannot be written to.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("compare.md"), self.markdown())?;
        fs::write(folder.join("compare.json"), self.json()?)?;
        fs::write(folder.join(PLOT), plot::plot(&self.rows()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::claims;
    use super::super::contestant::{Instances, MANY, Settle};
    use super::*;
    use crate::sample::tests::at_pace;

    /// A report of two contestants, handed to who looks at it.
    pub(super) fn with_report(look: impl FnOnce(&Report<'_>)) {
        let results = Results(vec![
            (
                Contestant::raw(Settle::Each),
                [1000.0, 1100.0, 1200.0].map(at_pace).into(),
            ),
            (
                Contestant::queuelet(Instances::Fresh, Settle::Each, MANY),
                [900.0, 1100.0, 900.0].map(at_pace).into(),
            ),
        ]);
        look(&Report {
            messages: 1000,
            rounds: 3,
            results: &results,
            claims: &claims(&results),
        });
    }

    #[test]
    fn the_json_has_every_run_and_whether_each_claim_holds() {
        with_report(|report| {
            let json = report.json().expect("it can be written");
            let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
            assert_eq!(
                json["contestants"][1]["messages_per_second"]["median"],
                900.0
            );
            let runs = json["contestants"][0]["runs"].as_array();
            assert_eq!(runs.map(Vec::len), Some(3));
            assert_eq!(json["claims"][0]["holds"], serde_json::Value::Null);
            assert_eq!(json["claims"][1]["holds"], true);
        });
    }

    #[test]
    fn three_files_are_written() {
        let folder = tempfile::tempdir().expect("a folder");
        with_report(|report| report.write(folder.path()).expect("it can be written"));
        for file in ["compare.md", "compare.json", "compare.svg"] {
            assert!(folder.path().join(file).is_file(), "{file}");
        }
    }
}
