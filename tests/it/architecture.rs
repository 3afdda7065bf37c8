//! The architecture as a test, as far as cargo does not hold it: which crate's manifest may name
//! what, the arrows between the rooms of one crate, what the core may not touch, and the shape of
//! files.
//!
//! It reads manifests, lock files and sources as text, so it sees what is written and not what a
//! feature compiles. A violation is mended in the source, or the design is changed first.

mod alike;
mod claims;
mod codes;
mod limits;
mod names;
mod rooms;
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

    /// The crate and the room that the file belongs to: `agent::turn`. A crate's other files are
    /// rooms by their names.
    fn room(&self) -> String {
        let (krate, below) = self.path.split_once("/src/").expect("a file of a crate");
        let krate = krate.strip_prefix("host/").unwrap_or("cofferdam");
        let room = below.split('/').next().unwrap_or(below).trim_end_matches(".rs");
        format!("{krate}::{room}")
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

/// The crates of the gateway's process alone.
const CRATES: [&str; 15] = [
    "host/core/src",
    "host/policy/src",
    "host/warden/src",
    "host/store/src",
    "host/agent/src",
    "host/chat/src",
    "host/discord/src",
    "host/egress/src",
    "host/mcp/src",
    "host/oci/src",
    "host/telegram/src",
    "host/review/src",
    "host/s3/src",
    "host/workflow/src",
    "host/src",
];

/// Every crate of the product.
fn crates() -> impl Iterator<Item = &'static str> {
    CRATES.into_iter().chain(["host/confine/src", "host/ipc/src", "host/worker/src"])
}

/// The manifests of the product's crates, that of the workspace first.
fn manifests() -> Vec<String> {
    let below = fs::read_dir(root().join("host")).expect("there");
    let below = below.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"));
    let below = below.map(|name| format!("host/{name}/Cargo.toml"));
    let here = ["Cargo.toml", "host/Cargo.toml"].map(str::to_owned);
    here.into_iter().chain(below).filter(|path| root().join(path).is_file()).collect()
}

/// The packages that a manifest names: for every target, for builds and tests too, and for its
/// workspace.
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

/// Cargo refuses what a manifest does not name, so this is the list of what each manifest may: the
/// crates below, and what one crate alone is for.
#[test]
fn each_crate_names_those_below_it() {
    let arrows: [(&str, &[&str]); 17] = [
        ("core", &[]),
        ("policy", &["core"]),
        ("confine", &[]),
        ("ipc", &["core", "confine"]),
        ("worker", &["core", "confine", "ipc"]),
        ("warden", &["core", "policy", "confine", "ipc", "checks", "tests"]),
        ("review", &["core", "policy", "warden"]),
        ("workflow", &["core"]),
        ("egress", &["core", "checks"]),
        // Of the tests the server that they start.
        ("store", &["core", "postgres"]),
        // What is trusted over TLS is the same for all; its tests confine a process.
        ("agent", &["core", "egress", "policy", "warden", "store", "confine", "tests"]),
        ("chat", &["core", "policy", "warden", "store", "agent"]),
        // A client of it is no channel: it makes calls, and nobody is answered.
        ("mcp", &["core", "policy", "warden", "agent", "checks"]),
        // A registry is a server that the operator names; where it refers to is not.
        ("oci", &["core", "egress", "agent"]),
        // The server is the operator's to name; what is held there is the warden's.
        ("s3", &["core", "agent", "warden"]),
        ("discord", &["core", "warden", "store", "agent", "chat", "checks"]),
        ("telegram", &["core", "warden", "store", "agent", "chat", "checks"]),
    ];
    let mut found = 0;
    for manifest in manifests() {
        let Some((_, below)) = arrows.iter().find(|(name, _)| manifest == format!("host/{name}/Cargo.toml"))
        else {
            assert!(
                ["Cargo.toml", "host/Cargo.toml"].contains(&&*manifest),
                "{manifest}: draw its arrows first"
            );
            continue;
        };
        found += 1;
        for package in dependencies(&manifest) {
            let ours = package.strip_prefix("cofferdam").map(|name| name.trim_start_matches('-'));
            assert!(ours.is_none_or(|name| below.contains(&name)), "{manifest} names {package}");
        }
    }
    assert_eq!(found, arrows.len(), "a crate is gone, and this test sees nothing");
}

