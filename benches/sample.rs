//! What one run showed, and what several of them come to.

use serde::{Deserialize, Serialize};

/// What one run showed, from the first receive to the last delete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) messages: u32,
    pub(crate) seconds: f64,
    /// Of the contestant's process.
    pub(crate) cpu_seconds: f64,
    /// That reached SQS, those of the contestant's start among them.
    pub(crate) calls: u32,
    pub(crate) peak_kib: u32,
}

impl Sample {
    /// Messages a second.
    pub(crate) fn pace(&self) -> f64 {
        f64::from(self.messages) / self.seconds
    }

    /// Microseconds of CPU a message.
    pub(crate) fn cpu(&self) -> f64 {
        self.cpu_seconds * 1e6 / f64::from(self.messages)
    }

    /// Calls a message.
    pub(crate) fn calls(&self) -> f64 {
        f64::from(self.calls) / f64::from(self.messages)
    }

    /// MiB of memory at the most.
    pub(crate) fn peak(&self) -> f64 {
        f64::from(self.peak_kib) / 1024.0
    }
}

/// The middle of several numbers, the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of no numbers there is none.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
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

    /// Told in whole numbers.
    pub(crate) fn whole(self) -> String {
        let Self { median, min, max } = self;
        format!("{median:.0} ({min:.0} to {max:.0})")
    }
}

/// The runs of all that ran, of each one a round.
#[derive(Debug)]
pub(crate) struct Results<W>(pub(crate) Vec<(W, Vec<Sample>)>);

impl<W: Copy + PartialEq> Results<W> {
    /// The runs of one of them, in the order of the rounds; none where it did not run.
    pub(crate) fn of(&self, who: W) -> Option<&[Sample]> {
        let found = self.0.iter().find(|(one, _)| *one == who);
        found.map(|(_, samples)| samples.as_slice())
    }

    /// What the runs of one come to in one number.
    pub(crate) fn spread(&self, who: W, number: fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(self.of(who)?.iter().map(number))
    }

    /// The number of one beside another's. Each is put beside the one of its own round, since the
    /// pace of a machine changes with the hour.
    pub(crate) fn ratio(&self, who: W, beside: W, number: fn(&Sample) -> f64) -> Option<Spread> {
        let pairs = self.of(who)?.iter().zip(self.of(beside)?);
        Spread::of(pairs.map(|(one, other)| number(one) / number(other)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of 1000 messages at a pace.
    pub(crate) fn at_pace(pace: f64) -> Sample {
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
        let results = Results(vec![
            ("one", [128.0, 16.0, 64.0].map(at_pace).into()),
            ("other", [256.0, 16.0, 16.0].map(at_pace).into()),
        ]);
        let ratio = results.ratio("one", "other", Sample::pace);
        let ratio = ratio.expect("both ran");
        assert_eq!((ratio.median, ratio.min, ratio.max), (1.0, 0.5, 4.0));
        assert_eq!(results.ratio("one", "nobody", Sample::pace), None);
    }
}
