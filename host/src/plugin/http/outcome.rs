//! What the libraries' errors are in the words of wasi:http.

use std::error::Error as StdError;
use std::io;

use wasmtime_wasi_http::Error;

/// An error of the exchange.
pub(super) fn hyper_error(error: &hyper::Error) -> Error {
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(None);
    }
    if error.is_incomplete_message() {
        return Error::HttpResponseIncomplete;
    }
    if error.is_timeout() {
        return Error::HttpResponseTimeout;
    }
    if error.is_closed() || error.is_canceled() || source::<io::Error>(error).is_some() {
        return Error::ConnectionTerminated;
    }
    Error::HttpProtocolError
}

/// An error of the handshake.
pub(super) fn tls_error(error: &io::Error) -> Error {
    let inner = error.get_ref().and_then(|e| e.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: Some(format!("{alert:?}")),
        },
        Some(_) => Error::TlsProtocolError,
        None => Error::ConnectionTerminated,
    }
}

/// The first error of this type behind another.
fn source<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
