//! What the log says of requests: never a path, a query or a header.

use std::sync::PoisonError;
use std::time::Instant;

use hyper::{Method, StatusCode, Uri};
use tracing::warn;
use wasmtime_wasi_http::Error;

use super::Outbound;
use super::refusal::Refusal;
use super::target::{Target, unreadable_host};
use crate::plugin::log::Subject;

/// How much of a host that is none is shown.
const SHOWN: usize = 253;

/// Where a request goes, as its lines name it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    host: String,
    port: u16,
}

impl Named {
    pub(super) fn of(target: &Target) -> Self {
        Self {
            host: target.host_text(),
            port: target.port,
        }
    }

    /// What a URL names that may be unreadable; then the port is 0.
    pub(super) fn by(uri: &Uri) -> Self {
        match Target::of(uri) {
            Ok(target) => Self::of(&target),
            Err(_) => {
                let host = unreadable_host(uri);
                Self {
                    host: host[..host.floor_char_boundary(SHOWN)].to_owned(),
                    port: 0,
                }
            }
        }
    }
}

/// The line of one request, which is said once, whatever becomes of it.
pub(super) struct Line<'a> {
    subject: &'a Subject,
    method: Method,
    named: Named,
    began: Instant,
    said: bool,
}

/// The fields that every line has.
macro_rules! line {
    ($level:ident, $line:expr, $($more:tt)*) => {{
        let Subject { plugin, digest, queue, message } = $line.subject;
        tracing::$level!(
            plugin = &**plugin,
            digest = &**digest,
            queue = &**queue,
            id = message.as_deref().unwrap_or("-"),
            method = %$line.method,
            host = $line.named.host,
            port = $line.named.port,
            took = $line.began.elapsed().as_millis(),
            $($more)*
        )
    }};
}

impl<'a> Line<'a> {
    pub(super) fn begin(subject: &'a Subject, method: &Method, named: Named) -> Self {
        Self {
            subject,
            method: method.clone(),
            named,
            began: Instant::now(),
            said: false,
        }
    }

    pub(super) fn answered(mut self, status: StatusCode) {
        self.said = true;
        line!(debug, self, status = status.as_u16(), "http request");
    }

    pub(super) fn failed(mut self, error: &Error) {
        self.said = true;
        line!(debug, self, %error, "http request failed");
    }

    /// Something else is said of it.
    pub(super) fn unsaid(mut self) -> Named {
        self.said = true;
        self.named.clone()
    }
}

impl Drop for Line<'_> {
    /// Nobody waits for the answer any more.
    fn drop(&mut self) {
        if !self.said {
            line!(debug, self, "http request ended with its call");
        }
    }
}

/// Says what is refused, if it has not been said lately, and answers what the guest is told.
pub(super) fn refused(
    outbound: &Outbound,
    subject: &Subject,
    named: &Named,
    refusal: &Refusal,
) -> Error {
    let Named { host, port } = named;
    let unsaid = {
        let mut said = outbound.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.say(&format!("{host}:{port}"), Instant::now())
    };
    if let Some(unsaid) = unsaid {
        let Subject {
            plugin,
            digest,
            queue,
            message,
        } = subject;
        let (plugin, digest, queue) = (&**plugin, &**digest, &**queue);
        let id = message.as_deref().unwrap_or("-");
        warn!(
            plugin,
            digest,
            queue,
            id,
            host,
            port,
            unsaid,
            "an http request of the handler is refused: {refusal}"
        );
    }
    refusal.code()
}
