//! The architecture as a test: what each crate may depend on, the arrows between the rooms of the gateway, what the core
//! may not touch, and the shape of files.
//!
//! It reads manifests, lock files and sources as text, so it sees what is written and not what a feature compiles. A
//! violation is mended in the source, or the design is changed first.

mod alike;
mod claims;
mod limits;
mod shape;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file of the repository.
struct Source {
    /// Relative to the repository.
    path: String,
    text: String,
}

impl Source {
    /// The text without comments, so that a word in an explanation is no use of it.
    fn code(&self) -> String {
        self.text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The room of the gateway or of the warden that the file belongs to.
    fn room(&self) -> &str {
        let below =
            ["host/src/", "host/warden/src/"].iter().find_map(|crates| self.path.strip_prefix(crates));
        let below = below.expect("a file of the gateway or of the warden");
        below.split('/').next().unwrap_or(below).trim_end_matches(".rs")
    }

    /// Whether the code names `word` as a whole identifier.
    fn names(&self, word: &str) -> bool {
        let code = self.code();
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        code.match_indices(word).any(|(at, _)| {
            !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next())
        })
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository").to_owned()
}

/// Every Rust source below a folder of the repository, generated ones apart.
fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut dirs = vec![root().join(folder)];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    dirs.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let path = path.strip_prefix(root()).expect("below").to_str().expect("UTF-8").to_owned();
                found.push(Source { path, text });
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The rooms that `code` imports: the first name after `crate::`, each one of `crate::{…}`.
fn imports(code: &str) -> BTreeSet<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(name(rest));
            continue;
        };
        let (mut depth, mut start) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start = true,
                c if start && !c.is_whitespace() => {
                    found.insert(name(&group[at..]));
                    start = false;
                }
                _ => {}
            }
        }
    }
    found.remove("");
    found
}

const EDGES: &[&str] = &["channels", "llm", "monitor"];
const SERVICES: &[&str] = &["answering", "turn", "tools", "outbound"];
const MECHANISMS: &[&str] = &["store", "bus", "log"];

/// What a room may import, besides itself.
fn allowed(room: &str) -> Vec<&'static str> {
    let below_edges = || [SERVICES, MECHANISMS].concat();
    match room {
        "main" => vec!["cli"],
        "cli" => [&["gateway", "config"], EDGES, &below_edges()].concat(),
        "gateway" => [&["config"], EDGES, &below_edges()].concat(),
        // Each room owns its `Config`; loading them all is one place.
        "config" => [EDGES, &below_edges()].concat(),
        "channels" | "llm" | "monitor" => below_edges(),
        // The way of a message: its turn, then its reply.
        "answering" => [&["turn", "outbound"], MECHANISMS].concat(),
        // The path of a call: a turn asks for tools.
        "turn" => [&["tools"], MECHANISMS].concat(),
        "tools" | "outbound" => MECHANISMS.to_vec(),
        "store" | "bus" | "log" => Vec::new(),
        "lib" => Vec::new(),
        other => panic!("{other} is a room that the design does not know; draw its arrows first"),
    }
}

#[test]
fn imports_are_found_however_they_are_written() {
    let found = |code: &str| imports(code).into_iter().collect::<Vec<_>>();
    assert_eq!(found("use crate::a::{b, c};\nlet x = crate::d::e();"), ["a", "d"]);
    assert_eq!(found("use crate::{a, b::{c, d}, e::f as g,\n h};"), ["a", "b", "e", "h"]);
    assert_eq!(found("pub(in crate::a) fn x() {} use $crate::no; mycrate::no; use super::no;"), ["a"]);
    assert_eq!(found("pub(crate) fn x() {}"), [""; 0]);
}

