//! When which lease is extended, by a clock that the tests move.

use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn hold(keeper: &mut Keeper, now: Instant, handle: &str, visibility: Duration) -> LeaseId {
    received(keeper, now, handle, None, visibility)
}

fn received(
    keeper: &mut Keeper,
    now: Instant,
    handle: &str,
    message: Option<&str>,
    visibility: Duration,
) -> LeaseId {
    match keeper.hold(now, handle.into(), message.map(Into::into), visibility) {
        Taken::New(id) => id,
        Taken::Renewed => panic!("the message is held"),
    }
}

fn renewed(keeper: &mut Keeper, now: Instant, handle: &str, message: &str) {
    let taken = keeper.hold(now, handle.into(), Some(message.into()), ms(2000));
    assert_eq!(taken, Taken::Renewed);
}

/// Runs a lease for `total`, each extension answered at once; when they were sent.
fn extensions(visibility: Duration, total: Duration) -> Vec<Duration> {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    hold(&mut keeper, start, "h", visibility);
    let mut sent = Vec::new();
    while let Some(due) = keeper.next_due()
        && due < start + total
    {
        for extension in keeper.take_due(due) {
            sent.push(due - start);
            keeper.extended(&extension, due, due);
        }
    }
    sent
}

// Rules 4.1 and 4.7: five seconds of work under a two-second visibility.
#[test]
fn a_lease_is_re_armed_halfway_through_each_period() {
    assert_eq!(
        extensions(ms(2000), ms(5000)),
        [ms(1000), ms(2000), ms(3000), ms(4000)]
    );
    assert_eq!(
        extensions(ms(1000), ms(2100)),
        [ms(500), ms(1000), ms(1500), ms(2000)]
    );
}

// Rule 4.3.
#[test]
fn the_last_extension_reaches_the_end_of_the_window_and_no_further() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    hold(&mut keeper, start, "h", MAX_VISIBILITY);
    let due = keeper.next_due().unwrap();
    assert_eq!(due - start, MAX_VISIBILITY / 2);
    let extension = keeper.take_due(due).pop().unwrap();
    assert_eq!(extension.visibility, MAX_VISIBILITY / 2 - WINDOW_MARGIN);
    assert!(keeper.extended(&extension, due, due), "the last one");
    assert_eq!(keeper.next_due(), None);
}

// Rule 4.1: extensions that fall due together share a call.
#[test]
fn leases_of_one_receive_fall_due_together() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    for n in 0..10 {
        hold(&mut keeper, start + ms(n), &n.to_string(), ms(2000));
    }
    hold(&mut keeper, start + ms(500), "later", ms(2000));
    let due = keeper.next_due().unwrap();
    assert_eq!(keeper.take_due(due - ms(1)), [], "nothing is sent early");
    assert_eq!(keeper.take_due(due).len(), 10);
    assert_eq!(keeper.next_due(), Some(start + ms(1500)));
}

// Rule 4.5.
#[test]
fn a_pause_waits_for_the_extension_under_way() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = hold(&mut keeper, start, "h", ms(2000));
    let sent = start + ms(1000);
    let extension = keeper.take_due(sent).pop().unwrap();
    assert!(!keeper.pause(id), "an extension is under way");
    keeper.extended(&extension, sent, sent);
    assert!(keeper.pause(id));
    assert_eq!(keeper.next_due(), None, "none follows");
    keeper.resume(id, sent + ms(1200));
    assert_eq!(
        keeper.next_due(),
        Some(sent + ms(1200)),
        "half a period has gone by"
    );
}

// Rule 4.4.
#[test]
fn a_failed_extension_is_tried_again_inside_the_lease_and_a_lost_handle_never() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    hold(&mut keeper, start, "h", ms(2000));
    let mut now = start + ms(1000);
    let mut tries = 0;
    while now < start + ms(1900) {
        let extension = keeper.take_due(now).pop().unwrap();
        assert_eq!(
            keeper.failed(&extension, now, ErrorClass::Network),
            AfterFailure::Again
        );
        now = keeper.next_due().unwrap();
        tries += 1;
    }
    assert!((3..30).contains(&tries), "{tries} tries");
    let extension = keeper.take_due(now).pop().unwrap();
    assert_eq!(
        keeper.failed(&extension, now, ErrorClass::LostHandle),
        AfterFailure::Lost
    );
    assert_eq!(keeper.next_due(), None);
}

// Rule 4.4: short, however much is left of a long lease.
#[test]
fn the_first_tries_of_a_long_lease_follow_each_other_soon() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    hold(&mut keeper, start, "h", MAX_VISIBILITY);
    let begun = keeper.next_due().unwrap();
    let mut now = begun;
    for _ in 0..5 {
        let extension = keeper.take_due(now).pop().unwrap();
        keeper.failed(&extension, now, ErrorClass::Throttled);
        now = keeper.next_due().unwrap();
    }
    // 0.2 s doubling.
    assert_eq!(now - begun, ms(6200));
}

