//! 200,000 messages through one guest that loses 16 KiB at each, on fresh instances and on reused
//! ones: the memory of the process stays where it is.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comfy_table::Table;
use queuelet::config::{Instances, Reuse};
use queuelet::handler::Handler;
use queuelet::plugin::{Guests, MountGrants};
use tokio::task::JoinSet;

const MIB: u64 = 1 << 20;
/// After how many messages the memory is told.
const AT: [u64; 4] = [10_000, 50_000, 100_000, 200_000];
const WORKERS: usize = 4;
/// How often the memory is looked at. What is told is the most since it was told before: reused
/// instances grow and are retired, over and over.
const EVERY: u64 = 500;

/// Whether the memory of the second half is what it was in the first, but for a tenth and 8 MiB.
pub(crate) async fn holds() -> bool {
    let guests = Guests::start().expect("the guests' engine starts");
    let plugin = Arc::new(benches::guest(&guests, "guest-leaks").await);
    let reuse = Reuse {
        messages: NonZeroU64::new(1000).expect("it is not 0"),
        age: Duration::from_secs(600),
        growth: 16 << 20,
    };
    let mut table = Table::new();
    let mut header = vec!["instances".to_owned()];
    header.extend(AT.map(|messages| format!("RSS at {messages}")));
    table.set_header(header);
    let mut flat = true;
    for (name, instances) in [
        ("fresh", Instances::Fresh),
        ("reuse", Instances::Reuse(reuse)),
    ] {
        let handler = plugin.mounted(MountGrants {
            instances,
            ..MountGrants::default()
        });
        let told = told(handler).await;
        // Of the first half, for how high the first few rise together is chance.
        let (last, first) = told.split_last().expect("there are some");
        let first = first.iter().max().copied().unwrap_or_default();
        flat &= *last <= first + first / 10 + 8 * MIB;
        let mut row = vec![name.to_owned()];
        row.extend(told.iter().map(|bytes| format!("{} MiB", bytes / MIB)));
        table.add_row(row);
    }
    println!("{table}");
    flat
}

/// The most memory that the process had before each count of messages, since the one before.
async fn told(handler: Arc<dyn Handler>) -> Vec<u64> {
    let handled = Arc::new(AtomicU64::new(0));
    let most = Arc::new(AT.map(|_| AtomicU64::new(0)));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (handler, handled, most) = (handler.clone(), handled.clone(), most.clone());
        workers.spawn(async move {
            let message = benches::message();
            loop {
                let n = handled.fetch_add(1, Ordering::Relaxed);
                let Some(place) = AT.iter().position(|at| n < *at) else {
                    break;
                };
                let answer = handler.handle(benches::call(), Arc::clone(&message)).await;
                assert!(answer.is_ok(), "{answer:?}");
                if n % EVERY == 0 {
                    most[place].fetch_max(rss(), Ordering::Relaxed);
                }
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.expect("a worker does not panic");
    }
    most.iter()
        .map(|most| most.load(Ordering::Relaxed))
        .collect()
}

/// The resident memory of this process, in bytes.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).expect("it is said");
    kib * 1024
}
