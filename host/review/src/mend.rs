//! What would have to change so that a denied call is permitted, as lines to write.
//!
//! Nothing is suggested that was not tried: each suggestion is applied to the policies in memory,
//! the call is judged again, and the two sets are compared, so that a suggestion tells all that it
//! widens. What only a person can know (that an unclassified text is harmless) is never suggested.

use super::diff::{Change, Direction, diff, widens};
use super::edit::PolicyEdit;
use cofferdam_core::capability::{Access, MOUNTS, MountGrant};
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::{ByteSize, Limits};
use cofferdam_core::network::HostPattern;
use cofferdam_policy::{Cause, Denial, JudgedCall, PathUse, PolicySet, ToolPolicy, Verdict, judge};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One way to permit a call. All edits are needed, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// What to write.
    pub edits: Vec<PolicyEdit>,
    /// Everything that the edits change, for every tool.
    pub changes: Vec<Change>,
}

/// Who can do something about a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A policy could grant the mount with this right.
    Grant(MountGrant),
    /// A policy could name the host.
    Host(HostPattern),
    /// No policy permits it; this says how to change the call.
    ChangeCall(String),
}

/// What could be done about a denial.
pub fn remedy(denial: &Denial) -> Remedy {
    let call = |said: &str| Remedy::ChangeCall(said.to_owned());
    let grant = |mount: &str, access| Remedy::Grant(MountGrant { guest: mount.to_owned(), access });
    match &denial.cause {
        Cause::NotGranted { mount, .. } if !MOUNTS.contains(&mount.as_str()) => Remedy::ChangeCall(format!(
            "no policy can grant {}: a workspace has {}; name a path there",
            cofferdam_core::text::one_line(mount, 80),
            MOUNTS.join(", ")
        )),
        Cause::NotGranted { mount, how: PathUse::Read } => grant(mount, Access::ReadOnly),
        Cause::NotGranted { mount, .. }
        | Cause::ReadOnlyMount { mount }
        | Cause::WriteOnlyMount { mount } => grant(mount, Access::AtomicWrite),
        Cause::MountItself => call("no policy lets a mount itself be written; name a file below it"),
        Cause::BadRecipient => call("write CHANNEL:USER with the person's id, such as telegram:1002"),
        Cause::HostNotGranted { host } => Remedy::Host(host.clone()),
        Cause::AddressGiven => call("leave the argument out: the policy gives it"),
        Cause::BadAddress(_) => call("no policy permits such an address; write it as the reason says"),
        Cause::BadPath(_) => call("no policy permits such a path; write it as the reason says"),
        Cause::Unclassified => {
            call("leave the argument out, or classify it after reading what the tool does with it")
        }
        Cause::NotAnObject => call("give the arguments as one JSON object"),
        Cause::NoCommandArgument(_) => {
            call("no policy permits such an argument of a command; write it as the reason says")
        }
        Cause::NotApproved => call("ask again"),
        Cause::OtherTool => call("this is a fault of the gateway; report it"),
    }
}

/// The ways to permit a call that was denied for these reasons, the one that widens least first;
/// none when the call itself has to change.
pub fn suggest_for_call(
    set: &PolicySet,
    policy: &ToolPolicy,
    arguments: &Value,
    denials: &[Denial],
) -> Vec<Suggestion> {
    let mut grants: BTreeMap<String, Access> = BTreeMap::new();
    let mut hosts: BTreeSet<HostPattern> = BTreeSet::new();
    for denial in denials {
        match remedy(denial) {
            Remedy::Grant(MountGrant { guest, access }) => {
                let granted = grants.entry(guest).or_insert(access);
                if access.covers(*granted) {
                    *granted = access;
                }
            }
            Remedy::Host(host) => {
                hosts.insert(host);
            }
            Remedy::ChangeCall(_) => return Vec::new(),
        }
    }
    let tool = policy.tool.as_str();
    let mounts = grants.into_iter().map(|(guest, access)| Remedy::Grant(MountGrant { guest, access }));
    let missing = mounts.chain(hosts.into_iter().map(Remedy::Host));
    let here = chain(set, missing, |set, wanted| match wanted {
        Remedy::Grant(mount) => Some(vec![grant(set, set.get(tool)?, &mount)?]),
        Remedy::Host(host) => Some(vec![name_host(set, set.get(tool)?, &host)?]),
        Remedy::ChangeCall(_) => None,
    });
    // Another profile changes nothing for other tools; it must take nothing away either.
    let elsewhere = set.profiles().filter(|name| *name != policy.profile).filter_map(|name| {
        let place = &policy.origins.profile;
        let with = toml::Value::String(name.to_owned()).to_string();
        Some(vec![PolicyEdit::replace(&place.file, set.file(&place.file)?, place.span.clone(), &with)?])
    });
    let permitted = |set: &PolicySet| {
        let call = JudgedCall {
            id: TurnId::new("explain").call(0),
            tool: policy.tool.clone(),
            arguments: arguments.clone(),
        };
        set.get(tool).is_some_and(|policy| !matches!(judge(call, policy), Verdict::Deny(_)))
    };
    let narrows = |s: &Suggestion| s.changes.iter().any(|change| change.direction == Direction::Narrows);
    let mut found: Vec<_> =
        here.into_iter().chain(elsewhere).filter_map(|edits| try_edits(set, edits, permitted)).collect();
    found.retain(|suggestion| !narrows(suggestion));
    let others = |s: &Suggestion| s.changes.iter().filter(|change| change.tool != policy.tool).count();
    found.sort_by_key(|suggestion| (others(suggestion), suggestion.changes.len()));
    found
}

