//! Replies with how many messages its instance has had, this one included, after doing what the
//! body says: `{"do":"grow","bytes":1000000}`.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use queuelet_guest::{HandlerOutcome, Reply, SqsQueue, subscriber};
use serde::Deserialize;

static MESSAGES: AtomicU64 = AtomicU64::new(0);
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Order {
    Count,
    Fail,
    Grow {
        bytes: usize,
    },
    /// Prints half a line.
    Print {
        text: String,
    },
    Sleep {
        ms: u64,
    },
    Trap,
}

#[subscriber(SqsQueue, reply)]
fn count(order: Order) -> Result<Reply, HandlerOutcome> {
    let messages = MESSAGES.fetch_add(1, Ordering::Relaxed) + 1;
    match order {
        Order::Count => {}
        Order::Fail => return Err(HandlerOutcome::fail("told to")),
        Order::Grow { bytes } => KEPT.lock().unwrap().push(vec![0xa5; bytes]),
        Order::Print { text } => {
            print!("{text}");
            // Or it would stay in the guest's own buffer.
            let _ = io::stdout().flush();
        }
        Order::Sleep { ms } => thread::sleep(Duration::from_millis(ms)),
        Order::Trap => panic!("told to"),
    }
    Ok(Reply::new(messages.to_string()))
}
