//! Situations: messages and their replies against an SQS and an SNS that answer what a test says.

use super::*;
use crate::handler::{Header, HeaderValue, Plain, PublishError};
use crate::sqs::QueueAttributes;
use crate::sqs::scripted::{Entry, Made, On, Say, Scripted, message};
use crate::sqs::sns::scripted::{Made as MadeOfSns, ScriptedSns};
use crate::sqs::sns::{TopicArn, TopicAttributes};

fn queue(api: &Arc<Scripted>, name: &str) -> Target {
    Target::queue(api.clone(), name.parse().unwrap(), false, None)
}

fn topic(api: &Arc<ScriptedSns>, name: &str, create: bool) -> Target {
    let home = TopicHome::of_queue("arn:aws:sqs:eu-west-1:123456789012:orders");
    Target::topic(api.clone(), name.parse().unwrap(), create, home)
}

fn replies_to(target: Target) -> Arc<Publisher> {
    let observer = Observer::of_a_test();
    Arc::new(Publisher::new(Some(target), Vec::new(), None, observer))
}

fn source(id: &str) -> Arc<SqsMessage> {
    Arc::new(message(id).message)
}

const FAILED: Entry = Entry::Failed {
    code: "RequestThrottled",
    sender_fault: false,
};

/// A message of a FIFO queue.
fn ordered(id: &str, group: &str) -> Arc<SqsMessage> {
    Arc::new(SqsMessage {
        group_id: Some(group.into()),
        sequence_number: Some("1".into()),
        ..message(id).message
    })
}

fn reply(body: &str) -> Reply {
    Reply {
        body: body.to_owned().into(),
        ..Reply::default()
    }
}

fn to(destination: &str, body: &str) -> Reply {
    Reply {
        destination: Some(destination.into()),
        ..reply(body)
    }
}

fn in_group(group: &str, body: &str) -> Reply {
    Reply {
        group_id: Some(group.into()),
        ..reply(body)
    }
}

async fn send_one(publisher: &Publisher, id: &str, replies: Vec<Reply>) -> Result<(), SqsError> {
    let mut results = publisher.send_all(vec![(source(id), replies)]).await;
    results.pop().unwrap()
}

fn bodies(api: &Scripted) -> Vec<String> {
    api.sent().into_iter().map(|(_, sent)| sent.body).collect()
}

/// The deduplication ids that went out.
fn ids(api: &Scripted) -> Vec<String> {
    let sent = api.sent().into_iter();
    sent.map(|(_, sent)| sent.deduplication_id.unwrap())
        .collect()
}

fn which_are_out(results: &[Result<(), SqsError>]) -> Vec<bool> {
    results.iter().map(Result::is_ok).collect()
}

// Rule 6.4: two messages with equal replies reply twice, one that is handled twice replies once.
#[tokio::test]
async fn equal_replies_of_two_messages_both_arrive_and_those_of_one_do_once() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events.fifo"));
    for id in ["a", "b", "a"] {
        let replies = vec![reply("done"), reply("done")];
        send_one(&publisher, id, replies).await.unwrap();
    }
    let ids = ids(&api);
    assert_eq!(ids.len(), 6);
    assert_eq!(ids[..2], ids[4..], "the same message says the same ids");
    for (n, id) in ids[..4].iter().enumerate() {
        assert!(!ids[..n].contains(id), "{id} twice");
    }
}

// Rule 6.4.
#[tokio::test]
async fn a_fifo_target_groups_by_reply_then_mount_then_source() {
    let api = Scripted::new();
    let observer = Observer::of_a_test();
    let group_of_mount = Some("mount".to_owned());
    let with_group = Publisher::new(
        Some(queue(&api, "events.fifo")),
        Vec::new(),
        group_of_mount,
        observer,
    );
    let without = replies_to(queue(&api, "events.fifo"));
    let sources = || vec![(ordered("a", "source"), vec![reply("x")])];
    with_group.send_all(sources()).await;
    without.send_all(sources()).await;
    send_one(&without, "b", vec![reply("x")]).await.unwrap();
    let groups: Vec<_> = api.sent().into_iter().map(|s| s.1.group_id).collect();
    assert_eq!(
        groups,
        ["mount", "source", "default"].map(|g| Some(g.into()))
    );
}

