//! The tables.

use std::fmt::Write;

use super::super::contestant::{Contestant, Who};
use super::{PLOT, Report, Row};
use crate::claim;
use crate::machine::Machine;
use crate::order::LENGTH;
use crate::sample::Sample;

impl Report<'_> {
    /// The document.
    pub(in super::super) fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text)
            .expect("a String takes whatever is written");
        text
    }

    fn write_markdown(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "# Beside the SDK and a peer

What `cargo run --release -p benches --features peers -- compare` showed. It wrote this file.

Each run works off a backlog of {messages} messages of {LENGTH} bytes of JSON, from the first receive to the last
delete, in a process of its own beside local mode's, which is another. All contestants run in turn, in {rounds} rounds.
Numbers are medians over the rounds, with the least and the greatest in parentheses; ratios are taken within each
round. CPU is that of the contestant's process; calls are counted where they arrive, those of the start among them.

Machine: {machine} throughout, ruststream-sqs-sns 0.7.1.

## What must hold

{claims}",
            messages = self.messages,
            rounds = self.rounds,
            machine = Machine::of_this(),
            claims = claim::table(self.claims).trim_end(),
        )?;
        writeln!(
            text,
            "
## All numbers

![Messages a second and CPU a message]({PLOT})

The SDK loop is 16 tasks that each receive ten messages, decode them and delete them, one by one or in one call.
ruststream-sqs-sns has a native handler. Of queuelet are named the instances (a fresh one for each call, or reused), how
it settles, what the handler is handed, and the workers; `fresh, each, single` is the default. \"of SDK\" is
beside the SDK loop that deletes in the same way, \"of ruststream\" beside ruststream-sqs-sns with as many workers.

| contestant | messages/s | of SDK | of ruststream | CPU µs | of SDK | calls | peak MiB |
|---|---|---|---|---|---|---|---|"
        )?;
        for row in self.rows() {
            self.write_row(text, &row)?;
        }
        Ok(())
    }

    fn write_row(&self, text: &mut String, row: &Row) -> std::fmt::Result {
        let one = row.contestant;
        let raw = Contestant::raw(one.settle);
        let peer = Contestant::ruststream(one.workers);
        let ratio = |other, number| {
            let ratio = self.results.ratio(one, other, number);
            ratio.map_or(String::new(), |ratio| format!("{:.2}", ratio.median))
        };
        let of_peer = if one.who == Who::Raw {
            String::new()
        } else {
            ratio(peer, Sample::pace)
        };
        writeln!(
            text,
            "| {one} | {} | {} | {of_peer} | {} | {} | {:.3} | {:.0} |",
            row.pace.whole(),
            ratio(raw, Sample::pace),
            row.cpu.whole(),
            ratio(raw, Sample::cpu),
            row.calls.median,
            row.peak.max,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_report;

    #[test]
    fn a_row_has_the_medians_and_the_ratios_within_rounds() {
        with_report(|report| {
            let text = report.markdown();
            let row = "| queuelet, fresh, each, single, 16 | 900 (900 to 1100) | 0.90 |  | 250 (250 to 250) | 1.00 | 1.100 | 20 |";
            assert!(text.contains(row), "{text}");
        });
    }

    #[test]
    fn each_claim_says_whether_it_holds() {
        with_report(|report| {
            let text = report.markdown();
            let says = |line: &str| assert!(text.contains(line), "{text}");
            says("SDK loop | at least 0.9 | 0.90 (0.75 to 1.00) | holds |");
            says("ruststream-sqs-sns | at least 3 |  | not measured |");
        });
    }
}
