//! Errors of a connection say where was called: the SDK's own do not.

use std::error::Error;
use std::fmt;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// An HTTP client whose errors name the server.
#[derive(Debug)]
pub(super) struct Naming(pub(super) SharedHttpClient);

impl HttpClient for Naming {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(NamingConnector(self.0.http_connector(settings, components)))
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.connector_metadata()
    }
}

#[derive(Debug)]
struct NamingConnector(SharedHttpConnector);

impl HttpConnector for NamingConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let server = server(request.uri());
        let answer = self.0.call(request);
        HttpConnectorFuture::new(async move { answer.await.map_err(|error| naming(server, error)) })
    }
}

/// The error with the server among its causes, of the kind that it was: whether it is tried again
/// goes by that.
fn naming(server: Option<String>, error: ConnectorError) -> ConnectorError {
    let Some(server) = server else { return error };
    let make = if error.is_timeout() {
        ConnectorError::timeout
    } else if error.is_io() {
        ConnectorError::io
    } else {
        return error;
    };
    let connection = error.connection_metadata().cloned();
    let source = error.into_source();
    let named = make(Box::new(Calling { server, source }));
    match connection {
        Some(connection) => named.with_connection(connection),
        None => named,
    }
}

/// A call that failed, and of which server.
#[derive(Debug)]
struct Calling {
    server: String,
    source: BoxError,
}

impl fmt::Display for Calling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "calling {}", self.server)
    }
}

impl Error for Calling {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Scheme, host and port of a URL: what else stands in it may be secret.
fn server(url: &str) -> Option<String> {
    let url = url.parse::<hyper::Uri>().ok()?;
    let (scheme, host) = (url.scheme_str()?, url.host()?);
    Some(match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_without_what_may_be_secret() {
        for (url, named) in [
            ("http://127.0.0.1:9999/", Some("http://127.0.0.1:9999")),
            (
                "https://a:b@sqs.example/q?token=c",
                Some("https://sqs.example"),
            ),
            ("http://[::1]:9324/q", Some("http://[::1]:9324")),
            ("/q", None),
        ] {
            assert_eq!(server(url).as_deref(), named, "{url}");
        }
    }

    #[test]
    fn an_error_stays_of_its_kind() {
        let named = |error| naming(Some("http://sqs".into()), error);
        assert!(named(ConnectorError::io("no".into())).is_io());
        assert!(named(ConnectorError::timeout("no".into())).is_timeout());
        assert!(named(ConnectorError::user("no".into())).is_user());
        let error = named(ConnectorError::io("no".into()));
        let source = error.source().map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("calling http://sqs"));
    }
}