// Rule 5.5: checked before the first is sent.
#[tokio::test]
async fn nothing_of_a_message_is_sent_where_one_of_its_replies_cannot_be() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    let wrong = Reply {
        headers: vec![Header {
            name: "AWS.x".into(),
            value: HeaderValue::Text("v".into()),
            label: None,
        }],
        ..reply("second")
    };
    let results = publisher
        .send_all(vec![
            (source("a"), vec![reply("first"), wrong]),
            (source("b"), vec![reply("other")]),
        ])
        .await;
    assert_eq!(which_are_out(&results), [false, true]);
    let error = results[0].clone().unwrap_err().to_string();
    assert!(
        error.contains("AWS.x") && error.contains("events"),
        "{error}"
    );
    assert_eq!(bodies(&api), ["other"]);
}

#[tokio::test]
async fn the_replies_of_a_batch_share_calls() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    let sources = (0..12)
        .map(|n| (source(&n.to_string()), vec![reply(&n.to_string())]))
        .collect();
    let results = publisher.send_all(sources).await;
    assert_eq!(which_are_out(&results), [true; 12]);
    let sizes: Vec<_> = api
        .made()
        .into_iter()
        .map(|made| match made {
            Made::SendBatch(bodies) => bodies.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [10, 2]);
    let in_order: Vec<_> = (0..12).map(|n| n.to_string()).collect();
    assert_eq!(bodies(&api), in_order);
}

// Rules 5.5 and 5.10: a failed entry is its own message's matter.
#[tokio::test]
async fn a_failed_entry_in_the_middle_of_a_batch_fails_its_own_message_only() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    api.will_say_of_entries(
        On::Send,
        vec![Entry::Done, FAILED, Entry::Done, Entry::Done],
    );
    let results = publisher
        .send_all(vec![
            (source("a"), vec![reply("a")]),
            (source("b"), vec![reply("b1"), reply("b2")]),
            (source("c"), vec![reply("c")]),
        ])
        .await;
    assert_eq!(which_are_out(&results), [true, false, true]);
    let class = results[1].as_ref().unwrap_err().class();
    assert_eq!(class, Some(ErrorClass::Throttled));
    assert_eq!(bodies(&api), ["a", "b2", "c"]);
}

// Rule 5.10: nobody said that it was sent.
#[tokio::test]
async fn an_entry_in_neither_list_has_failed() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    api.will_say_of_entries(On::Send, vec![Entry::Silent, Entry::Done]);
    let both = vec![
        (source("a"), vec![reply("a")]),
        (source("b"), vec![reply("b")]),
    ];
    let results = publisher.send_all(both).await;
    assert_eq!(which_are_out(&results), [false, true]);
    assert!(results[0].as_ref().unwrap_err().class().unwrap().passes());
}

#[tokio::test]
async fn a_batch_call_that_fails_fails_every_message_of_it() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    api.will_fail_to_send(ErrorClass::Throttled);
    let both = vec![
        (source("a"), vec![reply("a")]),
        (source("b"), vec![reply("b")]),
    ];
    let results = publisher.send_all(both).await;
    assert_eq!(which_are_out(&results), [false, false]);
}

