//! The real client against servers that answer what a test tells them, or never.

use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::api::{QueueUrl, Receive, SqsApi};
use super::connection::Connection;
use crate::config::AwsSettings;
use crate::error::{CallError, ErrorClass, Remedy};

/// One answer of the server's.
struct Answer<'a> {
    status: u16,
    headers: &'a str,
    body: &'a str,
}

/// Calls the client once, against a server that gives one answer. What the call came to, and the
/// request as it was sent.
async fn call<T>(
    answer: Answer<'_>,
    call: impl AsyncFnOnce(&dyn SqsApi, &QueueUrl) -> T,
) -> (T, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let length = body.len();
    let text = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    let server: JoinHandle<String> = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = request(&mut stream).await;
        stream.write_all(text.as_bytes()).await.unwrap();
        request
    });
    let connection = Connection::local(&endpoint, &AwsSettings::default()).await;
    let client = connection.client(None).unwrap();
    let queue = QueueUrl::new(format!("{endpoint}/000000000000/q"));
    let out = call(&*client, &queue).await;
    (out, server.await.unwrap())
}

/// Reads one request, its body included.
async fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let mut part = [0; 4096];
        match stream.read(&mut part).await.unwrap() {
            0 => return text,
            n => read.extend_from_slice(&part[..n]),
        }
    }
}

fn receive(queue: &QueueUrl, attempt: Option<&str>) -> Receive {
    Receive {
        queue: queue.clone(),
        max: 10,
        wait: Duration::ZERO,
        visibility: None,
        attempt: attempt.map(Into::into),
    }
}

/// What a receive is told by this answer.
async fn refusal(status: u16, headers: &str, body: &str) -> CallError {
    let answer = Answer {
        status,
        headers,
        body,
    };
    let (result, _) = call(answer, async |api, queue| {
        api.receive(receive(queue, None)).await.map(|_| ())
    })
    .await;
    result.unwrap_err()
}

// Rule 2.1.
#[tokio::test]
async fn a_receive_carries_its_attempt_id_where_it_has_one() {
    for attempt in [None, Some("0123456789abcdef")] {
        let answer = Answer {
            status: 200,
            headers: "",
            body: "{}",
        };
        let (result, request) = call(answer, async |api, queue| {
            api.receive(receive(queue, attempt)).await
        })
        .await;
        assert!(result.unwrap().is_empty());
        let said = r#""ReceiveRequestAttemptId":"0123456789abcdef""#;
        assert_eq!(request.contains(said), attempt.is_some(), "{request}");
    }
}

// Rule 2.4: as AWS answers, under the old name of the code.
#[tokio::test]
async fn a_refusal_is_classed_by_its_code_in_the_spelling_that_aws_sends() {
    for (new, old, class, remedy) in [
        (
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
            ErrorClass::Missing,
            Remedy::Queue,
        ),
        (
            "KmsDisabled",
            "KMS.DisabledException",
            ErrorClass::Denied,
            Remedy::Key,
        ),
        (
            "KmsThrottled",
            "KMS.ThrottlingException",
            ErrorClass::Throttled,
            Remedy::KeyLimit,
        ),
        (
            "OverLimit",
            "OverLimit",
            ErrorClass::Throttled,
            Remedy::InFlight,
        ),
    ] {
        let body = format!(r#"{{"__type":"com.amazonaws.sqs#{new}","message":"no"}}"#);
        for headers in [
            String::new(),
            format!("x-amzn-query-error: {old};Sender\r\n"),
        ] {
            let error = refusal(400, &headers, &body).await;
            assert_eq!((error.class, error.remedy()), (class, remedy), "{error}");
        }
    }
}

// Rule 2.4: what is to be done stands behind what SQS said.
#[tokio::test]
async fn what_sqs_says_ends_without_a_full_stop() {
    let body = r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"There is none."}"#;
    let error = refusal(400, "", body).await;
    assert!(error.message.ends_with("There is none"), "{error}");
}

// Rule 2.4: a clock that is wrong by an hour.
#[tokio::test]
async fn a_wrong_clock_is_told_by_the_date_of_the_answer() {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let date = aws_sdk_sqs::primitives::DateTime::from(hour_ago)
        .fmt(aws_sdk_sqs::primitives::DateTimeFormat::HttpDate)
        .unwrap();
    let body = r#"{"__type":"InvalidSignatureException","message":"it does not match"}"#;
    let error = refusal(403, &format!("date: {date}\r\n"), body).await;
    assert_eq!(error.class, ErrorClass::Denied);
    assert_eq!(error.remedy(), Remedy::Clock);
    assert!(
        error.message.contains("clock is 1h") && error.message.contains("ahead of AWS's"),
        "{error}"
    );
}

