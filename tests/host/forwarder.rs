//! A forwarder that keeps what was asked: between the host and the SQS of a test.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// A request as it came: the action, and what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) action: String,
    pub(crate) body: Value,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Request>,
}

/// Listens, forwards, and keeps every request.
pub(crate) struct Forwarder {
    pub(crate) endpoint: String,
    seen: Arc<Mutex<Seen>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Forwarder {
    /// Forwards to the SQS at `endpoint`, and to nowhere without one.
    pub(crate) async fn to(endpoint: Option<&str>) -> Self {
        let upstream = endpoint.map(|endpoint| endpoint.replace("http://", ""));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let noted = Arc::clone(&seen);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                noted.lock().unwrap().connections += 1;
                if let Some(upstream) = &upstream {
                    let server = TcpStream::connect(upstream).await.unwrap();
                    tokio::spawn(forward(client, server, Arc::clone(&noted)));
                }
            }
        });
        Self {
            endpoint: format!("http://{address}"),
            seen,
            _accepting: AbortOnDropHandle::new(accepting),
        }
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// What was asked of one action for one queue, in order.
    pub(crate) fn requests(&self, action: &str, queue: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let of_queue = |body: &Value| {
            let url = body["QueueUrl"].as_str().unwrap_or_default();
            url.rsplit('/').next() == Some(queue)
        };
        seen.requests
            .iter()
            .filter(|request| request.action == action && of_queue(&request.body))
            .map(|request| request.body.clone())
            .collect()
    }
}

async fn forward(client: TcpStream, server: TcpStream, seen: Arc<Mutex<Seen>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let back = async { copy(&mut from_server, &mut to_client).await.map(|_| ()) };
    let forth = async {
        let mut kept = Vec::new();
        let mut part = vec![0; 64 << 10];
        loop {
            let read = from_client.read(&mut part).await?;
            if read == 0 {
                return to_server.shutdown().await;
            }
            kept.extend_from_slice(&part[..read]);
            while let Some(request) = take_request(&mut kept) {
                seen.lock().unwrap().requests.push(request);
            }
            to_server.write_all(&part[..read]).await?;
        }
    };
    // Whichever end closes first closes both.
    tokio::select! {
        _ = back => {}
        _ = forth => {}
    }
}

/// Takes the first request out of what has come, once it is whole. SQS's clients say its length.
fn take_request(kept: &mut Vec<u8>) -> Option<Request> {
    let head_end = kept.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&kept[..head_end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let length: usize = header("content-length")?.parse().ok()?;
    if kept.len() < head_end + length {
        return None;
    }
    let request = Request {
        action: header("x-amz-target")?.rsplit('.').next()?.to_owned(),
        body: serde_json::from_slice(&kept[head_end..head_end + length]).ok()?,
    };
    kept.drain(..head_end + length);
    Some(request)
}
