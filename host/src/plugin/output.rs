//! What a guest prints, as log lines.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::bindings::single::queuelet::handler::log::Level;
use super::log::Subject;
use crate::limits::GUEST_LINE;

/// Which of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// What a store's guest prints: each line a log line, with the plugin, the queue and the message of
/// the call that the store serves.
#[derive(Default)]
pub(super) struct Output {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    subject: Arc<Subject>,
    stdout: Line,
    stderr: Line,
}

/// One of the guest's two streams.
#[derive(Clone)]
struct Printed {
    output: Arc<Output>,
    stream: Stream,
}

/// The line that is being written.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    /// How much of it was over the limit.
    cut: usize,
}

impl Line {
    /// Takes bytes and hands each line that ends in them to `done`.
    fn take(&mut self, bytes: &[u8], mut done: impl FnMut(&str, usize)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (content, ends) = match part.strip_suffix(b"\n") {
                Some(content) => (content, true),
                None => (part, false),
            };
            let room = GUEST_LINE
                .saturating_sub(self.text.len())
                .min(content.len());
            self.text.extend_from_slice(&content[..room]);
            self.cut += content.len() - room;
            if ends {
                self.end(&mut done);
            }
        }
    }

    fn end(&mut self, mut done: impl FnMut(&str, usize)) {
        let text = String::from_utf8_lossy(&self.text);
        let text = text.trim_end_matches('\r');
        if !text.is_empty() {
            done(text, self.cut);
        }
        *self = Self::default();
    }
}

impl Output {
    /// Where the guest's `stream` goes to.
    pub(super) fn stream(output: &Arc<Self>, stream: Stream) -> impl StdoutStream + use<> {
        Printed {
            output: Arc::clone(output),
            stream,
        }
    }

    /// From now on the guest prints on behalf of `subject`.
    pub(super) fn begin(&self, subject: Subject) {
        self.state().subject = Arc::new(subject);
    }

    pub(super) fn subject(&self) -> Arc<Subject> {
        Arc::clone(&self.state().subject)
    }

    /// Logs last lines that no line break ended.
    pub(super) fn finish(&self) {
        let state = &mut *self.state();
        for (stream, line) in [
            (Stream::Stdout, &mut state.stdout),
            (Stream::Stderr, &mut state.stderr),
        ] {
            line.end(&mut |text: &str, cut| stream.log(&state.subject, text, cut));
        }
    }

    fn print(&self, stream: Stream, bytes: &[u8]) {
        let state = &mut *self.state();
        let line = match stream {
            Stream::Stdout => &mut state.stdout,
            Stream::Stderr => &mut state.stderr,
        };
        line.take(bytes, |text, cut| stream.log(&state.subject, text, cut));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn log(self, subject: &Subject, text: &str, cut: usize) {
        let (level, name) = match self {
            Self::Stdout if cut == 0 => (Level::Info, "stdout"),
            Self::Stdout => (Level::Warn, "stdout"),
            Self::Stderr => (Level::Warn, "stderr"),
        };
        subject.say(level, &format!("{name}: {text}"), None, cut);
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Printed {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.output.print(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

impl OutputStream for Printed {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.output.print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(parts: &[&[u8]]) -> Vec<(String, usize)> {
        let mut got = Vec::new();
        let mut line = Line::default();
        for part in parts {
            line.take(part, |text, cut| got.push((text.to_owned(), cut)));
        }
        line.end(|text, cut| got.push((text.to_owned(), cut)));
        got
    }

    // Rule 9.4.
    #[test]
    fn a_line_is_whole_however_it_was_written() {
        assert_eq!(
            lines(&[b"one\ntw", b"o\r\n\n", b"three"]),
            [("one".into(), 0), ("two".into(), 0), ("three".into(), 0)]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_cut_and_says_by_how_much() {
        let long = vec![b'x'; GUEST_LINE + 5];
        let got = lines(&[&long, b"yy\nnext\n"]);
        assert_eq!((got[0].0.len(), got[0].1), (GUEST_LINE, 7));
        assert_eq!(got[1], ("next".into(), 0));
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        assert_eq!(lines(&[b"a\xff\n"]), [("a\u{fffd}".into(), 0)]);
    }
}
