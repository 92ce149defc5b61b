//! FIFO queues: a group in order and one at a time, whatever its handlers answer, and the groups
//! beside each other.

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::{Line, Process};
use crate::sqs::Counted;
use crate::workers::most_at_once;

const ACK: &str = r#"{"do":"ack"}"#;
const FAIL: &str = r#"{"do":"fail"}"#;
/// Fails twice.
const THIRD_TIME: &str = r#"{"do":"fail-until","receive":3}"#;
/// What failed comes back at once.
const AT_ONCE: &str = "retry_delay = \"0s\"\nretry_jitter = 0";

/// A host that serves `jobs.fifo` by a guest.
fn serve(local: &Counted, guest: &str, mount: &str) -> (Process, Folder) {
    let mount = format!("queue = \"jobs.fifo\"\n{mount}");
    let folder = Folder::with(guest, &mount);
    (Process::run(&folder, &local.endpoint, &[]), folder)
}

/// The ids of the lines with this message that are among `ids`, in the log's order.
fn order(host: &Process, message: &str, ids: &[String]) -> Vec<String> {
    let lines = host.of("jobs.fifo", message).into_iter();
    let all = lines.map(|line| line.field("id").to_owned());
    all.filter(|id| ids.contains(id)).collect()
}

/// Asserts that no message of a group is handed to the handler before the one before it is gone:
/// deleted, or put back to be handled again.
fn assert_one_at_a_time(log: &[Line], group: &[String]) {
    let mut handled: Option<&str> = None;
    for line in log.iter().filter(|line| line.field("queue") == "jobs.fifo") {
        let id = line.field("id");
        if !group.iter().any(|of_group| of_group == id) {
            continue;
        }
        match line.message() {
            "handling" => {
                assert_eq!(handled, None, "{id} is handled beside it");
                handled = Some(id);
            }
            "deleted" | "put back" if handled == Some(id) => handled = None,
            _ => {}
        }
    }
}

// Rule 5.12.
#[tokio::test]
async fn a_group_of_five_whose_third_fails_twice_keeps_its_order_and_holds_up_no_other() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let orders = [ACK, ACK, THIRD_TIME, ACK, ACK];
    let group = local
        .sqs
        .send_groups("jobs.fifo", &orders.map(|order| ("a", order)))
        .await;
    let other = local
        .sqs
        .send_groups("jobs.fifo", &[("b", ACK), ("b", ACK)])
        .await;
    // The third comes back only once the test has seen that the other group is through.
    let mount = "workers = 4\nretry_delay = \"1s\"\nretry_jitter = 0";
    let (host, _folder) = serve(&local, "outcome", mount);
    host.logs_of("jobs.fifo", "deleted", 7).await;

    assert_eq!(order(&host, "deleted", &group), group);
    let [one, two, three, four, five] = &group[..] else {
        panic!("five were sent")
    };
    let handled = [one, two, three, three, three, four, five];
    assert_eq!(order(&host, "handling", &group), handled.map(Clone::clone));
    assert_one_at_a_time(&host.log(), &group);

    assert_eq!(order(&host, "handling", &other), other);
    let all = host.of("jobs.fifo", "deleted");
    let place = |id: &String| all.iter().position(|line| line.field("id") == id);
    assert!(place(&other[1]) < place(three), "it was not held up");
    assert_eq!(local.sqs.held("jobs.fifo").await.all(), 0);
}

// Rules 5.12 and 1.9.
#[tokio::test]
async fn a_poison_head_becomes_one_dead_letter_and_the_rest_of_its_group_is_handled_in_order() {
    let local = Counted::with(&["jobs.fifo", "dead.fifo"]).await;
    let orders = [FAIL, ACK, ACK, ACK, ACK];
    let group = local
        .sqs
        .send_groups("jobs.fifo", &orders.map(|order| ("a", order)))
        .await;
    let redrive = "max_attempts = 3\ndead_letter = \"dead.fifo\"";
    let (host, _folder) = serve(&local, "outcome", &format!("{redrive}\n{AT_ONCE}"));
    host.logs_of("jobs.fifo", "deleted", 4).await;
    assert_eq!(order(&host, "deleted", &group), group[1..]);
    let poison = &group[..1];
    assert_eq!(order(&host, "handling", poison).len(), 3);
    let dead = local.sqs.receive_all("dead.fifo", 1).await;
    assert_eq!(dead[0].message_id(), Some(&*group[0]));
    local.sqs.emptied("jobs.fifo").await;
    assert_eq!(local.sqs.held("dead.fifo").await.all(), 1);
}

