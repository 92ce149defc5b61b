//! What is no plugin: refused in one line each, at the start and while the host runs, while the last
//! good version serves on and nothing hangs.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use queuelet::plugin::Digest;
use wasm_encoder::{
    Component, ComponentExportKind, ComponentExportSection, ComponentInstanceSection,
    ComponentTypeSection, InstanceType, NestedComponentSection,
};

use crate::folder::Folder;
use crate::guests;
use crate::process::{Line, Process, output};
use crate::reload::{put, version};
use crate::sqs::Counted;

/// Puts something at a path where nothing is, and what is said of it.
struct Garbage {
    name: &'static str,
    make: fn(&Path),
    says: &'static str,
}

/// A component of the exports of another world: an empty one with a name.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// So many components around one another, each with four instances of the next.
fn tower(floors: u32) -> Vec<u8> {
    let floor = |inner: Component, _| {
        let mut instances = ComponentInstanceSection::new();
        for _ in 0..4 {
            instances.instantiate::<[(&str, ComponentExportKind, u32); 0], &str>(0, []);
        }
        let mut outer = Component::new();
        outer.section(&NestedComponentSection(&inner));
        outer.section(&instances);
        outer
    };
    (0..floors).fold(Component::new(), floor).finish()
}

/// Types of instances in one another.
fn deep_types(depth: u32) -> Vec<u8> {
    let deeper = |inner: InstanceType, _| {
        let mut outer = InstanceType::new();
        outer.ty().instance(&inner);
        outer
    };
    let ty = (0..depth).fold(InstanceType::new(), deeper);
    let mut types = ComponentTypeSection::new();
    types.instance(&ty);
    let mut component = Component::new();
    component.section(&types);
    component.finish()
}

/// A component that exports an empty instance.
fn exporting(name: &str) -> Vec<u8> {
    let mut component = Component::new();
    component.section(&NestedComponentSection(&Component::new()));
    let mut instances = ComponentInstanceSection::new();
    instances.instantiate::<[(&str, ComponentExportKind, u32); 0], &str>(0, []);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    exports.export(name, ComponentExportKind::Instance, 0, None);
    component.section(&exports);
    component.finish()
}

fn healthy() -> Vec<u8> {
    version("witness", 9)
}

const GARBAGE: [Garbage; 20] = [
    Garbage {
        name: "nothing",
        make: |path| write(path, b""),
        says: "it is empty",
    },
    Garbage {
        name: "a header",
        make: |path| write(path, COMPONENT),
        says: "it is no handler",
    },
    Garbage {
        name: "half",
        make: |path| {
            let whole = healthy();
            write(path, &whole[..whole.len() / 2]);
        },
        says: "it does not compile",
    },
    Garbage {
        name: "text",
        make: |path| write(path, b"#!/bin/sh\necho hello\n"),
        says: "it is not WebAssembly",
    },
    Garbage {
        name: "a core module",
        make: |path| write(path, b"\0asm\x01\0\0\0\0\x03\x01vx"),
        says: "module",
    },
    Garbage {
        name: "noise",
        make: |path| {
            let mut noise = healthy();
            let middle = noise.len() / 2;
            noise[middle..middle + 64].fill(0xff);
            write(path, &noise);
        },
        says: "it",
    },
    Garbage {
        name: "another world",
        make: |path| write(path, &patched("handler/single", "handler/simple")),
        says: "it exports neither",
    },
    Garbage {
        name: "another contract",
        make: |path| write(path, &patched("@0.1.0", "@9.1.0")),
        says: "built for queuelet:handler@9.1.0, and this host serves queuelet:handler@0.1.0",
    },
    Garbage {
        name: "a descriptor with a key that is none",
        make: |path| write(path, &patched("queueold", "quxueold")),
        says: "nearest is `queue`",
    },
    Garbage {
        name: "a descriptor that traps",
        make: |path| write(path, &content("descriptor-traps")),
        says: "its descriptor could not be read: trap",
    },
    Garbage {
        name: "a file that cannot be read",
        make: |path| symlink("/proc/self/mem", path).expect("it can be made"),
        says: "it cannot be read",
    },
    Garbage {
        name: "a folder",
        make: |path| fs::create_dir(path).expect("it can be made"),
        says: "it is a folder",
    },
    Garbage {
        name: "a dangling link",
        make: |path| symlink("/nowhere/at/all.wasm", path).expect("it can be made"),
        says: "a link to something that is not there",
    },
    Garbage {
        name: "a pipe",
        make: |path| {
            let made = Command::new("mkfifo").arg(path).status();
            assert!(made.expect("it runs").success());
        },
        says: "a named pipe",
    },
    Garbage {
        name: "a socket",
        make: |path| drop(UnixListener::bind(path).expect("it can be made")),
        says: "a socket",
    },
    Garbage {
        name: "a device",
        make: |path| symlink("/dev/zero", path).expect("it can be made"),
        says: "a device",
    },
    Garbage {
        name: "a file of holes",
        make: |path| {
            let file = fs::File::create(path).expect("it can be made");
            file.set_len(200 << 30)
                .expect("the file system knows holes");
        },
        says: "it cannot be read: it is 200GiB; a plugin has at most 256MiB",
    },
    Garbage {
        name: "components in components",
        make: |path| write(path, &tower(19)),
        says: "there are 366503875925 component instances that it makes, and there may be 1000",
    },
    Garbage {
        name: "types in types",
        make: |path| write(path, &deep_types(900)),
        says: "there are 901 types within types in it, and there may be 300",
    },
    Garbage {
        name: "an export of 90 KB",
        make: |path| write(path, &exporting(&"a".repeat(90_000))),
        says: "aaaaaaaaaa",
    },
];

