//! What holds after every case: the error is told and audited, nothing else changed, nothing is
//! left behind, the next call works, the audit is sound.

use rustix::fs::{CWD, Dev, FileType, Mode, mknodat};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::guests::sha256;
use support::home::{Home, Ran};
use support::samples;

/// A gateway whose workspace has its folders already, so that it can be compared before and after.
pub(super) fn home() -> Home {
    with_folders(Home::new())
}

/// The same for a gateway that was configured first.
pub(super) fn with_folders(home: Home) -> Home {
    for mount in ["/shared", "/tmp", "/vault"] {
        fs::create_dir_all(home.host(mount)).expect("writable");
    }
    home
}

/// The same for a tool that may take ten minutes: what a test shows of huge files and folders is
/// what they cost in memory, and debug builds on busy machines are slow.
pub(super) fn patient(tool: &str) -> Home {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies");
    let text = |name: &str| {
        let text = fs::read_to_string(policies.join(name)).expect("a default policy");
        let lines =
            text.lines().map(|line| if line.starts_with("deadline") { "deadline = \"600s\"" } else { line });
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let (profile, tool) = ("profiles/file-read-only.toml", format!("tools/{tool}.toml"));
    with_folders(Home::new().policy(profile, &text(profile)).policy(&tool, &text(&tool)))
}

/// A folder beside the workspace with something in it.
pub(super) fn outside(home: &Home) -> PathBuf {
    let outside = home.dir().join("outside");
    fs::create_dir(&outside).expect("writable");
    fs::write(outside.join("file"), "secret").expect("writable");
    outside
}

/// So many bytes of which no two pieces are alike.
pub(super) fn bytes(len: usize) -> Vec<u8> {
    let mut bytes = samples::jpeg(len);
    bytes.truncate(len);
    bytes
}

/// Everything below a folder, each with what can be told of it without following or blocking on it.
pub(super) type Tree = BTreeMap<PathBuf, String>;

/// The tree below `root`. A file's inode is part of it: replacing it by an equal one is a change.
pub(super) fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().expect("nobody deletes meanwhile"));
            let (kind, mode) = (meta.file_type(), meta.mode() & 0o7777);
            let told = if kind.is_dir() {
                dirs.push(path.clone());
                format!("folder {mode:o}")
            } else if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).expect("a link").display())
            } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
                format!("{kind:?} {mode:o}")
            } else {
                let hash = if meta.len() > 64 << 20 {
                    "large".into()
                } else {
                    sha256(&fs::read(&path).expect("readable"))
                };
                format!("file {mode:o} of {} bytes, inode {}, {hash}", meta.len(), meta.ino())
            };
            found.insert(path, told);
        }
    }
    found
}

/// The gateway's own names in its workspace.
pub(super) fn leftovers(gateway: &impl Gateway) -> Vec<PathBuf> {
    tree(&gateway.host("/")).into_keys().filter(|path| is_ours(path)).collect()
}

/// A gateway as a test reaches it: in the machine's own mounts, or in a namespace with others.
pub(super) trait Gateway {
    /// Its folder.
    fn home(&self) -> &Home;
    /// The program, run under another one if any is given.
    fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command;
    /// A path of the gateway as this process sees it.
    fn seen(&self, path: PathBuf) -> PathBuf;

    /// The file behind a guest path.
    fn host(&self, guest: &str) -> PathBuf {
        self.seen(self.home().host(guest))
    }

    /// Runs the program.
    fn run(&self, arguments: &[&str]) -> Ran {
        self.command(&[], arguments).output().expect("the program starts").into()
    }

    /// Runs `cofferdam call`.
    fn call(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["call"];
        all.extend(arguments);
        self.run(&all)
    }
}

impl Gateway for Home {
    fn home(&self) -> &Home {
        self
    }

    fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        if wrapper.is_empty() { self.command(arguments) } else { self.command_under(wrapper, arguments) }
    }

    fn seen(&self, path: PathBuf) -> PathBuf {
        path
    }
}

