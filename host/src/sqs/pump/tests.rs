//! The pump against a scripted SQS, on a paused clock.

use super::*;
use crate::config::{HostConfig, PluginSettings, resolve as resolve_mounts};
use crate::handler::HandlerKind;
use crate::observe::Count;
use crate::sqs::api::QueueAttributes;
use crate::sqs::memory::Finished;
use crate::sqs::scripted::{Made, On, Say, Scripted, message, message_under};

const SECOND: Duration = Duration::from_secs(1);

struct Rig {
    api: Arc<Scripted>,
    pump: Pump,
    shutdown: Shutdown,
}

/// Of a mount that declares none.
fn redrive() -> Redrive {
    let plugin = PluginSettings {
        name: "p".into(),
        kind: HandlerKind::Single,
        descriptor: vec![("queue".into(), "q".into())],
        mount_file: None,
    };
    let mut resolved = resolve_mounts(&HostConfig::default(), &[plugin]);
    Redrive {
        subscription: Arc::new(resolved.subscriptions.remove(0)),
        create: true,
        endpoint: None,
    }
}

fn rig(wait: Duration, slots: Slots) -> Rig {
    let api = Scripted::new();
    let queue = QueueUrl::new("http://sqs/q");
    let observer = Observer::of_a_test();
    let pump = Pump {
        api: api.clone(),
        queue: queue.clone(),
        create: None,
        redrive: redrive(),
        wait,
        receive: 10,
        visibility: Some(Duration::from_secs(30)),
        state: Arc::new(QueueState::new(Duration::from_secs(30), None)),
        leases: LeaseKeeper::new(api.clone(), queue.clone(), observer.clone()),
        settler: Settler::new(api.clone(), queue, observer.clone(), Finished::new()),
        slots,
        gate: None,
        pace: None,
        unwrap_sns: false,
        observer,
    };
    Rig {
        api,
        pump,
        shutdown: Shutdown::default(),
    }
}

impl Rig {
    /// Runs the pump beside `test`, which ends it by returning.
    async fn beside<T>(
        self,
        test: impl AsyncFnOnce(&Rig, &mut mpsc::Receiver<Vec<Delivery>>) -> T,
    ) -> T {
        let (intake, mut channel) = mpsc::channel(1);
        let run = self.pump.run(intake, self.shutdown.clone());
        tokio::select! {
            out = test(&self, &mut channel) => out,
            () = run => panic!("the pump ended by itself"),
        }
    }
}

fn ids(batch: &[Delivery]) -> Vec<&str> {
    batch.iter().map(|d| d.message.id_or_dash()).collect()
}

// Rule 2.3: one batch in the channel, and no receive until it has gone.
#[tokio::test(start_paused = true)]
async fn a_receive_starts_only_once_the_channel_has_room() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    for id in ["a", "b", "c"] {
        rig.api.will_receive(vec![message(id)]);
    }
    rig.beside(async |rig, channel| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(rig.api.receives(), 1);
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(rig.api.receives(), 2);
    })
    .await;
}

// Rule 2.2: a batch is never empty, and an empty short poll is followed by a pause.
#[tokio::test(start_paused = true)]
async fn an_empty_poll_yields_nothing_and_a_short_one_is_not_repeated_at_once() {
    let rig = rig(Duration::ZERO, Slots::Prefetch);
    rig.beside(async |rig, channel| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(channel.try_recv().is_err());
        let receives = rig.api.receives();
        // 100 ms doubling to 5 s, each at least half of that by jitter.
        assert!(
            (12..=36).contains(&receives),
            "{receives} receives in a minute"
        );
    })
    .await;
}

// Rule 2.2: a server that answers a long poll at once is not asked thousands of times.
#[tokio::test(start_paused = true)]
async fn an_empty_answer_before_its_time_is_followed_by_a_pause_too() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    for _ in 0..1000 {
        rig.api.will_receive(Vec::new());
    }
    rig.beside(async |rig, _| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let receives = rig.api.receives();
        assert!((12..=36).contains(&receives), "{receives} in a minute");
    })
    .await;
}

