//! How a subscription's circuit stands: what its events say of that, kept for whoever asks.

use std::fmt;
use std::time::SystemTime;

use tokio::sync::watch;

use super::event::Event;
use crate::handler::Reason;

/// How a circuit stands (rule 8.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CircuitState {
    /// Messages are received.
    #[default]
    Closed,
    /// Nothing is received.
    Open {
        /// Until about then, by this machine's clock.
        until: SystemTime,
        /// Why the last message failed.
        reason: Reason,
    },
    /// One message at a time is received, to see how its handler fares.
    HalfOpen,
}

impl CircuitState {
    /// The word for it: `closed`, `open` or `half-open`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// Why a circuit is closed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// A message was handled.
    Handled,
    /// Another version serves, or other settings.
    Reloaded,
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handled => "a message was handled",
            Self::Reloaded => "another version serves",
        })
    }
}

/// The circuit of one subscription, as it stands now and as it changes.
#[derive(Debug)]
pub struct CircuitWatch(watch::Sender<CircuitState>);

impl Default for CircuitWatch {
    fn default() -> Self {
        Self(watch::Sender::new(CircuitState::default()))
    }
}

impl CircuitWatch {
    /// How it stands.
    pub fn now(&self) -> CircuitState {
        *self.0.borrow()
    }

    /// Sees every change.
    pub fn watch(&self) -> watch::Receiver<CircuitState> {
        self.0.subscribe()
    }

    /// Takes what an event says of it.
    pub(super) fn note(&self, event: &Event<'_>) {
        let state = match event {
            Event::CircuitOpened { pause, reason, .. } => CircuitState::Open {
                until: SystemTime::now() + *pause,
                reason: *reason,
            },
            Event::CircuitProbes => CircuitState::HalfOpen,
            Event::CircuitClosed { .. } => CircuitState::Closed,
            _ => return,
        };
        self.0.send_replace(state);
    }
}