/// The way to permit arguments of this length; none beyond what any policy may allow.
pub fn suggest_for_size(set: &PolicySet, policy: &ToolPolicy, bytes: usize) -> Vec<Suggestion> {
    let needed = ByteSize((bytes as u64).div_ceil(1024) * 1024);
    if needed > Limits::CEILING.arguments {
        return Vec::new();
    }
    let tool = policy.tool.as_str();
    let steps = [LimitOwner::Profile, LimitOwner::Tool].into_iter();
    let edits = chain(set, steps, |set, owner| raise_arguments(set, set.get(tool)?, needed, owner));
    let enough = |set: &PolicySet| set.get(tool).is_some_and(|p| p.limits.arguments >= needed);
    edits.and_then(|edits| try_edits(set, edits, enough)).into_iter().collect()
}

/// The edits of all steps, each found in the policies as the ones before left them.
fn chain<T>(
    set: &PolicySet,
    steps: impl Iterator<Item = T>,
    edit: impl Fn(&PolicySet, T) -> Option<Vec<PolicyEdit>>,
) -> Option<Vec<PolicyEdit>> {
    let (mut now, mut edits) = (set.clone(), Vec::new());
    for step in steps {
        for edit in edit(&now, step)? {
            now = edit.apply(&now)?;
            edits.push(edit);
        }
    }
    Some(edits)
}

/// The suggestion of these edits, if they can be made, the policies still load, and they do what
/// they must.
fn try_edits(
    set: &PolicySet,
    edits: Vec<PolicyEdit>,
    enough: impl Fn(&PolicySet) -> bool,
) -> Option<Suggestion> {
    let new = edits.iter().try_fold(set.clone(), |set, edit| edit.apply(&set))?;
    let changes = diff(set, &new);
    (enough(&new) && widens(&changes)).then_some(Suggestion { edits, changes })
}

/// Names a host in the tool's profile, before those that are named.
fn name_host(set: &PolicySet, policy: &ToolPolicy, host: &HostPattern) -> Option<PolicyEdit> {
    let place = &policy.origins.network.as_ref()?.hosts;
    let text = set.file(&place.file)?;
    let start = place.span.start;
    let rest = text[start..].strip_prefix('[')?;
    let end = if rest.trim_start().starts_with(']') { "" } else { ", " };
    PolicyEdit::replace(&place.file, text, start..start + 1, &format!("[\"{host}\"{end}"))
}

/// Grants a mount in the tool's profile: the right raised where it stands, or an entry added to the
/// list.
fn grant(set: &PolicySet, policy: &ToolPolicy, mount: &MountGrant) -> Option<PolicyEdit> {
    let origins = &policy.origins;
    let file = &*origins.mounts.file;
    let text = set.file(file)?;
    if let Some(at) = policy.grants.mounts.iter().position(|m| m.guest == mount.guest) {
        let with = format!("\"{}\"", mount.access.as_str());
        return PolicyEdit::replace(file, text, origins.access.get(at)?.span.clone(), &with);
    }
    let start = origins.mounts.span.start;
    let entry = mount.spell();
    if text[start..].starts_with("[[") {
        let MountGrant { guest, access } = mount;
        let table = format!("[[mounts]]\nguest = \"{guest}\"\naccess = \"{}\"\n", access.as_str());
        return Some(PolicyEdit::insert(file, origins.mounts.line, table));
    }
    let rest = text[start..].strip_prefix('[')?;
    let line = rest.split('\n').next().unwrap_or_default().trim();
    if line.is_empty() || line.starts_with('#') {
        return Some(PolicyEdit::insert(file, origins.mounts.line + 1, format!("  {entry},")));
    }
    let with = if line.starts_with(']') { format!("[{entry}") } else { format!("[{entry}, ") };
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    PolicyEdit::replace(file, text, start..start + 1 + blanks, &with)
}

/// Who sets a limit.
enum LimitOwner {
    Profile,
    Tool,
}

/// Raises the limit of arguments where the profile, or the tool, stands in the way.
fn raise_arguments(
    set: &PolicySet,
    policy: &ToolPolicy,
    needed: ByteSize,
    owner: LimitOwner,
) -> Option<Vec<PolicyEdit>> {
    const NAME: &str = "arguments";
    let origins = &policy.origins;
    let raised =
        |file: &str, span| PolicyEdit::replace(file, set.file(file)?, span, &format!("\"{needed}\""));
    let written = match owner {
        LimitOwner::Profile if origins.profile_limits.arguments >= needed => return Some(Vec::new()),
        LimitOwner::Profile => origins.profile_limits_at.get(NAME),
        LimitOwner::Tool => origins.limits.get(NAME).filter(|place| place.file == origins.profile.file),
    };
    if let Some(place) = written {
        return Some(vec![raised(&place.file, place.span.clone())?]);
    }
    let file = &*origins.profile.file;
    let line = format!("{NAME} = \"{needed}\"");
    let edit = match &origins.limits_table {
        Some(table) => PolicyEdit::insert(file, table.line + 1, line),
        None => {
            let lines = set.file(file)?.split('\n').count();
            PolicyEdit::insert(file, lines, format!("\n[limits]\n{line}"))
        }
    };
    Some(vec![edit])
}
