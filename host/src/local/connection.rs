//! One connection: HTTP requests in, calls answered.

use super::engine::message::MessageId;
use super::protocol::{CONTENT_TYPE, Call, Fault};
use super::server::Shared;
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

static TARGET: HeaderName = HeaderName::from_static("x-amz-target");
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
    let answer = match read(request).await {
        Ok((headers, body)) => {
            let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
            let call = Call {
                hub: &shared.hub,
                counter: &shared.counter,
                host: text(&HOST).unwrap_or(&shared.authority),
                target: text(&TARGET),
                body: &body,
            };
            call.answer(|| peer.is_there()).await
        }
        Err(fault) => Err(fault),
    };
    let (status, query_error, body) = match answer {
        Ok(body) => (StatusCode::OK, None, body),
        Err(fault) => {
            let status =
                StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let body = fault.body();
            (status, fault.query_error, body)
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(CONTENT_TYPE));
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

async fn read(request: Request<Incoming>) -> Result<(HeaderMap, Bytes), Fault> {
    let (parts, body) = request.into_parts();
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
