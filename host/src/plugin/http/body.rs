//! Bodies as they go by, watched by the time-outs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use wasmtime_wasi_http::{Error, WasiBody};

use super::outcome::hyper_error;

/// When the request last moved.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn moved(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until nothing has moved for so long.
    pub(super) async fn stalled(&self, length: Duration) {
        loop {
            let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let until = last + length;
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// A request's body on its way out.
pub(super) struct Sent {
    body: WasiBody,
    progress: Progress,
}

impl Sent {
    pub(super) fn new(body: WasiBody, progress: Progress) -> Self {
        Self { body, progress }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_ready() {
            self.progress.moved();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body on its way in.
pub(super) struct Received {
    body: Incoming,
    /// How long a reader waits for the next bytes.
    patience: Duration,
    timer: Pin<Box<Sleep>>,
    /// Whether the reader waits. What it does between its reads is its own time.
    waits: bool,
}

impl Received {
    pub(super) fn new(body: Incoming, patience: Duration) -> Self {
        Self {
            body,
            patience,
            timer: Box::pin(sleep_until(Instant::now())),
            waits: false,
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waits = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(|error| hyper_error(&error))));
        }
        if !self.waits {
            let until = Instant::now() + self.patience;
            self.timer.as_mut().reset(until);
            self.waits = true;
        }
        self.timer
            .as_mut()
            .poll(cx)
            .map(|()| Some(Err(Error::ConnectionReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
