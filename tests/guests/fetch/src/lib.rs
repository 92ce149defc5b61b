//! Makes the HTTP request that the body tells and replies with how it went:
//! `{"url":"http://127.0.0.1:8080/"}`.

mod exchange;

/// wasi:http, as far as it is used here.
// Generated code: its documentation is that of WASI.
#[allow(missing_docs, unreachable_pub, clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "fetch", generate_all });
}

use queuelet_guest::{Reply, SqsQueue, subscriber};
use serde::{Deserialize, Serialize};

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// One request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
    /// A body of so many bytes instead, with no length said in advance.
    upload: Option<usize>,
    /// Follows redirects, as a client library in the guest does.
    #[serde(default)]
    follow: bool,
    /// Does not wait for the answer, and keeps what it has of the request.
    #[serde(default)]
    leave: bool,
    first_byte_ms: Option<u64>,
    between_bytes_ms: Option<u64>,
}

/// How it went.
#[derive(Default, Serialize)]
struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    status: u16,
    /// The first bytes of the answer's body.
    body: String,
    length: usize,
}

#[subscriber(SqsQueue, reply)]
fn fetch(mut order: Order) -> Reply {
    let mut told = exchange::ask(&order);
    for _ in 0..REDIRECTS {
        match &told {
            Ok((Told { status, .. }, Some(location))) if order.follow && status / 100 == 3 => {
                order.url.clone_from(location);
            }
            _ => break,
        }
        told = exchange::ask(&order);
    }
    let told = match told {
        Ok((told, _)) => told,
        Err(error) => Told {
            error: Some(error),
            ..Told::default()
        },
    };
    Reply::json(&told)
}
