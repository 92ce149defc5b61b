//! A web server on loopback, for handlers that make requests.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HOST, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use crate::{until, when};

/// The length of what `/big` answers.
pub(crate) const BIG: usize = 5_000_000;
/// How much of it goes at once.
const PART: usize = 10_000;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) body: usize,
}

/// A server, until it is dropped. What it answers is told by the path.
pub(crate) struct Web {
    pub(crate) port: u16,
    state: Arc<State>,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

impl Web {
    pub(crate) async fn start() -> Self {
        Self::serving(None).await
    }

    /// A server that speaks TLS as `localhost`.
    pub(crate) async fn secure() -> Self {
        let (authority, key) = (tls("server.pem"), tls("server-key.pem"));
        let chain = CertificateDer::pem_file_iter(authority).expect("it can be read");
        let chain = chain.map(|certificate| certificate.expect("it is one"));
        let key = PrivateKeyDer::from_pem_file(key).expect("it is a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("they are the default")
            .with_no_client_auth()
            .with_single_cert(chain.collect(), key)
            .expect("they belong together");
        Self::serving(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    /// The file of the authority that vouches for a secure one.
    pub(crate) fn authority() -> PathBuf {
        tls("authority.pem")
    }

    async fn serving(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State::default());
        let serving = tokio::spawn(accept(listener, acceptor, Arc::clone(&state)));
        Self {
            port,
            state,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let seen = self.state.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many connections have been made.
    pub(crate) fn accepted(&self) -> usize {
        self.state.accepted.load(SeqCst)
    }

    /// Waits until a request has come.
    pub(crate) async fn asked(&self) {
        until("a request", async || when(!self.seen().is_empty())).await;
    }

    /// Waits until the other side has closed every connection.
    pub(crate) async fn left_alone(&self) {
        let open = async || when(self.state.open.load(SeqCst) == 0);
        until("every connection is closed", open).await;
    }
}

fn tls(file: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/host/tls");
    tests.canonicalize().expect("it is there").join(file)
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.accepted.fetch_add(1, SeqCst);
        state.open.fetch_add(1, SeqCst);
        let (state, acceptor) = (Arc::clone(&state), acceptor.clone());
        connections.spawn(async move {
            // A client may go at any time.
            let _ = serve(stream, acceptor, &state).await;
            state.open.fetch_sub(1, SeqCst);
        });
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    state: &Arc<State>,
) -> io::Result<()> {
    let stream: Pin<Box<dyn Stream>> = match acceptor {
        Some(acceptor) => Box::pin(acceptor.accept(stream).await?),
        None => Box::pin(stream),
    };
    let service = service_fn(|request| answer(request, Arc::clone(state)));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    served.await.map_err(io::Error::other)
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Body>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let seen = Seen {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        host: host.unwrap_or_default().to_owned(),
        body: body.len(),
    };
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    {
        let mut all = state.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(seen);
    }
    Ok(match path.as_str() {
        "/hello" => whole(200, "hello"),
        "/echo" => whole(200, body),
        "/big" => Response::new(parts_of(BIG / PART, PART, Duration::ZERO)),
        "/drip" => Response::new(parts_of(usize::MAX, 1, Duration::from_secs(1))),
        "/silent" => std::future::pending().await,
        "/to" => {
            let mut answer = whole(302, "elsewhere");
            let place = query.parse().expect("it is a header's value");
            answer.headers_mut().insert(LOCATION, place);
            answer
        }
        _ => whole(404, "nothing here"),
    })
}

fn whole(status: u16, body: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(body.into()).boxed_unsync();
    let answer = Response::builder().status(status).body(body);
    answer.expect("it is an answer")
}

/// So many parts of a body whose length is not said, each after a pause.
fn parts_of(count: usize, length: usize, pause: Duration) -> Body {
    let parts = stream::unfold(count, move |left| async move {
        let left = left.checked_sub(1)?;
        tokio::time::sleep(pause).await;
        Some((Ok(Frame::data(vec![b'x'; length].into())), left))
    });
    StreamBody::new(parts).boxed_unsync()
}
