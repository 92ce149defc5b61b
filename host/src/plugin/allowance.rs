//! What an instance may use, and what it is given (SPEC 9).

use std::sync::Arc;
use std::time::Duration;

use super::http::Outbound;
use super::rate::Lines;
use super::secrets::Secrets;
use super::voice::Spoken;
use crate::config::{Environment, Sandbox};
use crate::limits::{GUEST_MEMORY, GUEST_OUTPUT, PROBE_MEMORY};

/// The sandbox of one mount.
pub(super) struct Allowance {
    /// Bytes of memory.
    pub(super) memory: usize,
    /// It is the allowance of a plugin that is asked what it is.
    pub(super) is_probe: bool,
    /// CPU time of one call.
    pub(super) cpu_time: Option<Duration>,
    /// Bytes that one call may print and log.
    pub(super) output: usize,
    pub(super) environment: Environment,
    /// What it may reach over HTTP.
    pub(super) outbound: Arc<Outbound>,
    /// How the host speaks of what it says.
    pub(super) voice: Arc<Spoken>,
}

impl Allowance {
    /// What a mount grants.
    pub(super) fn of(sandbox: &Sandbox, environment: Environment, lines: Arc<Lines>) -> Self {
        Self {
            memory: sandbox.memory,
            is_probe: false,
            cpu_time: sandbox.cpu_time,
            output: sandbox.max_output,
            voice: Arc::new(Spoken {
                lines,
                secrets: Secrets::of(environment.secrets()),
            }),
            environment,
            outbound: Outbound::new(&sandbox.http),
        }
    }

    /// What a plugin has that is mounted nowhere.
    pub(super) fn standard(lines: Arc<Lines>) -> Self {
        Self {
            memory: GUEST_MEMORY,
            is_probe: false,
            cpu_time: None,
            output: GUEST_OUTPUT,
            environment: Environment::default(),
            outbound: Outbound::new(&[]),
            voice: Arc::new(Spoken {
                lines,
                secrets: Secrets::default(),
            }),
        }
    }

    /// What a plugin has while it is asked for its descriptor.
    pub(super) fn probe(lines: Arc<Lines>) -> Self {
        Self {
            memory: PROBE_MEMORY,
            is_probe: true,
            ..Self::standard(lines)
        }
    }
}