#[test]
fn rooms_import_only_along_the_arrows() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for source in sources("host/src") {
        let room = source.room();
        seen.insert(room.to_owned());
        let allowed = allowed(room);
        // They play a provider and its tools.
        let plays = |import: &str| source.path.starts_with("host/src/answering/tests/") && import == "tools";
        for import in imports(&source.code()) {
            if import != room && !allowed.contains(&import.as_str()) && !plays(&import) {
                wrong.push(format!("{} imports crate::{import}", source.path));
            }
        }
        // The way around: `super::` up to the crate's root.
        let rooms = [EDGES, SERVICES, MECHANISMS, &["gateway", "config", "cli"]].concat();
        let ups = if source.path.ends_with("/mod.rs") { 1 } else { source.path.matches('/').count() - 1 };
        for other in rooms.iter().filter(|other| **other != room && !allowed.contains(other)) {
            if source.code().contains(&format!("{}{other}::", "super::".repeat(ups))) {
                wrong.push(format!("{} reaches {other} through super::", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for room in ["cli", "gateway", "channels", "answering", "turn", "store"] {
        assert!(seen.contains(room), "{room} is gone, and this test sees nothing");
    }
}

/// The manifests of the product's crates, that of the workspace first.
fn manifests() -> Vec<String> {
    let below = fs::read_dir(root().join("host")).expect("there");
    let below = below.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"));
    let below = below.map(|name| format!("host/{name}/Cargo.toml"));
    let here = ["Cargo.toml", "host/Cargo.toml"].map(str::to_owned);
    here.into_iter().chain(below).filter(|path| root().join(path).is_file()).collect()
}

/// The packages that a manifest names: for every target, for builds and tests too, and for its workspace.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap_or_else(|e| panic!("{manifest}: {e}"));
    let whole: toml::Table = toml::from_str(&text).unwrap_or_else(|e| panic!("{manifest}: {e}"));
    let (mut found, mut tables) = (BTreeSet::new(), vec![whole]);
    while let Some(table) = tables.pop() {
        for (key, value) in table {
            let toml::Value::Table(inner) = value else { continue };
            if key.ends_with("dependencies") {
                for (name, wanted) in inner {
                    let package = wanted.get("package").and_then(toml::Value::as_str);
                    found.insert(package.map_or(name.clone(), str::to_owned));
                }
            } else {
                tables.push(inner);
            }
        }
    }
    found
}

/// The packages of a lock file: what its manifest names, and what those bring.
fn locked(lock: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(lock)).unwrap_or_else(|e| panic!("{lock}: {e}"));
    let names = text.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    names.map(str::to_owned).collect()
}

/// Whether a package is wasmtime, or made for it.
fn runs_guests(package: &str) -> bool {
    ["wasmtime", "cranelift"].iter().any(|engine| package.starts_with(engine))
}

#[test]
fn wasmtime_is_in_the_worker_alone() {
    let manifests = manifests();
    assert!(manifests.len() > 5, "{manifests:?}");
    for manifest in manifests {
        let names = dependencies(&manifest).iter().any(|package| runs_guests(package));
        let may = manifest == "host/worker/Cargo.toml";
        assert_eq!(names, may, "{manifest}: only the worker names wasmtime");
    }
    assert!(!locked("Cargo.lock").iter().any(|package| runs_guests(package)), "the gateway links wasmtime");
    assert!(locked("host/worker/Cargo.lock").contains("wasmtime"), "the test looks in vain");
}

#[test]
fn the_worker_speaks_to_its_gateway_alone() {
    let worker = locked("host/worker/Cargo.lock");
    for package in [
        "cofferdam",
        "hyper",
        "libsqlite3-sys",
        "native-tls",
        "openssl",
        "reqwest",
        "ring",
        "rusqlite",
        "rustls",
        "teloxide-core",
        "ureq",
    ] {
        assert!(!worker.contains(package), "the worker links {package}");
    }
    assert!(locked("Cargo.lock").contains("reqwest"), "the test looks in vain");
}

#[test]
fn what_both_processes_share_has_neither_runtime_nor_network() {
    for manifest in ["core", "policy", "confine", "ipc"].map(|name| format!("host/{name}/Cargo.toml")) {
        let manifest = manifest.as_str();
        let named = dependencies(manifest);
        assert!(named.contains("serde"), "{manifest}: {named:?}");
        for package in ["tokio", "reqwest", "hyper", "teloxide-core", "rusqlite", "cofferdam"] {
            assert!(!named.contains(package), "{manifest} depends on {package}");
        }
    }
}

/// The trusted core is handed everything: no channel, no model, no network and no configuration is within its reach.
#[test]
fn the_warden_knows_nobody_above_it() {
    let named = dependencies("host/warden/Cargo.toml");
    assert!(named.contains("cofferdam-policy"), "{named:?}");
    for package in ["cofferdam", "reqwest", "hyper", "teloxide-core", "rusqlite", "clap", "toml"] {
        assert!(!named.contains(package), "host/warden depends on {package}");
    }
}

#[test]
fn only_edges_speak_http() {
    for source in sources("host/src").iter().filter(|source| !EDGES.contains(&source.room())) {
        for word in
            ["reqwest", "teloxide_core", "teloxide", "hyper", "ureq", "TcpStream", "TcpListener", "UdpSocket"]
        {
            assert!(
                !source.names(word),
                "{}: only edges speak to the network, and this names {word}",
                source.path
            );
        }
    }
    assert!(
        sources("host/src/channels").iter().any(|source| source.names("reqwest")),
        "the test looks in vain"
    );
}

#[test]
fn the_core_is_pure() {
    // A new dependency is looked at first: does it bring a runtime, the network or the disk?
    // `regex-automata` builds tables from patterns and searches texts, in memory alone.
    let known = [
        "cofferdam-core",
        "hex",
        "regex-automata",
        "serde",
        "serde_bytes",
        "serde_json",
        "sha2",
        "thiserror",
        "toml",
    ];
    for name in ["core", "policy"] {
        is_pure(name, &known);
    }
}

fn is_pure(name: &str, known: &[&str]) {
    let manifest = fs::read_to_string(root().join(format!("host/{name}/Cargo.toml"))).expect("there");
    let (_, rest) = manifest.split_once("[dependencies]\n").expect("a section");
    let dependencies: Vec<_> = rest
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(dependencies.contains(&"serde"), "{dependencies:?}");
    for dependency in dependencies {
        assert!(known.contains(&dependency), "host/{name} depends on {dependency}; is it free of I/O?");
    }
    assert!(!manifest.contains("build =") && !manifest.contains("[build-dependencies]"));
    for source in sources(&format!("host/{name}/src")) {
        let code = source.code();
        for touched in [
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::os",
            "std::thread",
            "std::io::",
            "tokio",
        ] {
            assert!(!code.contains(touched), "{}: the core names {touched}", source.path);
        }
        for fact in ["SystemTime", "Instant", "unsafe", "println", "eprintln"] {
            assert!(!source.names(fact), "{}: the core names {fact}", source.path);
        }
        assert!(imports(&code).iter().all(|module| module != "main"));
    }
}

#[test]
fn a_permit_comes_from_the_judge_alone() {
    let judge = fs::read_to_string(root().join("host/policy/src/judge.rs")).expect("there");
    let (before, after) = judge.split_once("pub struct Permit {").expect("the struct");
    let attributes: Vec<_> = before.lines().rev().take_while(|line| line.starts_with(['#', '/'])).collect();
    assert!(
        attributes.contains(&"#[derive(Debug)]"),
        "a permit derives Debug and nothing else: {attributes:?}"
    );
    let fields = after.split('}').next().expect("fields");
    assert!(!fields.contains("pub"), "its fields are its own: {fields}");
    for source in
        ["host/core/src", "host/policy/src", "host/warden/src", "host/src"].into_iter().flat_map(sources)
    {
        let code = source.code();
        for forbidden in ["Clone for Permit", "Default for Permit", "From<Call> for Permit"] {
            assert!(!code.contains(forbidden), "{}: {forbidden}", source.path);
        }
        assert!(!(code.contains("Deserialize<") && code.contains("for Permit")), "{}", source.path);
        let built = code.matches("Permit {").count();
        let declared = ["struct Permit {", "impl Permit {", "-> Permit {", "&Permit {"];
        let declared: usize = declared.iter().map(|text| code.matches(text).count()).sum();
        let expected = usize::from(source.path.ends_with("policy/src/judge.rs"));
        assert_eq!(built - declared, expected, "{}: a permit is built in judge.rs, once", source.path);
    }
}