// Rules 5.9 and 5.12: outcomes after a group's first that leaves its message count as retry.
#[tokio::test]
async fn in_a_batch_nothing_of_a_group_is_settled_past_the_message_that_stays() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let orders = [("a", THIRD_TIME), ("b", ACK), ("a", ACK), ("b", ACK)];
    let ids = local.sqs.send_groups("jobs.fifo", &orders).await;
    let (host, _folder) = serve(&local, "outcome-batch", AT_ONCE);
    host.logs_of("jobs.fifo", "deleted", 4).await;
    let (a, b) = (
        [ids[0].clone(), ids[2].clone()],
        [ids[1].clone(), ids[3].clone()],
    );
    assert_eq!(order(&host, "handling", &b), b, "each once");
    let failed = host.failures("jobs.fifo", 2).await;
    assert!(failed.iter().all(|line| line.field("id") == a[0]));
    let deleted = host.of("jobs.fifo", "deleted").into_iter();
    let mut of_group = deleted.filter(|line| a.iter().any(|id| id == line.field("id")));
    assert!(of_group.all(|line| line.at() >= failed[1].at()));
    let held_back = host.lines(|line| line.message().starts_with("put back too"));
    assert!(!held_back.is_empty());
    assert!(held_back.iter().all(|line| line.field("id") == a[1]));
    assert_eq!(local.sqs.held("jobs.fifo").await.all(), 0);
}

// Rules 5.12 and 1.7.
#[tokio::test]
async fn groups_are_handled_beside_each_other_and_each_one_at_a_time() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let sleep = r#"{"do":"sleep","ms":300}"#;
    let orders = [
        ("a", sleep),
        ("a", sleep),
        ("b", sleep),
        ("b", sleep),
        ("c", sleep),
    ];
    let ids = local.sqs.send_groups("jobs.fifo", &orders).await;
    let (host, _folder) = serve(&local, "outcome", "workers = 3");
    host.logs_of("jobs.fifo", "deleted", 5).await;
    let log = host.log();
    assert!(
        most_at_once(&log, "jobs.fifo") >= 2,
        "no two were handled at once"
    );
    for group in [&ids[..2], &ids[2..4], &ids[4..]] {
        assert_one_at_a_time(&log, group);
        assert_eq!(order(&host, "deleted", group), group);
    }
}

// Rules 5.9 and 5.12.
#[tokio::test]
async fn a_batch_handler_serves_a_fifo_queue_in_the_order_of_its_groups() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let orders: Vec<_> = (0..30).map(|n| (["a", "b", "c"][n % 3], ACK)).collect();
    let ids = local.sqs.send_groups("jobs.fifo", &orders).await;
    let (host, _folder) = serve(&local, "outcome-batch", "workers = 2\nbatch = 10");
    host.logs_of("jobs.fifo", "deleted", 30).await;
    for group in 0..3 {
        let group: Vec<_> = ids.iter().skip(group).step_by(3).cloned().collect();
        assert_eq!(order(&host, "handling", &group), group);
    }
    assert_eq!(local.sqs.held("jobs.fifo").await.all(), 0);
}

// Rules 2.1 and 2.4: the answer to a receive is lost, and the next one is the same attempt.
#[tokio::test]
async fn a_receive_whose_answer_is_lost_is_repeated_as_the_same_attempt() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    forwarder.trouble("ReceiveMessage", "jobs.fifo", 1, Trouble::Lose);
    local.sqs.send_groups("jobs.fifo", &[("a", ACK)]).await;
    let folder = Folder::with("outcome", "queue = \"jobs.fifo\"");
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    host.logs_of("jobs.fifo", "deleted", 1).await;
    let receives = forwarder.requests("ReceiveMessage", "jobs.fifo");
    let attempt = |n: usize| receives[n]["ReceiveRequestAttemptId"].as_str();
    assert!(attempt(0).is_some());
    assert_eq!(attempt(0), attempt(1));
    assert_ne!(
        attempt(1),
        receives
            .get(2)
            .and_then(|r| r["ReceiveRequestAttemptId"].as_str())
    );
    assert_eq!(host.of("jobs.fifo", "handling").len(), 1);
}