// Rule 2.4: what answers is no SQS.
#[tokio::test]
async fn a_page_of_a_proxy_is_told_by_its_status() {
    for (status, class) in [(502, ErrorClass::Network), (403, ErrorClass::Denied)] {
        let error = refusal(status, "content-type: text/html\r\n", "<html>no</html>").await;
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains(&status.to_string()), "{error}");
    }
}

// Rules 4.3 and 4.4: a handle that has lapsed, and a window that is used up.
#[tokio::test]
async fn an_invalid_parameter_is_told_by_what_it_says() {
    for (message, class) in [
        (
            "Value AQEB for parameter ReceiptHandle is invalid. Reason: Message does not exist or \
             is not available for visibility timeout change.",
            ErrorClass::LostHandle,
        ),
        (
            "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total \
             VisibilityTimeout for the message is beyond the limit [43200 seconds]",
            ErrorClass::WindowUsed,
        ),
    ] {
        let kind = "com.amazon.coral.service#InvalidParameterValueException";
        let body = format!(r#"{{"__type":"{kind}","message":"{message}"}}"#);
        let answer = Answer {
            status: 400,
            headers: "",
            body: &body,
        };
        let (result, _) = call(answer, async |api, queue| {
            let hour = Duration::from_secs(3600);
            api.change_visibility(queue, &"AQEB".into(), hour).await
        })
        .await;
        assert_eq!(result.unwrap_err().class, class);
    }
}

// Rules 1.5, 3.4: what SQS does not send is absent, and what it will send some day is no error.
#[tokio::test]
async fn missing_attributes_and_unknown_ones_are_taken_as_they_are() {
    let answer = Answer {
        status: 200,
        headers: "",
        body: r#"{"Messages":[
            {"MessageId":"m","ReceiptHandle":"h","Body":"b"},
            {"MessageId":"n","ReceiptHandle":"i","Body":"c","NewField":1,
             "Attributes":{"ApproximateReceiveCount":"2","FutureAttribute":"x"}}]}"#,
    };
    let (result, _) = call(answer, async |api, queue| {
        api.receive(receive(queue, None)).await
    })
    .await;
    let messages: Vec<_> = result.unwrap().into_iter().map(|r| r.message).collect();
    let counts: Vec<_> = messages.iter().map(|m| m.receive_count).collect();
    assert_eq!(counts, [None, Some(2)]);
    assert!(messages[0].system_attributes.is_empty());
    let future = ("FutureAttribute".to_owned(), "x".to_owned());
    assert!(messages[1].system_attributes.contains(&future));

    let answer = Answer {
        status: 200,
        headers: "",
        body: "{}",
    };
    let (result, _) = call(answer, async |api, queue| api.queue_attributes(queue).await).await;
    let attributes = result.unwrap();
    assert_eq!(attributes.visibility, None);
    assert_eq!(attributes.redrive, None);
}

// Rules 5.7 and 5.10.
#[tokio::test]
async fn each_entry_of_a_batch_delete_has_its_own_answer() {
    let body = r#"{"Successful":[{"Id":"0"}],"Failed":[
        {"Id":"2","Code":"InternalError","Message":"sorry","SenderFault":false},
        {"Id":"1","Code":"ReceiptHandleIsInvalid","Message":"no","SenderFault":true}]}"#;
    let answer = Answer {
        status: 200,
        headers: "",
        body,
    };
    // Two entries of one message, under two handles.
    let handles = ["a", "newer a", "b", "c"].map(Into::into);
    let (results, request) = call(answer, async |api, queue| {
        api.delete_batch(queue, &handles).await
    })
    .await;
    let classes: Vec<_> = results
        .unwrap()
        .into_iter()
        .map(|result| result.err().map(|error| error.class))
        .collect();
    let (lost, network) = (Some(ErrorClass::LostHandle), Some(ErrorClass::Network));
    assert_eq!(classes, [None, lost, network, network]);
    for id in 0..4 {
        assert!(request.contains(&format!(r#""Id":"{id}""#)), "{request}");
    }
}

// Rule 2.1: a connection whose other end is gone without a word.
#[tokio::test]
async fn a_receive_over_a_half_open_connection_ends_by_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let connection = Connection::local(&endpoint, &AwsSettings::default()).await;
    let client = connection.client(None).unwrap();
    let queue = QueueUrl::new(format!("{endpoint}/000000000000/q"));
    let wait = Duration::from_secs(20);
    let mut poll = receive(&queue, None);
    poll.wait = wait;
    let receiving = tokio::spawn(async move { client.receive(poll).await.map(|_| ()) });
    let (mut stream, _) = listener.accept().await.unwrap();
    request(&mut stream).await;
    // From here nothing happens but time.
    tokio::time::pause();
    let begun = Instant::now();
    let error = receiving.await.unwrap().unwrap_err();
    let took = begun.elapsed();
    assert_eq!(error.class, ErrorClass::Network, "{error}");
    assert_eq!(error.code, None);
    assert!(
        took > wait && took < wait + Duration::from_secs(6),
        "{took:?}"
    );
}
