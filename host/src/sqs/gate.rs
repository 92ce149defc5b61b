//! Whether a receive may begin, as far as the handler goes. The pump asks; who knows the handler
//! answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// Lets receives begin.
pub trait Gate: Send + Sync {
    /// Waits until a receive may begin. Cancel safe.
    fn pass(self: Arc<Self>) -> BoxFuture<'static, Pass>;

    /// A trial has ended, whether or not its message was answered.
    fn over(&self, trial: TrialId);
}

/// What a receive may ask for.
pub enum Pass {
    /// As many messages as there is room for.
    Any,
    /// One message, which is tried alone.
    One(Trial),
}

/// Names a trial within its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialId(pub u64);

/// A message that is tried alone, from before its receive to the end of its settlement. Its gate is
/// told when it is dropped, by whom and why ever: of a receive that brought nothing, too.
pub struct Trial {
    gate: Arc<dyn Gate>,
    id: TrialId,
}

impl Trial {
    /// A trial that `gate` has let pass.
    pub fn new(gate: Arc<dyn Gate>, id: TrialId) -> Self {
        Self { gate, id }
    }

    /// Which one.
    pub fn id(&self) -> TrialId {
        self.id
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.gate.over(self.id);
    }
}
