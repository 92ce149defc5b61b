//! The listening socket and its connections.

use super::calls::{CallCounts, Counter};
use super::connection;
use super::hub::Hub;
use super::snapshot::{Keeper, Kept, SnapshotFile, World};
use super::sns::Sns;
use crate::accept::Connections;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long connections may go on with what they do when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// An SQS inside the process, for clients on this machine.
///
/// It listens from [`LocalServer::bind`] to [`LocalServer::stop`]. Dropped without being stopped it
/// stops all the same, and nobody waits for it. What was in its queues is gone with it, unless it is
/// kept in a file: [`LocalServer::bind_with`].
#[derive(Debug)]
pub struct LocalServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<bool>,
    stop: DropGuard,
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The queues.
    pub(crate) hub: Hub,
    /// The topics.
    pub(crate) sns: Sns,
    /// The calls so far.
    pub(crate) counter: Counter,
    /// Set when the server stops.
    pub(crate) stop: CancellationToken,
    /// Where the server listens, for clients that do not say how they call it.
    pub(crate) authority: String,
}

impl LocalServer {
    /// Listens on `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is not loopback: no request is authenticated here, so
    /// nobody else must reach it. Otherwise what the system says of the address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::start(address, World::default(), None).await
    }

    /// Listens on `address` with what the file had, and keeps the file up to date from then on: when
    /// something changed, every second at most and more seldom when the file is large, and when the
    /// server stops.
    ///
    /// # Errors
    /// As of [`LocalServer::bind`].
    pub async fn bind_with(address: SocketAddr, file: SnapshotFile) -> io::Result<Self> {
        let (world, keeper) = file.into_parts();
        Self::start(address, world, Some(keeper)).await
    }

    async fn start(address: SocketAddr, world: World, keeper: Option<Keeper>) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let message =
                format!("local mode listens on loopback addresses only, and {address} is not one");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let World { queues, topics } = world;
        let shared = Arc::new(Shared {
            hub: Hub::of(queues),
            sns: topics,
            counter: Counter::default(),
            stop: stop.clone(),
            authority: address.to_string(),
        });
        let kept = keeper.map(|keeper| Kept::start(keeper, shared.clone()));
        let accepting = tokio::spawn(accept(listener, shared.clone(), kept));
        Ok(Self {
            address,
            shared,
            accepting,
            stop: stop.drop_guard(),
        })
    }

    /// The URL clients are given as their endpoint, such as `http://127.0.0.1:9324`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The calls that arrived until now.
    pub fn calls(&self) -> CallCounts {
        self.shared.counter.snapshot()
    }

    /// From now on no receive waits: open long polls return what there is, which is nothing most
    /// times, and new ones return at once. A host in the same process stops quickly with that.
    pub fn end_polls(&self) {
        self.shared.hub.end_polls();
    }

    /// Stops: accepts no more, ends long polls, lets running requests finish, and returns when all
    /// connections are closed. Those that take longer than 5 seconds are cut. A file that it keeps is
    /// written then; that it could not be is logged, and answered with `false`.
    pub async fn stop(self) -> bool {
        self.end_polls();
        self.stop.disarm().cancel();
        // The task ends by the token alone; its only error would be a panic, which was reported.
        self.accepting.await.unwrap_or(false)
    }
}

/// Accepts connections until the server stops, and then waits for them, and for the file. Answers
/// whether all is kept that was to be.
async fn accept(listener: TcpListener, shared: Arc<Shared>, kept: Option<Kept>) -> bool {
    let stop = shared.stop.clone();
    let connections = Connections {
        of: "local mode",
        most: usize::MAX,
        grace: GRACE,
    };
    // A server that was dropped ends its polls here, one that was stopped has done so.
    let polls = async {
        stop.cancelled().await;
        shared.hub.end_polls();
    };
    let serving = connections.serve(listener, &stop, |stream| serve(stream, shared.clone()));
    tokio::join!(serving, polls);
    match kept {
        Some(kept) => kept.finish().await,
        None => true,
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // A client that goes away in the middle of something is its own business.
    if let Err(error) = connection::serve(stream, &shared).await {
        tracing::debug!(%error, "local mode: a connection ended");
    }
}
