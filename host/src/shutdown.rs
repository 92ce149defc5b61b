//! The moments of a stop (rule 7.3), of a whole host or of one subscription.

use tokio_util::sync::CancellationToken;

use crate::limits::LAST_CALLS;

/// Says to every task of a host, or of one subscription, that it is to stop.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// From now on nothing is received and no handler is called.
    pub stop: CancellationToken,
    /// From now on handlers are interrupted.
    pub deadline: CancellationToken,
    /// From now on nothing is received; what is here already is handled, and then it is over. Another
    /// subscription of the queue has taken this one's place (rule 8.3).
    pub retire: CancellationToken,
}

impl Shutdown {
    /// One for a part, which can be stopped alone and stops with the whole.
    pub(crate) fn child(&self) -> Self {
        Self {
            stop: self.stop.child_token(),
            deadline: self.deadline.child_token(),
            retire: self.retire.child_token(),
        }
    }

    /// From the end of this on nothing is received.
    pub(crate) async fn no_more(&self) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.retire.cancelled() => {}
        }
    }

    /// A moment after the deadline: the calls that release what it interrupted have had their time.
    pub(crate) async fn over(&self) {
        self.deadline.cancelled().await;
        tokio::time::sleep(LAST_CALLS).await;
    }
}
