//! An instance with its store: made, asked, and perhaps asked again.

use wasmtime::Store;

use super::bindings::batch::BatchHandler;
use super::bindings::single::SingleHandler;
use super::call::Linked;
use super::guest::Guest;
use super::lane::LaneId;
use super::life::Life;

/// A live instance, with everything that it has.
pub(super) struct Warm {
    pub(super) store: Store<Guest>,
    pub(super) instance: Instance,
    pub(super) life: Life,
    pub(super) lane: LaneId,
}

/// A component that is instantiated.
pub(super) enum Instance {
    Single(SingleHandler),
    Batch(BatchHandler),
}

impl Warm {
    /// Instantiates a component in a store that is made for it.
    pub(super) async fn make(
        linked: &Linked,
        mut store: Store<Guest>,
        life: Life,
        lane: LaneId,
    ) -> wasmtime::Result<Self> {
        let instance = match linked {
            Linked::Single(pre) => Instance::Single(pre.instantiate_async(&mut store).await?),
            Linked::Batch(pre) => Instance::Batch(pre.instantiate_async(&mut store).await?),
        };
        Ok(Self {
            store,
            instance,
            life,
            lane,
        })
    }

    /// Asks for the settings that the plugin says of itself.
    pub(super) async fn settings(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let store = &mut self.store;
        match &self.instance {
            Instance::Single(handler) => {
                let descriptor = handler.queuelet_handler_descriptor();
                descriptor.call_settings(store).await
            }
            Instance::Batch(handler) => {
                let descriptor = handler.queuelet_handler_descriptor();
                descriptor.call_settings(store).await
            }
        }
    }
}
