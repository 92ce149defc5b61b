//! What this program is when it is started again, so that each part of a run is a process of its own.

use std::process::ExitCode;

use crate::compare;
use crate::compare::{Handed, Settle};
use crate::server;

/// Says which role a process has.
pub(crate) const ROLE: &str = "QUEUELET_BENCH_ROLE";

/// What a process of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The SQS.
    Server,
    /// A loop over the AWS SDK.
    Raw(Settle),
    /// ruststream-sqs-sns, with so many workers.
    Ruststream(Handed, u16),
}

impl Role {
    /// The role of this process, if it has one.
    pub(crate) fn of_this_process() -> Option<Self> {
        let name = std::env::var(ROLE).ok()?;
        Some(Self::of(&name).expect("a role that this program gave"))
    }

    fn of(name: &str) -> Option<Self> {
        let mut words = name.split(' ');
        let role = match (words.next()?, words.next(), words.next()) {
            ("server", None, None) => Self::Server,
            ("raw", Some("each"), None) => Self::Raw(Settle::Each),
            ("raw", Some("batched"), None) => Self::Raw(Settle::Batched),
            ("ruststream", Some("single"), Some(workers)) => {
                Self::Ruststream(Handed::Single, workers.parse().ok()?)
            }
            ("ruststream", Some("batch"), Some(workers)) => {
                Self::Ruststream(Handed::Batch, workers.parse().ok()?)
            }
            _ => return None,
        };
        Some(role)
    }

    /// What [`ROLE`] is set to.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Server => "server".to_owned(),
            Self::Raw(settle) => format!("raw {settle}"),
            Self::Ruststream(handed, workers) => format!("ruststream {handed} {workers}"),
        }
    }

    /// Is that, until the process is ended.
    pub(crate) async fn play(self) -> ExitCode {
        match self {
            Self::Server => server::serve().await,
            Self::Raw(settle) => compare::raw::consume(settle).await,
            #[cfg(feature = "peers")]
            Self::Ruststream(handed, workers) => compare::peer::consume(handed, workers).await,
            #[cfg(not(feature = "peers"))]
            Self::Ruststream(..) => {
                eprintln!("this was built without --features peers");
                ExitCode::from(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_as_it_is_written() {
        for role in [
            Role::Server,
            Role::Raw(Settle::Each),
            Role::Raw(Settle::Batched),
            Role::Ruststream(Handed::Single, 16),
            Role::Ruststream(Handed::Batch, 1),
        ] {
            assert_eq!(Role::of(&role.name()), Some(role));
        }
        assert_eq!(Role::of("raw"), None);
    }
}
