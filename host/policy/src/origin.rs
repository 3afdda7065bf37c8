//! Where in the policy files each part of an effective policy stands, so that the question why gets
//! a file and a line, and the question what to change gets the exact line to write.

use cofferdam_core::limits::Limits;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A place in a policy file; shown as `profiles/file-read-only.toml:5`, in JSON `{"file", "line"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was given.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The bytes of what is written there.
    pub span: Range<usize>,
}

/// Where the parts of one tool's effective policy are written. Arguments' lines are the policy's
/// own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The tool's choice of profile.
    pub profile: Place,
    /// The component.
    pub component: Place,
    /// The safety.
    pub safety: Place,
    /// The tool's why.
    pub why: Place,
    /// The profile's why.
    pub profile_why: String,
    /// Where that is written.
    pub profile_why_at: Place,
    /// The list of mounts.
    pub mounts: Place,
    /// The right on each mount, in the order of the grants.
    pub access: Vec<Place>,
    /// Each interface, in the order of the grants.
    pub interfaces: Vec<Place>,
    /// The network, if the profile has one.
    pub network: Option<NetworkPlace>,
    /// Each limit that a file sets, by name; one that is missing here is the default.
    pub limits: BTreeMap<&'static str, Place>,
    /// The tool's `[limits]`, if it has one.
    pub limits_table: Option<Place>,
    /// What the profile allows at most.
    pub profile_limits: Limits,
    /// Where the profile says so.
    pub profile_limits_at: BTreeMap<&'static str, Place>,
}

/// Where a profile says what may be reached over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPlace {
    /// All of it.
    pub whole: Place,
    /// The list of hosts.
    pub hosts: Place,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut place = s.serialize_struct("Place", 2)?;
        place.serialize_field("file", &*self.file)?;
        place.serialize_field("line", &self.line)?;
        place.end()
    }
}
