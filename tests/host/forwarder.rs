//! A forwarder that keeps what was asked and can answer in SQS's place: between the host and the
//! SQS of a test.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// A request as it came: the action, and what was asked.
#[derive(Clone, Debug)]
struct Request {
    action: String,
    body: Value,
}

impl Request {
    fn is(&self, action: &str, queue: &str) -> bool {
        let names = |key: &str| {
            self.body[key]
                .as_str()
                .and_then(|url| url.rsplit('/').next())
        };
        self.action == action && names("QueueUrl").or(names("QueueName")) == Some(queue)
    }
}

/// What a request gets in place of SQS's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// An error of SQS's, by its code.
    Code(&'static str),
    /// The connection is closed with no answer.
    Cut,
}

/// The next requests of one action for one queue that get no answer of SQS's.
struct Rule {
    action: &'static str,
    queue: &'static str,
    left: usize,
    trouble: Trouble,
}

#[derive(Default)]
struct State {
    connections: usize,
    requests: Vec<Request>,
    rules: Vec<Rule>,
    /// Whether SQS is not told that a client has gone.
    deaf: bool,
}

impl State {
    /// Keeps a request and says what is to become of it.
    fn take(&mut self, request: Request) -> Option<Trouble> {
        let mut rules = self.rules.iter_mut();
        let rule = rules.find(|rule| rule.left > 0 && request.is(rule.action, rule.queue));
        self.requests.push(request);
        rule.map(|rule| {
            rule.left -= 1;
            rule.trouble
        })
    }
}

/// Listens, forwards, and keeps every request.
pub(crate) struct Forwarder {
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Forwarder {
    /// Forwards to the SQS at `endpoint`; without one it closes each connection.
    pub(crate) async fn to(endpoint: Option<&str>) -> Self {
        let upstream = endpoint.map(|endpoint| endpoint.replace("http://", ""));
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                lock(&shared).connections += 1;
                let Some(upstream) = upstream.clone() else {
                    continue;
                };
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Whoever closes an end closes both; that is no trouble of the test's.
                    let _ = serve(client, &upstream, &shared).await;
                });
            }
        });
        Self {
            endpoint: format!("http://{address}"),
            state,
            _accepting: AbortOnDropHandle::new(accepting),
        }
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        lock(&self.state).connections
    }

    /// What was asked of one action for one queue, in order.
    pub(crate) fn requests(&self, action: &str, queue: &str) -> Vec<Value> {
        let state = lock(&self.state);
        let requests = state.requests.iter();
        requests
            .filter(|request| request.is(action, queue))
            .map(|request| request.body.clone())
            .collect()
    }

    /// The actions that were asked for one queue, in order.
    pub(crate) fn actions(&self, queue: &str) -> Vec<String> {
        let state = lock(&self.state);
        let requests = state.requests.iter();
        requests
            .filter(|request| request.is(&request.action, queue))
            .map(|request| request.action.clone())
            .collect()
    }

    /// The next `times` requests of an action for a queue have this trouble.
    pub(crate) fn trouble(
        &self,
        action: &'static str,
        queue: &'static str,
        times: usize,
        trouble: Trouble,
    ) {
        lock(&self.state).rules.push(Rule {
            action,
            queue,
            left: times,
            trouble,
        });
    }

    /// From now on SQS does not hear of a client that goes in the middle of a call, as through a
    /// balancer that keeps its own connections.
    pub(crate) fn hide_clients_that_go(&self) {
        lock(&self.state).deaf = true;
    }

    /// From now on there is no trouble.
    pub(crate) fn mend(&self) {
        lock(&self.state).rules.clear();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection: request by request, as SQS's clients do not send the next before the answer.
async fn serve(mut client: TcpStream, upstream: &str, state: &Mutex<State>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    let mut asked = Vec::new();
    let mut answered = Vec::new();
    loop {
        let (head, body) = whole(&mut client, &mut asked).await?;
        let request = Request {
            action: header(&head, "x-amz-target")
                .and_then(|target| target.rsplit('.').next())
                .unwrap_or_default()
                .to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        let trouble = lock(state).take(request);
        match trouble {
            Some(Trouble::Cut) => return Ok(()),
            Some(Trouble::Code(code)) => {
                client.write_all(&refusal(code)).await?;
                continue;
            }
            None => {}
        }
        server.write_all(&[head.as_bytes(), &body].concat()).await?;
        let (head, body) = tokio::select! {
            answer = whole(&mut server, &mut answered) => answer?,
            // A client that has gone takes nothing: SQS must hear of it.
            _ = client.read_buf(&mut asked), if !lock(state).deaf => return Ok(()),
        };
        client.write_all(&[head.as_bytes(), &body].concat()).await?;
    }
}

/// Reads a request or an answer: its head, and its body, whose length the head says.
async fn whole(stream: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<(String, Vec<u8>)> {
    loop {
        if let Some(at) = kept.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&kept[..at + 4]).into_owned();
            let length = header(&head, "content-length").and_then(|text| text.parse().ok());
            let end = head.len() + length.unwrap_or(0);
            if kept.len() >= end {
                let body = kept[head.len()..end].to_vec();
                kept.drain(..end);
                return Ok((head, body));
            }
        }
        if stream.read_buf(kept).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// An error as SQS answers it.
fn refusal(code: &str) -> Vec<u8> {
    let body = json!({
        "__type": format!("com.amazonaws.sqs#{code}"),
        "message": "the test says so",
    })
    .to_string();
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
