//! From a host that may be named to the addresses that it may be reached at.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi_http::Error;

use super::Outbound;
use super::refusal::{NoAnswer, Refusal};
use super::target::Target;
use crate::config::Host;
use crate::limits::HTTP_ADDRESSES;

/// The future of a lookup.
pub(super) type Looking = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// What knows the addresses of names.
pub(super) trait Lookup: Send + Sync {
    /// Looks a name up. The place is given back once nothing of the lookup runs any more.
    fn look_up(&self, name: &str, place: OwnedSemaphorePermit) -> Looking;
}

/// The operating system's way: its hosts file, its name servers.
pub(super) struct System;

impl Lookup for System {
    fn look_up(&self, name: &str, place: OwnedSemaphorePermit) -> Looking {
        let name = name.to_owned();
        Box::pin(async move {
            // It cannot be interrupted once it runs, so the place goes with it.
            let asked = AbortOnDropHandle::new(tokio::task::spawn_blocking(move || {
                let _place = place;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            }));
            asked.await.map_err(io::Error::other)?
        })
    }
}

/// The addresses to try for a target that a rule allows, each judged.
pub(super) async fn addresses(
    outbound: &Outbound,
    target: &Target,
) -> Result<Vec<SocketAddr>, NoAnswer> {
    let name = match &target.host {
        // It was in the list itself.
        Host::Address(address) => return Ok(vec![(*address, target.port).into()]),
        Host::Name(name) => name,
    };
    let lookups = Arc::clone(&outbound.lookups);
    let place = match lookups.acquire_owned().await {
        Ok(place) => place,
        // Nobody closes the semaphore.
        Err(_) => return Err(Error::DnsTimeout.into()),
    };
    let found = outbound.lookup.look_up(name, place).await;
    let found = found.map_err(|error| no_such_name(&error))?;
    let Some(first) = found.first().copied() else {
        let none = io::Error::from(io::ErrorKind::NotFound);
        return Err(no_such_name(&none).into());
    };
    let mut allowed = Vec::new();
    for address in found {
        let address = SocketAddr::new(address, target.port);
        if outbound.allowed.address(target, address.ip()) && !allowed.contains(&address) {
            allowed.push(address);
        }
    }
    if allowed.is_empty() {
        return Err(NoAnswer::Refused(Refusal::Address {
            target: target.clone(),
            address: first,
        }));
    }
    allowed.truncate(HTTP_ADDRESSES);
    Ok(allowed)
}

fn no_such_name(error: &io::Error) -> Error {
    Error::DnsError {
        rcode: Some(error.to_string()),
        info_code: None,
    }
}
