//! The engine that all guests share, and the threads they run on.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy,
    PoolingAllocationConfig,
};

use super::bindings::single::queuelet::handler::{context, log, publish, types};
use super::guest::Guest;
use super::lane::{Lane, Lanes};
use super::limiter::TABLE_ELEMENTS;
use super::places::{Places, Undertaker};
use super::ticker::{Ticker, Ticking};
use super::turns::Turns;
use crate::handler::{Failure, Reason};
use crate::limits::{DEFAULT_MAX_INSTANCES, LARGEST_MEMORY};

/// The most core instances, memories and tables of one component: what Python and JavaScript guests
/// need, and some. The pool has as many of each for every place, so that it never runs out of one
/// while a place is free.
pub(super) const CORE_INSTANCES: u32 = 30;
const MEMORIES: u32 = 2;
const TABLES: u32 = 8;
/// How many plugins that are being loaded may have an instance at once, beside the calls of those
/// that serve.
const PROBES: u32 = 1;
/// Threads for turns that are lent (see [`Turns`]).
const SPARE_THREADS: usize = 4;

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

/// Everything that guests share: one engine, one linker, their own threads, and the places for
/// their instances.
///
/// Guests never run on the I/O runtime, so whatever they do to their threads delays no lease
/// (rule 4.2).
pub struct Guests {
    engine: Engine,
    linker: Linker<Guest>,
    /// Taken at the end: a runtime must not be dropped where it would have to wait.
    runtime: Option<Runtime>,
    ticker: Ticker,
    lanes: Lanes,
    places: Arc<Places>,
    max_instances: NonZeroUsize,
    probes: Semaphore,
    _undertaker: Undertaker,
}

/// What the instances of one plugin are about now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The plugin.
    pub plugin: String,
    /// How many instances answer a call.
    pub busy: usize,
    /// How many idle until the next call.
    pub warm: usize,
    /// How many calls wait for a place.
    pub waiting: usize,
}

impl Guests {
    /// Guests of which [`DEFAULT_MAX_INSTANCES`] may live at once: see [`Guests::with`].
    ///
    /// # Errors
    /// Where wasmtime or the operating system refuses.
    pub fn start() -> Result<Arc<Self>, GuestsError> {
        Self::with(DEFAULT_MAX_INSTANCES)
    }

    /// Sets up the engine for at most so many live instances, with the pooling allocator where the
    /// machine has the address space for it, and starts the guests' threads: one a core, and a few that
    /// work only while those are held up.
    ///
    /// # Errors
    /// Where wasmtime or the operating system refuses.
    pub fn with(max_instances: NonZeroUsize) -> Result<Arc<Self>, GuestsError> {
        let engine = engine(max_instances).map_err(GuestsError::Engine)?;
        let linker = linker(&engine).map_err(GuestsError::Engine)?;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores + SPARE_THREADS)
            .thread_name("guest")
            .enable_all()
            // Guests yield each tick; timers, wake-ups and new calls must not wait for sixty of those.
            .event_interval(3)
            .global_queue_interval(3)
            .build()?;
        let turns = Turns::of(cores, SPARE_THREADS);
        let ticker = Ticker::start(engine.clone(), Arc::clone(&turns))?;
        let places = Places::new(max_instances);
        Ok(Arc::new(Self {
            engine,
            linker,
            runtime: Some(runtime),
            ticker,
            lanes: Lanes::new(Arc::clone(&places), turns),
            _undertaker: Undertaker::start(&places)?,
            places,
            max_instances,
            probes: Semaphore::new(PROBES as usize),
        }))
    }

    /// What the instances of each plugin are about now, by the plugin's name.
    pub fn usage(&self) -> Vec<Usage> {
        let lanes = self.lanes.all().into_iter();
        let usage = lanes.map(|(plugin, lane)| {
            let (busy, waiting) = self.places.of(lane);
            Usage {
                plugin: plugin.to_string(),
                busy,
                warm: self.places.warm_of(lane),
                waiting,
            }
        });
        usage.collect()
    }

    /// How many instances may live at once.
    pub fn max_instances(&self) -> NonZeroUsize {
        self.max_instances
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn linker(&self) -> &Linker<Guest> {
        &self.linker
    }

    pub(super) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// The part of the plugin of this name, all its versions together.
    pub(super) fn lane(&self, name: &Arc<str>) -> Arc<Lane> {
        self.lanes.of(name)
    }

    /// The part of a plugin that is being loaded.
    pub(super) fn lane_of_probe(&self) -> Arc<Lane> {
        self.lanes.of_probe()
    }

    /// Waits until a plugin that is being loaded may have an instance.
    pub(super) async fn probing(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes the semaphore.
        self.probes.acquire().await.ok()
    }

    /// The epoch moves while the answer lives.
    pub(super) fn ticking(&self) -> Ticking<'_> {
        self.ticker.during()
    }

    /// Runs a plugin's call on the guests' threads, in the plugin's turns. Dropping the answer
    /// interrupts the guest at its next tick.
    pub(super) fn run<T, F>(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        call: F,
    ) -> impl Future<Output = Result<T, Failure>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime lives until the guests are dropped");
        let running = AbortOnDropHandle::new(runtime.spawn(lane.in_turns(call)));
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

fn engine(max_instances: NonZeroUsize) -> wasmtime::Result<Engine> {
    let places = u32::try_from(max_instances.get()).unwrap_or(u32::MAX / CORE_INSTANCES);
    let places = places.saturating_add(PROBES);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(places)
        .total_core_instances(places.saturating_mul(CORE_INSTANCES))
        .total_memories(places.saturating_mul(MEMORIES))
        .total_tables(places.saturating_mul(TABLES))
        .total_stacks(places)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_core_instance_size(2 << 20)
        .max_component_instance_size(2 << 20)
        .table_elements(TABLE_ELEMENTS)
        // What a mount allows is less, and its store's limiter sees to it.
        .max_memory_size(LARGEST_MEMORY)
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