// Rule 6.4: on a FIFO target what comes after a failure in its group stays behind it.
#[tokio::test]
async fn once_an_entry_of_a_group_fails_the_later_ones_are_not_sent() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events.fifo"));
    api.will_say_of_entries(On::Send, vec![FAILED, Entry::Done]);
    let results = publisher
        .send_all(vec![
            (ordered("a", "g"), vec![reply("a1"), reply("a2")]),
            (ordered("b", "g"), vec![reply("b")]),
            (ordered("c", "h"), vec![reply("c1"), reply("c2")]),
        ])
        .await;
    assert_eq!(which_are_out(&results), [false, false, true]);
    assert_eq!(bodies(&api), ["c1", "c2"]);
    let held = results[1].clone().unwrap_err();
    assert_eq!(held.class(), Some(ErrorClass::Throttled));
    assert!(held.to_string().contains("earlier message"), "{held}");
}

// Rule 6.4: a group on a standard source queue orders nothing.
#[tokio::test]
async fn a_failure_holds_back_no_message_of_a_fair_queue() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events.fifo"));
    api.will_fail_to_send(ErrorClass::Throttled);
    let fair = |id: &str| {
        Arc::new(SqsMessage {
            group_id: Some("tenant".into()),
            ..message(id).message
        })
    };
    let both = vec![(fair("a"), vec![reply("a")]), (fair("b"), vec![reply("b")])];
    let results = publisher.send_all(both).await;
    assert_eq!(which_are_out(&results), [false, true]);
}

#[tokio::test]
async fn the_order_of_a_group_is_kept_on_a_fifo_target() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events.fifo"));
    let sources = vec![
        (source("a"), vec![in_group("g", "1"), in_group("h", "a")]),
        (source("b"), vec![in_group("g", "2"), in_group("g", "3")]),
        (source("c"), vec![in_group("h", "b")]),
    ];
    assert_eq!(which_are_out(&publisher.send_all(sources).await), [true; 3]);
    assert_eq!(bodies(&api), ["1", "a", "2", "b", "3"]);
}

// Rule 6.1.
#[tokio::test]
async fn a_target_is_resolved_once_and_again_where_it_is_gone() {
    let api = Scripted::new();
    let publisher = replies_to(queue(&api, "events"));
    for id in ["a", "b"] {
        send_one(&publisher, id, vec![reply("x")]).await.unwrap();
    }
    // Now that it is known, nobody asks.
    api.will_say(On::QueueUrl, Say::Class(ErrorClass::Missing));
    send_one(&publisher, "c", vec![reply("x")]).await.unwrap();
    api.will_fail_to_send(ErrorClass::Missing);
    assert!(send_one(&publisher, "d", vec![reply("x")]).await.is_err());
    let asked_again = send_one(&publisher, "e", vec![reply("x")]).await;
    assert!(asked_again.unwrap_err().to_string().contains("GetQueueUrl"));
}

// Rule 6.3: the target's own limit, read again where it refuses.
#[tokio::test]
async fn a_raised_limit_is_taken_without_a_restart() {
    let api = Scripted::new();
    let limit = |bytes| QueueAttributes {
        maximum_message_size: Some(bytes),
        ..QueueAttributes::default()
    };
    api.has_attributes(limit(1024));
    let publisher = replies_to(queue(&api, "events"));
    let long = || vec![reply(&"x".repeat(2000))];
    let error = send_one(&publisher, "a", long()).await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("2000 bytes") && error.contains("1024"),
        "{error}"
    );
    api.has_attributes(limit(4096));
    send_one(&publisher, "a", long()).await.unwrap();
}

// Rule 6.3.
#[tokio::test]
async fn where_the_limit_may_not_be_read_aws_judges() {
    let api = Scripted::new();
    api.will_say(On::Attributes, Say::Class(ErrorClass::Denied));
    let publisher = replies_to(queue(&api, "events"));
    let long = vec![reply(&"x".repeat(2 << 20))];
    send_one(&publisher, "a", long).await.unwrap();
}

