//! What one run showed, and what several of them come to.

use serde::{Deserialize, Serialize};

use super::contestant::Contestant;

/// What one run showed, from the first receive to the last delete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) messages: u32,
    pub(super) seconds: f64,
    /// Of the contestant's process.
    pub(super) cpu_seconds: f64,
    /// That reached SQS, those of the contestant's start among them.
    pub(super) calls: u32,
    pub(super) peak_kib: u32,
}

impl Sample {
    /// Messages a second.
    pub(super) fn pace(&self) -> f64 {
        f64::from(self.messages) / self.seconds
    }

    /// Microseconds of CPU a message.
    pub(super) fn cpu(&self) -> f64 {
        self.cpu_seconds * 1e6 / f64::from(self.messages)
    }

    /// Calls a message.
    pub(super) fn calls(&self) -> f64 {
        f64::from(self.calls) / f64::from(self.messages)
    }

    /// MiB of memory at the most.
    pub(super) fn peak(&self) -> f64 {
        f64::from(self.peak_kib) / 1024.0
    }
}

/// The middle of several numbers, the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Of no numbers there is none.
    pub(super) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<_> = numbers.into_iter().collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*numbers.first()?, *numbers.last()?);
        // Of an even number of them the middle lies between two.
        let (low, high) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
        Some(Self {
            median: f64::midpoint(low, high),
            min,
            max,
        })
    }
}

/// The runs of all contestants, of each one a round.
#[derive(Debug, Default)]
pub(super) struct Results(pub(super) Vec<(Contestant, Vec<Sample>)>);

impl Results {
    /// The runs of one contestant, in the order of the rounds; none where it did not run.
    pub(super) fn of(&self, contestant: Contestant) -> Option<&[Sample]> {
        let found = self.0.iter().find(|(one, _)| *one == contestant);
        found.map(|(_, samples)| samples.as_slice())
    }

    /// What a contestant's runs come to in one number.
    pub(super) fn spread(
        &self,
        contestant: Contestant,
        number: fn(&Sample) -> f64,
    ) -> Option<Spread> {
        Spread::of(self.of(contestant)?.iter().map(number))
    }

    /// A contestant's number beside another's. Each is put beside the one of its own round, since the
    /// pace of a machine changes with the hour.
    pub(super) fn ratio(
        &self,
        contestant: Contestant,
        beside: Contestant,
        number: fn(&Sample) -> f64,
    ) -> Option<Spread> {
        let pairs = self.of(contestant)?.iter().zip(self.of(beside)?);
        Spread::of(pairs.map(|(one, other)| number(one) / number(other)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::contestant::Settle;
    use super::*;

    /// A run of 1000 messages at a pace.
    pub(in super::super) fn at_pace(pace: f64) -> Sample {
        Sample {
            messages: 1000,
            seconds: 1000.0 / pace,
            cpu_seconds: 0.25,
            calls: 1100,
            peak_kib: 20 * 1024,
        }
    }

    #[test]
    fn a_sample_tells_what_a_message_costs() {
        let sample = at_pace(500.0);
        assert_eq!((sample.pace(), sample.cpu()), (500.0, 250.0));
        assert_eq!((sample.calls(), sample.peak()), (1.1, 20.0));
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        let spread = |numbers: &[f64]| Spread::of(numbers.iter().copied());
        assert_eq!(spread(&[]), None);
        let odd = spread(&[9.0, 1.0, 2.0]).expect("there are some");
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 9.0));
        let even = spread(&[4.0, 1.0, 2.0, 9.0]).expect("there are some");
        assert_eq!(even.median, 3.0);
    }

    #[test]
    fn a_ratio_is_one_of_runs_of_the_same_round() {
        let (one, other) = (Contestant::ruststream(1), Contestant::raw(Settle::Each));
        let results = Results(vec![
            (one, [128.0, 16.0, 64.0].map(at_pace).into()),
            (other, [256.0, 16.0, 16.0].map(at_pace).into()),
        ]);
        let ratio = results.ratio(one, other, Sample::pace).expect("both ran");
        assert_eq!((ratio.median, ratio.min, ratio.max), (1.0, 0.5, 4.0));
        assert_eq!(
            results.ratio(one, Contestant::ruststream(16), Sample::pace),
            None
        );
    }
}
