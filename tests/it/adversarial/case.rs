//! What a table says: cases, and the ways in which each is tried.
//!
//! A case with a `path` tries every file tool on it. Any other names a `tool` and its arguments.

use super::things::Thing;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) case: Vec<Case>,
}

/// One case. In every text `${outside}` is a folder of the host beside the workspace, and `${ab*3}`
/// is `ababab`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// Which gateway; see `home` in `adversarial.rs`. Absent: one with the default policies.
    pub(super) gateway: Option<String>,
    #[serde(default)]
    pub(super) needs_root: bool,
    /// What lies in the workspace before.
    #[serde(default)]
    pub(super) prepare: Vec<Thing>,
    /// A refused call may have changed something here.
    #[serde(default)]
    pub(super) changes: bool,
    /// Nothing in the workspace changes, whatever is answered.
    #[serde(default)]
    pub(super) unchanged: bool,

    /// Tried with every file tool.
    path: Option<String>,
    /// The code of every way, or of those that only read, that make the path, that need it to be
    /// there.
    every: Option<Codes>,
    reads: Option<Codes>,
    creates: Option<Codes>,
    alters: Option<Codes>,
    /// The code of single ways, by name.
    #[serde(default)]
    but: BTreeMap<String, Codes>,

    tool: Option<String>,
    /// Arguments as a table, or their text as it is, or a file of that text.
    arguments: Option<Value>,
    text: Option<String>,
    /// Bytes in hex after the text, which is then given in a file.
    hex: Option<String>,
    /// Given in a file, because it is long.
    #[serde(default)]
    in_file: bool,
    /// `ok`, or the code of the error; `usage` when the program refuses before there is a call.
    expect: Option<Codes>,
    /// Parts of what is said.
    #[serde(default)]
    says: Vec<String>,
    /// Members of the result.
    #[serde(default)]
    result: Map<String, Value>,
    /// What files hold afterwards; `-` for none.
    #[serde(default)]
    then: BTreeMap<String, String>,
}

/// One code, or several of which any is right.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Codes {
    One(String),
    Any(Vec<String>),
}

/// How a call is made.
#[derive(Clone, Debug)]
pub(super) enum Arguments {
    /// JSON text in a line of the terminal.
    Line(String),
    /// In a file of a program of its own.
    File(String, Vec<u8>),
}

/// One call, and what is expected of it.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    pub(super) expect: Vec<String>,
    pub(super) says: Vec<String>,
    pub(super) result: Map<String, Value>,
    pub(super) then: BTreeMap<String, String>,
}

/// What a way does to the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reads,
    Creates,
    Alters,
}

/// Every way in which a file tool is given a path.
fn ways_to(path: &str) -> Vec<(&'static str, &'static str, Kind, Value)> {
    use Kind::{Alters, Creates, Reads};
    let source = "/tmp/source";
    vec![
        ("read", "file_read", Reads, json!({ "path": path })),
        ("list", "file_list", Reads, json!({ "path": path, "recursive": true })),
        ("search", "file_search", Reads, json!({ "path": path, "pattern": "CANARY" })),
        ("info", "file_info", Reads, json!({ "path": path })),
        ("copy_from", "file_copy", Reads, json!({ "from": path, "to": "/tmp/copied" })),
        ("attach", "attachment_add", Reads, json!({ "path": path })),
        ("write", "file_write", Creates, json!({ "path": path, "content": "new", "overwrite": true })),
        ("append", "file_write", Creates, json!({ "path": path, "content": "new", "append": true })),
        (
            "write_bytes",
            "file_write_bytes",
            Creates,
            json!({ "path": path, "content_base64": "bmV3", "overwrite": true }),
        ),
        ("copy_to", "file_copy", Creates, json!({ "from": source, "to": path, "overwrite": true })),
        ("move_to", "file_move", Creates, json!({ "from": source, "to": path, "overwrite": true })),
        ("save", "attachment_save", Creates, json!({ "index": 0, "path": path, "overwrite": true })),
        (
            "edit",
            "file_edit",
            Alters,
            json!({ "path": path, "edits": [{ "old_text": "old", "new_text": "new" }] }),
        ),
        ("move_from", "file_move", Alters, json!({ "from": path, "to": "/tmp/moved" })),
        ("delete", "file_delete", Alters, json!({ "path": path, "recursive": true })),
    ]
}

impl Case {
    /// The calls of this case.
    pub(super) fn ways(&self) -> Vec<Way> {
        match (&self.path, &self.tool) {
            (Some(path), None) => self.ways_to(path),
            (None, Some(tool)) => vec![self.way(tool)],
            _ => panic!("{}: a case has either a path or a tool", self.name),
        }
    }

    fn ways_to(&self, path: &str) -> Vec<Way> {
        let ways = ways_to(path);
        for name in self.but.keys() {
            assert!(ways.iter().any(|(way, ..)| way == name), "{}: there is no way {name:?}", self.name);
        }
        let expected = |name: &str, kind: Kind| {
            let group = match kind {
                Kind::Reads => &self.reads,
                Kind::Creates => &self.creates,
                Kind::Alters => &self.alters,
            };
            let codes = self.but.get(name).or(group.as_ref()).or(self.every.as_ref());
            codes.unwrap_or_else(|| panic!("{}: nothing is expected of {name}", self.name)).all()
        };
        let way = |(name, tool, kind, arguments): (&str, &str, Kind, Value)| Way {
            name: name.to_owned(),
            tool: tool.to_owned(),
            arguments: Arguments::Line(arguments.to_string()),
            expect: expected(name, kind),
            says: self.says.clone(),
            result: Map::new(),
            then: self.then.clone(),
        };
        ways.into_iter().map(way).collect()
    }

    fn way(&self, tool: &str) -> Way {
        let text = match (&self.arguments, &self.text) {
            (Some(arguments), None) => arguments.to_string(),
            (None, Some(text)) => text.clone(),
            (None, None) if self.hex.is_some() => String::new(),
            _ => panic!("{}: either arguments or their text", self.name),
        };
        let arguments = match (&self.hex, self.in_file) {
            (Some(hex), _) => Arguments::File(text, hex::decode(hex).expect("hex")),
            (None, true) => Arguments::File(text, Vec::new()),
            (None, false) => Arguments::Line(text),
        };
        Way {
            name: tool.to_owned(),
            tool: tool.to_owned(),
            arguments,
            expect: self
                .expect
                .as_ref()
                .unwrap_or_else(|| panic!("{}: nothing is expected", self.name))
                .all(),
            says: self.says.clone(),
            result: self.result.clone(),
            then: self.then.clone(),
        }
    }
}

impl Codes {
    fn all(&self) -> Vec<String> {
        match self {
            Self::One(code) => vec![code.clone()],
            Self::Any(codes) => codes.clone(),
        }
    }
}
