//! Which imports of a component go beyond what every guest is given, and what in a profile grants
//! them, told by their names.
//!
//! The worker links by it and the gateway reports by it, so both say the same. It decides nothing:
//! what a guest asks for is answered from its permit.

use crate::capability::{Grants, Interface};
use std::fmt;

/// The contract's package, whose 0.1.x are compatible.
const CONTRACT: (&str, &str) = ("cofferdam:tool/", "0.1.");
/// Linked for every guest: values, and a word to the caller who waits. Neither reaches anything.
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
];

/// What of `wasi:http` a network is linked as.
const HTTP: &[&str] = &["outgoing-handler", "types"];

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
    pub fn is_granted_by(self, grants: &Grants) -> bool {
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
                write!(f, "interfaces = [\"{}\"]", interface.as_str())
            }
            Self::WritableMount => {
                f.write_str(r#"mounts = [ { guest = "/shared", access = "atomic-write" } ]"#)
            }
            Self::Network => {
                f.write_str(r#"network = { hosts = ["example.com"], methods = ["GET"], bytes = "10 MiB" }"#)
            }
            Self::Unknown => f.write_str("no profile can grant it"),
        }
    }
}

/// What an import needs; none for the baseline.
pub fn needs(name: &str) -> Option<Needs> {
    let Some((path, version)) = name.split_once('@') else { return Some(Needs::Unknown) };
    if let Some(interface) = path.strip_prefix(CONTRACT.0).filter(|_| version.starts_with(CONTRACT.1)) {
        let named = Interface::ALL.iter().find(|known| known.as_str() == interface);
        return match (interface, named) {
            (always, _) if ALWAYS.contains(&always) => None,
            (WORKSPACE_WRITE, _) => Some(Needs::WritableMount),
            (_, Some(interface)) => Some(Needs::Interface(*interface)),
            (_, None) => Some(Needs::Unknown),
        };
    }
    let wasi = path.strip_prefix("wasi:").and_then(|path| path.split_once('/'));
    let linked = wasi.is_some_and(|(package, interface)| {
        WASI.iter().any(|(name, interfaces)| *name == package && interfaces.contains(&interface))
    });
    let http = wasi.is_some_and(|(package, interface)| package == "http" && HTTP.contains(&interface));
    match version.starts_with("0.2.") && !version.contains('-') {
        true if linked => None,
        true if http => Some(Needs::Network),
        _ => Some(Needs::Unknown),
    }
}
