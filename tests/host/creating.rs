//! `create_if_missing`: what is created, and how.

use aws_sdk_sqs::types::QueueAttributeName as Name;

use crate::folder::Folder;
use crate::process::Process;
use crate::sqs::Counted;

const MOUNT: &str = "queue = \"made.fifo\"\nreply = \"sns:answers.fifo\"\n\
                     max_attempts = 3\ndead_letter = \"dead.fifo\"";

// Rules 1.8 and 1.9.
#[tokio::test]
async fn source_dead_letter_queue_and_topic_are_created_where_the_mount_says_so() {
    let local = Counted::start().await;
    let folder = Folder::with("echo", &format!("{MOUNT}\ncreate_if_missing = true"));
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("made.fifo", "ready", 1).await;
    for queue in ["made.fifo", "dead.fifo"] {
        let attributes = local.sqs.attributes(queue).await;
        for name in [Name::FifoQueue, Name::ContentBasedDeduplication] {
            let value = attributes.get(&name).map(String::as_str);
            assert_eq!(value, Some("true"), "{queue}: {name}");
        }
    }
    let policy = local.sqs.document("made.fifo", Name::RedrivePolicy).await;
    assert_eq!(policy["deadLetterTargetArn"], local.sqs.arn("dead.fifo"));
    let topic = local.sns.client.get_topic_attributes();
    let topic = topic.topic_arn(local.sns.arn("answers.fifo")).send().await;
    let attributes = topic.expect("it is there").attributes.unwrap_or_default();
    for name in ["FifoTopic", "ContentBasedDeduplication"] {
        assert_eq!(
            attributes.get(name).map(String::as_str),
            Some("true"),
            "{name}"
        );
    }
}

// Rule 1.8: off by default.
#[tokio::test]
async fn nothing_is_created_where_the_mount_does_not_say_so() {
    let local = Counted::with(&["made.fifo"]).await;
    let folder = Folder::with("echo", MOUNT);
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs("that it is not ready", 1, |line| {
        line.message().starts_with("not ready")
    })
    .await;
    assert_eq!(local.total("CreateQueue"), 1, "by the test");
    assert_eq!(local.total("CreateTopic"), 0);
}
