//! Settlements that share calls: `settle = "batched"` (rule 5.10).
//!
//! Invariants: a call has 1 to 10 entries and waits at most [`SETTLE_TOGETHER`] for the tenth, and
//! hardly at all once no handler is at work whose message could join it; an
//! entry whose settlement waits no more is not sent; every entry that was sent has an answer of its
//! own.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::{QueueUrl, SqsApi};
use crate::error::CallError;
use crate::handler::ReceiptHandle;
use crate::limits::{CALL_TIMEOUT, MAX_BATCH, SETTLE_ALONE, SETTLE_TOGETHER};

/// Gathers the deletes and visibility changes of one queue.
pub struct Batcher {
    api: Arc<dyn SqsApi>,
    queue: QueueUrl,
    waiting: Mutex<Waiting>,
    changed: Notify,
    /// How many calls of handlers are under way: their messages will want to be settled.
    at_work: AtomicUsize,
}

/// A handler is at work until this is dropped.
pub struct AtWork(Arc<Batcher>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Relaxed);
        self.0.changed.notify_one();
    }
}

#[derive(Default)]
struct Waiting {
    deletes: Gather<Entry<()>>,
    changes: Gather<Entry<Duration>>,
}

struct Entry<T> {
    handle: ReceiptHandle,
    with: T,
    answer: oneshot::Sender<Result<(), CallError>>,
}

impl<T> Entry<T> {
    /// Whether somebody still waits for the answer.
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }
}

impl Batcher {
    /// A batcher of nothing. [`Batcher::run`] must be driven for it to send anything.
    pub fn new(api: Arc<dyn SqsApi>, queue: QueueUrl) -> Arc<Self> {
        Arc::new(Self {
            api,
            queue,
            waiting: Mutex::default(),
            changed: Notify::new(),
            at_work: AtomicUsize::new(0),
        })
    }

    /// Says that a handler is at work.
    pub(super) fn at_work(self: &Arc<Self>) -> AtWork {
        self.at_work.fetch_add(1, Relaxed);
        AtWork(Arc::clone(self))
    }

    /// How long the oldest entry waits for company.
    fn patience(&self, stopping: bool) -> Duration {
        if stopping {
            Duration::ZERO
        } else if self.at_work.load(Relaxed) == 0 {
            SETTLE_ALONE
        } else {
            SETTLE_TOGETHER
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // A panic under the lock leaves two lists that are each whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes a message in a call with others.
    pub(super) async fn delete(&self, handle: ReceiptHandle) -> Result<(), CallError> {
        let (answer, answered) = oneshot::channel();
        let entry = Entry {
            handle,
            with: (),
            answer,
        };
        self.waiting().deletes.push(Instant::now(), entry);
        self.answered("DeleteMessageBatch", answered).await
    }

    /// Changes a message's visibility in a call with others.
    pub(super) async fn change_visibility(
        &self,
        handle: ReceiptHandle,
        visibility: Duration,
    ) -> Result<(), CallError> {
        let (answer, answered) = oneshot::channel();
        let entry = Entry {
            handle,
            with: visibility,
            answer,
        };
        self.waiting().changes.push(Instant::now(), entry);
        self.answered("ChangeMessageVisibilityBatch", answered)
            .await
    }

    async fn answered(
        &self,
        operation: &'static str,
        answer: oneshot::Receiver<Result<(), CallError>>,
    ) -> Result<(), CallError> {
        self.changed.notify_one();
        let gone = |_| Err(CallError::no_answer(operation, "the call was given up"));
        answer.await.unwrap_or_else(gone)
    }

    /// Sends what falls due, for ever: drop the future to end it. From `stop` on nothing waits for
    /// company any more.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut calls = JoinSet::new();
        loop {
            let now = Instant::now();
            let stopping = stop.is_cancelled();
            let patience = self.patience(stopping);
            let (deletes, changes, next) = {
                let mut waiting = self.waiting();
                (
                    waiting.deletes.take_due(now, patience),
                    waiting.changes.take_due(now, patience),
                    earlier(waiting.deletes.due(patience), waiting.changes.due(patience)),
                )
            };
            if !deletes.is_empty() {
                let batcher = Arc::clone(&self);
                calls.spawn(async move { batcher.send_deletes(deletes).await });
            }
            if !changes.is_empty() {
                let batcher = Arc::clone(&self);
                calls.spawn(async move { batcher.send_changes(changes).await });
            }
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = due => {}
                () = stop.cancelled(), if !stopping => {}
                Some(_) = calls.join_next() => {}
            }
        }
    }

