//! One connection: HTTP requests in, calls answered.

use super::engine::message::MessageId;
use super::protocol::{self, CONTENT_TYPE, Fault};
use super::server::Shared;
use super::sns;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{
    CONTENT_TYPE as CONTENT_TYPE_HEADER, HOST, HeaderMap, HeaderName, HeaderValue,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::pin;
use tokio::net::TcpStream;

/// The largest request. A message of 1 MiB can take several times that in JSON, with its escapes.
const MOST_BYTES: usize = 10 * 1024 * 1024;

/// The content type of a request to SNS.
const FORM: &str = "application/x-www-form-urlencoded";
/// The content type of SNS's replies.
const XML: &str = "text/xml";

static TARGET: HeaderName = HeaderName::from_static("x-amz-target");
static TRACE: HeaderName = HeaderName::from_static("x-amzn-trace-id");
static REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
static QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");

/// Serves a connection until the client or the server ends it.
pub(crate) async fn serve(
    stream: TcpStream,
    shared: &Shared,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Replies are small and each is waited for: nothing is gained by holding one back.
    stream.set_nodelay(true)?;
    let (stream, peer) = Peer::of(stream)?;
    let service = service_fn(|request| {
        let peer = &peer;
        async move { Ok::<_, Infallible>(respond(request, shared, peer).await) }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        () = shared.stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    Ok(connection.await?)
}

async fn respond(
    request: Request<Incoming>,
    shared: &Shared,
    peer: &Peer,
) -> Response<Full<Bytes>> {
    let Answer {
        status,
        content_type,
        query_error,
        body,
    } = match read(request).await {
        Ok((headers, body)) => answer(&headers, &body, shared, peer).await,
        Err(fault) => Err(fault).into(),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(content_type));
    let mut insert = |name: &HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    insert(
        &REQUEST_ID,
        MessageId::from_random(rand::random()).to_string(),
    );
    if let Some(code) = query_error {
        insert(&QUERY_ERROR, code);
    }
    response
}

/// What goes back to the client.
struct Answer {
    status: u16,
    content_type: &'static str,
    query_error: Option<String>,
    body: Vec<u8>,
}

/// Hands a request to the service it is for, which its form tells: SQS speaks JSON, SNS sends forms.
async fn answer(headers: &HeaderMap, body: &[u8], shared: &Shared, peer: &Peer) -> Answer {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(&HOST).unwrap_or(&shared.authority);
    if text(&CONTENT_TYPE_HEADER).is_some_and(|given| given.starts_with(FORM)) {
        let call = sns::Call {
            sns: &shared.sns,
            hub: &shared.hub,
            counter: &shared.counter,
            host,
            trace_header: text(&TRACE),
            form: body,
        };
        let sns::Reply { status, body } = call.answer();
        shared.hub.note_change();
        return Answer {
            status,
            content_type: XML,
            query_error: None,
            body,
        };
    }
    let call = protocol::Call {
        hub: &shared.hub,
        counter: &shared.counter,
        host,
        target: text(&TARGET),
        body,
    };
    call.answer(|| peer.is_there()).await.into()
}

impl From<Result<Vec<u8>, Fault>> for Answer {
    fn from(outcome: Result<Vec<u8>, Fault>) -> Self {
        let (status, query_error, body) = match outcome {
            Ok(body) => (200, None, body),
            Err(fault) => {
                let body = fault.body();
                (fault.status, fault.query_error, body)
            }
        };
        Self {
            status,
            content_type: CONTENT_TYPE,
            query_error,
            body,
        }
    }
}

async fn read(request: Request<Incoming>) -> Result<(HeaderMap, Bytes), Fault> {
    let (mut parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    if parts.method == Method::GET && sns::is_unsubscribe_link(query) {
        let form = Bytes::copy_from_slice(query.as_bytes());
        let content_type = HeaderValue::from_static(FORM);
        parts.headers.insert(CONTENT_TYPE_HEADER, content_type);
        return Ok((parts.headers, form));
    }
    if parts.method != Method::POST {
        return Err(Fault::method(&parts.method));
    }
    // Refused by what it says it has, before it is read.
    if body.size_hint().lower() > MOST_BYTES as u64 {
        return Err(Fault::too_large(MOST_BYTES));
    }
    match Limited::new(body, MOST_BYTES).collect().await {
        Ok(body) => Ok((parts.headers, body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Err(Fault::too_large(MOST_BYTES)),
        Err(error) => Err(Fault::unreadable(&error)),
    }
}

/// The client's end of a connection.
///
/// When a client goes away, hyper drops the service's future as soon as it hears of it. But it hears
/// of it from the runtime, which may tell a waiting receive of a new message first: the message
/// would be taken for a client that is gone, and hidden for its visibility timeout. So a receive
/// asks the system itself before it takes any, through a second descriptor of the socket.
struct Peer(std::net::TcpStream);

impl Peer {
    fn of(stream: TcpStream) -> io::Result<(TcpStream, Self)> {
        let stream = stream.into_std()?;
        let second = stream.try_clone()?;
        Ok((TcpStream::from_std(stream)?, Self(second)))
    }

    /// Whether the client has not closed its end. Neither waits nor takes anything.
    fn is_there(&self) -> bool {
        match self.0.peek(&mut [0]) {
            Ok(read) => read > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn the_system_tells_whether_the_client_is_there_and_nothing_is_taken_by_asking() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (mut stream, peer) = Peer::of(listener.accept().await.unwrap().0).unwrap();
        assert!(peer.is_there(), "silent");
        client.write_all(b"next").await.unwrap();
        stream.readable().await.unwrap();
        assert!(peer.is_there(), "with more to say");
        let mut read = [0; 4];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"next");
        drop(client);
        while peer.is_there() {
            tokio::task::yield_now().await;
        }
    }
}