// Rule 2.4: an error never ends the pump, and a queue that comes back is picked up again.
#[tokio::test(start_paused = true)]
async fn the_pump_outlives_every_error() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    for class in [
        ErrorClass::Throttled,
        ErrorClass::Network,
        ErrorClass::Denied,
        ErrorClass::Missing,
        ErrorClass::Refused,
    ] {
        rig.api.will_fail_to_receive(class);
    }
    rig.api.will_receive(vec![message("a")]);
    rig.beside(async |rig, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
        assert_eq!(rig.api.receives(), 6);
    })
    .await;
}

// Rule 2.4: access denied backs off to a minute.
#[tokio::test(start_paused = true)]
async fn a_denied_queue_is_asked_a_few_times_a_minute_at_most() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    for _ in 0..1000 {
        rig.api.will_fail_to_receive(ErrorClass::Denied);
    }
    rig.beside(async |rig, _| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(rig.api.receives() <= 15, "{}", rig.api.receives());
    })
    .await;
}

// Rule 2.5.
#[tokio::test(start_paused = true)]
async fn a_message_without_a_receipt_handle_is_skipped() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    let mut broken = message("broken");
    broken.handle = None;
    rig.api.will_receive(vec![broken.clone(), message("whole")]);
    rig.api.will_receive(vec![broken]);
    rig.api.will_receive(vec![message("last")]);
    rig.beside(async |_, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["whole"]);
        assert_eq!(ids(&channel.recv().await.unwrap()), ["last"]);
    })
    .await;
}

// Rule 1.7: `prefetch = false`.
#[tokio::test(start_paused = true)]
async fn without_prefetch_a_receive_asks_only_for_free_workers() {
    let workers = Arc::new(Semaphore::new(3));
    let rig = rig(Duration::from_secs(20), Slots::PerMessage(workers.clone()));
    rig.api.will_receive(vec![message("a"), message("b")]);
    rig.beside(async |rig, channel| {
        let mut held = channel.recv().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        // One of the three was left over, so a second poll asks for one.
        assert_eq!(rig.api.asked(), [3, 1]);
        rig.api.will_receive(vec![message("c")]);
        let third = channel.recv().await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(rig.api.asked(), [3, 1], "all three are busy");
        held.pop();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(rig.api.asked(), [3, 1, 1]);
        drop(third);
    })
    .await;
}

// Rule 7.3: what an open poll brings after the stop is still handed on, and nothing after it.
#[tokio::test(start_paused = true)]
async fn a_poll_that_is_open_at_the_stop_may_finish() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    let (intake, mut channel) = mpsc::channel(1);
    let run = rig.pump.run(intake, rig.shutdown.clone());
    let script = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.shutdown.stop.cancel();
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.api.will_receive(vec![message("late")]);
    };
    tokio::join!(run, script);
    assert_eq!(ids(&channel.recv().await.unwrap()), ["late"]);
    assert!(channel.recv().await.is_none());
    assert_eq!(rig.api.receives(), 1);
}

// Rule 3.6.
#[tokio::test(start_paused = true)]
async fn a_lease_starts_before_any_handler_is_free() {
    let rig = rig(Duration::from_secs(20), Slots::Prefetch);
    rig.api.will_receive(vec![message("a")]);
    rig.beside(async |rig, _| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(rig.pump.leases.held(), 1);
    })
    .await;
}

// Rule 2.1: no answer is repeated as the same receive, any answer makes another.
#[tokio::test(start_paused = true)]
async fn a_fifo_receive_without_an_answer_is_repeated_under_its_attempt_id() {
    let mut rig = rig(SECOND, Slots::Prefetch);
    rig.pump.pace = Some(Arc::default());
    rig.api.will_answer_a_receive(Say::Hang);
    rig.api.will_fail_to_receive(ErrorClass::Network);
    rig.api.will_receive(vec![message("a")]);
    rig.api
        .will_answer_a_receive(Say::Code("RequestThrottled", ""));
    rig.api.will_receive(vec![message("b")]);
    rig.beside(async |rig, channel| {
        channel.recv().await.unwrap();
        channel.recv().await.unwrap();
        let ids = rig.api.attempts();
        assert!(ids.iter().all(Option::is_some));
        assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
        assert!(ids[2] != ids[3] && ids[3] != ids[4], "{ids:?}");
    })
    .await;
}

