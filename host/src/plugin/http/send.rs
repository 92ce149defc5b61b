//! One request: checked, connected, sent, answered.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, Error, RequestOptions, WasiBody};

use super::Outbound;
use super::body::{Progress, Received, Sent};
use super::connect::connect;
use super::lookup::addresses;
use super::outcome::hyper_error;
use super::refusal::{NoAnswer, Refusal};
use super::target::Target;
use crate::limits::{
    HTTP_BETWEEN_BYTES, HTTP_CONNECT, HTTP_CONNECT_MAX, HTTP_FIRST_BYTE, HTTP_HEAD, HTTP_WAIT_MAX,
};

/// The longest method that is sent, and that a log line shows.
const LONGEST_METHOD: usize = 32;

/// What is left to do for an answer's body to come in: to be polled while it is read.
pub(super) type Rest = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience {
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl Patience {
    /// What the guest asks for, within our bounds.
    fn of(options: Option<RequestOptions>) -> Self {
        let options = options.unwrap_or_default();
        // Nothing is done in no time at all; and a timer of none would be over before it began.
        let within = |asked: Option<Duration>, default: Duration, most: Duration| {
            asked
                .unwrap_or(default)
                .clamp(Duration::from_millis(1), most)
        };
        Self {
            connect: within(options.connect_timeout, HTTP_CONNECT, HTTP_CONNECT_MAX),
            first_byte: within(options.first_byte_timeout, HTTP_FIRST_BYTE, HTTP_WAIT_MAX),
            between_bytes: within(
                options.between_bytes_timeout,
                HTTP_BETWEEN_BYTES,
                HTTP_WAIT_MAX,
            ),
        }
    }
}

/// Whether a request may be made at all: what its target and method say, before anything is looked up.
pub(super) fn check(outbound: &Outbound, method: &Method, uri: &Uri) -> Result<Target, Refusal> {
    let target = Target::of(uri)?;
    if method == Method::CONNECT {
        return Err(Refusal::Connect);
    }
    if method.as_str().len() > LONGEST_METHOD {
        return Err(Refusal::Method(method.as_str().len()));
    }
    if !outbound.allowed.request(&target) {
        return Err(Refusal::NotListed(target));
    }
    Ok(target)
}

/// Sends a request to its target, which has been checked.
///
/// The connection lives in this future, then in the [`Rest`]: whoever drops it closes it.
pub(super) async fn send(
    outbound: &Outbound,
    target: &Target,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
    places: Arc<Semaphore>,
) -> Result<(Response<WasiBody>, Rest), NoAnswer> {
    let patience = Patience::of(options);
    let (request, progress) = on_the_wire(target, request)?;
    let deadline = Instant::now() + patience.connect;
    let place = match timeout_at(deadline, places.acquire_owned()).await {
        Ok(Ok(place)) => place,
        _ => return Err(Error::ConnectionLimitReached.into()),
    };
    let addresses = match timeout_at(deadline, addresses(outbound, target)).await {
        Ok(addresses) => addresses?,
        Err(_) => return Err(Error::DnsTimeout.into()),
    };
    let stream = connect(target, &addresses, deadline).await?;
    let mut http = http1::Builder::new();
    http.max_buf_size(HTTP_HEAD);
    let spoken = http.handshake::<_, Sent>(TokioIo::new(stream)).await;
    let (mut sender, mut connection) = spoken.map_err(|error| hyper_error(&error))?;

    let mut over = false;
    let answered = async {
        let answer = sender.send_request(request);
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answer = &mut answer => answer.map_err(|error| hyper_error(&error)),
            ended = &mut connection => {
                over = true;
                match ended {
                    Ok(()) => answer.await.map_err(|error| hyper_error(&error)),
                    Err(error) => Err(hyper_error(&error)),
                }
            }
            () = progress.stalled(patience.first_byte) => Err(Error::HttpResponseTimeout),
        }
    };
    let answer: Response<Incoming> = answered.await?;
    let rest = Box::pin(async move {
        if !over {
            // How it ends is read off the body.
            let _ = connection.await;
        }
        drop(place);
    });
    let answer = answer.map(|body| Received::new(body, patience.between_bytes).boxed_unsync());
    Ok((answer, rest))
}

/// The request as it is written: its path alone in the first line, and the `host` that was checked.
fn on_the_wire(
    target: &Target,
    request: Request<WasiBody>,
) -> Result<(Request<Sent>, Progress), Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if path.len() > HTTP_HEAD / 2 {
        return Err(Error::HttpRequestUriTooLong);
    }
    let path = Uri::builder().path_and_query(path).build();
    parts.uri = path.map_err(|_| Error::HttpRequestUriInvalid)?;
    for header in &DEFAULT_FORBIDDEN_HEADERS {
        parts.headers.remove(header);
    }
    if size(&parts.headers) > HTTP_HEAD / 2 {
        return Err(Error::HttpRequestHeaderSectionSize(None));
    }
    let host = HeaderValue::try_from(target.authority());
    let host = host.map_err(|_| Error::HttpRequestUriInvalid)?;
    parts.headers.insert(HOST, host);
    let progress = Progress::new();
    let body = Sent::new(body, progress.clone());
    Ok((Request::from_parts(parts, body), progress))
}

fn size(headers: &HeaderMap) -> usize {
    let sizes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_are_the_guests_within_bounds() {
        let ours = Patience::of(None);
        assert_eq!(ours.connect, HTTP_CONNECT);
        let asked = |length: Duration| {
            Patience::of(Some(RequestOptions {
                connect_timeout: Some(length),
                first_byte_timeout: Some(length),
                between_bytes_timeout: Some(length),
            }))
        };
        let short = asked(Duration::ZERO);
        assert_eq!(short.first_byte, Duration::from_millis(1));
        let long = asked(Duration::MAX);
        assert_eq!(long.connect, HTTP_CONNECT_MAX);
        assert_eq!(long.first_byte, HTTP_WAIT_MAX);
        assert_eq!(long.between_bytes, HTTP_WAIT_MAX);
        let own = asked(Duration::from_secs(7));
        assert_eq!(own.between_bytes, Duration::from_secs(7));
    }
}
