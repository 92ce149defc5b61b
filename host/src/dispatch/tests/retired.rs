//! A subscription whose place another has taken.

use super::*;
use crate::observe::CircuitState;

fn mounted(api: &Arc<Scripted>, handler: &Arc<Native>, own: SqsSubscription) -> Mounted {
    let own = Arc::new(own);
    Mounted {
        subscription: Arc::clone(&own),
        live: Arc::new(Serving {
            version: 1,
            handler: handler.clone(),
            subscription: own,
        }),
        api: api.clone(),
        queue: OpenQueue {
            url: QueueUrl::new("http://sqs/q"),
            arn: None,
            dead_letter: None,
            create: false,
            endpoint: None,
            state: Arc::new(QueueState::new(SECOND * 30, None)),
        },
        finished: Finished::new(),
        publisher: None,
        dead_letter: None,
        observer: Observer::of_a_test(),
    }
}

// Rule 8.3: it receives no more, and hands on what it holds and what its open poll still brings.
#[tokio::test(start_paused = true)]
async fn a_retired_subscription_handles_what_it_holds_and_what_its_open_poll_brings() {
    for kind in [HandlerKind::Single, HandlerKind::Batch] {
        let api = Scripted::new();
        api.will_receive(["1", "2", "3"].map(message).into());
        let handler = Native::new(kind, SECOND, |_| Ok(Outcome::Ack));
        let shutdown = Shutdown::default();
        let mounted = mounted(&api, &handler, subscription(1));
        let retiring = async {
            tokio::time::sleep(SECOND / 2).await;
            shutdown.retire.cancel();
            tokio::time::sleep(SECOND / 2).await;
            api.will_receive(vec![message("4")]);
        };
        let (ended, ()) = tokio::join!(run(mounted, shutdown.clone()), retiring);
        assert_eq!(ended.left, 0);
        assert_eq!(deletes(&api), ["1", "2", "3", "4"], "{kind}");
        assert_eq!(api.made().len(), 4, "nothing was put back");
        assert_eq!(api.asked().len(), 2, "no receive after it");
    }
}

// Rules 8.4 and 8.7: an open circuit keeps nobody waiting.
#[tokio::test(start_paused = true)]
async fn a_subscription_whose_circuit_is_open_ends_as_soon_as_it_is_retired() {
    let api = Scripted::new();
    api.will_receive(batch(&["1", "2"]));
    api.will_receive(batch(&["3"]));
    let fails = |_: &SqsMessage| Err(Failure::new(Reason::Error, "no"));
    let handler = Native::new(HandlerKind::Single, SECOND, fails);
    let mut own = subscription(1);
    own.circuit.after = 2;
    let mounted = mounted(&api, &handler, own);
    let (shutdown, observer) = (Shutdown::default(), mounted.observer.clone());
    let begun = tokio::time::Instant::now();
    let retiring = async {
        tokio::time::sleep(SECOND * 4).await;
        let open = observer.circuit().now();
        assert!(matches!(open, CircuitState::Open { .. }), "{open:?}");
        shutdown.retire.cancel();
    };
    tokio::join!(run(mounted, shutdown.clone()), retiring);
    assert!(begun.elapsed() < SECOND * 5, "{:?}", begun.elapsed());
    assert_eq!(handler.begun(), ["1", "2", "3"]);
}
