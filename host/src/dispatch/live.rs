//! What a subscription's messages are handled by, while versions come and go.

use std::sync::Arc;

use crate::config::SqsSubscription;
use crate::handler::Handler;

/// A version of a handler, and the settings of its calls: one message, or one batch, is handled by
/// one of these from its beginning to its settlement (rule 8.3).
#[derive(Clone)]
pub struct Serving {
    /// Who is called.
    pub handler: Arc<dyn Handler>,
    /// The mount that came with it. Only what concerns calls is taken from here (`timeout`,
    /// `retry_delay` and its like); what concerns the queue is the subscription's own for as long
    /// as it runs.
    pub subscription: Arc<SqsSubscription>,
}

/// Knows which version is live.
pub trait Live: Send + Sync + 'static {
    /// The live version. It is asked once a call, at its beginning.
    fn now(&self) -> Serving;
}

/// One version for good.
impl Live for Serving {
    fn now(&self) -> Serving {
        self.clone()
    }
}
