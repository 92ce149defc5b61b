//! What the log says of requests: never a path, a query or a header.

use std::sync::PoisonError;
use std::time::Instant;

use hyper::{Method, StatusCode, Uri};
use tracing::warn;
use wasmtime_wasi_http::Error;

use super::Outbound;
use super::refusal::Refusal;
use super::target::{Target, unreadable_host};
use crate::handler::Voice;
use crate::line::name;
use crate::plugin::log::Subject;
use crate::plugin::voice::Spoken;

/// Whose request it is.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) subject: &'a Subject,
    pub(super) voice: &'a Spoken,
}

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
            Err(_) => Self {
                host: name(unreadable_host(uri)).into_owned(),
                port: 0,
            },
        }
    }
}

/// The line of one request, which is said once, whatever becomes of it.
pub(super) struct Line<'a> {
    caller: Caller<'a>,
    method: Method,
    named: Named,
    began: Instant,
    said: bool,
}

/// The fields that every line has.
macro_rules! line {
    ($line:expr, $($more:tt)*) => {{
        let Caller { subject, voice } = $line.caller;
        if tracing::enabled!(tracing::Level::DEBUG) && voice.may_say() {
            let Subject { plugin, digest, queue, message } = subject;
            tracing::debug!(
                plugin = &**plugin,
                digest = &**digest,
                queue = &**queue,
                id = message.as_deref().unwrap_or("-"),
                method = voice.words(&name($line.method.as_str())),
                host = voice.words(&$line.named.host),
                port = $line.named.port,
                took = $line.began.elapsed().as_millis(),
                $($more)*
            )
        }
    }};
}

impl<'a> Line<'a> {
    pub(super) fn begin(caller: Caller<'a>, method: &Method, named: Named) -> Self {
        Self {
            caller,
            method: method.clone(),
            named,
            began: Instant::now(),
            said: false,
        }
    }

    pub(super) fn answered(mut self, status: StatusCode) {
        self.said = true;
        line!(self, status = status.as_u16(), "http request");
    }

    pub(super) fn failed(mut self, error: &Error) {
        self.said = true;
        line!(
            self,
            error = self.caller.voice.words(&error.to_string()),
            "http request failed"
        );
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
            line!(self, "http request ended with its call");
        }
    }
}

/// Says what is refused, if it has not been said lately, and answers what the guest is told.
pub(super) fn refused(
    outbound: &Outbound,
    caller: Caller<'_>,
    named: &Named,
    refusal: &Refusal,
) -> Error {
    let Named { host, port } = named;
    let code = refusal.code();
    let unsaid = {
        let mut said = outbound.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.say(&format!("{host}:{port}"), Instant::now())
    };
    let Caller { subject, voice } = caller;
    if let Some(unsaid) = unsaid.filter(|_| voice.may_say()) {
        let (host, refusal) = (voice.words(host), voice.words(&refusal.to_string()));
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
            unsaid = (unsaid > 0).then_some(unsaid),
            "an http request of the handler is refused: {refusal}"
        );
    }
    code
}
