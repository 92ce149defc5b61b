//! What a store holds: the guest's limits, its WASI, and the call that it serves now.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use super::allowance::Allowance;
use super::bindings::single::queuelet::handler::{context, types};
use super::deadline::Deadline;
use super::engine::Guests;
use super::http::Requests;
use super::lane::Lane;
use super::limiter::Limiter;
use super::log::Subject;
use super::output::{Output, Stream};
use super::publish::Publishing;
use crate::limits::{GUEST_ANSWER, GUEST_HANDLES, GUEST_RANDOM};

/// The data of a store. One store may serve many calls, one after the other; what belongs to one of
/// them is set by [`Guest::begin`] and ends with [`Guest::end`].
pub(super) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    limiter: Limiter,
    output: Arc<Output>,
    http: Requests,
    pub(super) publishing: Option<Publishing>,
    deadline: Deadline,
}

/// A fresh store, in which no call has begun.
pub(super) fn store(guests: &Guests, lane: &Arc<Lane>, allowance: &Allowance) -> Store<Guest> {
    let output = Arc::new(Output::new(allowance));
    let mut wasi = WasiCtxBuilder::new();
    // Nothing else is given: no files, no network, and of the environment what the mount says (rule
    // 9.1). WASI's sockets are refused before they are made, so that none holds a descriptor.
    wasi.stdout(Output::stream(&output, Stream::Stdout))
        .stderr(Output::stream(&output, Stream::Stderr))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(GUEST_RANDOM);
    for (name, value) in allowance.environment.variables() {
        wasi.env(name, value);
    }
    let mut table = ResourceTable::new();
    table.set_max_capacity(GUEST_HANDLES);
    let http = Requests::new(
        Arc::clone(&allowance.outbound),
        Arc::clone(lane),
        output.subject(),
    );
    let limiter = if allowance.is_probe {
        Limiter::of_probe(allowance.memory)
    } else {
        Limiter::new(allowance.memory)
    };
    let mut store = Store::new(
        guests.engine(),
        Guest {
            wasi: wasi.build(),
            table,
            limiter,
            output,
            http,
            publishing: None,
            deadline: Deadline::default(),
        },
    );
    store.set_hostcall_fuel(GUEST_ANSWER);
    store.set_max_component_handles(GUEST_HANDLES);
    store.limiter(|guest| &mut guest.limiter);
    // Each tick a guest that burns the CPU lets the others have it, or ends if its time is up.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|context| match context.data().deadline.passed() {
        Some(up) => Err(wasmtime::Error::new(up)),
        None => Ok(UpdateDeadline::Yield(1)),
    });
    store
}

impl Guest {
    /// A call begins: whatever the one before left ends here.
    pub(super) fn begin(
        &mut self,
        subject: Subject,
        publishing: Option<Publishing>,
        deadline: Deadline,
    ) {
        self.end();
        self.output.begin(subject);
        self.http.begin(self.output.subject());
        self.publishing = publishing;
        self.deadline = deadline;
    }

    /// The call has ended, however it did. What was printed without a line break at the end is
    /// logged now.
    pub(super) fn end(&mut self) {
        self.http.end();
        self.output.finish();
        self.publishing = None;
        self.deadline = Deadline::default();
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// The bytes of memory that the instance had from the beginning.
    pub(super) fn initial_memory(&self) -> usize {
        self.limiter.initial()
    }

    /// The bytes of memory that the instance has now.
    pub(super) fn memory(&self) -> usize {
        self.limiter.used()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.http.view(&mut self.table)
    }
}

impl types::Host for Guest {}

impl context::Host for Guest {
    fn queue(&mut self) -> String {
        self.output.subject().queue.to_string()
    }
}
