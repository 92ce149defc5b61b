//! One request by wasi:http, and its answer.

use std::mem;
use std::time::Duration;

use crate::bindings::wasi::http::outgoing_handler::handle;
use crate::bindings::wasi::http::types::{
    Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use crate::bindings::wasi::io::streams::StreamError;
use crate::{Order, Told};

/// What one read or write asks for at most.
const AT_ONCE: usize = 4_096;
/// How much of an answer is told.
const SHOWN: usize = 1_000;

/// Asks, and answers what came and where a redirect leads, or what went wrong.
pub(crate) fn ask(order: &Order) -> Result<(Told, Option<String>), String> {
    let request = request(order)?;
    let body = match (&order.body, order.upload) {
        (None, None) => None,
        _ => Some(request.body().map_err(|()| "there is no body")?),
    };
    let options = RequestOptions::new();
    let nanoseconds = |ms: Option<u64>| ms.map(|ms| Duration::from_millis(ms).as_nanos() as u64);
    let _ = options.set_first_byte_timeout(nanoseconds(order.first_byte_ms));
    let _ = options.set_between_bytes_timeout(nanoseconds(order.between_bytes_ms));
    let answer = handle(request, Some(options)).map_err(|code| format!("{code:?}"))?;
    if order.leave {
        // It is the host's to end it.
        mem::forget(answer);
        mem::forget(body);
        return Ok(Default::default());
    }
    if let Some(body) = body {
        // Where the request is refused nobody takes its body, and the answer says why.
        let _ = send(order, body);
    }
    answer.subscribe().block();
    match answer.get() {
        Some(Ok(Ok(response))) => told(&response),
        Some(Ok(Err(code))) => Err(format!("{code:?}")),
        other => Err(format!("no answer: {other:?}")),
    }
}

fn request(order: &Order) -> Result<OutgoingRequest, String> {
    let (scheme, rest) = order.url.split_once("://").ok_or("no scheme")?;
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    let path = &rest[authority.len()..];
    let headers = Fields::new();
    for (name, value) in &order.headers {
        let refused = |error| format!("{name}: {error:?}");
        headers.append(name, value.as_bytes()).map_err(refused)?;
    }
    let request = OutgoingRequest::new(headers);
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let method = match order.method.as_deref() {
        None | Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        Some("CONNECT") => Method::Connect,
        Some(other) => Method::Other(other.to_owned()),
    };
    request
        .set_scheme(Some(&scheme))
        .map_err(|()| "the scheme")?;
    request.set_method(&method).map_err(|()| "the method")?;
    let set = request.set_authority(Some(authority));
    set.map_err(|()| format!("no authority: {authority}"))?;
    let set = request.set_path_with_query(Some(path));
    set.map_err(|()| format!("no path: {path}"))?;
    Ok(request)
}

fn send(order: &Order, body: OutgoingBody) -> Result<(), String> {
    let stream = body.write().map_err(|()| "it cannot be written")?;
    let uploaded = vec![b'u'; order.upload.unwrap_or(0)];
    let text = order.body.as_deref().unwrap_or_default();
    for part in text
        .as_bytes()
        .chunks(AT_ONCE)
        .chain(uploaded.chunks(AT_ONCE))
    {
        let wrote = stream.blocking_write_and_flush(part);
        wrote.map_err(|error| format!("{error:?}"))?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|code| format!("{code:?}"))
}

fn told(response: &IncomingResponse) -> Result<(Told, Option<String>), String> {
    let location = response.headers().get("location").pop();
    let mut told = Told {
        status: response.status(),
        ..Told::default()
    };
    let body = response.consume().map_err(|()| "it has no body")?;
    let stream = body.stream().map_err(|()| "it cannot be read")?;
    let mut start = Vec::new();
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(bytes) => {
                told.length += bytes.len();
                let room = SHOWN.saturating_sub(start.len()).min(bytes.len());
                start.extend_from_slice(&bytes[..room]);
            }
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(_)) => {
                told.error = Some(format!("the answer broke off after {}", told.length));
                break;
            }
        }
    }
    told.body = String::from_utf8_lossy(&start).into_owned();
    let location = location.map(|url| String::from_utf8_lossy(&url).into_owned());
    Ok((told, location))
}
