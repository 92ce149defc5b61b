//! Requests and answers as they go by: enough of HTTP for the clients of AWS.

use std::io;

use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request or an answer.
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// What a request asks.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) action: String,
    /// SQS's JSON; of SNS, whose requests are forms, an object with the form's fields.
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn of(message: &Message) -> Self {
        let target = message.header("x-amz-target");
        if let Some(action) = target.and_then(|target| target.rsplit('.').next()) {
            return Self {
                action: action.to_owned(),
                body: serde_json::from_slice(&message.body).unwrap_or_default(),
            };
        }
        let fields = form_urlencoded::parse(&message.body);
        let form: Map<_, _> = fields
            .map(|(key, value)| (key.into_owned(), Value::from(value)))
            .collect();
        let body = Value::from(form);
        Self {
            action: body["Action"].as_str().unwrap_or_default().to_owned(),
            body,
        }
    }

    /// Whether it asks an action of the queue or topic of this name.
    pub(crate) fn is(&self, action: &str, queue: &str) -> bool {
        let names = |key: &str| {
            self.body[key]
                .as_str()
                .and_then(|long| long.rsplit(['/', ':']).next())
        };
        let keys = ["QueueUrl", "QueueName", "TopicArn", "Name"];
        self.action == action && keys.into_iter().find_map(names) == Some(queue)
    }
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    /// Takes the first entry of a batch away and answers its id.
    pub(crate) fn without_first_entry(&mut self) -> Option<String> {
        let mut body: Value = serde_json::from_slice(&self.body).ok()?;
        let entries = body["Entries"].as_array_mut()?;
        let first = entries.remove(0);
        self.set(&body);
        Some(first["Id"].as_str()?.to_owned())
    }

    /// Adds an entry that failed to the answer of a batch.
    pub(crate) fn with_failed_entry(&mut self, id: &str, code: &str) {
        let mut body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let failed =
            json!({"Id": id, "Code": code, "Message": "the test says so", "SenderFault": false});
        match body["Failed"].as_array_mut() {
            Some(others) => others.push(failed),
            None => body["Failed"] = json!([failed]),
        }
        self.set(&body);
    }

    fn set(&mut self, body: &Value) {
        self.body = body.to_string().into_bytes();
        let length = format!("content-length: {}", self.body.len());
        let lines = self.head.split("\r\n").map(|line| {
            match line.to_ascii_lowercase().starts_with("content-length:") {
                true => &*length,
                false => line,
            }
        });
        self.head = lines.collect::<Vec<_>>().join("\r\n");
    }
}

/// Reads a request or an answer: its head, and its body, whose length the head says.
pub(crate) async fn whole(stream: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<Message> {
    loop {
        if let Some(at) = kept.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&kept[..at + 4]).into_owned();
            let length = header(&head, "content-length").and_then(|text| text.parse().ok());
            let end = head.len() + length.unwrap_or(0);
            if kept.len() >= end {
                let body = kept[head.len()..end].to_vec();
                kept.drain(..end);
                return Ok(Message { head, body });
            }
        }
        if stream.read_buf(kept).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// An answer as SQS gives it.
pub(crate) fn answer(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
