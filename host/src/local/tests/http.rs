use super::client::{Client, Reply};
use crate::local::LocalServer;
use serde_json::{Value, json};
use std::net::SocketAddr;

async fn server() -> LocalServer {
    LocalServer::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap()
}

/// A server with a queue `q`, and a connection to it.
async fn with_queue() -> (LocalServer, Client) {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    let reply = client.call("CreateQueue", &json!({"QueueName": "q"})).await;
    assert_eq!(reply.status, 200);
    (server, client)
}

fn url() -> Value {
    json!("http://queues.test:99/000000000000/q")
}

async fn send(client: &mut Client, body: &str) -> Reply {
    client
        .call(
            "SendMessage",
            &json!({"QueueUrl": url(), "MessageBody": body}),
        )
        .await
}

async fn receive(client: &mut Client) -> Vec<Value> {
    let request = json!({"QueueUrl": url(), "MaxNumberOfMessages": 10});
    let reply = client.call("ReceiveMessage", &request).await;
    reply.json["Messages"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

const LONG_POLL: &str = "ReceiveMessage";

fn long_poll() -> Value {
    json!({"QueueUrl": url(), "WaitTimeSeconds": 20})
}

/// Waits until `action` was called for `q` so often.
async fn called(server: &LocalServer, action: &str, times: u64) {
    while server.calls().of(action, "q") < times {
        tokio::task::yield_now().await;
    }
}

// SPEC 10.1
#[tokio::test]
async fn only_loopback_addresses_are_listened_on() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = LocalServer::bind(everywhere).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("loopback"), "{error}");
}

// SPEC 10.1
#[tokio::test]
async fn queue_urls_lead_back_to_where_the_client_came() {
    let (_server, mut client) = with_queue().await;
    for (action, request) in [
        ("CreateQueue", json!({"QueueName": "q"})),
        ("GetQueueUrl", json!({"QueueName": "q"})),
    ] {
        assert_eq!(client.call(action, &request).await.json["QueueUrl"], url());
    }
}

#[tokio::test]
async fn a_message_goes_in_and_out_over_one_connection() {
    let (_server, mut client) = with_queue().await;
    let sent = send(&mut client, "hé").await;
    assert_eq!(sent.status, 200);
    assert_eq!(
        sent.header("content-type"),
        Some("application/x-amz-json-1.0")
    );
    assert!(sent.header("x-amzn-requestid").is_some());
    let received = receive(&mut client).await;
    assert_eq!(received[0]["Body"], "hé");
    assert_eq!(received[0]["MessageId"], sent.json["MessageId"]);
    assert_eq!(received[0]["MD5OfBody"], sent.json["MD5OfMessageBody"]);
    let request = json!({"QueueUrl": url(), "ReceiptHandle": received[0]["ReceiptHandle"]});
    assert_eq!(client.call("DeleteMessage", &request).await.json, json!({}));
}

#[tokio::test]
async fn members_nobody_knows_are_passed_over() {
    let (_server, mut client) = with_queue().await;
    let request = json!({
        "QueueUrl": url(),
        "ReceiveRequestAttemptId": "a",
        "FromTheFuture": {"deep": [1, 2, {"er": null}]},
        "WaitTimeSeconds": null,
    });
    assert_eq!(
        client.call("ReceiveMessage", &request).await.json,
        json!({})
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused_and_the_connection_goes_on() {
    let (_server, mut client) = with_queue().await;
    let deep = "[".repeat(100_000);
    let broken: [&[u8]; 7] = [
        b"{",
        b"nonsense",
        b"[]",
        b"{\"QueueUrl\": 5}",
        b"{\"QueueUrl\": \"q\", \"MessageBody\": \"\\ud800\"}",
        b"{\"QueueUrl\": \"\xff\"}",
        deep.as_bytes(),
    ];
    for body in broken {
        client
            .write("POST", "X-Amz-Target: AmazonSQS.SendMessage\r\n", body)
            .await;
        let reply = client.reply().await;
        reply.assert_error("com.amazon.coral.service#SerializationException");
    }
    assert_eq!(send(&mut client, "a").await.status, 200);
}

#[tokio::test]
async fn a_request_without_a_known_action_is_refused() {
    let (_server, mut client) = with_queue().await;
    for headers in [
        "",
        "X-Amz-Target: AmazonSQS.Nonsense\r\n",
        "X-Amz-Target: AmazonSQS\r\n",
        "X-Amz-Target: DynamoDB_20120810.GetItem\r\n",
    ] {
        client.write("POST", headers, b"{}").await;
        let reply = client.reply().await;
        reply.assert_error("com.amazon.coral.service#UnknownOperationException");
    }
    client.write("GET", "", b"").await;
    assert_eq!(client.reply().await.status, 405);
}

#[tokio::test]
async fn a_missing_parameter_is_named() {
    let (_server, mut client) = with_queue().await;
    let table = [
        ("SendMessage", json!({"MessageBody": "a"}), "QueueUrl"),
        ("SendMessage", json!({"QueueUrl": url()}), "MessageBody"),
        ("DeleteMessage", json!({"QueueUrl": url()}), "ReceiptHandle"),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url()}),
            "VisibilityTimeout",
        ),
        ("CreateQueue", json!({}), "QueueName"),
        (
            "SetQueueAttributes",
            json!({"QueueUrl": url()}),
            "Attributes",
        ),
    ];
    for (action, request, parameter) in table {
        let reply = client.call(action, &request).await;
        reply.assert_error("com.amazon.coral.service#MissingRequiredParameterException");
        assert_eq!(
            reply.header("x-amzn-query-error"),
            Some("MissingParameter;Sender")
        );
        let message = reply.json["message"].as_str().unwrap();
        assert!(message.contains(parameter), "{message}");
    }
}