// Rules 6.1 and 6.3.
#[tokio::test]
async fn a_topic_by_name_is_its_queues_neighbour_and_takes_256_kib() {
    let sns = ScriptedSns::new();
    let publisher = replies_to(topic(&sns, "sns:news", false));
    send_one(&publisher, "a", vec![reply("x")]).await.unwrap();
    let arn = TopicArn::new("arn:aws:sns:eu-west-1:123456789012:news");
    let x = Outgoing {
        body: "x".into(),
        ..Outgoing::default()
    };
    assert_eq!(
        sns.made(),
        [
            MadeOfSns::Attributes(arn.clone()),
            MadeOfSns::Publish(arn, vec![x])
        ]
    );
    let long = vec![reply(&"x".repeat(300 << 10))];
    let error = send_one(&publisher, "b", long.clone()).await.unwrap_err();
    assert!(error.to_string().contains("262144"), "{error}");
    sns.has(TopicAttributes {
        maximum_message_size: Some(1 << 20),
    });
    send_one(&publisher, "b", long).await.unwrap();
}

// Rules 1.8 and 6.1.
#[tokio::test]
async fn a_missing_topic_is_created_only_where_the_mount_says_so() {
    for create in [false, true] {
        let sns = ScriptedSns::new();
        sns.will_fail_to_say_attributes(ErrorClass::Missing);
        let publisher = replies_to(topic(&sns, "sns:news.fifo", create));
        assert_eq!(publisher.resolve().await.is_ok(), create);
        let created = MadeOfSns::Create("news.fifo".into());
        assert_eq!(sns.made().contains(&created), create);
    }
}

// Rule 6.5.
#[tokio::test]
async fn a_deduplication_id_on_a_standard_target_is_not_fifo() {
    let api = Scripted::new();
    let with_id = || Reply {
        deduplication_id: Some("id".into()),
        ..reply("x")
    };
    let publisher = replies_to(queue(&api, "events"));
    let error = send_one(&publisher, "a", vec![with_id()])
        .await
        .unwrap_err();
    assert!(matches!(error, SqsError::NotFifo { .. }), "{error}");
    let publisher = replies_to(queue(&api, "events.fifo"));
    send_one(&publisher, "a", vec![with_id()]).await.unwrap();
    assert_eq!(ids(&api), ["id"]);
}

/// With the reply target `events` and the destinations `audit.fifo` and a topic by its ARN.
fn granted(api: &Arc<Scripted>, sns: &Arc<ScriptedSns>) -> Arc<Publisher> {
    let arn = "arn:aws:sns:us-east-1:210987654321:news";
    Arc::new(Publisher::new(
        Some(queue(api, "events")),
        vec![queue(api, "audit.fifo"), topic(sns, arn, false)],
        None,
        Observer::of_a_test(),
    ))
}

// Rule 6.6: a reply may go where a handler may publish, and nowhere else.
#[tokio::test]
async fn a_reply_goes_to_the_granted_destination_that_it_names() {
    let (api, sns) = (Scripted::new(), ScriptedSns::new());
    let publisher = granted(&api, &sns);
    let replies = vec![
        reply("a"),
        to("audit.fifo", "b"),
        to("sns:news", "c"),
        to("events", "d"),
    ];
    send_one(&publisher, "m", replies).await.unwrap();
    let sent: Vec<_> = api
        .sent()
        .into_iter()
        .map(|(url, sent)| format!("{} to {url}", sent.body))
        .collect();
    let events = "http://sqs/events";
    assert_eq!(
        sent,
        [
            format!("a to {events}"),
            format!("d to {events}"),
            "b to http://sqs/audit.fifo".to_owned()
        ]
    );
    assert_eq!(sns.made().len(), 2, "asked once and published once");
    let error = send_one(&publisher, "n", vec![to("other", "e")]).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("other") && error.contains("audit.fifo"),
        "{error}"
    );
    assert!(error.contains("`destinations`"), "{error}");
}

// Rule 1.10.
#[tokio::test]
async fn a_reply_without_a_target_says_what_to_set() {
    let api = Scripted::new();
    let publisher = Publisher::new(
        None,
        vec![queue(&api, "audit")],
        None,
        Observer::of_a_test(),
    );
    assert!(!publisher.has_reply_target());
    let error = send_one(&publisher, "a", vec![reply("x")])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`reply`"), "{error}");
    send_one(&publisher, "a", vec![to("audit", "x")])
        .await
        .unwrap();
}

