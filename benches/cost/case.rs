//! What is measured: a whole subscription, in each of the ways that it may be run.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use queuelet::Shutdown;
use queuelet::config::{HostConfig, PluginSettings, SettleMode, SqsSubscription, resolve};
use queuelet::dispatch::{Mounted, Serving, run};
use queuelet::handler::{
    Answer, Call, Failure, Handler, HandlerKind, Handling, Outcome, SqsMessage,
};
use queuelet::observe::{Observer, Source};
use queuelet::sqs::{Finished, OpenQueue, QueueState, QueueUrl};

use super::allocator::aside;
use super::sqs::InMemory;
use super::window::{Cost, Window};

/// Who handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// No guest: what is left is what stands between SQS and a handler.
    Native,
    /// A guest, on an instance of its own for each call.
    Fresh,
    /// A guest, on instances that are used again.
    Reused,
}

/// One way to run a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Who handles.
    pub who: Who,
    /// What a call is about.
    pub kind: HandlerKind,
    /// How messages are deleted.
    pub settle: SettleMode,
    /// How many calls there are at once.
    pub workers: usize,
}

impl Case {
    /// All of them, in the order of the table.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for who in [Who::Native, Who::Fresh, Who::Reused] {
            for kind in [HandlerKind::Single, HandlerKind::Batch] {
                for settle in [SettleMode::Each, SettleMode::Batched] {
                    for workers in [1, 16] {
                        all.push(Self {
                            who,
                            kind,
                            settle,
                            workers,
                        });
                    }
                }
            }
        }
        all
    }

    fn subscription(self) -> SqsSubscription {
        let plugin = PluginSettings {
            name: "p".into(),
            kind: self.kind,
            descriptor: vec![("queue".into(), "q".into())],
            mount_file: None,
        };
        let mut subscription = resolve(&HostConfig::default(), &[plugin])
            .subscriptions
            .remove(0);
        subscription.settle = self.settle;
        subscription.workers = NonZeroUsize::new(self.workers).expect("there are some");
        subscription
    }

    /// Runs a subscription with `handler` until `messages` are handled after `before` others, and
    /// answers how many were measured and what each cost.
    ///
    /// # Panics
    /// Where a message is not handled.
    pub(super) fn run(
        self,
        handler: Arc<dyn Handler>,
        before: usize,
        messages: usize,
        remembers: bool,
    ) -> (usize, Cost) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts");
        let shutdown = Shutdown::default();
        let window = Window::new(before..before + messages, remembers);
        // Others come after the last that is measured: the subscription is as busy there.
        let all = before + messages + before;
        let sqs = Arc::new(InMemory::new(all, &crate::body(), window, shutdown.clone()));
        let subscription = Arc::new(self.subscription());
        let source = Source {
            plugin: "p".into(),
            queue: "q".into(),
        };
        let mounted = Mounted {
            live: Arc::new(Serving {
                version: 1,
                handler,
                subscription: Arc::clone(&subscription),
            }),
            api: sqs.clone(),
            queue: OpenQueue {
                url: QueueUrl::new("http://sqs/q"),
                arn: None,
                dead_letter: None,
                create: false,
                endpoint: None,
                state: Arc::new(QueueState::new(Duration::from_secs(30), None)),
            },
            finished: Finished::new(),
            publisher: None,
            dead_letter: None,
            subscription,
            observer: Observer::new(source, None),
        };
        let ended = runtime.block_on(run(mounted, shutdown));
        assert_eq!((ended.left, sqs.deleted()), (0, all));
        sqs.window().cost()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.who {
            Who::Native => "native",
            Who::Fresh => "fresh",
            Who::Reused => "reused",
        };
        let settle = match self.settle {
            SettleMode::Each => "each",
            SettleMode::Batched => "batched",
        };
        write!(f, "{who}, {}, {settle}, {}", self.kind, self.workers)
    }
}

/// A handler that costs nothing and acks.
pub(super) struct Native(pub(super) HandlerKind);

/// An answer of no size: a box of it is none.
struct Acks;

impl Future for Acks {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        Poll::Ready(Ok(Outcome::Ack))
    }
}

impl Handler for Native {
    fn kind(&self) -> HandlerKind {
        self.0
    }

    fn handle(&self, _: Call, _: Arc<SqsMessage>) -> Handling<Answer> {
        Box::pin(Acks)
    }

    fn handle_batch(
        &self,
        _: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let acks = || vec![Ok(Outcome::Ack); messages.len()];
        aside(|| Box::pin(std::future::ready(Ok(acks()))) as Handling<_>)
    }
}
