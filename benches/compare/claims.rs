//! What must hold.

use super::contestant::{Contestant, Instances, MANY, Settle};
use crate::claim::{Bound, Claim};
use crate::sample::{Results, Sample};

/// All of them.
pub(super) fn claims(results: &Results<Contestant>) -> Vec<Claim> {
    use Bound::{AtLeast, AtMost};
    let raw = Contestant::raw(Settle::Each);
    let raw_batched = Contestant::raw(Settle::Batched);
    let peer = Contestant::ruststream(MANY);
    let default = Contestant::queuelet(Instances::Fresh, Settle::Each, MANY);
    let batched = Contestant::queuelet(Instances::Fresh, Settle::Batched, MANY);
    let reused = Contestant::queuelet(Instances::Reuse, Settle::Batched, MANY);
    let in_order = Contestant::queuelet(Instances::Fresh, Settle::Each, 1);
    let pace = |one, other| results.ratio(one, other, Sample::pace);
    vec![
        Claim::new(
            "default, 16 workers: messages/s beside ruststream-sqs-sns",
            AtLeast(1.0),
            pace(default, peer),
        ),
        Claim::new(
            "default, 16 workers: messages/s beside the SDK loop",
            AtLeast(0.9),
            pace(default, raw),
        ),
        Claim::new(
            "default, 16 workers: CPU a message beside the SDK loop",
            AtMost(1.15),
            results.ratio(default, raw, Sample::cpu),
        ),
        Claim::new(
            "batched, 16 workers: messages/s beside ruststream-sqs-sns",
            AtLeast(3.0),
            pace(batched, peer),
        ),
        Claim::new(
            "batched, reused instances, 16 workers: messages/s beside the SDK loop that batches",
            AtLeast(0.8),
            pace(reused, raw_batched),
        ),
        Claim::new(
            "batched, 16 workers: calls a message",
            AtMost(0.25),
            results.spread(batched, Sample::calls),
        ),
        Claim::new(
            "batched, reused instances, 16 workers: calls a message",
            AtMost(0.25),
            results.spread(reused, Sample::calls),
        ),
        Claim::new(
            "default, 1 worker, in order: messages/s beside ruststream-sqs-sns",
            AtLeast(1.5),
            pace(in_order, Contestant::ruststream(1)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::at_pace;

    #[test]
    fn what_did_not_run_neither_holds_nor_fails() {
        let claims = claims(&Results(Vec::new()));
        assert!(claims.iter().all(|claim| claim.holds().is_none()));
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