impl<G: Gateway + ?Sized> Gateway for Box<G> {
    fn home(&self) -> &Home {
        (**self).home()
    }

    fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        (**self).command(wrapper, arguments)
    }

    fn seen(&self, path: PathBuf) -> PathBuf {
        (**self).seen(path)
    }
}

/// The call is refused with `code`, and everything is as it was.
pub(super) fn refuses(gateway: &impl Gateway, code: &str, arguments: &[&str]) -> Ran {
    let before = tree(&gateway.host("/"));
    let ran = gateway.call(arguments);
    is_refusal(gateway, &ran, code);
    assert_eq!(tree(&gateway.host("/")), before, "{arguments:?}");
    works(gateway);
    ran
}

/// The run told this error, in the words of the guest's world, and the audit has it.
pub(super) fn is_refusal(gateway: &impl Gateway, ran: &Ran, code: &str) {
    assert_eq!((ran.error().as_str(), ran.code), (code, Some(1)), "{ran:?}");
    let dir = gateway.home().dir().to_str().expect("a test's path is text");
    assert!(!ran.stdout.contains(dir), "a host path is told: {ran:?}");
    let audit = fs::read_to_string(gateway.seen(gateway.home().state().join("audit.jsonl"))).expect("there");
    let last: Value = serde_json::from_str(audit.lines().last().expect("a record")).expect("JSON");
    assert_eq!(last["code"], *code, "{last}");
}

/// Nothing is left behind, the next call works, and the audit is sound.
pub(super) fn works(gateway: &impl Gateway) {
    let next = gateway.home().file("next", b"the next call");
    let ran =
        gateway.call(&["attachment_save", "index=0", "path=/tmp/next", "overwrite=true", "--attach", &next]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read(gateway.host("/tmp/next")).expect("saved"), b"the next call");
    let left = leftovers(gateway);
    assert!(left.is_empty(), "left behind: {left:?}");
    let report = verified(gateway);
    assert_eq!((&report["intents_open"], &report["torn"]), (&Value::from(0), &Value::Null), "{report}");
}

/// Whether every intent in the audit has its one outcome.
pub(super) fn is_audited(gateway: &impl Gateway) -> bool {
    let (mut intents, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    for record in gateway.home().audit() {
        match record["event"].as_str() {
            Some("intent") => assert!(intents.insert(record["seq"].as_u64())),
            _ if record["intent"].is_u64() => assert!(outcomes.insert(record["intent"].as_u64())),
            _ => {}
        }
    }
    intents == outcomes
}

/// Whether only the gateway itself makes such names.
fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".cofferdam-"))
}

/// What `audit verify` reports of a sound chain.
pub(super) fn verified(gateway: &impl Gateway) -> Value {
    let ran = gateway.run(&["audit", "verify", "--json"]);
    assert_eq!((ran.code, &ran.json()["ok"]), (Some(0), &Value::Bool(true)), "{ran:?}");
    ran.json()
}

/// A call of `attachment_save` for `path` with one file.
pub(super) fn save<'a>(path: &'a str, overwrite: &'a str, file: &'a str) -> [&'a str; 6] {
    ["attachment_save", "index=0", path, overwrite, "--attach", file]
}

/// The call succeeds, and the file behind `guest` has exactly these bytes.
pub(super) fn saves(gateway: &impl Gateway, guest: &str, overwrite: &str, bytes: &[u8]) {
    let file = gateway.home().file("sent", bytes);
    let ran = gateway.call(&save(&format!("path={guest}"), overwrite, &file));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(fs::read(gateway.host(guest)).expect("saved") == bytes, "other bytes are at {guest}");
}

/// A FIFO, socket or device.
pub(super) fn special(path: &Path, kind: FileType, device: Dev) {
    mknodat(CWD, path, kind, Mode::from_raw_mode(0o666), device).expect("the filesystem has such files");
}