    async fn send_deletes(&self, mut entries: Vec<Entry<()>>) {
        entries.retain(Entry::is_wanted);
        let handles: Vec<_> = entries.iter().map(|entry| entry.handle.clone()).collect();
        let call = async {
            match handles.as_slice() {
                [] => Ok(Vec::new()),
                [one] => Ok(vec![self.api.delete(&self.queue, one).await]),
                several => self.api.delete_batch(&self.queue, several).await,
            }
        };
        give("DeleteMessageBatch", entries, call).await;
    }

    async fn send_changes(&self, mut entries: Vec<Entry<Duration>>) {
        entries.retain(Entry::is_wanted);
        let list: Vec<_> = entries.iter().map(|e| (e.handle.clone(), e.with)).collect();
        let call = async {
            match list.as_slice() {
                [] => Ok(Vec::new()),
                [(handle, visibility)] => Ok(vec![
                    self.api
                        .change_visibility(&self.queue, handle, *visibility)
                        .await,
                ]),
                several => self.api.change_visibility_batch(&self.queue, several).await,
            }
        };
        give("ChangeMessageVisibilityBatch", entries, call).await;
    }
}

/// Gives each entry its answer. A call that failed failed for each.
async fn give<T>(
    operation: &'static str,
    entries: Vec<Entry<T>>,
    call: impl Future<Output = Result<Vec<Result<(), CallError>>, CallError>>,
) {
    let results = tokio::time::timeout(CALL_TIMEOUT, call)
        .await
        .unwrap_or_else(|_| Err(CallError::no_answer(operation, "no answer in time")))
        .unwrap_or_else(|error| vec![Err(error); entries.len()]);
    for (entry, result) in entries.into_iter().zip(results) {
        // Who waits no more has given the settlement up, and says so himself.
        let _ = entry.answer.send(result);
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    a.into_iter().chain(b).min()
}

/// What waits for company: pure, the time is passed in.
struct Gather<T> {
    entries: Vec<(Instant, T)>,
}

impl<T> Default for Gather<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<T> Gather<T> {
    fn push(&mut self, now: Instant, entry: T) {
        self.entries.push((now, entry));
    }

    /// When the oldest has waited long enough: for its `patience`, and in a full call no time.
    fn due(&self, patience: Duration) -> Option<Instant> {
        let (oldest, _) = self.entries.first()?;
        if self.entries.len() >= MAX_BATCH.into() {
            return Some(*oldest);
        }
        Some(*oldest + patience)
    }

    /// The entries of one call, where one is due at `now`.
    fn take_due(&mut self, now: Instant, patience: Duration) -> Vec<T> {
        if self.due(patience).is_none_or(|due| due > now) {
            return Vec::new();
        }
        let most = self.entries.len().min(MAX_BATCH.into());
        self.entries.drain(..most).map(|(_, entry)| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use crate::sqs::scripted::{Entry as Says, Made, On, Scripted};

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    struct Rig {
        api: Arc<Scripted>,
        batcher: Arc<Batcher>,
        stop: CancellationToken,
        at_work: Option<AtWork>,
    }

    /// With a handler at work, whose message may come.
    fn rig() -> Rig {
        let api = Scripted::new();
        let batcher = Batcher::new(api.clone(), QueueUrl::new("http://sqs/q"));
        let stop = CancellationToken::new();
        tokio::spawn(Arc::clone(&batcher).run(stop.clone()));
        Rig {
            at_work: Some(batcher.at_work()),
            api,
            batcher,
            stop,
        }
    }

    impl Rig {
        /// Deletes as many messages at once; how each ended.
        async fn deletes(&self, n: usize) -> Vec<Option<ErrorClass>> {
            let deletes = (0..n).map(|n| self.batcher.delete(n.to_string().into()));
            let ended = futures_util::future::join_all(deletes).await;
            let class = |result: Result<(), CallError>| result.err().map(|e| e.class);
            ended.into_iter().map(class).collect()
        }

        fn sizes(&self) -> Vec<usize> {
            let size = |made: Made| match made {
                Made::DeleteBatch(handles) => handles.len(),
                Made::VisibilityBatch(entries) => entries.len(),
                _ => 1,
            };
            self.api.made().into_iter().map(size).collect()
        }
    }

    // Rule 5.10: up to ten, or 50 ms.
    #[test]
    fn entries_wait_for_company_until_they_are_ten_or_50_ms_old() {
        let start = Instant::now();
        let mut gather = Gather::default();
        assert_eq!(gather.due(SETTLE_TOGETHER), None);
        gather.push(start, 0);
        gather.push(start + ms(30), 1);
        assert_eq!(gather.due(SETTLE_TOGETHER), Some(start + ms(50)));
        assert!(gather.take_due(start + ms(49), SETTLE_TOGETHER).is_empty());
        assert_eq!(gather.take_due(start + ms(50), SETTLE_TOGETHER), [0, 1]);
        for n in 0..12 {
            gather.push(start, n);
        }
        assert_eq!(gather.take_due(start, SETTLE_TOGETHER).len(), 10);
        assert!(gather.take_due(start, SETTLE_TOGETHER).is_empty());
        assert_eq!(gather.take_due(start, Duration::ZERO), [10, 11]);
    }

    // Rule 5.10: a worker that is alone does not wait for a company that cannot come.
    #[tokio::test(start_paused = true)]
    async fn an_entry_hardly_waits_once_no_handler_is_at_work() {
        let mut rig = rig();
        let begun = Instant::now();
        rig.deletes(1).await;
        assert_eq!(begun.elapsed(), SETTLE_TOGETHER);
        rig.at_work = None;
        let begun = Instant::now();
        rig.deletes(3).await;
        assert_eq!(begun.elapsed(), SETTLE_ALONE);
        assert_eq!(rig.sizes(), [1, 3]);
    }

    // Rule 5.10.
    #[tokio::test(start_paused = true)]
    async fn what_is_settled_together_shares_calls_of_ten() {
        let rig = rig();
        let begun = Instant::now();
        assert_eq!(rig.deletes(23).await, [None; 23]);
        assert_eq!(rig.sizes(), [10, 10, 3]);
        assert_eq!(begun.elapsed(), ms(50));
    }

    // Rule 5.10: each entry has its own answer.
    #[tokio::test(start_paused = true)]
    async fn one_entry_that_fails_fails_alone() {
        let rig = rig();
        let code = "InternalError";
        let mut says = vec![Says::Done; 4];
        says[1] = Says::Failed {
            code,
            sender_fault: false,
        };
        says[3] = Says::Silent;
        rig.api.will_say_of_entries(On::Delete, says);
        let passing = Some(ErrorClass::Network);
        assert_eq!(rig.deletes(4).await, [None, passing, None, passing]);
    }

    // Rule 5.10: a call that fails fails for each of its entries.
    #[tokio::test(start_paused = true)]
    async fn a_call_that_fails_fails_for_each_entry() {
        let rig = rig();
        rig.api.will_fail_to_delete(ErrorClass::Throttled);
        assert_eq!(rig.deletes(2).await, [Some(ErrorClass::Throttled); 2]);
    }

    // Rule 5.10: deletes and visibility changes are two calls.
    #[tokio::test(start_paused = true)]
    async fn visibility_changes_share_a_call_of_their_own() {
        let rig = rig();
        let (a, b, c) = tokio::join!(
            rig.batcher.change_visibility("a".into(), ms(0)),
            rig.batcher.change_visibility("b".into(), ms(7000)),
            rig.batcher.delete("c".into()),
        );
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        let changes = vec![("a".to_owned(), ms(0)), ("b".to_owned(), ms(7000))];
        let made = rig.api.made();
        assert!(made.contains(&Made::VisibilityBatch(changes)), "{made:?}");
        assert!(made.contains(&Made::Delete("c".into())), "{made:?}");
    }

    // Rule 5.10: flushed on shutdown.
    #[tokio::test(start_paused = true)]
    async fn at_a_stop_nothing_waits_for_company() {
        let rig = rig();
        let begun = Instant::now();
        let stop = async {
            tokio::time::sleep(ms(10)).await;
            rig.stop.cancel();
        };
        tokio::join!(rig.deletes(2), stop);
        assert_eq!(begun.elapsed(), ms(10));
        assert_eq!(rig.deletes(1).await, [None]);
        assert_eq!(begun.elapsed(), ms(10));
    }

    // Rule 4.5: what its settlement has given up is not sent any more.
    #[tokio::test(start_paused = true)]
    async fn an_entry_that_nobody_waits_for_is_not_sent() {
        let rig = rig();
        let gone = rig.batcher.delete("a".into());
        assert!(tokio::time::timeout(ms(10), gone).await.is_err());
        rig.batcher.delete("b".into()).await.unwrap();
        assert_eq!(rig.api.made(), [Made::Delete("b".into())]);
    }
}