// Rule 6.6.
#[tokio::test]
async fn a_running_handler_publishes_where_it_is_granted() {
    let (api, sns) = (Scripted::new(), ScriptedSns::new());
    let publisher = granted(&api, &sns);
    let publish = publisher.for_call(&[ordered("m", "g")], plain());
    let id = publish.publish(to("audit.fifo", "x")).await.unwrap();
    assert_eq!(id.as_str(), "sent");
    assert_eq!(api.sent()[0].1.group_id.as_deref(), Some("g"));
    publish.publish(to("sns:news", "x")).await.unwrap();
    publish.publish(reply("x")).await.unwrap();

    let refused = publish.publish(to("billing", "x")).await.unwrap_err();
    assert_eq!(
        (refused.code.as_str(), refused.retry),
        ("not-granted", false)
    );
    let invalid = publish.publish(reply("")).await.unwrap_err();
    assert_eq!((invalid.code.as_str(), invalid.retry), ("invalid", false));
    api.will_fail_to_send(ErrorClass::Throttled);
    let later = publish.publish(reply("x")).await.unwrap_err();
    assert_eq!((later.code.as_str(), later.retry), ("throttled", true));
    let not_fifo = Reply {
        deduplication_id: Some("id".into()),
        ..reply("x")
    };
    let not_fifo = publish.publish(not_fifo).await.unwrap_err();
    assert_eq!(not_fifo.code, "invalid");
}

// Rules 6.4 and 6.6.
#[tokio::test]
async fn what_is_published_again_is_a_duplicate_and_what_is_published_anew_is_none() {
    let (api, sns) = (Scripted::new(), ScriptedSns::new());
    let publisher = granted(&api, &sns);
    let first = publisher.for_call(&[source("m")], plain());
    for body in ["x", "x", "y"] {
        first.publish(to("audit.fifo", body)).await.unwrap();
    }
    // The message comes again, and its handler takes another way.
    let again = publisher.for_call(&[source("m")], plain());
    for body in ["z", "y", "x"] {
        again.publish(to("audit.fifo", body)).await.unwrap();
    }
    // Its reply is another message, whatever it says.
    let replies = vec![to("audit.fifo", "x")];
    send_one(&publisher, "m", replies).await.unwrap();
    let ids = ids(&api);
    let [x1, x2, y, z, y_again, x_again, reply] = &ids[..] else {
        panic!("{ids:?}");
    };
    assert_eq!((y_again, x_again), (y, x1));
    let new = [x1, x2, y, z, reply];
    for (n, id) in new.iter().enumerate() {
        assert!(!new[..n].contains(id), "{id} twice");
    }
}

// Rule 6.6: the code is AWS's own where there is one.
#[test]
fn a_publish_error_carries_awss_code_and_whether_to_try_again() {
    let error = |code: Option<&str>, class| {
        PublishError::from(SqsError::Publish {
            target: "t".into(),
            cause: Arc::new(CallError {
                operation: "SendMessage",
                class,
                code: code.map(Into::into),
                message: "m".into(),
            }),
        })
    };
    let own = error(Some("RequestThrottled"), ErrorClass::Throttled);
    assert_eq!((own.code.as_str(), own.retry), ("RequestThrottled", true));
    let denied = error(Some("AccessDenied"), ErrorClass::Denied);
    assert_eq!(
        (denied.code.as_str(), denied.retry),
        ("AccessDenied", false)
    );
    let network = error(None, ErrorClass::Network);
    assert_eq!((network.code.as_str(), network.retry), ("network", true));
}

/// Of a handler that has no secrets.
fn plain() -> Arc<dyn Voice> {
    Arc::new(Plain)
}
