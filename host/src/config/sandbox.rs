//! What a mount gives its plugin, and what it keeps from it (SPEC 8.7, 9).

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};

use super::http_rule::HttpRule;
use super::subscription::{length, perhaps_length};

/// What one instance of the plugin may use, and what it may reach beside the mount's queues and
/// topics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sandbox {
    /// `memory`: the memory of one instance in bytes, 1 MiB to 4 GiB. Default 128 MiB.
    pub memory: usize,
    /// `cpu_time`: the CPU time of one call, up to 12 h. Default none.
    #[serde(serialize_with = "perhaps_length")]
    pub cpu_time: Option<Duration>,
    /// `max_output`: how many bytes one call may print and log before it is stopped, up to 1 GiB.
    /// Default 1 MiB.
    pub max_output: usize,
    /// `env`: the environment of the handler. Default empty.
    pub env: BTreeMap<String, EnvValue>,
    /// `http`: what the handler may reach over HTTP. Default none.
    pub http: Vec<HttpRule>,
}

/// Where a value of the handler's environment comes from. The value itself is never shown.
#[derive(Clone)]
pub enum EnvValue {
    /// It stands in the mount file: `text:VALUE`, or whatever is none of the other two.
    Text(SecretString),
    /// `env:NAME`: the value of a variable of the host's own environment.
    Env(String),
    /// `file:PATH`: the content of a file, without one line break at its end. A relative path is
    /// relative to the folder of the mount file.
    File(PathBuf),
}

/// Only a reference is shown, never a text.
impl fmt::Display for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnvValue::Text(_) => f.write_str("text"),
            EnvValue::Env(name) => write!(f, "env:{name}"),
            EnvValue::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for EnvValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (EnvValue::Text(a), EnvValue::Text(b)) => a.expose_secret() == b.expose_secret(),
            (EnvValue::Env(a), EnvValue::Env(b)) => a == b,
            (EnvValue::File(a), EnvValue::File(b)) => a == b,
            _ => false,
        }
    }
}

impl Serialize for EnvValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whose memory a call finds (SPEC 9.3).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    /// `instances = "fresh"`: that of an instance of its own, which nobody had before it. The
    /// default.
    Fresh,
    /// `instances = "reuse"`: that which the calls before it left in the instance.
    Reuse(Reuse),
}

/// How long an instance is used again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// `reuse_messages`: the most calls of one instance, 1 to 1,000,000. Default 1,000.
    pub messages: NonZeroU64,
    /// `reuse_age`: how long after its first call an instance is given up, up to 12 h. Default
    /// 10 min.
    #[serde(serialize_with = "length")]
    pub age: Duration,
    /// `reuse_growth`: how many bytes of memory an instance may have taken beyond what it had after
    /// its first call. Default 16 MiB.
    pub growth: usize,
}

/// `on_lost_lease`: what happens to a handler whose message somebody else may receive by now
/// (SPEC 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLostLease {
    /// It goes on, and what it says is done as far as that can be.
    #[default]
    Continue,
    /// It is stopped.
    Interrupt,
}

/// When a subscription stops receiving because its handler keeps failing (SPEC 8.7). `pause` is
/// never above `max_pause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Circuit {
    /// `circuit_after`: how many different messages fail in a row before the circuit opens, up to
    /// 1,000; 0 keeps it closed. Default 10.
    pub after: u32,
    /// `circuit_pause`: how long nothing is received then, up to 12 h. Default 5 s.
    #[serde(serialize_with = "length")]
    pub pause: Duration,
    /// `circuit_max_pause`: what the pause grows to, which doubles with each message that is tried
    /// and fails, up to 12 h. Default 5 min.
    #[serde(serialize_with = "length")]
    pub max_pause: Duration,
}