#[tokio::test]
async fn errors_have_their_type_and_the_code_of_the_query_protocol() {
    let (_server, mut client) = with_queue().await;
    let reply = client
        .call("GetQueueUrl", &json!({"QueueName": "none"}))
        .await;
    reply.assert_error("com.amazonaws.sqs#QueueDoesNotExist");
    let code = reply.header("x-amzn-query-error");
    assert_eq!(code, Some("AWS.SimpleQueueService.NonExistentQueue;Sender"));
}

#[tokio::test]
async fn a_message_of_1_mib_fits_and_a_request_of_more_than_10_mib_does_not() {
    let (_server, mut client) = with_queue().await;
    let large = "é".repeat(524_288);
    assert_eq!(send(&mut client, &large).await.status, 200);
    assert_eq!(receive(&mut client).await[0]["Body"], large);
    // Only the head of it: what is said to be too long need not come first to be refused.
    client
        .write_head(
            "POST",
            "X-Amz-Target: AmazonSQS.SendMessage\r\n",
            10 * 1024 * 1024 + 1,
        )
        .await;
    assert_eq!(client.reply().await.status, 413);
}

#[tokio::test]
async fn batches_report_each_entry() {
    let (server, mut client) = with_queue().await;
    let entries = json!([
        {"Id": "a", "MessageBody": "ok"},
        {"Id": "b", "MessageBody": "late", "DelaySeconds": 901},
        {"Id": "c", "MessageBody": "\u{0}"},
    ]);
    let request = json!({"QueueUrl": url(), "Entries": entries});
    let reply = client.call("SendMessageBatch", &request).await.json;
    assert_eq!(reply["Successful"][0]["Id"], "a");
    let failed = reply["Failed"].as_array().unwrap();
    let codes: Vec<_> = failed
        .iter()
        .map(|entry| (&entry["Id"], &entry["Code"]))
        .collect();
    let expected = [
        (&json!("b"), &json!("InvalidParameterValue")),
        (&json!("c"), &json!("InvalidMessageContents")),
    ];
    assert_eq!(codes, expected);
    assert_eq!(failed[0]["SenderFault"], true);
    let calls = server.calls();
    assert_eq!(
        (
            calls.of("SendMessageBatch", "q"),
            calls.entries("SendMessageBatch", "q")
        ),
        (1, 3)
    );
    assert_eq!(calls.of("SendMessage", "q"), 0);
}

#[tokio::test]
async fn a_batch_that_breaks_a_rule_is_refused_as_a_whole() {
    let (_server, mut client) = with_queue().await;
    let entry = |id: &str, bytes: usize| json!({"Id": id, "MessageBody": "x".repeat(bytes)});
    let many: Vec<_> = (0..11).map(|i| entry(&i.to_string(), 1)).collect();
    let table = [
        (json!([]), "EmptyBatchRequest"),
        (json!(many), "TooManyEntriesInBatchRequest"),
        (
            json!([entry("a", 1), entry("a", 1)]),
            "BatchEntryIdsNotDistinct",
        ),
        (json!([entry("a b", 1)]), "InvalidBatchEntryId"),
        (
            json!([entry("a", 600_000), entry("b", 600_000)]),
            "BatchRequestTooLong",
        ),
    ];
    for (entries, error) in table {
        let request = json!({"QueueUrl": url(), "Entries": entries});
        let reply = client.call("SendMessageBatch", &request).await;
        reply.assert_error(&format!("com.amazonaws.sqs#{error}"));
    }
    assert!(receive(&mut client).await.is_empty());
}

#[tokio::test]
async fn a_poll_whose_connection_was_closed_takes_no_message() {
    let (server, mut client) = with_queue().await;
    let mut gone = Client::connect(&server).await;
    gone.start(LONG_POLL, &long_poll()).await;
    called(&server, "ReceiveMessage", 1).await;
    // Sent in the same breath: the server may hear of the message before it hears of the close.
    drop(gone);
    send(&mut client, "a").await;
    assert_eq!(receive(&mut client).await.len(), 1);
}

#[tokio::test]
async fn a_poll_is_answered_when_a_message_comes() {
    let (server, mut client) = with_queue().await;
    let mut waiting = Client::connect(&server).await;
    waiting.start(LONG_POLL, &long_poll()).await;
    called(&server, "ReceiveMessage", 1).await;
    send(&mut client, "a").await;
    assert_eq!(waiting.reply().await.json["Messages"][0]["Body"], "a");
}

#[tokio::test]
async fn stopping_answers_open_polls_and_closes_idle_connections() {
    let (server, mut idle) = with_queue().await;
    let mut waiting = Client::connect(&server).await;
    waiting.start(LONG_POLL, &long_poll()).await;
    called(&server, "ReceiveMessage", 1).await;
    let address = server.endpoint().replace("http://", "");
    server.stop().await;
    assert_eq!(waiting.reply().await.json, json!({}));
    assert!(waiting.is_closed().await && idle.is_closed().await);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_dropped_server_stops_as_well() {
    let (server, mut client) = with_queue().await;
    drop(server);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn calls_are_counted_by_queue_whether_they_succeed_or_not() {
    let (server, mut client) = with_queue().await;
    send(&mut client, "a").await;
    send(&mut client, "").await;
    client
        .call(
            "SendMessage",
            &json!({"QueueUrl": "none", "MessageBody": "a"}),
        )
        .await;
    let calls = server.calls();
    assert_eq!(calls.of("CreateQueue", "q"), 1);
    assert_eq!(calls.of("SendMessage", "q"), 2);
    assert_eq!(
        (calls.of("SendMessage", "none"), calls.total("SendMessage")),
        (1, 3)
    );
}
