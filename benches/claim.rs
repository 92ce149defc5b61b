//! What must hold of what was measured.

use std::fmt::Write;

use serde::Serialize;

use crate::sample::Spread;

/// Where a number must lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// One thing that must hold, of the median over the rounds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Claim {
    pub(crate) what: String,
    pub(crate) bound: Bound,
    /// None where those that it is about did not run.
    pub(crate) measured: Option<Spread>,
}

/// Whether nothing that was measured is beyond its bound.
pub(crate) fn all_hold(claims: &[Claim]) -> bool {
    claims.iter().all(|claim| claim.holds() != Some(false))
}

/// The table of them, in Markdown.
pub(crate) fn table(claims: &[Claim]) -> String {
    let mut text = "| what | bound | measured | |\n|---|---|---|---|\n".to_owned();
    for claim in claims {
        claim
            .write_row(&mut text)
            .expect("a String takes whatever is written");
    }
    text
}

/// Claims as a document for machines has them.
pub(crate) fn judged(claims: &[Claim]) -> Vec<impl Serialize> {
    #[derive(Serialize)]
    struct Judged<'a> {
        #[serde(flatten)]
        claim: &'a Claim,
        holds: Option<bool>,
    }
    let judged = claims.iter().map(|claim| Judged {
        claim,
        holds: claim.holds(),
    });
    judged.collect()
}

impl Claim {
    pub(crate) fn new(what: impl Into<String>, bound: Bound, measured: Option<Spread>) -> Self {
        Self {
            what: what.into(),
            bound,
            measured,
        }
    }

    /// Whether it holds, where it was measured.
    pub(crate) fn holds(&self) -> Option<bool> {
        let measured = self.measured?.median;
        Some(match self.bound {
            Bound::AtLeast(bound) => measured >= bound,
            Bound::AtMost(bound) => measured <= bound,
        })
    }

    fn write_row(&self, text: &mut String) -> std::fmt::Result {
        let (words, bound) = match self.bound {
            Bound::AtLeast(bound) => ("at least", bound),
            Bound::AtMost(bound) => ("at most", bound),
        };
        let places = match bound {
            ..0.5 => 3,
            ..100.0 => 2,
            _ => 0,
        };
        let measured = self.measured.map_or(String::new(), |measured| {
            let Spread { median, min, max } = measured;
            if min == max {
                format!("{median:.places$}")
            } else {
                format!("{median:.places$} ({min:.places$} to {max:.places$})")
            }
        });
        let verdict = match self.holds() {
            Some(true) => "holds",
            Some(false) => "**does not hold**",
            None => "not measured",
        };
        let what = &self.what;
        writeln!(
            text,
            "| {what} | {words} {bound} | {measured} | {verdict} |"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_itself_in() {
        let claim = |bound| Claim::new("", bound, Spread::of([0.9]));
        assert_eq!(claim(Bound::AtLeast(0.9)).holds(), Some(true));
        assert_eq!(claim(Bound::AtLeast(0.91)).holds(), Some(false));
        assert_eq!(claim(Bound::AtMost(0.9)).holds(), Some(true));
        assert_eq!(claim(Bound::AtMost(0.89)).holds(), Some(false));
    }

    #[test]
    fn what_was_not_measured_fails_nothing() {
        let claims = [Claim::new("a", Bound::AtMost(1.0), None)];
        assert!(all_hold(&claims));
        assert!(table(&claims).ends_with("| a | at most 1 |  | not measured |\n"));
    }

    #[test]
    fn a_number_is_told_as_exactly_as_its_bound() {
        let told = |bound| table(&[Claim::new("a", Bound::AtMost(bound), Spread::of([0.1234]))]);
        assert!(told(0.12).contains("| at most 0.12 | 0.123 | **does not hold** |"));
        assert!(told(2.0).contains("| at most 2 | 0.12 | holds |"));
        assert!(told(250.0).contains("| at most 250 | 0 | holds |"));
    }
}
