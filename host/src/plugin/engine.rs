//! The engine that all guests share, the threads they run on, and the clock that interrupts them.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy,
    PoolingAllocationConfig,
};

use super::bindings::single::queuelet::handler::{context, log, publish, types};
use super::guest::Guest;
use super::limiter::TABLE_ELEMENTS;
use crate::handler::{Failure, Reason};
use crate::limits::{EPOCH_TICK, GUEST_MEMORY, MAX_INSTANCES};

/// The guests' engine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum GuestsError {
    /// wasmtime refused the machine or its settings.
    #[error("the WebAssembly engine could not be set up: {0:#}")]
    Engine(wasmtime::Error),
    /// No threads.
    #[error("the guests' threads could not be started: {0}")]
    Threads(#[from] std::io::Error),
}

/// Everything that guests share: one engine, one linker, their own threads.
///
/// Guests never run on the I/O runtime, so whatever they do to their threads delays no lease
/// (rule 4.2).
pub struct Guests {
    engine: Engine,
    linker: Linker<Guest>,
    /// Taken at the end: a runtime must not be dropped where it would have to wait.
    runtime: Option<Runtime>,
    ticker: Ticker,
    /// One permit an instance that may live, so that the pool is never asked for more.
    places: Arc<Semaphore>,
}

impl Guests {
    /// Sets up the engine, with the pooling allocator where the machine has the address space for
    /// it, and starts the guests' threads, one a core.
    ///
    /// # Errors
    /// Where wasmtime or the operating system refuses.
    pub fn start() -> Result<Arc<Self>, GuestsError> {
        let engine = engine().map_err(GuestsError::Engine)?;
        let linker = linker(&engine).map_err(GuestsError::Engine)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("guest")
            .enable_all()
            // Guests yield each tick; timers and wake-ups must not wait for sixty of those.
            .event_interval(3)
            .build()?;
        let ticker = Ticker::start(engine.clone())?;
        Ok(Arc::new(Self {
            engine,
            linker,
            runtime: Some(runtime),
            ticker,
            places: Arc::new(Semaphore::new(MAX_INSTANCES as usize)),
        }))
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn linker(&self) -> &Linker<Guest> {
        &self.linker
    }

    /// Runs a guest's call on the guests' threads, once there is a place for its instance. Dropping
    /// the answer interrupts the guest at its next tick.
    pub(super) fn run<T, F>(
        self: &Arc<Self>,
        call: F,
    ) -> impl Future<Output = Result<T, Failure>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let guests = Arc::clone(self);
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime lives until the guests are dropped");
        let running = AbortOnDropHandle::new(runtime.spawn(async move {
            // Nobody closes the semaphore.
            let _place = guests.places.acquire().await;
            let _ticking = guests.ticker.during();
            call.await
        }));
        async move {
            running.await.unwrap_or_else(|error| {
                Err(Failure::new(
                    Reason::Trap,
                    format!("the host failed while the handler ran; please report this: {error}"),
                ))
            })
        }
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn engine() -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(MAX_INSTANCES)
        .total_core_instances(MAX_INSTANCES * 4)
        .total_memories(MAX_INSTANCES)
        .total_tables(MAX_INSTANCES * 2)
        .total_stacks(MAX_INSTANCES)
        .max_core_instances_per_component(30)
        .max_memories_per_component(2)
        .max_tables_per_component(8)
        .max_core_instance_size(2 << 20)
        .max_component_instance_size(2 << 20)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(GUEST_MEMORY)
        .linear_memory_keep_resident(512 << 10)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    match Engine::new(&config) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            warn!(
                "no pool of instances, so each message costs more: {error:#}; an address space \
                 limit (ulimit -v) is the usual cause"
            );
            let mut on_demand = self::config();
            on_demand.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            Engine::new(&on_demand)
        }
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        // One call an instance: without this a call costs twice as much.
        .concurrency_support(false);
    match Cache::new(CacheConfig::new()) {
        Ok(cache) => {
            config.cache(Some(cache));
        }
        Err(error) => info!("no compile cache, so starting takes longer: {error:#}"),
    }
    config
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    types::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
    log::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
    context::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
    publish::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
    Ok(linker)
}

/// Moves the epoch, on a thread of its own, while any guest runs.
struct Ticker {
    running: Arc<Running>,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Running {
    guests: AtomicUsize,
    over: AtomicBool,
}

impl Ticker {
    fn start(engine: Engine) -> std::io::Result<Self> {
        let running = Arc::new(Running::default());
        let seen = Arc::clone(&running);
        let handle = std::thread::Builder::new()
            .name("epoch".into())
            .spawn(move || tick(&engine, &seen))?;
        Ok(Self {
            running,
            thread: handle.thread().clone(),
            handle: Some(handle),
        })
    }

    /// Ticks while the answer lives.
    fn during(&self) -> Ticking<'_> {
        if self.running.guests.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Ticking(&self.running)
    }
}

fn tick(engine: &Engine, running: &Running) {
    let mut next = Instant::now();
    while !running.over.load(Ordering::SeqCst) {
        if running.guests.load(Ordering::SeqCst) == 0 {
            std::thread::park();
            next = Instant::now();
            continue;
        }
        // By absolute time: the sum of many sleeps drifts.
        next += EPOCH_TICK;
        let now = Instant::now();
        if next > now {
            std::thread::sleep(next - now);
        } else {
            next = now;
        }
        engine.increment_epoch();
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.running.over.store(true, Ordering::SeqCst);
        self.thread.unpark();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

struct Ticking<'a>(&'a Running);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.guests.fetch_sub(1, Ordering::SeqCst);
    }
}
