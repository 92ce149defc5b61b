//! What must hold.

use serde::Serialize;

use super::contestant::{Contestant, Instances, MANY, Settle};
use super::sample::{Results, Sample, Spread};

/// Where a number must lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// One thing that must hold, of the median over the rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Claim {
    pub(super) what: &'static str,
    pub(super) bound: Bound,
    /// None where those that it is about did not run.
    pub(super) measured: Option<Spread>,
}

impl Claim {
    /// Whether it holds, where it was measured.
    pub(super) fn holds(&self) -> Option<bool> {
        let measured = self.measured?.median;
        Some(match self.bound {
            Bound::AtLeast(bound) => measured >= bound,
            Bound::AtMost(bound) => measured <= bound,
        })
    }
}

/// All of them.
pub(super) fn claims(results: &Results) -> Vec<Claim> {
    use Bound::{AtLeast, AtMost};
    let raw = Contestant::raw(Settle::Each);
    let raw_batched = Contestant::raw(Settle::Batched);
    let peer = Contestant::ruststream(MANY);
    let default = Contestant::queuelet(Instances::Fresh, Settle::Each, MANY);
    let batched = Contestant::queuelet(Instances::Fresh, Settle::Batched, MANY);
    let reused = Contestant::queuelet(Instances::Reuse, Settle::Batched, MANY);
    let in_order = Contestant::queuelet(Instances::Fresh, Settle::Each, 1);
    let claim = |what, bound, measured| Claim {
        what,
        bound,
        measured,
    };
    let pace = |one, other| results.ratio(one, other, Sample::pace);
    vec![
        claim(
            "default, 16 workers: messages/s beside ruststream-sqs-sns",
            AtLeast(1.0),
            pace(default, peer),
        ),
        claim(
            "default, 16 workers: messages/s beside the SDK loop",
            AtLeast(0.9),
            pace(default, raw),
        ),
        claim(
            "default, 16 workers: CPU a message beside the SDK loop",
            AtMost(1.15),
            results.ratio(default, raw, Sample::cpu),
        ),
        claim(
            "batched, 16 workers: messages/s beside ruststream-sqs-sns",
            AtLeast(3.0),
            pace(batched, peer),
        ),
        claim(
            "batched, reused instances, 16 workers: messages/s beside the SDK loop that batches",
            AtLeast(0.8),
            pace(reused, raw_batched),
        ),
        claim(
            "batched, 16 workers: calls a message",
            AtMost(0.25),
            results.spread(batched, Sample::calls),
        ),
        claim(
            "batched, reused instances, 16 workers: calls a message",
            AtMost(0.25),
            results.spread(reused, Sample::calls),
        ),
        claim(
            "default, 1 worker, in order: messages/s beside ruststream-sqs-sns",
            AtLeast(1.5),
            pace(in_order, Contestant::ruststream(1)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::at_pace;
    use super::*;

    #[test]
    fn what_did_not_run_neither_holds_nor_fails() {
        let claims = claims(&Results::default());
        assert!(claims.iter().all(|claim| claim.holds().is_none()));
    }

    #[test]
    fn a_bound_counts_itself_in() {
        let claim = |bound| Claim {
            what: "",
            bound,
            measured: Spread::of([0.9]),
        };
        assert_eq!(claim(Bound::AtLeast(0.9)).holds(), Some(true));
        assert_eq!(claim(Bound::AtLeast(0.91)).holds(), Some(false));
        assert_eq!(claim(Bound::AtMost(0.9)).holds(), Some(true));
        assert_eq!(claim(Bound::AtMost(0.89)).holds(), Some(false));
    }

    #[test]
    fn the_default_is_held_to_the_raw_loop() {
        let default = Contestant::queuelet(Instances::Fresh, Settle::Each, MANY);
        let results = Results(vec![
            (Contestant::raw(Settle::Each), vec![at_pace(1000.0)]),
            (default, vec![at_pace(800.0)]),
        ]);
        let held: Vec<_> = claims(&results).iter().map(Claim::holds).collect();
        assert_eq!(held[..3], [None, Some(false), Some(true)]);
    }
}
