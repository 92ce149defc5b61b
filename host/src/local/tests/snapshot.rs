use super::client::Client;
use crate::local::{LocalServer, SnapshotError, SnapshotFile};
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A server that keeps this file, and a connection to it.
async fn serve(path: &Path) -> (LocalServer, Client) {
    let file = SnapshotFile::open(path).await.unwrap();
    let server = LocalServer::bind_with(anywhere(), file).await.unwrap();
    let client = Client::connect(&server).await;
    (server, client)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queues.json");
    (folder, path)
}

async fn create(client: &mut Client, name: &str) {
    let request = json!({"QueueName": name});
    assert_eq!(client.call("CreateQueue", &request).await.status, 200);
}

async fn send(client: &mut Client, body: &str) {
    let request = json!({"QueueUrl": "q", "MessageBody": body});
    assert_eq!(client.call("SendMessage", &request).await.status, 200);
}

async fn receive(client: &mut Client) -> Vec<Value> {
    let request = json!({"QueueUrl": "q", "MaxNumberOfMessages": 10});
    let reply = client.call("ReceiveMessage", &request).await;
    let messages = reply.json["Messages"].as_array().cloned();
    let bodies = messages.unwrap_or_default().into_iter();
    bodies.map(|message| message["Body"].clone()).collect()
}

/// Waits until the file has this text.
async fn written(path: &Path, text: &str) {
    while !fs::read_to_string(path).unwrap().contains(text) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_was_in_the_queues_is_there_after_a_restart() {
    let (_folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    create(&mut client, "q").await;
    send(&mut client, "kept").await;
    server.stop().await;
    let (_server, mut client) = serve(&path).await;
    assert_eq!(receive(&mut client).await, ["kept"]);
}

#[tokio::test]
async fn a_stop_says_whether_the_last_write_succeeded() {
    let (folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    create(&mut client, "q").await;
    assert!(server.stop().await);
    let (server, mut client) = serve(&path).await;
    folder.close().unwrap();
    send(&mut client, "lost").await;
    assert!(!server.stop().await);
}

#[tokio::test]
async fn a_change_is_written_soon_without_waiting_for_the_stop() {
    let (_folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    create(&mut client, "q").await;
    for body in ["first", "second"] {
        send(&mut client, body).await;
        written(&path, body).await;
    }
    // The process dies here, as far as the file knows: nothing is written any more.
    let copy = path.with_extension("copy");
    fs::copy(&path, &copy).unwrap();
    drop(server);
    let (_server, mut client) = serve(&copy).await;
    assert_eq!(receive(&mut client).await, ["first", "second"]);
}

#[tokio::test]
async fn topics_are_kept_with_the_queues() {
    let (_folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let body = b"Action=CreateTopic&Version=2010-03-31&Name=news";
    client.write("POST", form, body).await;
    written(&path, "news").await;
    server.stop().await;
    let kept = fs::read_to_string(&path).unwrap();
    let (server, _) = serve(&path).await;
    server.stop().await;
    assert_eq!(fs::read_to_string(&path).unwrap(), kept);
}

#[tokio::test]
async fn a_writing_that_was_killed_half_way_leaves_the_file_before_it() {
    let (_folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    create(&mut client, "q").await;
    send(&mut client, "kept").await;
    server.stop().await;
    let whole = fs::read_to_string(&path).unwrap();
    let half = &whole[..whole.len() / 2];
    fs::write(path.with_file_name("queues.json.new"), half).unwrap();
    let (_server, mut client) = serve(&path).await;
    assert_eq!(receive(&mut client).await, ["kept"]);
}

#[tokio::test]
async fn a_broken_file_is_named_and_left_as_it_is() {
    let (_folder, path) = folder();
    let (server, mut client) = serve(&path).await;
    create(&mut client, "q").await;
    server.stop().await;
    let whole = fs::read_to_string(&path).unwrap();
    let cut = &whole[..whole.len() - 10];
    let newer = whole.replace(r#""queuelet_local":1"#, r#""queuelet_local":2"#);
    for (broken, why) in [
        ("", "EOF"),
        ("nonsense", "expected"),
        ("{}", "queuelet_local"),
        (cut, "EOF"),
        (newer.as_str(), "form 2"),
    ] {
        fs::write(&path, broken).unwrap();
        let error = SnapshotFile::open(&path).await.unwrap_err();
        assert!(matches!(error, SnapshotError::Broken { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("queues.json") && said.contains(why), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_an_error_at_the_start() {
    let (folder, _) = folder();
    let nowhere = folder.path().join("missing").join("queues.json");
    let error = SnapshotFile::open(&nowhere).await.unwrap_err();
    assert!(
        matches!(error, SnapshotError::Unwritable { .. }),
        "{error:?}"
    );
    let error = SnapshotFile::open(folder.path()).await.unwrap_err();
    let (named, said) = (folder.path().display().to_string(), error.to_string());
    assert!(said.contains(&named), "{said}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_goes_on_leading_to_the_file() {
    let (folder, path) = folder();
    serve(&path).await.0.stop().await;
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (server, mut client) = serve(&link).await;
    create(&mut client, "through-the-link").await;
    server.stop().await;
    assert!(fs::read_link(&link).is_ok());
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("through-the-link"));
}
