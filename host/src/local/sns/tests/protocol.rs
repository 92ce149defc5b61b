use super::{World, element};
use crate::local::LocalServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[test]
fn a_reply_is_named_after_its_action_and_has_a_request_id() {
    let world = World::new();
    let document = world.call("CreateTopic", &[("Name", "news")]);
    let expected = "<CreateTopicResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">\
                    <CreateTopicResult><TopicArn>arn:aws:sns:us-east-1:000000000000:news</TopicArn>\
                    </CreateTopicResult><ResponseMetadata><RequestId>";
    assert!(document.starts_with(expected), "{document}");
    let topic = element(&document, "TopicArn");
    let document = world.call("DeleteTopic", &[("TopicArn", &topic)]);
    assert!(!document.contains("Result"), "{document}");
}

/// An action, its parameters, and the status and the code it is refused with.
type Refused<'a> = (&'a str, &'a [(&'a str, &'a str)], u16, &'a str);

#[test]
fn refusals_have_the_codes_and_statuses_of_sns() {
    let world = World::new();
    let topic = world.topic("news");
    let none = "arn:aws:sns:us-east-1:000000000000:none";
    let table: [Refused<'_>; 10] = [
        (
            "Publish",
            &[("TopicArn", none), ("Message", "m")],
            404,
            "NotFound",
        ),
        ("Publish", &[("TopicArn", &topic)], 400, "InvalidParameter"),
        (
            "Publish",
            &[("PhoneNumber", "+1"), ("Message", "m")],
            400,
            "InvalidParameter",
        ),
        (
            "PublishBatch",
            &[("TopicArn", &topic)],
            400,
            "EmptyBatchRequest",
        ),
        (
            "ListTagsForResource",
            &[("ResourceArn", none)],
            404,
            "ResourceNotFound",
        ),
        (
            "CreateTopic",
            &[("Name", "no spaces")],
            400,
            "InvalidParameter",
        ),
        (
            "ConfirmSubscription",
            &[("TopicArn", &topic), ("Token", "t")],
            400,
            "InvalidParameter",
        ),
        ("Fly", &[], 400, "InvalidAction"),
        ("", &[], 400, "MissingAction"),
        (
            "Publish",
            &[
                ("TopicArn", &topic),
                ("Message", "m"),
                ("MessageAttributes.entry.1.Name", "a"),
                ("MessageAttributes.entry.1.Value.DataType", "Text"),
                ("MessageAttributes.entry.1.Value.StringValue", "v"),
            ],
            400,
            "ParameterValueInvalid",
        ),
    ];
    for (action, pairs, status, code) in table {
        let expected = (status, code.to_owned());
        assert_eq!(world.refused(action, pairs), expected, "{action} {pairs:?}");
    }
}

#[test]
fn attributes_tags_and_subscriptions_are_told_in_sns_s_own_elements() {
    let world = World::new();
    let topic = world.topic("news");
    world.call(
        "SetTopicAttributes",
        &[
            ("TopicArn", &topic),
            ("AttributeName", "DisplayName"),
            ("AttributeValue", "a<b"),
        ],
    );
    let document = world.call("GetTopicAttributes", &[("TopicArn", &topic)]);
    assert!(document.contains("<entry><key>DisplayName</key><value>a&lt;b</value></entry>"));
    let tag = [
        ("ResourceArn", topic.as_str()),
        ("Tags.member.1.Key", "k"),
        ("Tags.member.1.Value", "v"),
    ];
    world.call("TagResource", &tag);
    let document = world.call("ListTagsForResource", &[("ResourceArn", &topic)]);
    assert!(document.contains("<Tags><member><Key>k</Key><Value>v</Value></member></Tags>"));
    world.call(
        "UntagResource",
        &[("ResourceArn", &topic), ("TagKeys.member.1", "k")],
    );
    let document = world.call("ListTagsForResource", &[("ResourceArn", &topic)]);
    assert!(document.contains("<Tags></Tags>"));
    let queue = world.queue("q", &[]);
    let subscription = world.subscribe(&topic, &queue, &[]);
    let document = world.call("ListSubscriptionsByTopic", &[("TopicArn", &topic)]);
    for (name, value) in [
        ("SubscriptionArn", subscription.as_str()),
        ("Owner", "000000000000"),
        ("Protocol", "sqs"),
        ("Endpoint", &queue),
        ("TopicArn", &topic),
    ] {
        assert_eq!(element(&document, name), value);
    }
}

#[test]
fn a_batch_tells_of_each_entry_in_one_of_two_lists() {
    let world = World::new();
    let (topic, queue) = (world.topic("news"), world.queue("q", &[]));
    world.subscribe(&topic, &queue, &[("RawMessageDelivery", "true")]);
    let document = world.call(
        "PublishBatch",
        &[
            ("TopicArn", &topic),
            ("PublishBatchRequestEntries.member.1.Id", "good"),
            ("PublishBatchRequestEntries.member.1.Message", "m"),
            ("PublishBatchRequestEntries.member.2.Id", "bad"),
            ("PublishBatchRequestEntries.member.2.Message", "m"),
            ("PublishBatchRequestEntries.member.2.Subject", ""),
        ],
    );
    let failed = element(&document, "Failed");
    assert_eq!(element(&failed, "Id"), "bad");
    assert_eq!(element(&failed, "Code"), "InvalidParameter");
    assert_eq!(element(&failed, "SenderFault"), "true");
    assert_eq!(element(&element(&document, "Successful"), "Id"), "good");
    assert_eq!(world.bodies(&queue), ["m"]);
}

#[test]
fn calls_are_counted_by_topic_and_batches_by_their_entries() {
    let world = World::new();
    let topic = world.topic("news");
    world.publish(&topic, "m");
    world.call(
        "PublishBatch",
        &[
            ("TopicArn", &topic),
            ("PublishBatchRequestEntries.member.1.Id", "a"),
            ("PublishBatchRequestEntries.member.1.Message", "m"),
            ("PublishBatchRequestEntries.member.2.Id", "b"),
            ("PublishBatchRequestEntries.member.2.Message", "m"),
        ],
    );
    let counts = world.counter.snapshot();
    assert_eq!(
        (counts.of("Publish", "news"), counts.total("CreateTopic")),
        (1, 1)
    );
    assert_eq!(counts.entries("PublishBatch", "news"), 2);
}

/// Sends a request to a server, and gives the reply.
async fn exchange(server: &LocalServer, request_line: &str, form: &str) -> String {
    let address = server.endpoint().replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "{request_line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    reply
}

async fn server() -> LocalServer {
    LocalServer::bind(([127, 0, 0, 1], 0).into()).await.unwrap()
}

// SPEC 10.1
#[tokio::test]
async fn topics_are_on_the_same_port_as_queues() {
    let server = server().await;
    let form = "Action=CreateTopic&Version=2010-03-31&Name=news";
    let reply = exchange(&server, "POST /", form).await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains("content-type: text/xml\r\n"), "{reply}");
    assert!(reply.contains("<TopicArn>"), "{reply}");
}

#[tokio::test]
async fn the_link_that_ends_a_subscription_can_be_followed_and_no_other_call_comes_by_get() {
    let server = server().await;
    let link = "GET /?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:us-east-1:0:news:1";
    let reply = exchange(&server, link, "").await;
    assert!(reply.contains("<UnsubscribeResponse"), "{reply}");
    let other = exchange(&server, "GET /?Action=DeleteTopic&TopicArn=x", "").await;
    assert!(other.starts_with("HTTP/1.1 405 "), "{other}");
}
