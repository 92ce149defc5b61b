//! The ways to replace a plugin's file.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{assert_each_once, live, put, short, version, witness, witnessed};
use crate::folder::Folder;
use crate::process::{Process, queuelet};
use crate::sqs::Counted;
use crate::{until, when};

/// Replaces what is at the first path by this content.
type Way = fn(&Path, &[u8]);

fn run(program: &str, args: &[&Path]) {
    let status = Command::new(program).args(args).status();
    assert!(status.expect("it runs").success(), "{program}");
}

/// The content in a file of another folder.
fn beside(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("there is room for a file");
    file.write_all(content).expect("it can be written");
    file
}

fn cp(path: &Path, content: &[u8]) {
    run("cp", &[beside(content).path(), path]);
}

fn mv(path: &Path, content: &[u8]) {
    let source = beside(content).into_temp_path();
    run("mv", &[&source, path]);
    // It is not there any more, which is no error of its owner.
    let _ = source.keep();
}

fn install(path: &Path, content: &[u8]) {
    run("install", &[beside(content).path(), path]);
}

fn as_an_editor(path: &Path, content: &[u8]) {
    let backup = path.with_extension("wasm~");
    fs::rename(path, &backup).expect("it can be renamed");
    fs::write(path, content).expect("it can be written");
    fs::remove_file(backup).expect("it can be removed");
}

fn in_pieces(path: &Path, content: &[u8]) {
    let mut file = File::create(path).expect("it can be opened");
    // Slower than the settle time, so that pieces are looked at.
    for piece in content.chunks(content.len() / 3 + 1) {
        file.write_all(piece).expect("it can be written");
        std::thread::sleep(Duration::from_millis(400));
    }
}

fn by_a_link(path: &Path, content: &[u8]) {
    let target = path.with_extension(format!("target-{}", short(content)));
    fs::write(&target, content).expect("it can be written");
    let link = path.with_extension("link");
    symlink(&target, &link).expect("a link can be made");
    fs::rename(&link, path).expect("it can be renamed");
}

// Rules 8.1, 8.2, 8.3 and 8.5.
#[tokio::test]
async fn every_way_to_replace_a_file_swaps_the_version_and_no_message_is_received_twice() {
    const WAYS: [(&str, Way); 6] = [
        ("cp", cp),
        ("mv", mv),
        ("install", install),
        ("an editor", as_an_editor),
        ("a slow copy", in_pieces),
        ("a link", by_a_link),
    ];
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nworkers = 2").await;
    let file = folder.file("witness.wasm");
    let mut sent = local.sqs.send_all("jobs", vec!["20"; 20]).await;
    for (n, (way, replace)) in (2..).zip(WAYS) {
        let content = version("witness", n);
        let next = content.clone();
        let path = file.clone();
        // Messages come all the while.
        let replacing = tokio::task::spawn_blocking(move || replace(&path, &next));
        while !replacing.is_finished() {
            sent.extend(local.sqs.send_all("jobs", vec!["20"; 5]).await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        replacing.await.unwrap_or_else(|_| panic!("{way}"));
        let said = live(&host, &content, 1).await;
        assert_eq!(said[0].message(), "replaced", "{way}");
        assert_eq!(said[0].fields["version"], n, "{way}");
        assert_eq!(said[0].fields["old_version"], n - 1, "{way}");
        let last = local.sqs.send("jobs", "0").await;
        sent.push(last.clone());
        until(way, async || {
            let seen = witnessed(&host);
            when(seen.get(&last).is_some_and(|of| of.len() == 2))
        })
        .await;
        assert_eq!(witnessed(&host)[&last][0].1, short(&content), "{way}");
    }
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
    let refused = host.lines(|line| line.message().starts_with("refused"));
    assert!(refused.is_empty(), "{refused:?}");
}

// Rules 8.2 to 8.5: whatever comes on top of what, in whatever state the change before it was.
#[tokio::test]
async fn a_heap_of_changes_good_and_bad_costs_no_message_a_second_receive() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nwait = \"1s\"").await;
    let (wasm, toml) = (folder.file("witness.wasm"), folder.file("witness.toml"));
    let ways: [Way; 5] = [cp, mv, install, as_an_editor, by_a_link];
    let mut sent = Vec::new();
    for n in 0..30_u8 {
        sent.extend(local.sqs.send_all("jobs", vec!["15"; 6]).await);
        let way = ways[usize::from(n) % ways.len()];
        match n % 4 {
            0 => put(&wasm, "not WebAssembly"),
            1 => {
                let workers = n % 3 + 1;
                let mount = format!("queue = \"jobs\"\nwait = \"1s\"\nworkers = {workers}");
                way(&toml, mount.as_bytes());
            }
            _ => way(&wasm, &version("witness", n)),
        }
        // Now shorter than a file must stand still, now longer.
        tokio::time::sleep(Duration::from_millis(u64::from(n) * 70 % 600)).await;
    }
    put(&wasm, version("witness", 99));
    live(&host, &version("witness", 99), 1).await;
    sent.push(local.sqs.send("jobs", "0").await);
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
    assert_eq!(local.count("ChangeMessageVisibility", "jobs"), 0);
}

