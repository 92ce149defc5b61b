//! What queuelet itself costs a message: allocations, bytes and CPU time of a whole subscription
//! (pump, feed, workers, lease keeper, settler) on an SQS that costs nothing.
//!
//! ```text
//! cargo run --release -p benches -- cost
//! cargo run --release -p benches -- cost --sites --only 'native, single, each, 1'
//! ```

mod allocator;
mod case;
mod sites;
mod sqs;
mod window;

use std::sync::Arc;

use clap::Parser;
use comfy_table::Table;
use queuelet::config::{Instances, Reuse};
use queuelet::handler::{Handler, HandlerKind};
use queuelet::plugin::{Guests, MountGrants, Plugin};
use std::num::NonZeroU64;
use std::time::Duration;

pub use allocator::Counting;
pub use case::{Case, Who};
pub use window::Cost;

use case::Native;
use sites::Site;

/// How many messages go before those that are measured: by then everything has its size.
const BEFORE: usize = 1000;
/// How many are measured.
const MESSAGES: usize = 5000;
/// How many where who allocates is remembered.
const REMEMBERED: usize = 200;

/// What queuelet itself costs a message
#[derive(Debug, Parser)]
#[command(name = "benches cost")]
struct Options {
    /// Where the allocations come from
    #[arg(long)]
    sites: bool,
    /// Only those whose name has this in it
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// How many messages are measured
    #[arg(long, default_value_t = MESSAGES)]
    messages: usize,
}

/// The guests that handle.
pub struct Handlers {
    single: Arc<Plugin>,
    batch: Arc<Plugin>,
}

impl Handlers {
    /// Builds and loads them.
    ///
    /// # Panics
    /// Where they do not build or load.
    pub fn load() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts");
        let guests = Guests::start().expect("the guests' engine starts");
        let guest = |package| Arc::new(runtime.block_on(crate::guest(&guests, package)));
        Self {
            single: guest("guest-outcome"),
            batch: guest("guest-outcome-batch"),
        }
    }

    /// Who handles in this case.
    fn of(&self, case: Case) -> Arc<dyn Handler> {
        let instances = match case.who {
            Who::Native => return Arc::new(Native(case.kind)),
            Who::Fresh => Instances::Fresh,
            // Without an end: an instance that is made anew is not what is measured.
            Who::Reused => Instances::Reuse(Reuse {
                messages: NonZeroU64::MAX,
                age: Duration::from_secs(3600),
                growth: 1 << 30,
            }),
        };
        let plugin = match case.kind {
            HandlerKind::Single => &self.single,
            HandlerKind::Batch => &self.batch,
        };
        plugin.mounted(MountGrants {
            instances,
            ..MountGrants::default()
        })
    }

    /// What a message costs in this case.
    pub fn cost(&self, case: Case, messages: usize) -> Cost {
        case.run(self.of(case), BEFORE, messages, false).1
    }

    /// Where a message's allocations come from in this case.
    fn sites(&self, case: Case) -> Vec<Site> {
        let (messages, _) = case.run(self.of(case), BEFORE, REMEMBERED, true);
        sites::sites(&allocator::remembered(), messages)
    }
}

/// Measures, and says what was found.
pub fn holds(arguments: impl Iterator<Item = String>) -> bool {
    let name = "benches cost".to_owned();
    let options = Options::parse_from(std::iter::once(name).chain(arguments));
    let mut cases = Case::all();
    cases.retain(|case| {
        let name = case.to_string();
        options.only.is_empty() || options.only.iter().any(|text| name.contains(text))
    });
    let handlers = Handlers::load();
    let mut table = Table::new();
    table.set_header(["", "allocations", "bytes", "CPU µs"]);
    for case in &cases {
        let cost = handlers.cost(*case, options.messages);
        table.add_row([
            case.to_string(),
            format!("{:.2}", cost.allocations),
            format!("{:.0}", cost.bytes),
            format!("{:.2}", cost.cpu),
        ]);
    }
    println!("{table}");
    if options.sites {
        for case in cases {
            println!("\n{case}: allocations and bytes a message");
            for site in handlers.sites(case) {
                let (allocations, bytes) = (site.allocations, site.bytes);
                println!("{allocations:8.2} {bytes:8.0}  {}", site.place);
            }
        }
    }
    true
}
