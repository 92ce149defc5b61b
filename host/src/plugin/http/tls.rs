//! TLS of outbound requests: rustls, and the certificates that the machine trusts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tracing::warn;
use wasmtime_wasi_http::Error;

use crate::config::Host;

/// How long a machine is taken to trust nobody before its certificates are looked for again. A handler
/// that asks on and on makes neither reads nor log lines of it.
const AGAIN: Duration = Duration::from_secs(60);

/// What the machine's certificates were when they were last read.
enum Trusted {
    Some(Arc<ClientConfig>),
    None(Instant),
}

/// What a connection begins with. The machine's certificates are read once, at the first request that
/// wants them.
pub(super) async fn connector() -> Result<TlsConnector, Error> {
    static TRUSTED: Mutex<Option<Trusted>> = Mutex::const_new(None);
    let mut trusted = TRUSTED.lock().await;
    match &*trusted {
        Some(Trusted::Some(config)) => return Ok(TlsConnector::from(Arc::clone(config))),
        Some(Trusted::None(at)) if at.elapsed() < AGAIN => return Err(Error::ConfigurationError),
        _ => {}
    }
    // A few hundred files on some machines.
    let read = tokio::task::spawn_blocking(config).await;
    match read.unwrap_or_else(|panic| Err(panic.to_string())) {
        Ok(config) => {
            *trusted = Some(Trusted::Some(Arc::clone(&config)));
            Ok(TlsConnector::from(config))
        }
        Err(reason) => {
            warn!("no handler can speak TLS: {reason}");
            *trusted = Some(Trusted::None(Instant::now()));
            Err(Error::ConfigurationError)
        }
    }
}

/// The name that a certificate must be for: the one that was allowed.
pub(super) fn server_name(host: &Host) -> Result<ServerName<'static>, InvalidDnsNameError> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        let why: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "this machine has no certificates of authorities that it trusts (install \
             ca-certificates, or set SSL_CERT_FILE to a file of them){}{}",
            if why.is_empty() { "" } else { ": " },
            why.join("; ")
        ));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