// Rule 8.1: as Kubernetes changes the files of a ConfigMap: by one link above them all.
#[tokio::test]
async fn a_config_map_that_changes_swaps_the_version_and_its_mount_together() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::new();
    let fill = |name: &str, n: u8, mount: &str| {
        let data = folder.file(name);
        fs::create_dir(&data).expect("it can be made");
        fs::write(data.join("w.wasm"), version("witness", n)).expect("it can be written");
        fs::write(data.join("w.toml"), mount).expect("it can be written");
    };
    fill("..1", 1, "queue = \"jobs\"");
    symlink("..1", folder.file("..data")).expect("a link can be made");
    for name in ["w.wasm", "w.toml"] {
        let target = format!("..data/{name}");
        symlink(target, folder.file(name)).expect("a link can be made");
    }
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    fill("..2", 2, "queue = \"jobs\"\nworkers = 3");
    symlink("..2", folder.file("..data_tmp")).expect("a link can be made");
    fs::rename(folder.file("..data_tmp"), folder.file("..data")).expect("it can be renamed");
    fs::remove_dir_all(folder.file("..1")).expect("it can be removed");
    let said = live(&host, &version("witness", 2), 1).await;
    assert_eq!(said[0].message(), "replaced");
    // In one step, with what stands in the mount file.
    host.logs_of("jobs", "ready", 2).await;
    let sent = [local.sqs.send("jobs", "0").await];
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
    assert_eq!(live(&host, &version("witness", 2), 1).await.len(), 1);
}

// Rule 8.1: no event tells of the change of a link above the folder; a look does.
#[tokio::test]
async fn a_folder_behind_a_link_may_be_replaced_as_a_whole() {
    let local = Counted::with(&["jobs"]).await;
    let releases = Folder::new();
    for n in [1, 2] {
        let release = releases.file(&n.to_string());
        fs::create_dir(&release).expect("it can be made");
        fs::write(release.join("w.wasm"), version("witness", n)).expect("it can be written");
        fs::write(release.join("w.toml"), "queue = \"jobs\"").expect("it can be written");
    }
    let point_to = |release: &str| {
        symlink(release, releases.file("next")).expect("a link can be made");
        fs::rename(releases.file("next"), releases.file("current")).expect("it can be renamed");
    };
    point_to("1");
    let current = releases.file("current");
    let current = current.to_str().expect("it is text");
    let mut command = queuelet(&["run", "--plugins", current]);
    command.env("AWS_ENDPOINT_URL", &local.endpoint);
    let host = Process::start(command);
    host.logs_of("jobs", "ready", 1).await;
    point_to("2");
    live(&host, &version("witness", 2), 1).await;
    // The folder that is there now is watched.
    put(&releases.file("2/w.wasm"), version("witness", 3));
    live(&host, &version("witness", 3), 1).await;
    assert_eq!(host.of("jobs", "ready").len(), 1);
}

// Rule 8.5.
#[tokio::test]
async fn of_several_changes_in_a_row_the_last_one_is_live() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"").await;
    let file = folder.file("witness.wasm");
    for n in 2..=9 {
        put(&file, version("witness", n));
        tokio::time::sleep(Duration::from_millis(120)).await;
    }
    let last = version("witness", 9);
    live(&host, &last, 1).await;
    let sent = [local.sqs.send("jobs", "0").await];
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
    assert_eq!(witnessed(&host)[&sent[0]][0].1, short(&last));
}

// Rule 8.1: what counts is the content.
#[tokio::test]
async fn a_file_that_is_written_again_with_the_same_content_reloads_nothing() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"").await;
    let file = folder.file("witness.wasm");
    for way in [cp, mv, install] {
        way(&file, &version("witness", 1));
        // Longer than it must stand still.
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    cp(&file, &version("witness", 2));
    let said = live(&host, &version("witness", 2), 1).await;
    assert_eq!(said[0].fields["version"], 2, "nothing was live in between");
    assert_eq!(local.count("ReceiveMessage", "jobs"), 1, "nor was the poll");
}