// Rule 2.1.
#[tokio::test(start_paused = true)]
async fn a_receive_of_a_standard_queue_has_no_attempt_id() {
    let rig = rig(SECOND * 20, Slots::Prefetch);
    rig.beside(async |rig, _| {
        tokio::time::sleep(SECOND).await;
        assert_eq!(rig.api.attempts(), [None]);
    })
    .await;
}

// Rule 2.1: however often receives hang.
#[tokio::test(start_paused = true)]
async fn a_receive_that_hangs_delays_the_next_by_its_wait_and_ten_seconds_at_most() {
    for wait in [Duration::ZERO, SECOND * 20] {
        let rig = rig(wait, Slots::Prefetch);
        for _ in 0..20 {
            rig.api.will_answer_a_receive(Say::Hang);
        }
        rig.beside(async |rig, _| {
            tokio::time::sleep(SECOND * 300).await;
            let began = rig.api.began();
            assert!(began.len() > 8, "{}", began.len());
            for pair in began.windows(2) {
                assert!(pair[1] - pair[0] <= wait + SECOND * 10);
            }
        })
        .await;
    }
}

// Rule 1.8: a queue that vanishes while the host runs.
#[tokio::test(start_paused = true)]
async fn a_queue_that_vanishes_is_created_again_and_its_attributes_are_read() {
    let mut rig = rig(SECOND * 20, Slots::Prefetch);
    rig.pump.create = Some("q".parse().unwrap());
    rig.pump.visibility = None;
    let missing = "AWS.SimpleQueueService.NonExistentQueue";
    rig.api.will_answer_a_receive(Say::Code(missing, ""));
    rig.api.will_say(On::QueueUrl, Say::Code(missing, ""));
    rig.api.will_receive(vec![message("a")]);
    rig.api.has_attributes(QueueAttributes {
        visibility: Some(SECOND * 45),
        redrive: Some(crate::sqs::RedrivePolicy {
            dead_letter: "arn:aws:sqs:eu-west-1:123456789012:dead".into(),
            max_receive_count: 4,
        }),
        ..QueueAttributes::default()
    });
    rig.beside(async |rig, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
        assert_eq!(rig.api.made(), [Made::Create("q".into())]);
        assert_eq!(rig.pump.state.visibility(), SECOND * 45);
        assert_eq!(rig.pump.state.max_receive_count(), Some(4));
    })
    .await;
}

// Rule 2.4: without create_if_missing it is picked up once somebody creates it.
#[tokio::test(start_paused = true)]
async fn a_queue_that_vanishes_is_picked_up_when_somebody_creates_it() {
    let rig = rig(SECOND * 20, Slots::Prefetch);
    for _ in 0..5 {
        rig.api
            .will_answer_a_receive(Say::Code("QueueDoesNotExist", ""));
    }
    rig.api.will_receive(vec![message("a")]);
    rig.beside(async |rig, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
        assert_eq!(rig.api.made(), []);
        assert_eq!(rig.api.reads(), 1);
    })
    .await;
}

// Rules 1.9 and 2.4: a queue that was created anew gets the redrive policy that the mount declares.
#[tokio::test(start_paused = true)]
async fn a_queue_that_was_created_anew_gets_its_redrive_policy_again() {
    let mut rig = rig(SECOND * 20, Slots::Prefetch);
    let mut declared = (*rig.pump.redrive.subscription).clone();
    let dead = "arn:aws:sqs:eu-west-1:123456789012:dead";
    declared.dead_letter = Some(dead.parse().unwrap());
    declared.max_attempts = std::num::NonZeroU32::new(3);
    rig.pump.redrive.subscription = Arc::new(declared);
    rig.api
        .will_answer_a_receive(Say::Code("QueueDoesNotExist", ""));
    rig.api.will_receive(vec![message("a")]);
    rig.beside(async |rig, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
        let made = rig.api.made();
        let [Made::SetAttributes(attributes)] = &made[..] else {
            panic!("{made:?}");
        };
        let [(name, policy)] = &attributes[..] else {
            panic!("{attributes:?}");
        };
        assert_eq!(name, "RedrivePolicy");
        assert!(policy.contains(dead), "{policy}");
        assert_eq!(rig.pump.state.max_receive_count(), Some(3));
    })
    .await;
}