fn content(guest: &str) -> Vec<u8> {
    fs::read(guests::wasm(guest)).expect("the guest can be read")
}

/// The oldest guest, which says that it reads the queue `old`, with one text in the place of another.
fn patched(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut code = content("first-contract");
    let places: Vec<_> = code
        .windows(old.len())
        .enumerate()
        .filter(|(_, window)| *window == old.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty(), "{old}");
    for place in places {
        code[place..place + new.len()].copy_from_slice(new.as_bytes());
    }
    code
}

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).expect("the folder can be written");
}

fn clear(path: &Path) {
    if path.is_dir() {
        fs::remove_dir(path).expect("it can be removed");
    } else {
        fs::remove_file(path).expect("it can be removed");
    }
}

fn refusals(host: &Process) -> Vec<Line> {
    host.lines(|line| line.message().starts_with("refused"))
}

// Rule 8.2.
#[tokio::test]
async fn garbage_in_the_place_of_a_plugin_is_refused_once_and_the_last_good_version_serves_on() {
    let local = Counted::with(&["jobs"]).await;
    let good = version("witness", 1);
    let folder = Folder::new()
        .write("witness.wasm", &good)
        .write("witness.toml", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    let file = folder.file("witness.wasm");
    for (n, garbage) in (1..).zip(&GARBAGE) {
        let name = garbage.name;
        clear(&file);
        (garbage.make)(&file);
        let refused = host
            .logs(&format!("a refusal of {name}"), n, |line| {
                line.message().starts_with("refused")
            })
            .await;
        let said = refused[n - 1].message();
        assert!(said.contains("witness.wasm"), "{name}: {said}");
        assert!(said.contains(garbage.says), "{name}: {said}");
        assert!(said.contains("version 1 ("), "{name}: {said}");
        assert!(said.len() < 8_000, "{name}: {} bytes", said.len());
        assert!(said.ends_with("keeps serving"), "{name}: {said}");
        local.sqs.send("jobs", "0").await;
        host.logs_of("jobs", "handled", n).await;
    }
    assert_eq!(refusals(&host).len(), GARBAGE.len(), "one line each");
    clear(&file);
    put(&file, &good);
    host.logs("that it is good again", 1, |line| {
        line.message().contains("serves again")
    })
    .await;
    assert_eq!(local.count("ChangeMessageVisibility", "jobs"), 0);
    assert_eq!(host.of("jobs", "ready").len(), 1);
}

// Rules 7.2 and 8.2.
#[tokio::test]
async fn garbage_at_the_start_is_refused_with_everything_else_and_nothing_hangs() {
    let mut folder = Folder::new().and("outcome", "good", "queue = \"jobs\"");
    for (n, garbage) in GARBAGE.iter().enumerate() {
        (garbage.make)(&folder.file(&format!("bad{n:02}.wasm")));
    }
    folder = folder.write("odd.wasm", version("witness", 1));
    fs::create_dir(folder.file("odd.toml")).expect("it can be made");
    for command in ["check", "run"] {
        let ended = output(&[command, "--plugins", folder.arg()]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        for (n, garbage) in GARBAGE.iter().enumerate() {
            let said = of_plugin(&ended.stderr, n);
            assert!(said.contains(garbage.says), "{}: {said}", garbage.name);
        }
        assert!(ended.stderr.contains("odd.toml"), "{}", ended.stderr);
    }
}

/// The lines that name a plugin, each with the one after it, where the reason of a mount stands.
fn of_plugin(stderr: &str, n: usize) -> String {
    let name = format!("bad{n:02}");
    let lines: Vec<_> = stderr.lines().collect();
    let named = lines.windows(2).filter(|pair| pair[0].contains(&name));
    named.map(|pair| pair.join(" ")).collect()
}

// Rules 8.2 and 8.6: a component that is whole, and no handler that can serve.
#[tokio::test]
async fn a_component_that_cannot_serve_is_refused_with_its_reason() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::new()
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    let mounts = [
        ("queue = \"jobs\"\nwait = \"60s\"", "0s to 20s"),
        ("queue = \"jobs\"\nwiat = \"6s\"", "nearest is `wait`"),
        ("queue = jobs", "not TOML"),
        ("queue = \"jobs\"\nmax_attempts = 3", "dead_letter"),
        (
            "queue = \"jobs\"\nenv = { TOKEN = \"env:NOT_THERE\" }",
            "NOT_THERE",
        ),
        ("queue = \"jobs\"\nmemory = \"1MiB\"", "begins with"),
        ("queue = \"jobs\"\nsha256 = []", "it allows no file"),
        ("queue = \"jobs\"\nsha256 = \"\"", "it allows no file"),
        ("queue = \"jobs\"\nsha256 = [\"\"]", "it allows no file"),
        (
            "queue = \"jobs\"\nsha256 = [\"0000000000000000000000000000000000000000000000000000000000000000\"]",
            "its SHA-256 is",
        ),
    ];
    for (n, (mount, says)) in (1..).zip(mounts) {
        put(&folder.file("witness.toml"), mount);
        let refused = host
            .logs(says, n, |line| line.message().starts_with("refused"))
            .await;
        let said = refused[n - 1].message();
        assert!(said.contains("witness.toml:"), "{said}");
        assert!(said.contains(says), "{said}");
        assert!(said.ends_with("keeps serving"), "{said}");
    }
    // A queue that hides nothing is refused as it is at the start, and the old mount serves on.
    local.sqs.create_hiding("bare", 0).await;
    put(&folder.file("witness.toml"), "queue = \"bare\"");
    let refused = host
        .logs("the visibility of 0", mounts.len() + 1, |line| {
            line.message().starts_with("refused")
        })
        .await;
    let last = &refused[mounts.len()];
    assert!(last.message().contains("visibility"), "{}", last.text);
    local.sqs.send("jobs", "0").await;
    host.logs_of("jobs", "handled", 1).await;
    assert_eq!(refusals(&host).len(), mounts.len() + 1);
    assert_eq!(host.of("jobs", "ready").len(), 1);
}

// Rule 8.2: a list of digests says which files may serve, at the start and later.
#[tokio::test]
async fn a_file_that_a_list_of_digests_does_not_name_is_refused_until_it_does() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::new()
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", "queue = \"jobs\"");
    let (one, two) = (digest(1), digest(2));
    let list = folder.file("sums");
    let path = list.to_str().expect("it is text");
    let args = ["--plugins-sha256", path];
    fs::write(&list, format!("# none yet\n{two}  witness.wasm\n")).expect("it can be written");
    for command in ["run", "check"] {
        let refused = output(&[&[command, "--plugins", folder.arg()], &args[..]].concat()).await;
        refused.assert_refused(&["witness.wasm", &one, &two, "sums"]);
    }
    fs::write(&list, format!("{one} *plugins/witness.wasm\n")).expect("it can be written");
    let host = Process::run(&folder, &local.endpoint, &args);
    host.logs_of("jobs", "ready", 1).await;
    put(&folder.file("witness.wasm"), version("witness", 2));
    let refused = host
        .logs("the refusal", 1, |line| {
            line.message().starts_with("refused")
        })
        .await;
    for says in [&*one, &*two, "sums", "version 1", "keeps serving"] {
        assert!(refused[0].message().contains(says), "{}", refused[0].text);
    }
    // Allowed later, it is taken as it lies there.
    fs::write(&list, format!("{one}  witness.wasm\n{two}  witness.wasm\n")).expect("written");
    host.logs("the second version", 1, |line| {
        line.message() == "replaced" && line.field("digest") == two
    })
    .await;
    assert_eq!(refusals(&host).len(), 1);
    // What serves is held against the list too when only its mount changes.
    fs::write(&list, format!("{one}  witness.wasm\n")).expect("written");
    put(
        &folder.file("witness.toml"),
        "queue = \"jobs\"\ntimeout = \"3s\"",
    );
    let refused = host
        .logs("the second refusal", 2, |line| {
            line.message().starts_with("refused")
        })
        .await;
    for says in [&*one, &*two, "sums", "version 2", "keeps serving"] {
        assert!(refused[1].message().contains(says), "{}", refused[1].text);
    }
}

/// The digest of a version of the witness, in full.
fn digest(n: u8) -> String {
    Digest::of(&version("witness", n)).to_string()
}
