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
        Arc::clone(&allowance.voice),
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

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module};

    use super::super::failure::failure;
    use super::super::limiter::TABLE_ELEMENTS;
    use super::super::rate::Lines;
    use super::*;
    use crate::handler::Reason;

    /// A module with a memory of this many pages, and a function that grows its empty table to
    /// 60,001 elements:
    /// `(module (table 0 funcref) (memory (export "m") PAGES) (func (export "grow") (result i32)
    /// ref.null func i32.const 60001 table.grow 0))`.
    fn module(pages: u8) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let sections: [&[u8]; 6] = [
            &[1, 5, 1, 0x60, 0, 1, 0x7f],
            &[3, 2, 1, 0],
            &[4, 4, 1, 0x70, 0, 0],
            &[5, 3, 1, 0, pages],
            b"\x07\x08\x01\x04grow\0\0",
            &[
                10, 13, 1, 11, 0, 0xd0, 0x70, 0x41, 0xe1, 0xd4, 3, 0xfc, 15, 0, 11,
            ],
        ];
        module.extend(sections.concat());
        module
    }

    async fn instance(pages: u8, memory: usize) -> wasmtime::Result<(Store<Guest>, Instance)> {
        let guests = Guests::start().unwrap();
        let lines = Arc::new(Lines::new("p".into(), "d".into()));
        let mut allowance = Allowance::standard(lines);
        allowance.memory = memory;
        let mut store = store(&guests, &guests.lane_of_probe(), &allowance);
        let module = Module::new(guests.engine(), module(pages))?;
        let instance = Instance::new_async(&mut store, &module, &[]).await?;
        Ok((store, instance))
    }

    // Rules 5.6 and 9.2.
    #[tokio::test]
    async fn a_table_that_grows_over_the_limit_ends_the_guest_as_memory_does() {
        let (mut store, instance) = instance(1, 1 << 20).await.unwrap();
        let grow = instance.get_typed_func::<(), i32>(&mut store, "grow");
        let ended = grow.unwrap().call_async(&mut store, ()).await;
        let failure = failure(&ended.unwrap_err());
        assert_eq!(failure.reason, Reason::Memory);
        let says = format!("a table of {} elements", TABLE_ELEMENTS + 1);
        assert!(failure.message.contains(&says), "{failure}");
    }

    // Rules 5.6 and 9.2.
    #[tokio::test]
    async fn a_memory_that_is_too_large_from_the_beginning_is_named_as_one_that_grows() {
        let Err(error) = instance(17, 1 << 20).await else {
            panic!("it began");
        };
        let failure = failure(&error);
        assert_eq!(failure.reason, Reason::Memory);
        assert!(
            failure.message.contains("may have 1048576 (`memory`)"),
            "{failure}"
        );
        let (store, _) = instance(16, 1 << 20).await.unwrap();
        assert_eq!(store.data().memory(), 1 << 20);
    }
}
