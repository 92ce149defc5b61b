//! `queuelet.toml`, flags and the environment: what wins over what.

use serde_json::json;

use crate::folder::Folder;
use crate::process::{Finished, Process, output, queuelet};
use crate::sqs::Counted;

/// A `queuelet.toml` beside a folder `handlers` with `guest-outcome` on the queue `jobs`.
fn tree(config: &str, mount: &str) -> Folder {
    let tree = Folder::new().write("queuelet.toml", config);
    let handlers = tree.file("handlers");
    std::fs::create_dir(&handlers).expect("the folder can be written");
    std::fs::copy(crate::guests::wasm("outcome"), handlers.join("jobs.wasm"))
        .expect("the guest can be copied");
    std::fs::write(handlers.join("jobs.toml"), mount).expect("the folder can be written");
    tree
}

// Rule 1: a setting comes from the mount, else from the host's file, else from the default.
#[tokio::test]
async fn the_file_of_the_working_directory_is_taken_and_a_mount_wins_over_it() {
    let config = r#"
        plugins = "handlers"
        [defaults]
        workers = 7
        visibility = "45s"
    "#;
    let tree = tree(config, "queue = \"jobs\"\nvisibility = \"90s\"");
    let mut check = queuelet(&["check", "--json"]);
    check.current_dir(tree.path());
    let said = Finished::of(check.output().await).json();
    let subscription = &said["subscriptions"][0];
    assert_eq!(subscription["workers"], 7);
    assert_eq!(subscription["visibility"], "1m 30s");
    assert_eq!(subscription["wait"], "20s");

    let named = tree.file("queuelet.toml");
    let named = named.to_str().expect("it is text");
    let again = output(&["check", "--json", "--config", named]).await;
    assert_eq!(again.json()["subscriptions"][0]["workers"], 7);
    assert_eq!(again.json()["problems"], json!([]));
}

// Rule 1.11: what is wrong in the host's own file is said like any other mistake.
#[tokio::test]
async fn a_mistake_in_the_hosts_file_is_refused_with_its_place() {
    let tree = tree(
        "plugins = \"handlers\"\ndrain = \"soon\"\nworker = 3",
        "queue = \"jobs\"",
    );
    for command in ["check", "run"] {
        let mut refused = queuelet(&[command]);
        refused.current_dir(tree.path());
        Finished::of(refused.output().await).assert_refused(&[
            "queuelet.toml:2",
            "drain = soon",
            "queuelet.toml:3",
            "worker",
        ]);
    }
}

// Rule 1.1: the endpoint of the file serves where neither a flag nor the environment names one.
#[tokio::test]
async fn the_endpoint_comes_from_a_flag_else_the_environment_else_the_file() {
    let (file, flag) = (
        Counted::with(&["jobs"]).await,
        Counted::with(&["jobs"]).await,
    );
    let config = format!(
        "plugins = \"handlers\"\n[aws]\nendpoint_url = \"{}\"",
        file.endpoint
    );
    let tree = tree(&config, "queue = \"jobs\"");
    let run = |args: &[&str]| {
        let mut run = queuelet(&[&["run"], args].concat());
        run.current_dir(tree.path()).env_remove("AWS_ENDPOINT_URL");
        Process::start(run)
    };
    let by_file = run(&[]);
    file.sqs.send("jobs", r#"{"do":"ack"}"#).await;
    by_file.logs_of("jobs", "deleted", 1).await;
    assert_eq!(flag.total("ReceiveMessage"), 0);

    let by_flag = run(&["--endpoint-url", &flag.endpoint]);
    flag.sqs.send("jobs", r#"{"do":"ack"}"#).await;
    by_flag.logs_of("jobs", "deleted", 1).await;
}

// Rule 10.1: no account. A local endpoint is asked as it is, with nothing else set.
#[tokio::test]
async fn a_local_endpoint_needs_neither_a_region_nor_credentials() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let bare = |args: &[&str]| {
        let mut command = queuelet(args);
        for name in [
            "AWS_ENDPOINT_URL",
            "AWS_REGION",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_EC2_METADATA_DISABLED",
        ] {
            command.env_remove(name);
        }
        command
    };
    let endpoint = ["--endpoint-url", &*local.endpoint];
    let send = ["send", "jobs", r#"{"do":"ack"}"#];
    let sent = Finished::of(bare(&[&send[..], &endpoint].concat()).output().await);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let run = ["run", "--plugins", folder.arg()];
    let host = Process::start(bare(&[&run[..], &endpoint].concat()));
    host.logs_of("jobs", "deleted", 1).await;
}
