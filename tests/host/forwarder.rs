//! A forwarder that keeps what was asked and can answer in SQS's place: between the host and the
//! SQS of a test.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::account::Account;
use crate::http::{Request, answer, whole};

/// What a request gets in place of SQS's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// An error of SQS's, by its code.
    Code(&'static str),
    /// An error of whoever checks who is asking, by its code and its words: a 403.
    Forbidden(&'static str, &'static str),
    /// The connection is closed with no answer.
    Cut,
    /// There is no answer for as long as the client waits, and SQS hears nothing.
    Hang,
    /// SQS does it, and its answer is lost with the connection.
    Lose,
    /// The answer is that it was done, and SQS hears nothing.
    Pretend,
    /// The first entry of a batch fails by this code; SQS hears of the others alone.
    FirstEntry(&'static str),
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

/// Where it forwards to.
#[derive(Clone)]
struct Upstream {
    address: String,
    account: Option<Account>,
}

impl Forwarder {
    /// Forwards to the SQS at `endpoint`; without one it closes each connection.
    pub(crate) async fn to(endpoint: Option<&str>) -> Self {
        Self::start(endpoint, None).await
    }

    /// Forwards to an SQS that others use too, as one of its accounts.
    pub(crate) async fn to_account(endpoint: &str, account: Account) -> Self {
        Self::start(Some(endpoint), Some(account)).await
    }

    async fn start(endpoint: Option<&str>, account: Option<Account>) -> Self {
        let upstream = endpoint.map(|endpoint| Upstream {
            address: endpoint.replace("http://", ""),
            account,
        });
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

    /// What was asked of one action for one queue or topic, in order.
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

    /// How often an action was asked, whatever the queue.
    pub(crate) fn total(&self, action: &str) -> usize {
        let state = lock(&self.state);
        let requests = state.requests.iter();
        requests.filter(|request| request.action == action).count()
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
async fn serve(mut client: TcpStream, to: &Upstream, state: &Mutex<State>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut server = TcpStream::connect(&to.address).await?;
    server.set_nodelay(true)?;
    let mut asked = Vec::new();
    let mut answered = Vec::new();
    loop {
        let mut message = whole(&mut client, &mut asked).await?;
        let request = Request::of(&message);
        let trouble = lock(state).take(request);
        let mut failed = None;
        match trouble {
            Some(Trouble::Cut) => return Ok(()),
            Some(Trouble::Hang) => {
                while client.read_buf(&mut asked).await? > 0 {}
                return Ok(());
            }
            Some(Trouble::Code(code)) => {
                client
                    .write_all(&refusal(400, code, "the test says so"))
                    .await?;
                continue;
            }
            Some(Trouble::Forbidden(code, words)) => {
                client.write_all(&refusal(403, code, words)).await?;
                continue;
            }
            Some(Trouble::Pretend) => {
                client.write_all(&answer(200, &json!({}))).await?;
                continue;
            }
            Some(Trouble::FirstEntry(code)) => {
                failed = message.without_first_entry().map(|id| (id, code));
            }
            Some(Trouble::Lose) | None => {}
        }
        if let Some(account) = &to.account {
            account.ask(&mut message);
        }
        server.write_all(&message.bytes()).await?;
        let mut answer = tokio::select! {
            answer = whole(&mut server, &mut answered) => answer?,
            // A client that has gone takes nothing: SQS must hear of it.
            _ = client.read_buf(&mut asked), if !lock(state).deaf => return Ok(()),
        };
        if matches!(trouble, Some(Trouble::Lose)) {
            return Ok(());
        }
        if let Some((id, code)) = failed {
            answer.with_failed_entry(&id, code);
        }
        if let Some(account) = &to.account {
            account.answer(&mut answer);
        }
        client.write_all(&answer.bytes()).await?;
    }
}

/// An error as AWS answers it.
fn refusal(status: u16, code: &str, words: &str) -> Vec<u8> {
    let kind = format!("com.amazonaws.sqs#{code}");
    answer(status, &json!({"__type": kind, "message": words}))
}