// Rule 4.3: what SQS says of the total is not of the handle.
#[test]
fn a_window_that_sqs_says_is_used_up_is_no_lost_lease() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = hold(&mut keeper, start, "h", ms(2000));
    let extension = keeper.take_due(start + ms(1000)).pop().unwrap();
    assert_eq!(
        keeper.failed(&extension, start + ms(1100), ErrorClass::WindowUsed),
        AfterFailure::WindowUsed(ms(900))
    );
    assert!(!keeper.is_lost(id));
    assert_eq!(keeper.next_due(), None, "extending stops");
    assert_eq!(keeper.window_end(id), Some(start + ms(2000)));
}

// Rule 5.13: the newest handle is extended, and the period counts from its receive.
#[test]
fn a_message_received_again_goes_on_under_its_newest_handle() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = received(&mut keeper, start, "old", Some("m"), ms(2000));
    let window = keeper.window_end(id).unwrap();
    renewed(&mut keeper, start + ms(500), "new", "m");
    assert_eq!(keeper.len(), 1);
    assert_eq!(keeper.next_due(), Some(start + ms(1500)));
    let extension = keeper.take_due(start + ms(1500)).pop().unwrap();
    assert_eq!(extension.handle, "new".into());
    assert_eq!(keeper.window_end(id), Some(window + ms(500)));
    assert!(keeper.may_have_lapsed(id, start + ms(500)));
    keeper.release(id);
    received(&mut keeper, start, "third", Some("m"), ms(2000));
}

// Rule 5.13: what SQS says of the older handle ends nothing.
#[test]
fn the_answer_to_an_older_handle_says_nothing_of_the_newest() {
    let start = Instant::now();
    for class in [None, Some(ErrorClass::LostHandle)] {
        let mut keeper = Keeper::default();
        let id = received(&mut keeper, start, "old", Some("m"), ms(2000));
        let extension = keeper.take_due(start + ms(1000)).pop().unwrap();
        renewed(&mut keeper, start + ms(1200), "new", "m");
        assert_eq!(keeper.next_due(), None, "one extension at a time");
        let now = start + ms(1300);
        match class {
            None => assert!(!keeper.extended(&extension, start + ms(1000), now)),
            Some(class) => assert_eq!(keeper.failed(&extension, now, class), AfterFailure::Ignored),
        }
        assert!(!keeper.is_lost(id));
        assert_eq!(keeper.next_due(), Some(start + ms(2200)));
        assert_eq!(keeper.expires(id), Some(start + ms(3200)));
    }
}

// Rules 4.4 and 5.13: a message whose lease was lost, and that comes here again.
#[test]
fn a_lost_lease_is_one_again_under_a_new_handle() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = received(&mut keeper, start, "old", Some("m"), ms(2000));
    let extension = keeper.take_due(start + ms(1000)).pop().unwrap();
    keeper.failed(&extension, start + ms(1000), ErrorClass::LostHandle);
    assert!(keeper.is_lost(id));
    renewed(&mut keeper, start + ms(2500), "new", "m");
    assert!(!keeper.is_lost(id));
    assert_eq!(keeper.next_due(), Some(start + ms(3500)));
}

// Rule 5.13: a settlement under an older handle has settled nothing.
#[test]
fn a_settlement_counts_only_under_the_newest_handle() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = received(&mut keeper, start, "old", Some("m"), ms(2000));
    keeper.pause(id);
    renewed(&mut keeper, start + ms(500), "new", "m");
    assert!(!keeper.finish(id, &"old".into()));
    assert_eq!(keeper.next_due(), None, "the settlement is still under way");
    assert!(keeper.finish(id, &"new".into()));
    assert_eq!(keeper.len(), 0);
}

// Rule 5.3: what was put back at once may be here again before SQS's answer is.
#[test]
fn a_message_that_is_being_put_back_is_a_new_one_when_it_comes() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let old = received(&mut keeper, start, "old", Some("m"), ms(2000));
    keeper.pause(old);
    keeper.leave(old);
    let new = received(&mut keeper, start + ms(100), "new", Some("m"), ms(2000));
    assert!(
        keeper.is_lost(old),
        "the old lease is not extended or settled"
    );
    keeper.resume(old, start + ms(200));
    assert_eq!(keeper.next_due(), Some(start + ms(1100)), "of the new one");
    keeper.release(old);
    renewed(&mut keeper, start + ms(300), "third", "m");
    assert_eq!(keeper.handle(new), Some("third".into()));
}

// Rule 5.11.
#[test]
fn a_lease_may_have_lapsed_where_an_answer_came_too_late() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = hold(&mut keeper, start, "h", ms(2000));
    assert!(!keeper.may_have_lapsed(id, start + ms(1000)));
    let extension = keeper.take_due(start + ms(1000)).pop().unwrap();
    keeper.extended(&extension, start + ms(1000), start + ms(2100));
    assert!(keeper.may_have_lapsed(id, start + ms(2200)));
}

// Rule 4.6.
#[test]
fn a_lease_let_go_is_extended_no_more() {
    let start = Instant::now();
    let mut keeper = Keeper::default();
    let id = hold(&mut keeper, start, "h", ms(2000));
    keeper.release(id);
    assert_eq!((keeper.next_due(), keeper.len()), (None, 0));
}