#[test]
fn what_one_crate_is_for_no_other_names() {
    let alone: [(&str, &[&str]); 15] = [
        ("rusqlite", &["host/store/Cargo.toml"]),
        ("tokio-postgres", &["host/store/Cargo.toml"]),
        ("deadpool-postgres", &["host/store/Cargo.toml"]),
        ("teloxide-core", &["host/telegram/Cargo.toml"]),
        ("tokio-tungstenite", &["host/discord/Cargo.toml"]),
        (
            "reqwest",
            &[
                "host/agent/Cargo.toml",
                "host/discord/Cargo.toml",
                "host/egress/Cargo.toml",
                "host/oci/Cargo.toml",
                "host/s3/Cargo.toml",
                "host/telegram/Cargo.toml",
            ],
        ),
        ("object_store", &["host/s3/Cargo.toml"]),
        ("httparse", &["host/Cargo.toml"]),
        ("clap", &["host/Cargo.toml"]),
        ("pulldown-cmark", &["host/chat/Cargo.toml"]),
        ("saphyr-parser", &["host/workflow/Cargo.toml"]),
        ("hyper", &["host/mcp/Cargo.toml"]),
        ("rmcp", &["host/mcp/Cargo.toml"]),
        ("rustls", &["host/store/Cargo.toml"]),
        ("ureq", &[]),
    ];
    for manifest in manifests().iter().filter(|manifest| *manifest != "Cargo.toml") {
        let named = dependencies(manifest);
        for (package, crates) in alone {
            let may = crates.contains(&manifest.as_str());
            assert_eq!(named.contains(package), may, "{manifest}: {package} is for {crates:?}");
        }
    }
}

/// The trusted core is handed everything: no configuration is within its reach.
#[test]
fn the_warden_reads_no_configuration() {
    let named = dependencies("host/warden/Cargo.toml");
    assert!(named.contains("cofferdam-policy") && !named.contains("toml"), "{named:?}");
}

/// Sockets are the standard library's and the runtime's, which no manifest keeps away.
#[test]
fn only_edges_open_sockets() {
    let edges = [
        "agent::llm",
        "agent::server",
        "agent::voice",
        "discord::",
        "egress::",
        "mcp::http",
        "oci::challenge",
        "oci::client",
        "s3::connector",
        "telegram::",
        "cofferdam::monitor",
    ];
    for source in CRATES.into_iter().filter(|folder| *folder != "host/warden/src").flat_map(sources) {
        if edges.iter().any(|edge| source.room().starts_with(edge)) {
            continue;
        }
        for word in ["reqwest", "TcpStream", "TcpListener", "UdpSocket"] {
            assert!(
                !source.names(word),
                "{}: only edges speak to the network, and this names {word}",
                source.path
            );
        }
    }
    assert!(
        sources("host/telegram/src").iter().any(|source| source.names("reqwest")),
        "the test looks in vain"
    );
}

#[test]
fn the_core_is_pure() {
    // A new dependency is looked at first: does it bring a runtime, the network or the disk?
    // `regex-automata` builds tables from patterns and searches texts, in memory alone.
    let known = [
        "base64",
        "cofferdam-core",
        // Of it patterns alone, which are matched in memory; a test holds the sources to that.
        "glob",
        "hex",
        "regex-automata",
        "saphyr-parser",
        "serde",
        "serde_bytes",
        "serde_json",
        "sha2",
        "thiserror",
        "toml",
        "url",
    ];
    for name in ["core", "policy", "workflow"] {
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
    assert!(dependencies.contains(&"serde_json"), "{dependencies:?}");
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
            "glob::glob",
            "tokio",
        ] {
            assert!(!code.contains(touched), "{}: the core names {touched}", source.path);
        }
        for fact in ["SystemTime", "Instant", "unsafe", "println", "eprintln"] {
            assert!(!source.names(fact), "{}: the core names {fact}", source.path);
        }
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
    for source in CRATES.into_iter().flat_map(sources) {
        let code = source.code();
        for forbidden in ["Clone for Permit", "Default for Permit", "From<JudgedCall> for Permit"] {
            assert!(!code.contains(forbidden), "{}: {forbidden}", source.path);
        }
        assert!(!(code.contains("Deserialize<") && code.contains("for Permit")), "{}", source.path);
        // The end of a longer name is none.
        let whole = |(at, _): &(usize, &str)| !code[..*at].ends_with(|c: char| c.is_alphanumeric());
        let built = code.match_indices("Permit {").filter(whole).count();
        let declared = ["struct Permit {", "impl Permit {", "-> Permit {", "&Permit {"];
        let declared: usize = declared.iter().map(|text| code.matches(text).count()).sum();
        let expected = usize::from(source.path.ends_with("policy/src/judge.rs"));
        assert_eq!(built - declared, expected, "{}: a permit is built in judge.rs, once", source.path);
    }
}
