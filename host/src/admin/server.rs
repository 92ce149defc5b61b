//! The socket, its connections and their answers.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

use super::guard::{Page, Refused, page};
use super::metrics;
use super::view::HostView;
use crate::accept::Connections;
use crate::limits::{ADMIN_CLIENTS, ADMIN_CONNECTION, ADMIN_GRACE, ADMIN_HEAD, ADMIN_HEAD_SIZE};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Serves how a host is, from [`AdminServer::bind`] to [`AdminServer::stop`] or until it is dropped.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    stop: DropGuard,
}

struct Shared {
    view: HostView,
    /// Whether only this machine reaches us.
    is_local: bool,
    /// One answer at a time is made, so that no number of clients takes more than one of the threads
    /// that receive and keep leases, and each of them for a moment only.
    makes: Mutex<()>,
    stop: CancellationToken,
}

impl AdminServer {
    /// Listens on `address`; port 0 takes a free one. Nobody is authenticated: an address that
    /// others reach tells all of them.
    ///
    /// # Errors
    /// What the system says of the address.
    pub async fn bind(address: SocketAddr, view: HostView) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            view,
            is_local: address.ip().to_canonical().is_loopback(),
            makes: Mutex::new(()),
            stop: stop.clone(),
        });
        let connections = Connections {
            of: "admin endpoint",
            most: ADMIN_CLIENTS,
            grace: ADMIN_GRACE,
        };
        let accepting = tokio::spawn(async move {
            let stop = shared.stop.clone();
            let serve = |stream| serve(stream, Arc::clone(&shared));
            connections.serve(listener, &stop, serve).await;
        });
        Ok(Self {
            address,
            accepting,
            stop: stop.drop_guard(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops, and returns when every connection is closed: within half a second.
    pub async fn stop(self) {
        self.stop.disarm().cancel();
        // Its only error would be a panic, which was reported.
        let _ = self.accepting.await;
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // Clients that ask again and again would have every place for good.
        .keep_alive(false)
        .header_read_timeout(ADMIN_HEAD)
        .max_header_size(ADMIN_HEAD_SIZE)
        .max_buf_size(2 * ADMIN_HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let served = async {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = shared.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    };
    // A client that goes away, says nothing or does not read is its own business.
    match tokio::time::timeout(ADMIN_CONNECTION, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "admin endpoint: a connection ended"),
        Err(_) => debug!("admin endpoint: a connection was cut that lasted too long"),
    }
}

impl Shared {
    async fn answer<B: Body>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let asked = page(
            request.method(),
            request.uri(),
            request.headers(),
            self.is_local,
        );
        let mut response = match asked {
            Ok(page) => self.made(page).await,
            Err(refused) => refusal(refused),
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if !request.body().is_end_stream() {
            // Nobody reads it.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn made(&self, page: Page) -> Response<Full<Bytes>> {
        if page == Page::Health {
            return answer(StatusCode::OK, TEXT, "ok\n");
        }
        let _one = self.makes.lock().await;
        match page {
            Page::Health => answer(StatusCode::OK, TEXT, "ok\n"),
            Page::Readiness => {
                let lines = self.view.not_ready();
                if lines.is_empty() {
                    return answer(StatusCode::OK, TEXT, "ready\n");
                }
                let lines: Vec<_> = lines.iter().map(|line| one_line(line)).collect();
                let text = lines.join("\n") + "\n";
                answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
            }
            Page::Metrics => answer(StatusCode::OK, metrics::CONTENT_TYPE, self.view.metrics()),
            Page::Status => match serde_json::to_string_pretty(&self.view.status()) {
                Ok(text) => answer(StatusCode::OK, JSON, text + "\n"),
                Err(error) => {
                    let text = format!("{error}\n");
                    answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, text)
                }
            },
        }
    }
}

fn refusal(refused: Refused) -> Response<Full<Bytes>> {
    match refused {
        Refused::Misdirected => answer(
            StatusCode::MISDIRECTED_REQUEST,
            TEXT,
            "this endpoint answers on loopback alone, as localhost or by a loopback address; for \
             others to reach it start the host with --admin ADDRESS:PORT\n",
        ),
        Refused::Method => {
            let mut response = answer(
                StatusCode::METHOD_NOT_ALLOWED,
                TEXT,
                "nothing can be changed here: GET and HEAD are all there is\n",
            );
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            response
        }
        Refused::NotFound => {
            let paths = Page::ALL.map(Page::path).join("\n");
            let text = format!("nothing is here; there are\n{paths}\n");
            answer(StatusCode::NOT_FOUND, TEXT, text)
        }
    }
}

fn answer(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A text without line breaks, for an answer that has a line for each thing.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r'])
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}
