//! What of a policy a change is about, and where that is written.

use cofferdam_core::capability::Interface;
use cofferdam_core::text::one_line;
use cofferdam_policy::{SourceLocation, ToolPolicy};
use serde::{Serialize, Serializer};
use std::fmt;

/// What of a policy differs; shown and serialized as `mount /vault` or `limit memory`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All of it: the tool is new, or gone.
    Tool,
    /// What runs.
    Component,
    /// What of the component is called, and how.
    Entry,
    /// What becomes of imports that are not granted.
    Imports,
    /// What the tool may do to the world.
    Safety,
    /// A mount.
    Mount(String),
    /// An interface.
    Interface(Interface),
    /// Whether there is a network.
    Network,
    /// A host.
    NetworkHost(String),
    /// A method.
    NetworkMethod(String),
    /// Bytes over the network.
    NetworkBytes,
    /// A header with a secret.
    NetworkHeader(String),
    /// The scratch folder.
    Scratch,
    /// The class of an argument.
    Argument(String),
    /// What is filled into an argument.
    Completion(String),
    /// A rule that asks a person.
    Approval(String),
    /// A limit.
    Limit(&'static str),
    /// The choice of profile.
    Profile,
    /// The tool's why.
    Why,
    /// The profile's why.
    WhyOfProfile,
}

impl Subject {
    /// The file and line of this policy that say it; the tool's file without a line where none
    /// does.
    pub fn place(&self, policy: &ToolPolicy) -> (String, Option<usize>) {
        let origins = &policy.origins;
        let place = |place: &SourceLocation| (place.file.to_string(), Some(place.line));
        let of_argument = |at: &str| {
            let line = policy.argument_line(at).unwrap_or(policy.arguments_line);
            (policy.file.clone(), Some(line))
        };
        match self {
            Self::Tool => (policy.file.clone(), None),
            Self::Component | Self::Entry | Self::Imports => place(&origins.component),
            Self::Safety => place(&origins.safety),
            Self::Mount(guest) => {
                let at = policy.grants.mounts.iter().position(|mount| mount.guest == *guest);
                place(at.and_then(|at| origins.access.get(at)).unwrap_or(&origins.mounts))
            }
            Self::Interface(interface) => {
                let at = policy.grants.interfaces.iter().position(|granted| granted == interface);
                place(at.and_then(|at| origins.interfaces.get(at)).unwrap_or(&origins.mounts))
            }
            Self::NetworkHost(_) => {
                place(origins.network.as_ref().map_or(&origins.profile_why_at, |network| &network.hosts))
            }
            Self::Network | Self::NetworkMethod(_) | Self::NetworkBytes | Self::NetworkHeader(_) => {
                place(origins.network.as_ref().map_or(&origins.profile_why_at, |network| &network.whole))
            }
            Self::Scratch | Self::WhyOfProfile => place(&origins.profile_why_at),
            Self::Argument(at) | Self::Completion(at) => of_argument(at),
            Self::Approval(about) => {
                let rule = policy.approval.iter().find(|(known, _)| known == about);
                rule.map_or_else(|| (policy.file.clone(), None), |(_, rule)| place(&rule.at))
            }
            Self::Limit(name) => match origins.limits.get(name).or(origins.limits_table.as_ref()) {
                Some(written) => place(written),
                None => (policy.file.clone(), None),
            },
            Self::Profile => place(&origins.profile),
            Self::Why => place(&origins.why),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |f: &mut fmt::Formatter<'_>, what: &str, name: &str| write!(f, "{what} {}", one_line(name, 200));
        match self {
            Self::Tool => f.write_str("tool"),
            Self::Component => f.write_str("component"),
            Self::Entry => f.write_str("entry"),
            Self::Imports => f.write_str("imports"),
            Self::Safety => f.write_str("safety"),
            Self::Mount(guest) => named(f, "mount", guest),
            Self::Interface(interface) => named(f, "interface", interface.as_str()),
            Self::Network => f.write_str("network"),
            Self::NetworkHost(host) => named(f, "network host", host),
            Self::NetworkMethod(method) => named(f, "network method", method),
            Self::NetworkBytes => f.write_str("network bytes"),
            Self::NetworkHeader(name) => named(f, "network header", name),
            Self::Scratch => f.write_str("scratch"),
            Self::Argument(at) => named(f, "argument", at),
            Self::Completion(at) => named(f, "completion of argument", at),
            Self::Approval(about) => named(f, "approval", about),
            Self::Limit(name) => named(f, "limit", name),
            Self::Profile => f.write_str("profile"),
            Self::Why => f.write_str("why"),
            Self::WhyOfProfile => f.write_str("why of the profile"),
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
