//! A client of our own, so that tests can send what no SDK would.

use crate::local::LocalServer;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A reply as it came.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) json: Value,
}

impl Reply {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Asserts that it is this error, by its type in JSON.
    pub(super) fn assert_error(&self, shape: &str) {
        assert_eq!(self.status, 400, "{self:?}");
        assert_eq!(self.json["__type"], shape, "{self:?}");
        assert!(self.json["message"].is_string());
    }
}

/// A connection to the server.
pub(super) struct Client {
    stream: TcpStream,
}

impl Client {
    pub(super) async fn connect(server: &LocalServer) -> Self {
        let address = server.endpoint().replace("http://", "");
        Self {
            stream: TcpStream::connect(address).await.unwrap(),
        }
    }

    /// Calls an action of SQS.
    pub(super) async fn call(&mut self, action: &str, body: &Value) -> Reply {
        self.start(action, body).await;
        self.reply().await
    }

    /// Sends a call and does not wait for the reply.
    pub(super) async fn start(&mut self, action: &str, body: &Value) {
        let target = format!("X-Amz-Target: AmazonSQS.{action}\r\n");
        self.write("POST", &target, body.to_string().as_bytes())
            .await;
    }

    /// Sends a request with these headers beside the usual ones.
    pub(super) async fn write(&mut self, method: &str, headers: &str, body: &[u8]) {
        self.write_head(method, headers, body.len()).await;
        self.stream.write_all(body).await.unwrap();
    }

    /// Sends the head of a request whose body has, or would have, so many bytes.
    pub(super) async fn write_head(&mut self, method: &str, headers: &str, length: usize) {
        let head = format!(
            "{method} / HTTP/1.1\r\nHost: queues.test:99\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
    }

    /// Reads the reply to what was sent.
    pub(super) async fn reply(&mut self) -> Reply {
        let mut bytes = Vec::new();
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert_ne!(
                self.stream.read_buf(&mut bytes).await.unwrap(),
                0,
                "the connection was closed"
            );
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
        let mut reply = Reply {
            status: head[9..12].parse().unwrap(),
            head,
            json: Value::Null,
        };
        let length: usize = reply.header("Content-Length").unwrap().parse().unwrap();
        while bytes.len() < head_end + length {
            assert_ne!(
                self.stream.read_buf(&mut bytes).await.unwrap(),
                0,
                "the reply was cut"
            );
        }
        reply.json = serde_json::from_slice(&bytes[head_end..]).unwrap();
        reply
    }

    /// Whether the server has closed the connection, once nothing more comes.
    pub(super) async fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 64]).await, Ok(0) | Err(_))
    }
}
