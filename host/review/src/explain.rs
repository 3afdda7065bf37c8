//! Why the judge says what it says of a call: each place of the arguments with its class, the line
//! that gave it, and what was ruled there.
//!
//! Decides nothing: it listens to [`rulings`], which is how the judge itself decides.

use cofferdam_core::capability::Access;
use cofferdam_core::network::HostPattern;
use cofferdam_policy::rulings::rulings;
use cofferdam_policy::{ArgumentClass, Cause, Denial, SourceLocation, ToolPolicy};
use serde_json::Value;
use std::collections::BTreeMap;

/// Denials told of one place, which may stand for many values (`paths[]`).
const DENIALS_TOLD: usize = 8;

/// One place of the arguments, such as `path` or `edits[].new_text`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// The place.
    pub at: String,
    /// Its class; none where nothing there can be text.
    pub class: Option<ArgumentClass>,
    /// The line that says so.
    pub line: Option<usize>,
    /// Values that stand at this place.
    pub values: usize,
    /// The mounts that its paths lie in, each with its right and the line that grants it.
    pub mounts: BTreeMap<String, (Access, SourceLocation)>,
    /// The hosts that let its addresses through, each with the line that names it.
    pub hosts: BTreeMap<HostPattern, SourceLocation>,
    /// What was denied there, without repetition, the first 8.
    pub denials: Vec<Denied>,
}

/// A denial and the line that stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied {
    /// What the judge said.
    pub denial: Denial,
    /// The profile's line that grants too little; none where no line of a policy decides.
    pub decided_at: Option<SourceLocation>,
}

/// Every place of the arguments, in the order in which the judge comes to it; the call is permitted
/// when none has a denial.
pub fn explain(policy: &ToolPolicy, arguments: &Value) -> Vec<Explained> {
    let mut places: Vec<Explained> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let listened = rulings(arguments, policy, |at, ruled| {
        let position = *index.entry(at.to_owned()).or_insert_with(|| {
            let (class, line) = (policy.class(at), policy.argument_line(at));
            places.push(Explained { at: at.to_owned(), class, line, ..Explained::default() });
            places.len() - 1
        });
        let place = &mut places[position];
        place.values += 1;
        match ruled {
            Ok(ruling) => {
                if let Some(path) = ruling.path {
                    let granted = policy.grants.mounts.iter().zip(&policy.origins.access);
                    let granted = granted.filter(|(mount, _)| mount.guest == path.mount());
                    place.mounts.extend(granted.map(|(m, at)| (m.guest.clone(), (m.access, at.clone()))));
                }
                if let (Some(address), Some(network), Some(at)) =
                    (ruling.address, &policy.grants.network, &policy.origins.network)
                {
                    let named = network.hosts.iter().filter(|h| h.matches(&address.host, address.port));
                    place.hosts.extend(named.map(|host| (host.clone(), at.hosts.clone())));
                }
            }
            Err(denial) => {
                let told = place.denials.iter().any(|told| told.denial.reason == denial.reason);
                if !told && place.denials.len() < DENIALS_TOLD {
                    let decided_at = decided_at(policy, &denial);
                    place.denials.push(Denied { denial, decided_at });
                }
            }
        }
        Ok(())
    });
    debug_assert_eq!(listened, Ok(()), "nobody stopped the walk");
    places
}

fn decided_at(policy: &ToolPolicy, denial: &Denial) -> Option<SourceLocation> {
    let origins = &policy.origins;
    match &denial.cause {
        Cause::NotGranted { .. } => Some(origins.mounts.clone()),
        Cause::ReadOnlyMount { mount } | Cause::WriteOnlyMount { mount } => {
            let at = policy.grants.mounts.iter().position(|m| m.guest == *mount)?;
            origins.access.get(at).cloned()
        }
        Cause::HostNotGranted { .. } => origins.network.as_ref().map(|network| network.hosts.clone()),
        Cause::NotAnObject
        | Cause::Unclassified
        | Cause::BadAddress(_)
        | Cause::AddressGiven
        | Cause::BadPath(_)
        | Cause::BadRecipient
        | Cause::MountItself
        | Cause::NoCommandArgument(_)
        | Cause::NotApproved
        | Cause::OtherTool => None,
    }
}
