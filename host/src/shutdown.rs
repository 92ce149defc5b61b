//! The two moments of a stop (rule 7.3).

use tokio_util::sync::CancellationToken;

use crate::limits::LAST_CALLS;

/// Says to every task of a host that it is to stop.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// From now on nothing is received and no handler is called.
    pub stop: CancellationToken,
    /// From now on handlers are interrupted.
    pub deadline: CancellationToken,
}

impl Shutdown {
    /// A moment after the deadline: the calls that release what it interrupted have had their time.
    pub(crate) async fn over(&self) {
        self.deadline.cancelled().await;
        tokio::time::sleep(LAST_CALLS).await;
    }
}
