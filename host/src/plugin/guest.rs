//! What a store holds: the guest's limits, its WASI, and whom its host calls speak of.

use std::borrow::Cow;
use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::bindings::single::queuelet::handler::{context, log};
use super::engine::Guests;
use super::output::{Printed, Stream};
use super::publish::Publishing;
use crate::handler::{Failure, Reason};
use crate::limits::{GUEST_LINE, GUEST_MEMORY};

/// What a call is about, for log lines and for `context`.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) plugin: Arc<str>,
    /// Shortened.
    pub(super) digest: Arc<str>,
    pub(super) queue: Arc<str>,
    /// None for a batch, and while the descriptor is asked.
    pub(super) message: Option<String>,
}

/// The data of a store.
pub(super) struct Guest {
    subject: Arc<Subject>,
    pub(super) publishing: Option<Publishing>,
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Limits,
    stdout: Printed,
    stderr: Printed,
    deadline: Option<Instant>,
}

/// The trap that ends a guest at its time limit.
#[derive(Debug, thiserror::Error)]
#[error("the time limit has passed")]
struct TimeIsUp;

/// The trap that ends a guest that wants too much memory.
#[derive(Debug, thiserror::Error)]
#[error("it asked for {asked} bytes of memory and may have {allowed}")]
struct MemoryIsFull {
    asked: usize,
    allowed: usize,
}

struct Limits;

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        _: usize,
        asked: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if asked > GUEST_MEMORY {
            // A refusal alone would reach the guest's allocator, which aborts, and the reason
            // would be lost in a trap.
            return Err(wasmtime::Error::new(MemoryIsFull {
                asked,
                allowed: GUEST_MEMORY,
            }));
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _: usize,
        asked: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(asked <= super::engine::TABLE_ELEMENTS)
    }
}

/// A fresh store, that ends its guest at `deadline`.
pub(super) fn store(
    guests: &Guests,
    subject: Subject,
    publishing: Option<Publishing>,
    deadline: Option<Instant>,
) -> Store<Guest> {
    let subject = Arc::new(subject);
    let stdout = Printed::new(Arc::clone(&subject), Stream::Stdout);
    let stderr = Printed::new(Arc::clone(&subject), Stream::Stderr);
    // Nothing else is given: no files, no environment, no network (rule 9.1).
    let wasi = WasiCtxBuilder::new()
        .stdout(stdout.clone())
        .stderr(stderr.clone())
        .build();
    let mut store = Store::new(
        guests.engine(),
        Guest {
            subject,
            publishing,
            wasi,
            table: ResourceTable::new(),
            limits: Limits,
            stdout,
            stderr,
            deadline,
        },
    );
    store.limiter(|guest| &mut guest.limits);
    // Each tick a guest that burns the CPU lets the others have it, or ends if its time is up.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|context| match context.data().deadline {
        Some(deadline) if Instant::now() >= deadline => Err(wasmtime::Error::new(TimeIsUp)),
        _ => Ok(UpdateDeadline::Yield(1)),
    });
    store
}

impl Drop for Guest {
    /// Logs what was printed without a line break at the end, however the call ended.
    fn drop(&mut self) {
        self.stdout.finish();
        self.stderr.finish();
    }
}

/// Why a call ended without an answer, in the words of rule 5.6.
pub(super) fn failure(error: &wasmtime::Error) -> Failure {
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        // WASI 0.2 hands on whether the code was 0, and no more of it.
        let how = if exit.0 == 0 { "success" } else { "failure" };
        return Failure::new(
            Reason::Exit,
            format!("the handler ended its own process, with {how}; it must return instead"),
        );
    }
    if error.is::<TimeIsUp>() {
        return Failure::new(Reason::Timeout, "the handler passed its time limit");
    }
    if let Some(full) = error.downcast_ref::<MemoryIsFull>() {
        return Failure::new(Reason::Memory, full.to_string());
    }
    let what = match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::UnreachableCodeReached) => {
            "it panicked or aborted; what it said of that is logged before this".to_owned()
        }
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    Failure::new(Reason::Trap, what)
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl super::bindings::single::queuelet::handler::types::Host for Guest {}

impl context::Host for Guest {
    fn queue(&mut self) -> String {
        self.subject.queue.to_string()
    }
}

impl log::Host for Guest {
    fn enabled(&mut self, level: log::Level) -> bool {
        match level {
            log::Level::Trace => tracing::enabled!(tracing::Level::TRACE),
            log::Level::Debug => tracing::enabled!(tracing::Level::DEBUG),
            log::Level::Info => tracing::enabled!(tracing::Level::INFO),
            log::Level::Warn => tracing::enabled!(tracing::Level::WARN),
            log::Level::Error => tracing::enabled!(tracing::Level::ERROR),
        }
    }

    fn emit(&mut self, level: log::Level, message: String, fields: Vec<log::Field>) {
        if !self.enabled(level) {
            return;
        }
        let Subject {
            plugin,
            digest,
            queue,
            message: id,
        } = &*self.subject;
        let id = id.as_deref().unwrap_or("-");
        let message = on_one_line(capped(&message));
        // The names of tracing's fields are fixed at compile time; a guest's are not.
        let fields = fields_as_json(&fields);
        let (plugin, digest, queue) = (&**plugin, &**digest, &**queue);
        macro_rules! line {
            ($level:ident) => {
                match &fields {
                    Some(fields) => {
                        tracing::$level!(plugin, digest, queue, id, %fields, "{message}")
                    }
                    None => tracing::$level!(plugin, digest, queue, id, "{message}"),
                }
            };
        }
        match level {
            log::Level::Trace => line!(trace),
            log::Level::Debug => line!(debug),
            log::Level::Info => line!(info),
            log::Level::Warn => line!(warn),
            log::Level::Error => line!(error),
        }
    }
}

/// The fields as one JSON object, each value cut so that all are about a log line; none where there
/// are none.
fn fields_as_json(fields: &[log::Field]) -> Option<String> {
    let share = GUEST_LINE.checked_div(fields.len())?;
    let object: serde_json::Map<_, _> = fields
        .iter()
        .map(|field| {
            let value = &field.value[..field.value.floor_char_boundary(share)];
            (field.name.clone(), value.into())
        })
        .collect();
    Some(serde_json::Value::Object(object).to_string())
}

/// `text` with its control characters escaped: a handler that logs what it was sent must not let
/// the sender write log lines.
pub(super) fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() && c != '\t') {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// No more of `text` than a log line may have (rule 9.4).
fn capped(text: &str) -> &str {
    &text[..text.floor_char_boundary(GUEST_LINE)]
}
