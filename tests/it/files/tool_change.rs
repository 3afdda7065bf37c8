//! One change by each changing tool, for tests that stop it at every step: the files before it and
//! after it, and nothing in between.

use super::check::{Gateway, with_folders};
use super::namespace::{self, Namespace};
use super::paused::Call;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::home::Home;

/// Every file of the workspace by its path, with what it holds; a link with where it leads.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A call that changes something, and what lies there before.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    before: &'static [(&'static str, &'static str)],
    /// What comes with it.
    attached: &'static [&'static str],
    /// Run among the mounts.
    mounts: Option<&'static str>,
}

/// `/tmp` is another filesystem.
const ACROSS: &str = "mount -t tmpfs none workspace/tmp";

const FILE: &[(&str, &str)] = &[("/shared/a", "the old content\n")];
const TWO: &[(&str, &str)] = &[("/shared/a", "the old content\n"), ("/tmp/b", "replaced")];
const FOLDER: &[(&str, &str)] =
    &[("/shared/d/a", "one"), ("/shared/d/b", "two"), ("/shared/d/e/c", "three"), ("/shared/kept", "kept")];

/// The change of a name.
pub(super) fn change(name: &str) -> Change {
    let all = [
        ("write", "file_write", json!({ "path": "/shared/a", "content": "new", "overwrite": true }), FILE),
        ("append", "file_write", json!({ "path": "/shared/a", "content": "more\n", "append": true }), FILE),
        ("write_bytes", "file_write_bytes", json!({ "path": "/shared/n/a", "content_base64": "bmV3" }), FILE),
        (
            "edit",
            "file_edit",
            json!({ "path": "/shared/a", "edits": [{ "old_text": "old", "new_text": "new" }] }),
            FILE,
        ),
        ("copy", "file_copy", json!({ "from": "/shared/a", "to": "/tmp/b", "overwrite": true }), TWO),
        ("move_file", "file_move", json!({ "from": "/shared/a", "to": "/tmp/b", "overwrite": true }), TWO),
        ("move_folder", "file_move", json!({ "from": "/shared/d", "to": "/tmp/n/d" }), FOLDER),
        ("delete_file", "file_delete", json!({ "path": "/shared/a" }), FILE),
        ("delete_folder", "file_delete", json!({ "path": "/shared/d", "recursive": true }), FOLDER),
        ("move_across", "file_move", json!({ "from": "/shared/a", "to": "/tmp/b", "overwrite": true }), TWO),
        ("download", "attachment_download", json!({ "downloadDir": "/shared/n" }), FILE),
        ("download_three", "attachment_download", json!({ "downloadDir": "/shared/n" }), FILE),
        ("save", "attachment_save", json!({ "index": 0, "path": "/shared/a", "overwrite": true }), FILE),
    ];
    let found = all.into_iter().find(|(this, ..)| *this == name).expect("a change has this name");
    let (name, tool, arguments, before) = found;
    let attached: &[_] = if name == "download_three" { &["one", "two", "three"] } else { &["sent"] };
    Change { name, tool, arguments, before, attached, mounts: (name == "move_across").then_some(ACROSS) }
}

impl Change {
    /// Whether the machine can do it.
    pub(super) fn is_possible(&self, test: &str) -> bool {
        self.mounts.is_none() || namespace::available(test)
    }

    /// A gateway in the state before.
    pub(super) fn gateway(&self) -> Box<dyn Gateway> {
        self.prepared(Home::new())
    }

    /// The same for one that was configured first.
    pub(super) fn prepared(&self, home: Home) -> Box<dyn Gateway> {
        let home = with_folders(home);
        let gateway: Box<dyn Gateway> = match self.mounts {
            None => Box::new(home),
            Some(mounts) => Box::new(Namespace::around(home, mounts)),
        };
        self.put(&gateway);
        gateway
    }

    fn put(&self, gateway: &impl Gateway) {
        for (path, text) in self.before {
            let path = gateway.host(path);
            fs::create_dir_all(path.parent().expect("below a mount")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        if self.before == FOLDER {
            symlink("../kept", gateway.host("/shared/d/link")).expect("writable");
        }
    }

    /// Brings a gateway, which may be running, back to the state before.
    pub(super) fn again(&self, gateway: &impl Gateway) {
        for mount in ["/shared", "/tmp"] {
            for entry in fs::read_dir(gateway.host(mount)).expect("there").flatten() {
                let is_dir = entry.file_type().expect("there").is_dir();
                let removed =
                    if is_dir { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
                removed.expect("ours");
            }
        }
        self.put(gateway);
    }

    /// The call.
    pub(super) fn call(&self, gateway: &impl Gateway) -> Call {
        let file = |holds: &&str| gateway.home().file(holds, holds.as_bytes());
        let attached = self.attached.iter().map(file).collect();
        Call { tool: self.tool, arguments: self.arguments.clone(), attached }
    }

    /// The same as a terminal takes it.
    pub(super) fn command(&self) -> String {
        format!("/{} {}", self.tool, self.arguments)
    }

    /// The states from before to after, one for each of these steps of the plan more.
    pub(super) fn stages(&self, old: &Files, new: &Files, steps: &[Value]) -> Vec<Files> {
        let mut stages = vec![old.clone()];
        for step in steps {
            let mut stage = stages.last().expect("one").clone();
            // What the step names is from then on as it is in the end.
            for name in ["path", "moved_from"].iter().filter_map(|key| step[key].as_str()) {
                let within =
                    |path: &str| path.strip_prefix(name).is_some_and(|r| r.is_empty() || r.starts_with('/'));
                stage.retain(|path, _| !within(path));
                stage.extend(
                    new.iter().filter(|(path, _)| within(path)).map(|(p, holds)| (p.clone(), holds.clone())),
                );
            }
            stages.push(stage);
        }
        assert_eq!(stages.last(), Some(new), "{}: the steps do not tell of everything", self.name);
        stages
    }
}

/// The files there are, but for those of the gateway itself and of the next call.
pub(super) fn files(gateway: &impl Gateway) -> Files {
    let mut found = Files::new();
    for mount in ["shared", "tmp"] {
        collect(&gateway.host("/"), Path::new(mount), &mut found);
    }
    found.remove("/tmp/next");
    found
}

fn collect(root: &Path, below: &Path, found: &mut Files) {
    for entry in fs::read_dir(root.join(below)).expect("there").flatten() {
        let (path, kind) = (below.join(entry.file_name()), entry.file_type().expect("there"));
        if entry.file_name().to_string_lossy().starts_with(".cofferdam-") {
            continue;
        }
        let holds = if kind.is_dir() {
            collect(root, &path, found);
            continue;
        } else if kind.is_symlink() {
            fs::read_link(root.join(&path)).expect("a link").into_os_string().into_encoded_bytes()
        } else {
            fs::read(root.join(&path)).expect("readable")
        };
        found.insert(format!("/{}", path.display()), holds);
    }
}
