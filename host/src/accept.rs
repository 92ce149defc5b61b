//! Accepts connections and owns the tasks that serve them.

use std::future::Future;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How long to wait when the system has no socket left to accept with.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The connections of one server.
pub(crate) struct Connections {
    /// Whose they are, for the log.
    pub(crate) of: &'static str,
    /// How many there are at once; more wait to be accepted.
    pub(crate) most: usize,
    /// How long they may go on when the server stops.
    pub(crate) grace: Duration,
}

impl Connections {
    /// Has each connection served in a task of its own until `stop`, then accepts no more and waits
    /// for those that are open; what is left after the grace is cut.
    pub(crate) async fn serve<F>(
        self,
        listener: TcpListener,
        stop: &CancellationToken,
        mut serve: impl FnMut(TcpStream) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut connections = JoinSet::new();
        loop {
            let has_room = connections.len() < self.most;
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve(stream));
                    }
                    Err(error) => {
                        // Without a pause this would spin until some socket is closed.
                        warn!(%error, "{}: a connection could not be accepted", self.of);
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, all).await.is_err() {
            connections.shutdown().await;
        }
    }
}
