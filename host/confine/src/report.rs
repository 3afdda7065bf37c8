//! What is in force in a confined process, as measured, and what is missing from it.
//!
//! It crosses the worker's socket and is shown by `doctor --json`, so its shape is stable.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The oldest Landlock interface under which a gateway that requires isolation starts: it is the
/// first that covers files whole (truncation and renames included) and TCP. Linux 6.7 has it.
pub const LANDLOCK_ABI_MIN: u32 = 4;

/// Which confinement was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementMode {
    /// The gateway's.
    Gateway,
    /// A worker's that runs calls.
    CallWorker,
    /// A worker's that compiles.
    CompileWorker,
}

/// What is in force in a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Whose confinement it is.
    pub who: ConfinementMode,
    /// Whether programs that it starts gain nothing.
    pub no_new_privs: bool,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// What Landlock handles; none when the kernel has no Landlock, or one too old to be used.
    pub landlock: Option<Landlock>,
    /// Its filters of system calls.
    pub seccomp: Seccomp,
    /// The resource limits that were set, by name, in the kernel's units.
    pub rlimits: BTreeMap<String, u64>,
}

/// Sets of capabilities, bits by number as in `/proc/self/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Those that count.
    pub effective: u64,
    /// Those that can be made to count.
    pub permitted: u64,
    /// Those that programs it starts may inherit.
    pub inheritable: u64,
    /// Those that programs it starts do inherit.
    pub ambient: u64,
    /// Those that a privileged program could still gain. Without root it cannot be emptied, and
    /// with `no_new_privs` it gives nothing.
    pub bounding: u64,
}

/// What Landlock refuses unless a rule grants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landlock {
    /// The kernel's interface.
    pub abi: u32,
    /// Handled rights on files.
    pub files: Vec<String>,
    /// Handled rights on TCP ports.
    pub tcp: Vec<String>,
    /// What does not leave the process's own domain.
    pub scoped: Vec<String>,
}

/// Filters of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seccomp {
    /// Filters are in force.
    Filter {
        /// How many, the inherited ones included.
        filters: u32,
    },
    /// The kernel has them, and none of ours is in force.
    Off,
    /// The kernel has none.
    Unsupported,
}

/// Something that `[isolation] require` asks for and that is not in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingControl {
    /// No `no_new_privs`.
    #[error("no_new_privs is not in force; run on Linux 3.5 or newer")]
    NoNewPrivs,
    /// Capabilities that a worker should not have.
    #[error("capabilities are left; start the gateway as a user without them")]
    Capabilities,
    /// No filter of system calls.
    #[error(
        "seccomp is not in force; boot a kernel with CONFIG_SECCOMP_FILTER, and allow the seccomp system call if a \
         container forbids it"
    )]
    Seccomp,
    /// No Landlock.
    #[error(
        "Landlock is not in force; boot Linux 6.7 or newer with CONFIG_SECURITY_LANDLOCK and landlock in the kernel's \
         lsm= parameter, and allow the landlock_* system calls if a container forbids them"
    )]
    Landlock,
    /// A Landlock that covers too little.
    #[error("Landlock ABI {0} is in force and {LANDLOCK_ABI_MIN} is needed; boot Linux 6.7 or newer")]
    LandlockAbi(u32),
}

/// An isolation that must be whole and is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "[isolation] require = true, and in the {who} {}. Without require = true it starts with what there is.",
    list_missing(.missing)
)]
pub struct IncompleteError {
    /// Whose it is.
    pub who: ConfinementMode,
    /// What is not in force; never empty.
    pub missing: Vec<MissingControl>,
}

fn list_missing(missing: &[MissingControl]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and ")
}

impl Report {
    /// What of a complete isolation is not in force; empty when all is.
    pub fn missing_controls(&self) -> Vec<MissingControl> {
        let mut missing = Vec::new();
        if !self.no_new_privs {
            missing.push(MissingControl::NoNewPrivs);
        }
        let Capabilities { effective, permitted, inheritable, ambient, bounding: _ } = self.capabilities;
        if self.who != ConfinementMode::Gateway && effective | permitted | inheritable | ambient != 0 {
            missing.push(MissingControl::Capabilities);
        }
        if !matches!(self.seccomp, Seccomp::Filter { .. }) {
            missing.push(MissingControl::Seccomp);
        }
        match &self.landlock {
            None => missing.push(MissingControl::Landlock),
            Some(landlock) if landlock.abi < LANDLOCK_ABI_MIN => {
                missing.push(MissingControl::LandlockAbi(landlock.abi));
            }
            Some(_) => {}
        }
        missing
    }
}

impl fmt::Display for ConfinementMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gateway => "gateway",
            Self::CallWorker => "worker (call)",
            Self::CompileWorker => "worker (compile)",
        })
    }
}

/// One line for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: no_new_privs {}", self.who, if self.no_new_privs { "yes" } else { "NO" })?;
        match self.capabilities.permitted {
            0 => write!(f, "; capabilities none")?,
            set => write!(f, "; capabilities {set:#x}")?,
        }
        match &self.landlock {
            None => write!(f, "; Landlock NO")?,
            Some(Landlock { abi, files, tcp, scoped }) => {
                let (files, tcp, scoped) = (files.len(), tcp.len(), scoped.len());
                write!(f, "; Landlock ABI {abi} ({files} file rights, {tcp} TCP rights, {scoped} scopes)")?;
            }
        }
        match self.seccomp {
            Seccomp::Filter { filters } => write!(f, "; seccomp {filters} filters")?,
            Seccomp::Off | Seccomp::Unsupported => write!(f, "; seccomp NO")?,
        }
        let limits: Vec<_> = self.rlimits.iter().map(|(name, limit)| format!("{name} {limit}")).collect();
        write!(f, "; rlimits {}", limits.join(", "))
    }
}
