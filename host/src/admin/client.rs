//! Asks a host how it is.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::status::Status;
use crate::limits::{ADMIN_PORT, STATUS_SIZE, STATUS_TIMEOUT};

/// Where a host says how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    host: String,
    port: u16,
}

/// A text that names no such place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It is neither a URL nor an address.
    #[error("no address; write ADDRESS:PORT such as 127.0.0.1:9640, or http://HOST:PORT")]
    Form,
    /// It is served without TLS.
    #[error("the endpoint speaks http, not https; write http://HOST:PORT")]
    Scheme,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: ADMIN_PORT,
        }
    }
}

impl From<SocketAddr> for Place {
    /// Where to reach on this machine what listens on `address`.
    fn from(address: SocketAddr) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        Self {
            host: ip.to_string(),
            port: address.port(),
        }
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let url = text.strip_prefix("http://");
        if url.is_none() && text.contains("://") {
            return Err(match text.starts_with("https://") {
                true => PlaceError::Scheme,
                false => PlaceError::Form,
            });
        }
        let authority = url.map_or(text, |rest| rest.split('/').next().unwrap_or(rest));
        let authority: Authority = authority.parse().map_err(|_| PlaceError::Form)?;
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let port = match (authority.port_u16(), url) {
            (Some(port), _) => port,
            (None, _) if authority.as_str() != host => return Err(PlaceError::Form),
            (None, Some(_)) => 80,
            (None, None) => ADMIN_PORT,
        };
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(PlaceError::Form);
        }
        Ok(Self {
            host: bare.unwrap_or(host).to_owned(),
            port,
        })
    }
}

impl Place {
    /// Its port; 0 is one that the host chose when it started.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn authority(&self) -> String {
        let Self { host, port } = self;
        match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority())
    }
}

/// A host's status was not had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nobody is there.
    #[error("nobody answers at {0}: {1}")]
    Unreachable(Place, io::Error),
    /// Somebody is there and did not answer in time.
    #[error("no answer from {0} within {STATUS_TIMEOUT:?}")]
    Late(Place),
    /// The connection broke, or does not speak HTTP.
    #[error("{0} did not answer: {1}")]
    Broken(Place, hyper::Error),
    /// The answer is no status.
    #[error("what {0} answers is no status of a queuelet host: {1}")]
    Other(Place, String),
}

/// Asks the host at a place for its status.
///
/// # Errors
/// Where none is had within ten seconds.
pub async fn fetch(place: &Place) -> Result<Status, FetchError> {
    let asked = tokio::time::timeout(STATUS_TIMEOUT, ask(place)).await;
    asked.unwrap_or_else(|_| Err(FetchError::Late(place.clone())))
}

async fn ask(place: &Place) -> Result<Status, FetchError> {
    let broken = |error| FetchError::Broken(place.clone(), error);
    let other = |what: String| FetchError::Other(place.clone(), what);
    let stream = TcpStream::connect((place.host.as_str(), place.port)).await;
    let stream = stream.map_err(|error| FetchError::Unreachable(place.clone(), error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let request = Request::get("/status")
        .header(HOST, place.authority())
        .body(Empty::<Bytes>::new())
        .map_err(|error| other(error.to_string()))?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), STATUS_SIZE)
        .collect()
        .await;
    let body = body.map_err(|error| match error.downcast::<LengthLimitError>() {
        Ok(_) => other(format!("it is longer than {STATUS_SIZE} bytes")),
        Err(error) => other(error.to_string()),
    })?;
    if status != StatusCode::OK {
        return Err(other(format!("it answers {status}")));
    }
    serde_json::from_slice(&body.to_bytes()).map_err(|error| other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_url() {
        for (text, place) in [
            ("127.0.0.1:9640", "http://127.0.0.1:9640"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("[::1]:9640", "http://[::1]:9640"),
            ("localhost:9641", "http://localhost:9641"),
            ("localhost", "http://localhost:9640"),
            ("http://localhost", "http://localhost:80"),
            ("http://[::1]:9640/", "http://[::1]:9640"),
            ("http://pod.example:9640/status", "http://pod.example:9640"),
        ] {
            let parsed: Place = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(parsed.to_string(), place, "{text}");
        }
        assert_eq!(Place::default().to_string(), "http://127.0.0.1:9640");
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_to_write() {
        for text in [
            "",
            "a b",
            "http://",
            "host:port",
            "host:99999",
            "ftp://host",
            "u@host:1",
        ] {
            assert_eq!(text.parse::<Place>(), Err(PlaceError::Form), "{text}");
        }
        assert_eq!("https://host".parse::<Place>(), Err(PlaceError::Scheme));
    }
}
