//! A subscription whose place another has taken.

use super::*;

// Rule 8.3: it receives no more, and hands on what it holds and what its open poll still brings.
#[tokio::test(start_paused = true)]
async fn a_retired_subscription_handles_what_it_holds_and_what_its_open_poll_brings() {
    for kind in [HandlerKind::Single, HandlerKind::Batch] {
        let api = Scripted::new();
        api.will_receive(["1", "2", "3"].map(message).into());
        let handler = Native::new(kind, SECOND, |_| Ok(Outcome::Ack));
        let own = Arc::new(subscription(1));
        let shutdown = Shutdown::default();
        let mounted = Mounted {
            subscription: Arc::clone(&own),
            live: Arc::new(Serving {
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
        };
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