// Rule 5.13: the same message under two handles at once; no lease and no place leaks.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_here_is_not_handed_out_again() {
    let workers = Arc::new(Semaphore::new(3));
    let rig = rig(SECOND * 20, Slots::PerMessage(workers.clone()));
    rig.api
        .will_receive(vec![message("a"), message_under("a", "second")]);
    rig.beside(async |rig, channel| {
        let held = channel.recv().await.unwrap();
        assert_eq!(ids(&held), ["a"]);
        rig.api.will_receive(vec![message_under("a", "third")]);
        tokio::time::sleep(SECOND).await;
        assert!(channel.try_recv().is_err());
        assert_eq!(held[0].lease.handle(), Some("third".into()));
        assert_eq!(rig.pump.leases.held(), 1);
        assert_eq!(rig.api.asked(), [3, 2, 2]);
        drop(held);
        assert_eq!(rig.pump.leases.held(), 0);
        rig.api.will_receive(vec![message("a")]);
        assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
    })
    .await;
}

// Rule 5.11: deleted without a handling, while the pump goes on.
#[tokio::test(start_paused = true)]
async fn a_message_that_was_finished_is_deleted_and_not_handed_out() {
    let rig = rig(SECOND * 20, Slots::Prefetch);
    rig.pump.settler.finished().remember(&"a".into());
    rig.api.will_say(On::Delete, Say::Hang);
    rig.api.will_receive(vec![message("a"), message("b")]);
    rig.api.will_receive(vec![message("c")]);
    rig.beside(async |rig, channel| {
        assert_eq!(ids(&channel.recv().await.unwrap()), ["b"]);
        assert_eq!(ids(&channel.recv().await.unwrap()), ["c"]);
        tokio::time::sleep(SECOND * 10).await;
        let delete = Made::Delete("handle of a".into());
        assert_eq!(rig.api.made(), [delete.clone(), delete]);
        assert!(rig.pump.settler.finished().is_empty(), "it is deleted");
        let counters = rig.pump.observer.counters();
        assert_eq!(counters.get(Count::FinishedAlready), 1);
    })
    .await;
}

// Rule 5.11: what fails again stays remembered.
#[tokio::test(start_paused = true)]
async fn a_finished_message_that_cannot_be_deleted_again_stays_remembered() {
    let rig = rig(SECOND * 20, Slots::Prefetch);
    rig.pump.settler.finished().remember(&"a".into());
    rig.api.will_fail_to_delete(ErrorClass::LostHandle);
    rig.api.will_receive(vec![message("a")]);
    rig.beside(async |rig, channel| {
        tokio::time::sleep(SECOND).await;
        assert!(rig.pump.settler.finished().knows(&"a".into()));
        assert_eq!(rig.pump.leases.held(), 0);
        rig.api.will_receive(vec![message("a")]);
        tokio::time::sleep(SECOND).await;
        assert!(rig.pump.settler.finished().is_empty());
        assert!(channel.try_recv().is_err());
    })
    .await;
}

// Rule 5.11: nothing about that blocks or floods: the many are let go, and come again.
#[tokio::test(start_paused = true)]
async fn only_so_many_finished_messages_are_deleted_at_once() {
    let rig = rig(SECOND * 20, Slots::Prefetch);
    for n in 0..FINISHED_TOGETHER + 10 {
        let id = n.to_string();
        rig.pump.settler.finished().remember(&id.as_str().into());
        rig.api.will_say(On::Delete, Say::Hang);
        rig.api.will_receive(vec![message(&id)]);
    }
    rig.beside(async |rig, _| {
        tokio::time::sleep(SECOND / 2).await;
        assert_eq!(rig.pump.leases.held(), FINISHED_TOGETHER);
        assert_eq!(rig.pump.settler.finished().len(), FINISHED_TOGETHER + 10);
    })
    .await;
}
