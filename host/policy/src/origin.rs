//! Where in the policy files each part of an effective policy stands, so that the question why gets
//! a file and a line, and the question what to change gets the exact line to write.

use cofferdam_core::limits::Limits;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A place in a policy file; shown as `profiles/file-read-only.toml:5`, in JSON `{"file", "line"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceLocation {
    /// The file as it was given.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The bytes of what is written there.
    #[serde(skip)]
    pub span: Range<usize>,
}

/// Where the parts of one tool's effective policy are written. Arguments' lines are the policy's
/// own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The tool's choice of profile.
    pub profile: SourceLocation,
    /// The component.
    pub component: SourceLocation,
    /// The safety.
    pub safety: SourceLocation,
    /// The tool's why.
    pub why: SourceLocation,
    /// The profile's why.
    pub profile_why: String,
    /// Where that is written.
    pub profile_why_at: SourceLocation,
    /// The list of mounts.
    pub mounts: SourceLocation,
    /// The right on each mount, in the order of the grants.
    pub access: Vec<SourceLocation>,
    /// Each interface, in the order of the grants.
    pub interfaces: Vec<SourceLocation>,
    /// The network, if the profile has one.
    pub network: Option<NetworkPlace>,
    /// Each limit that a file sets, by name; one that is missing here is the default.
    pub limits: BTreeMap<&'static str, SourceLocation>,
    /// The tool's `[limits]`, if it has one.
    pub limits_table: Option<SourceLocation>,
    /// What the profile allows at most.
    pub profile_limits: Limits,
    /// Where the profile says so.
    pub profile_limits_at: BTreeMap<&'static str, SourceLocation>,
}

/// Where a profile says what may be reached over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPlace {
    /// All of it.
    pub whole: SourceLocation,
    /// The list of hosts.
    pub hosts: SourceLocation,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
