//! What a subscription's messages are handled by, while versions come and go.

use std::sync::Arc;

use tokio::sync::watch;

use crate::config::SqsSubscription;
use crate::handler::Handler;

/// A version of a handler, and the settings of its calls: one message, or one batch, is handled by
/// one of these from its beginning to its settlement (rule 8.3).
#[derive(Clone)]
pub struct Serving {
    /// Which one it is, among those of its plugin: another number is another version, or the same
    /// code by another mount file.
    pub version: u64,
    /// Who is called.
    pub handler: Arc<dyn Handler>,
    /// The mount that came with it. Only what concerns calls is taken from here (`timeout`,
    /// `retry_delay`, `circuit_after` and their like); what concerns the queue is the subscription's
    /// own for as long as it runs.
    pub subscription: Arc<SqsSubscription>,
}

/// Knows which version is live.
pub trait Live: Send + Sync + 'static {
    /// The live version. A call asks for it once, at its beginning.
    fn now(&self) -> Serving;

    /// The live version's number, as it changes: it does so once [`Live::now`] answers with the new
    /// one. Closed where no other comes.
    fn versions(&self) -> watch::Receiver<u64>;
}

/// One version for good.
impl Live for Serving {
    fn now(&self) -> Serving {
        self.clone()
    }

    fn versions(&self) -> watch::Receiver<u64> {
        watch::channel(self.version).1
    }
}
