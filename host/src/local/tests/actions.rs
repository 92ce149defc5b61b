//! The actions beside the daily ones, as they are on the wire.

use super::client::Client;
use crate::local::LocalServer;
use serde_json::{Value, json};

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:";

async fn server() -> (LocalServer, Client) {
    let server = LocalServer::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let client = Client::connect(&server).await;
    (server, client)
}

/// The reply of a call that succeeds.
async fn call(client: &mut Client, action: &str, request: Value) -> Value {
    let reply = client.call(action, &request).await;
    assert_eq!(reply.status, 200, "{action} {request}: {reply:?}");
    reply.json
}

async fn create_fifo(client: &mut Client) {
    let request = json!({
        "QueueName": "q.fifo",
        "Attributes": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
        "tags": {"team": "a"},
    });
    call(client, "CreateQueue", request).await;
}

// SPEC 10.2
#[tokio::test]
async fn a_fifo_queue_has_the_attributes_and_defaults_of_sqs() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let request = json!({"QueueUrl": "q.fifo", "AttributeNames": ["All"]});
    let reply = call(&mut client, "GetQueueAttributes", request).await;
    for (name, value) in [
        ("FifoQueue", "true"),
        ("ContentBasedDeduplication", "true"),
        ("DeduplicationScope", "queue"),
        ("FifoThroughputLimit", "perQueue"),
        ("VisibilityTimeout", "30"),
        ("MessageRetentionPeriod", "345600"),
    ] {
        assert_eq!(reply["Attributes"][name], value, "{name}");
    }
}

#[tokio::test]
async fn a_fifo_message_tells_sender_and_receiver_its_number() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let request = json!({"QueueUrl": "q.fifo", "MessageBody": "a", "MessageGroupId": "g"});
    let sent = call(&mut client, "SendMessage", request.clone()).await;
    let again = call(&mut client, "SendMessage", request).await;
    assert_eq!(again, sent, "a repetition");
    let request = json!({
        "QueueUrl": "q.fifo",
        "MessageSystemAttributeNames": ["All"],
        "ReceiveRequestAttemptId": "attempt",
    });
    let first = call(&mut client, "ReceiveMessage", request.clone()).await;
    let attributes = &first["Messages"][0]["Attributes"];
    assert_eq!(attributes["SequenceNumber"], sent["SequenceNumber"]);
    assert_eq!(attributes["MessageGroupId"], "g");
    let sum = attributes["MessageDeduplicationId"].as_str();
    assert_eq!(sum.map(str::len), Some(64));
    let again = call(&mut client, "ReceiveMessage", request).await;
    assert_eq!(again, first, "the reply that was lost");
}

#[tokio::test]
async fn a_fifo_batch_is_refused_whole_for_a_message_without_its_group() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let entry = |id: &str| json!({"Id": id, "MessageBody": id, "MessageGroupId": "g"});
    let mut delayed = entry("late");
    delayed["DelaySeconds"] = json!(5);
    let groupless = json!({"Id": "c", "MessageBody": "c"});
    let request = json!({"QueueUrl": "q.fifo", "Entries": [entry("a"), groupless]});
    let reply = client.call("SendMessageBatch", &request).await;
    reply.assert_error("com.amazon.coral.service#InvalidParameterValueException");
    let request = json!({"QueueUrl": "q.fifo", "Entries": [entry("a"), delayed]});
    let reply = call(&mut client, "SendMessageBatch", request).await;
    assert_eq!(reply["Successful"][0]["Id"], "a");
    assert_eq!(reply["Failed"][0]["Id"], "late");
    assert_eq!(reply["Failed"][0]["Code"], "InvalidParameterValue");
}

