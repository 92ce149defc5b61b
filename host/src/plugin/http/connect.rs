//! A connection to one of the addresses that were checked.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::Error;

use super::outcome::tls_error;
use super::target::Target;
use super::tls;
use crate::config::HttpScheme;

/// What HTTP is spoken over.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects until `deadline`. Each address gets an equal share of what is left of the time.
pub(super) async fn connect(
    target: &Target,
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<Box<dyn Stream>, Error> {
    let tcp = tcp(addresses, deadline).await?;
    // What is small goes out at once: a request is waited for.
    let _ = tcp.set_nodelay(true);
    if target.scheme == HttpScheme::Http {
        return Ok(Box::new(tcp));
    }
    let secured = async {
        let name = tls::server_name(&target.host).map_err(|_| Error::TlsCertificateError)?;
        let connector = tls::connector().await?;
        let stream = connector.connect(name, tcp).await;
        stream.map_err(|error| tls_error(&error))
    };
    match timeout_at(deadline, secured).await {
        Ok(stream) => Ok(Box::new(stream?)),
        Err(_) => Err(Error::ConnectionTimeout),
    }
}

async fn tcp(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Error> {
    let mut last = Error::DestinationUnavailable;
    for (tried, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        // The list is bounded by HTTP_ADDRESSES.
        let share = left / (addresses.len() - tried) as u32;
        match timeout_at(now + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = refused(&error),
            Err(_) => last = Error::ConnectionTimeout,
        }
    }
    Err(last)
}

fn refused(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Error::DestinationIpUnroutable
        }
        _ => Error::DestinationUnavailable,
    }
}
