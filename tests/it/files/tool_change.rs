//! One change by each changing tool, for tests that stop it at every step: the files before it and after
//! it, and nothing in between.

use super::check::{home, with_folders};
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
}

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
        ("download", "attachment_download", json!({ "downloadDir": "/shared/n" }), FILE),
        ("save", "attachment_save", json!({ "index": 0, "path": "/shared/a", "overwrite": true }), FILE),
    ];
    let found = all.into_iter().find(|(this, ..)| *this == name).expect("a change has this name");
    let (name, tool, arguments, before) = found;
    Change { name, tool, arguments, before }
}

impl Change {
    /// A gateway in the state before.
    pub(super) fn home(&self) -> Home {
        self.prepared(home())
    }

    /// The same for one that was configured first.
    pub(super) fn prepared(&self, home: Home) -> Home {
        let home = with_folders(home);
        self.put(&home);
        home
    }

    fn put(&self, home: &Home) {
        for (path, text) in self.before {
            let path = home.host(path);
            fs::create_dir_all(path.parent().expect("below a mount")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        if self.before == FOLDER {
            symlink("../kept", home.host("/shared/d/link")).expect("writable");
        }
    }

    /// Brings a gateway back to the state before.
    pub(super) fn again(&self, home: &Home) {
        for mount in ["/shared", "/tmp"] {
            fs::remove_dir_all(home.host(mount)).expect("ours");
            fs::create_dir(home.host(mount)).expect("ours");
        }
        self.put(home);
    }

    /// The call.
    pub(super) fn call(&self, home: &Home) -> Call {
        Call { tool: self.tool, arguments: self.arguments.clone(), attached: home.file("sent", b"sent") }
    }
}

/// The files there are, but for those of the gateway itself and of the next call.
pub(super) fn files(home: &Home) -> Files {
    let mut found = Files::new();
    for mount in ["shared", "tmp"] {
        collect(&home.workspace(), Path::new(mount), &mut found);
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