#[tokio::test]
async fn an_expired_handle_has_another_code_in_a_batch() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let request = json!({"QueueUrl": "q.fifo", "MessageBody": "a", "MessageGroupId": "g"});
    call(&mut client, "SendMessage", request).await;
    let request = json!({"QueueUrl": "q.fifo", "VisibilityTimeout": 0});
    let got = call(&mut client, "ReceiveMessage", request).await;
    let handle = &got["Messages"][0]["ReceiptHandle"];
    let request = json!({"QueueUrl": "q.fifo", "ReceiptHandle": handle});
    let alone = client.call("DeleteMessage", &request).await;
    alone.assert_error("com.amazon.coral.service#InvalidParameterValueException");
    let entries = json!([{"Id": "a", "ReceiptHandle": handle}]);
    let request = json!({"QueueUrl": "q.fifo", "Entries": entries});
    let batch = call(&mut client, "DeleteMessageBatch", request).await;
    assert_eq!(batch["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
}

#[tokio::test]
async fn tags_come_with_the_queue_and_after_it() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let request = json!({"QueueUrl": "q.fifo", "Tags": {"stage": "test"}});
    call(&mut client, "TagQueue", request).await;
    let listed = json!({"QueueUrl": "q.fifo"});
    let reply = call(&mut client, "ListQueueTags", listed.clone()).await;
    assert_eq!(reply, json!({"Tags": {"team": "a", "stage": "test"}}));
    let request = json!({"QueueUrl": "q.fifo", "TagKeys": ["team", "stage"]});
    call(&mut client, "UntagQueue", request).await;
    let reply = call(&mut client, "ListQueueTags", listed).await;
    assert_eq!(reply, json!({"Tags": {}}));
}

#[tokio::test]
async fn permissions_are_given_and_taken_by_their_label() {
    let (_server, mut client) = server().await;
    create_fifo(&mut client).await;
    let request = json!({
        "QueueUrl": "q.fifo",
        "Label": "partner",
        "AWSAccountIds": ["111111111111"],
        "Actions": ["SendMessage"],
    });
    call(&mut client, "AddPermission", request).await;
    let asked = json!({"QueueUrl": "q.fifo", "AttributeNames": ["Policy"]});
    let reply = call(&mut client, "GetQueueAttributes", asked.clone()).await;
    let policy = reply["Attributes"]["Policy"].as_str().unwrap();
    assert!(policy.contains("partner") && policy.contains("111111111111"));
    let request = json!({"QueueUrl": "q.fifo", "Label": "partner"});
    call(&mut client, "RemovePermission", request).await;
    let reply = call(&mut client, "GetQueueAttributes", asked).await;
    assert_eq!(reply, json!({"Attributes": {}}));
}

#[tokio::test]
async fn dead_letters_are_moved_listed_and_left_by_a_cancelled_task() {
    let (_server, mut client) = server().await;
    call(&mut client, "CreateQueue", json!({"QueueName": "dead"})).await;
    let policy = format!(r#"{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":1}}"#);
    let request = json!({"QueueName": "q", "Attributes": {"RedrivePolicy": policy}});
    call(&mut client, "CreateQueue", request).await;
    for body in ["1", "2", "3"] {
        let request = json!({"QueueUrl": "q", "MessageBody": body});
        call(&mut client, "SendMessage", request).await;
    }
    for _ in 0..2 {
        let request = json!({"QueueUrl": "q", "MaxNumberOfMessages": 10, "VisibilityTimeout": 0});
        call(&mut client, "ReceiveMessage", request).await;
    }
    let source = format!("{ARN}dead");
    let request = json!({"SourceArn": source, "MaxNumberOfMessagesPerSecond": 1});
    let started = call(&mut client, "StartMessageMoveTask", request.clone()).await;
    let second = client.call("StartMessageMoveTask", &request).await;
    second.assert_error("com.amazon.coral.service#InvalidParameterValueException");

    let asked = json!({"SourceArn": source});
    let listed = call(&mut client, "ListMessageMoveTasks", asked.clone()).await;
    let task = &listed["Results"][0];
    assert_eq!(task["Status"], "RUNNING");
    assert_eq!(task["TaskHandle"], started["TaskHandle"]);
    assert_eq!(task["ApproximateNumberOfMessagesToMove"], 3);
    assert!(task["StartedTimestamp"].is_u64() && task["DestinationArn"].is_null());

    let cancelled = call(&mut client, "CancelMessageMoveTask", started).await;
    assert!(cancelled["ApproximateNumberOfMessagesMoved"].as_u64() < Some(3));
    let listed = call(&mut client, "ListMessageMoveTasks", asked).await;
    assert_eq!(listed["Results"][0]["Status"], "CANCELLED");

    let missing = json!({"SourceArn": format!("{ARN}missing")});
    let reply = client.call("ListMessageMoveTasks", &missing).await;
    assert_eq!(reply.status, 404);
    let shape = "com.amazonaws.sqs#ResourceNotFoundException";
    assert_eq!(reply.json["__type"], shape);
}
