//! The calls of a quick plugin, alone and beside plugins that do the worst they can.

use std::sync::Arc;
use std::time::{Duration, Instant};

use comfy_table::Table;
use queuelet::config::Sandbox;
use queuelet::handler::{Call, Handler, SqsMessage};
use queuelet::plugin::{Guests, MountGrants, Plugin};
use tokio::task::JoinSet;

/// What the neighbours do: words of `guest-hostile`.
const HARM: [(&str, &str); 7] = [
    ("loop", "spin"),
    ("allocate", "grow"),
    ("recurse", "recurse"),
    ("print", "print"),
    ("print no line break", "print-on-one-line"),
    ("sleep", "sleep 3600000"),
    ("trap", "abort"),
];
/// How many calls of a neighbour are under way at once.
const WORKERS: usize = 16;
/// How long each may take: they are many calls, and not only one that never ends.
const LIMIT: Duration = Duration::from_millis(300);
const CALLS: usize = 500;
/// What the slowest call in a hundred may take however quick it is alone.
const ALLOWED: Duration = Duration::from_millis(50);

/// Whether the slowest call in a hundred takes no more than twice what it takes alone, or 50 ms.
pub(crate) async fn holds() -> bool {
    let guests = Guests::start().expect("the guests' engine starts");
    let quick = Arc::new(benches::guest(&guests, "guest-outcome").await);
    let hostile = Arc::new(benches::guest(&guests, "guest-hostile").await);
    let mut table = Table::new();
    table.set_header([
        "beside",
        "p50 alone",
        "p50",
        "ratio",
        "p99 alone",
        "p99",
        "ratio",
    ]);
    times(&quick).await;
    let mut holds = true;
    for (name, word) in HARM {
        // Alone again each time: the machine may have changed its pace.
        let alone = times(&quick).await;
        let _neighbours = neighbours(&hostile, word);
        let beside = times(&quick).await;
        holds &= beside.p99 <= ALLOWED.max(2 * alone.p99);
        table.add_row([
            name.to_owned(),
            format!("{:.2?}", alone.p50),
            format!("{:.2?}", beside.p50),
            ratio(alone.p50, beside.p50),
            format!("{:.2?}", alone.p99),
            format!("{:.2?}", beside.p99),
            ratio(alone.p99, beside.p99),
        ]);
    }
    println!("{table}");
    holds
}

fn ratio(alone: Duration, beside: Duration) -> String {
    format!("{:.1}", beside.as_secs_f64() / alone.as_secs_f64())
}

struct Times {
    p50: Duration,
    p99: Duration,
}

async fn times(quick: &Plugin) -> Times {
    let message = benches::message();
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        let answer = quick.handle(benches::call(), Arc::clone(&message)).await;
        times.push(began.elapsed());
        assert!(answer.is_ok(), "{answer:?}");
    }
    times.sort_unstable();
    Times {
        p50: times[CALLS / 2],
        p99: times[CALLS * 99 / 100],
    }
}

/// Calls that end as they must, over and over, until the answer is dropped.
fn neighbours(hostile: &Arc<Plugin>, word: &str) -> JoinSet<()> {
    let sandbox = Sandbox {
        // Sixteen of them at once.
        memory: 32 << 20,
        ..MountGrants::default().sandbox
    };
    let handler = hostile.mounted(MountGrants {
        sandbox,
        ..MountGrants::default()
    });
    let message = Arc::new(SqsMessage {
        body: word.to_owned().into(),
        ..SqsMessage::default()
    });
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (handler, message) = (Arc::clone(&handler), Arc::clone(&message));
        workers.spawn(async move {
            loop {
                let call = Call {
                    timeout: Some(LIMIT),
                    ..benches::call()
                };
                // How it fails is its own affair.
                let _ = handler.handle(call, Arc::clone(&message)).await;
            }
        });
    }
    workers
}
