//! Who is compared, and how each is named.

use std::fmt;

use serde::Serialize;

/// How messages are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Settle {
    /// A DeleteMessage each.
    Each,
    /// DeleteMessageBatch.
    Batched,
}

/// What a handler is handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Handed {
    /// A message.
    Single,
    /// What a receive brought.
    Batch,
}

/// What a guest runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Instances {
    /// An instance for each call.
    Fresh,
    /// Instances that are used again.
    Reuse,
}

/// Who works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Who {
    /// A loop over the AWS SDK.
    Raw,
    /// ruststream-sqs-sns, with a native handler.
    Ruststream,
    /// This host, with a guest.
    Queuelet(Instances),
}

/// One of those that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Contestant {
    pub(super) who: Who,
    pub(super) settle: Settle,
    pub(super) handed: Handed,
    /// How many messages, or batches, are worked on at once.
    pub(super) workers: u16,
}

/// Many workers.
pub(super) const MANY: u16 = 16;

impl Contestant {
    /// The SDK's loop that deletes as this one does: what it is measured by.
    pub(super) fn raw(settle: Settle) -> Self {
        Self {
            who: Who::Raw,
            settle,
            handed: Handed::Single,
            workers: MANY,
        }
    }

    /// The peer's usual way, with as many workers.
    pub(super) fn ruststream(workers: u16) -> Self {
        Self {
            who: Who::Ruststream,
            settle: Settle::Each,
            handed: Handed::Single,
            workers,
        }
    }

    /// This host, with a handler of single messages.
    pub(super) fn queuelet(instances: Instances, settle: Settle, workers: u16) -> Self {
        Self {
            who: Who::Queuelet(instances),
            settle,
            handed: Handed::Single,
            workers,
        }
    }

    /// All of them, in the order of the tables. Without the peers' feature there are none of them.
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Self::raw(Settle::Each), Self::raw(Settle::Batched)];
        if cfg!(feature = "peers") {
            all.extend([Self::ruststream(MANY), Self::ruststream(1)]);
            all.push(Self {
                handed: Handed::Batch,
                ..Self::ruststream(MANY)
            });
        }
        for workers in [MANY, 1] {
            for handed in [Handed::Single, Handed::Batch] {
                for settle in [Settle::Each, Settle::Batched] {
                    for instances in [Instances::Fresh, Instances::Reuse] {
                        all.push(Self {
                            handed,
                            ..Self::queuelet(instances, settle, workers)
                        });
                    }
                }
            }
        }
        all
    }
}

impl fmt::Display for Settle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Each => "each",
            Self::Batched => "batched",
        })
    }
}

impl fmt::Display for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single",
            Self::Batch => "batch",
        })
    }
}

impl fmt::Display for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fresh => "fresh",
            Self::Reuse => "reuse",
        })
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.who {
            Who::Raw => write!(f, "SDK loop, {}", self.settle),
            Who::Ruststream => write!(f, "ruststream-sqs-sns, {}, {}", self.handed, self.workers),
            Who::Queuelet(instances) => write!(
                f,
                "queuelet, {instances}, {}, {}, {}",
                self.settle, self.handed, self.workers
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_has_a_name_of_its_own_and_is_there_once() {
        let all = Contestant::all();
        let names: HashSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.contains(&Contestant::queuelet(Instances::Fresh, Settle::Each, MANY)));
    }
}
