//! What a component's bytes say that it imports and exports, read without compiling or running it.
//!
//! Tells which imports go beyond what every guest is given, and what in a profile would grant them.
//! It decides nothing: the linker refuses by itself what is not granted.

use cofferdam_core::capability::{Grants, Interface};
use cofferdam_core::text::one_line;
use serde::Deserialize;
use serde::de::value::{Error as Unknown, StrDeserializer};
use std::fmt;
use wasmparser::{Encoding, Parser, Payload};

/// Imports and exports of one component that are looked at; more than any tool could have.
pub const INTERFACES_MAX: usize = 1000;

/// The contract's package, whose 0.1.x are compatible.
const CONTRACT: (&str, &str) = ("cofferdam:tool/", "0.1.");
/// Linked for every guest: values, and a word to whoever waits. Neither reaches anything.
const ALWAYS: &[&str] = &["types", "progress"];
/// Follows from a mount that may be written; see [`Interface`].
const WORKSPACE_WRITE: &str = "workspace-write";
/// What of WASI 0.2 is linked for every guest.
const WASI: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("clocks", &["monotonic-clock", "wall-clock"]),
    ("filesystem", &["preopens", "types"]),
    ("io", &["error", "poll", "streams"]),
    ("random", &["insecure", "insecure-seed", "random"]),
    (
        "sockets",
        &[
            "instance-network",
            "ip-name-lookup",
            "network",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
        ],
    ),
];

/// What of `wasi:http` a network is linked as.
const HTTP: &[&str] = &["outgoing-handler", "types"];

/// Why bytes are not a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAComponent {
    /// Nothing is there.
    #[error("the file is empty; build the tool with: cargo build --release --target wasm32-wasip2")]
    Empty,
    /// No WebAssembly at all.
    #[error("this is not WebAssembly: {0}; give the .wasm file that cargo built for wasm32-wasip2")]
    NoWasm(String),
    /// A core module, as older targets make.
    #[error(
        "this is a core WebAssembly module, not a component; build the tool with: cargo build --release --target \
         wasm32-wasip2"
    )]
    CoreModule,
    /// More than anybody reads.
    #[error("it imports or exports more than {INTERFACES_MAX} things")]
    TooMany,
}

/// The names at a component's outside, as it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// What it wants from its host, e.g. `wasi:io/streams@0.2.6`.
    pub imports: Vec<String>,
    /// What it offers, e.g. `cofferdam:tool/tool@0.1.0`.
    pub exports: Vec<String>,
}

/// An import beyond the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name as the component gives it.
    pub name: String,
    /// What grants it.
    pub needs: Needs,
}

/// What would have to stand in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The interface, in `interfaces`.
    Interface(Interface),
    /// A mount with `access = "atomic-write"`.
    WritableMount,
    /// A network.
    Network,
    /// Nothing does: the host does not know it.
    Unknown,
}

impl Needs {
    /// Whether these grants have it.
    pub fn granted_by(self, grants: &Grants) -> bool {
        match self {
            Self::Interface(interface) => grants.allows(interface),
            Self::WritableMount => grants.may_write(),
            Self::Network => grants.network.is_some(),
            Self::Unknown => false,
        }
    }
}

/// The line of a profile, or the advice where no line helps.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(interface) => {
                let name = serde_json::to_string(interface).map_err(|_| fmt::Error)?;
                write!(f, "interfaces = [{name}]")
            }
            Self::WritableMount => {
                f.write_str(r#"mounts = [ { guest = "/shared", access = "atomic-write" } ]"#)
            }
            Self::Network => {
                f.write_str(r#"network = { hosts = ["example.com"], methods = ["GET"], bytes = "10 MiB" }"#)
            }
            Self::Unknown => f.write_str("no profile can grant it; build the tool without it"),
        }
    }
}

/// What these bytes import and export at their outside. Reads the sections' headers; what lies
/// within them is checked when the component is compiled.
///
/// # Errors
/// [`NotAComponent`] where the bytes are none.
pub fn interfaces(bytes: &[u8]) -> Result<Interfaces, NotAComponent> {
    if bytes.is_empty() {
        return Err(NotAComponent::Empty);
    }
    let no_wasm = |e: wasmparser::BinaryReaderError| NotAComponent::NoWasm(one_line(e.message(), 200));
    let mut found = Interfaces::default();
    // Modules and components lie within components; only the outermost one's names are its own.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(no_wasm)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(NotAComponent::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    push(&mut found.imports, import.map_err(no_wasm)?.name.name)?;
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    push(&mut found.exports, export.map_err(no_wasm)?.name.name)?;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn push(names: &mut Vec<String>, name: &str) -> Result<(), NotAComponent> {
    if names.len() == INTERFACES_MAX {
        return Err(NotAComponent::TooMany);
    }
    names.push(one_line(name, 200));
    Ok(())
}

impl Interfaces {
    /// The imports that not every guest is given, in the component's order.
    pub fn beyond_baseline(&self) -> Vec<Import> {
        let import = |name: &String| needs(name).map(|needs| Import { name: name.clone(), needs });
        self.imports.iter().filter_map(import).collect()
    }
}

/// What an import needs; none for the baseline.
pub fn needs(name: &str) -> Option<Needs> {
    let Some((path, version)) = name.split_once('@') else { return Some(Needs::Unknown) };
    if let Some(interface) = path.strip_prefix(CONTRACT.0).filter(|_| version.starts_with(CONTRACT.1)) {
        let named = Interface::deserialize(StrDeserializer::<Unknown>::new(interface));
        return match (interface, named) {
            (always, _) if ALWAYS.contains(&always) => None,
            (WORKSPACE_WRITE, _) => Some(Needs::WritableMount),
            (_, Ok(interface)) => Some(Needs::Interface(interface)),
            (_, Err(_)) => Some(Needs::Unknown),
        };
    }
    let wasi = path.strip_prefix("wasi:").and_then(|path| path.split_once('/'));
    let linked = wasi.is_some_and(|(package, interface)| {
        WASI.iter().any(|(name, interfaces)| *name == package && interfaces.contains(&interface))
    });
    let http = wasi.is_some_and(|(package, interface)| package == "http" && HTTP.contains(&interface));
    if http && version.starts_with("0.2.") && !version.contains('-') {
        return Some(Needs::Network);
    }
    if linked && version.starts_with("0.2.") && !version.contains('-') { None } else { Some(Needs::Unknown) }
}

#[cfg(test)]
mod tests;
