//! When a call must end: by the clock on the wall, and by the CPU that it burns (rule 9.2).

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use crate::handler::{Failure, Reason};

/// The limits of one call's time. It begins with the call.
///
/// Two look at it: the epoch, which ends a guest that burns the CPU, and [`Deadline::limit`], which
/// ends one that waits in the host.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadline {
    wall: Option<Wall>,
    cpu: Option<Arc<Cpu>>,
}

#[derive(Clone, Copy, Debug)]
struct Wall {
    at: Instant,
    limit: Duration,
}

/// What ends a guest at one of its time limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeIsUp {
    #[error("the handler passed its time limit of {0:?} (`timeout`)")]
    Wall(Duration),
    #[error("the handler burnt more CPU time than its limit of {0:?} (`cpu_time`)")]
    Cpu(Duration),
}

impl From<TimeIsUp> for Failure {
    fn from(up: TimeIsUp) -> Self {
        Self::new(Reason::Timeout, up.to_string())
    }
}

impl Deadline {
    /// Of a call that begins now. `timeout` counts every moment of it, `cpu_time` only those in
    /// which the call is at work on a thread.
    pub(super) fn after(timeout: Option<Duration>, cpu_time: Option<Duration>) -> Self {
        Self {
            // A limit too long for the clock is none.
            wall: timeout.and_then(|limit| {
                let at = Instant::now().checked_add(limit)?;
                Some(Wall { at, limit })
            }),
            cpu: cpu_time.map(|limit| Arc::new(Cpu::of(limit))),
        }
    }

    /// Which limit has passed. To be asked on the thread that polls the call.
    pub(super) fn passed(&self) -> Option<TimeIsUp> {
        match (self.wall, &self.cpu) {
            (Some(wall), _) if Instant::now() >= wall.at => Some(TimeIsUp::Wall(wall.limit)),
            (_, Some(cpu)) if cpu.is_over(thread_time()) => Some(TimeIsUp::Cpu(cpu.limit)),
            _ => None,
        }
    }

    /// Counts the CPU time of a call, and ends one that waits in the host past its time.
    pub(super) async fn limit<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let counted = async {
            let Some(cpu) = &self.cpu else {
                return call.await;
            };
            let mut call = pin!(call);
            std::future::poll_fn(|context| {
                cpu.begin(thread_time());
                let polled = call.as_mut().poll(context);
                cpu.end(thread_time());
                match polled {
                    Poll::Pending if cpu.is_over(Duration::ZERO) => {
                        Poll::Ready(Err(TimeIsUp::Cpu(cpu.limit).into()))
                    }
                    polled => polled,
                }
            })
            .await
        };
        match self.wall {
            None => counted.await,
            Some(wall) => match tokio::time::timeout_at(wall.at, counted).await {
                Ok(answer) => answer,
                Err(_) => Err(TimeIsUp::Wall(wall.limit).into()),
            },
        }
    }
}

/// The CPU time of one call, which moves between threads.
#[derive(Debug)]
struct Cpu {
    limit: Duration,
    /// Nanoseconds of the turns that are over.
    burnt: AtomicU64,
    /// Where the clock of the thread stood when the turn began that is going on; 0 between turns.
    began: AtomicU64,
}

impl Cpu {
    fn of(limit: Duration) -> Self {
        Self {
            limit,
            burnt: AtomicU64::new(0),
            began: AtomicU64::new(0),
        }
    }

    /// A thread whose clock shows `now` takes the call up.
    fn begin(&self, now: Duration) {
        self.began.store(nanoseconds(now).max(1), Ordering::Relaxed);
    }

    /// It lays the call down.
    fn end(&self, now: Duration) {
        let began = self.began.swap(0, Ordering::Relaxed);
        let turn = nanoseconds(now).saturating_sub(began);
        self.burnt.fetch_add(turn, Ordering::Relaxed);
    }

    fn is_over(&self, now: Duration) -> bool {
        let turn = match self.began.load(Ordering::Relaxed) {
            0 => 0,
            began => nanoseconds(now).saturating_sub(began),
        };
        let burnt = self.burnt.load(Ordering::Relaxed).saturating_add(turn);
        burnt >= nanoseconds(self.limit)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The CPU time that this thread has had.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Where threads have no clock of their own, the time that passes while one is at work.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    // Rule 9.2.
    #[test]
    fn cpu_time_is_the_sum_of_a_calls_turns_on_whatever_threads() {
        let cpu = Cpu::of(ms(10));
        cpu.begin(ms(100));
        assert!(!cpu.is_over(ms(109)));
        cpu.end(ms(106));
        // Another thread, whose clock stands elsewhere; what passed between counts for nothing.
        cpu.begin(ms(7));
        assert!(!cpu.is_over(ms(10)));
        assert!(cpu.is_over(ms(11)));
        cpu.end(ms(9));
        assert!(!cpu.is_over(ms(1_000_000)));
    }

    // Rule 9.2.
    #[tokio::test(start_paused = true)]
    async fn time_spent_in_the_host_counts_for_the_time_limit_and_not_for_the_cpu_time() {
        let waiting = || async {
            tokio::time::sleep(ms(1000)).await;
            Ok(())
        };
        let cpu = Deadline::after(None, Some(ms(100)));
        assert_eq!(cpu.limit(waiting()).await, Ok(()));
        let wall = Deadline::after(Some(ms(100)), Some(ms(100)));
        let late = wall.limit(waiting()).await.unwrap_err();
        assert_eq!(late, TimeIsUp::Wall(ms(100)).into());
        assert_eq!(wall.passed(), Some(TimeIsUp::Wall(ms(100))));
    }

    // Rules 5.6 and 9.2.
    #[test]
    fn a_limit_that_passed_is_named_with_its_setting() {
        for (up, says) in [
            (TimeIsUp::Wall(ms(1500)), "time limit of 1.5s (`timeout`)"),
            (TimeIsUp::Cpu(ms(250)), "limit of 250ms (`cpu_time`)"),
        ] {
            let failure = Failure::from(up);
            assert_eq!(failure.reason, Reason::Timeout);
            assert!(failure.message.contains(says), "{failure}");
        }
    }
}
