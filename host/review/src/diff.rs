//! Two sets of policies compared by what they come to, not by their text: what the second allows
//! beyond the first, what it no longer allows, and what changed without either.
//!
//! Errs on the side of "widens": what a reviewer must look at again is never called neutral.

mod network;
mod subject;

pub use subject::Subject;

use cofferdam_core::capability::{Access, Interface, ScratchGrant};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::{
    ApprovalCondition, ArgumentClass, Completion, ComponentSource, Imports, PathUse, PolicySet, ToolPolicy,
    spell_word,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Whether a change allows more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Something is allowed that was not, or must be reviewed anew.
    Widens,
    /// Less is allowed.
    Narrows,
    /// Nothing of what is allowed changed.
    Neutral,
}

/// One difference between two policies of a tool; shown as `widens: TOOL: WHAT: OLD → NEW`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Whether it allows more.
    pub direction: Direction,
    /// The tool.
    pub tool: ToolName,
    /// What differs, e.g. `mount /vault` or `limit memory`.
    #[serde(rename = "what")]
    pub subject: Subject,
    /// Before; none where it was not there.
    pub old: Option<String>,
    /// After; none where it is not there any more.
    pub new: Option<String>,
}

/// Every difference, by tool and in a fixed order within each; empty when both allow the same and
/// say so in the same words.
pub fn diff(old: &PolicySet, new: &PolicySet) -> Vec<Change> {
    let names: BTreeSet<&ToolName> = old.iter().chain(new.iter()).map(|policy| &policy.tool).collect();
    let mut changes = Vec::new();
    for tool in names {
        let mut of = DiffSubjects { tool, changes: &mut changes };
        match (old.get(tool.as_str()), new.get(tool.as_str())) {
            (Some(old), Some(new)) => of.diff_grants(old, new),
            (old, new) => {
                let direction = if new.is_some() { Direction::Widens } else { Direction::Narrows };
                of.push(direction, Subject::Tool, old.map(describe_policy), new.map(describe_policy));
            }
        }
    }
    changes
}

/// Whether any change allows more.
pub fn widens(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.direction == Direction::Widens)
}

pub(super) struct DiffSubjects<'a> {
    tool: &'a ToolName,
    changes: &'a mut Vec<Change>,
}

impl DiffSubjects<'_> {
    /// One function a kind of grant: a new kind is a new line here.
    fn diff_grants(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        self.component(&old.component, &new.component);
        self.entry(old, new);
        self.diff_ranked(Subject::Imports, old, new, |p| {
            (p.imports == Imports::Stub, spell_word(&p.imports))
        });
        self.diff_ranked(Subject::Safety, old, new, |p| (u8::MAX - p.safety as u8, spell_word(&p.safety)));
        self.mounts(old, new);
        self.interfaces(old, new);
        network::network(self, old, new);
        let (had, has) = (&old.grants.scratch, &new.grants.scratch);
        if had != has {
            // Under another name the guest finds its files elsewhere, as nobody has seen it run.
            let more = has.as_ref().is_some_and(|has| {
                had.as_ref().is_none_or(|had| {
                    has.bytes > had.bytes || has.files > had.files || has.guest != had.guest
                })
            });
            let direction = if more { Direction::Widens } else { Direction::Narrows };
            let shown = |scratch: &ScratchGrant| {
                let ScratchGrant { guest, bytes, files } = scratch;
                format!("{guest}, {bytes}, {files} files")
            };
            self.push(direction, Subject::Scratch, had.as_ref().map(shown), has.as_ref().map(shown));
        }
        self.arguments(old, new);
        self.completions(old, new);
        self.approvals(old, new);
        self.limits(old, new);
        for (subject, old, new) in [
            (Subject::Profile, &old.profile, &new.profile),
            (Subject::Why, &old.why, &new.why),
            (Subject::WhyOfProfile, &old.origins.profile_why, &new.origins.profile_why),
        ] {
            if old != new {
                let shown = |text: &String| Some(one_line(text, 200));
                self.push(Direction::Neutral, subject, shown(old), shown(new));
            }
        }
    }

    /// What is more the higher its rank, such as a limit.
    pub(super) fn diff_ranked<R: Ord>(
        &mut self,
        subject: Subject,
        old: &ToolPolicy,
        new: &ToolPolicy,
        rank: impl Fn(&ToolPolicy) -> (R, String),
    ) {
        let ((before, old), (after, new)) = (rank(old), rank(new));
        if before != after {
            let direction = if after > before { Direction::Widens } else { Direction::Narrows };
            self.push(direction, subject, Some(old), Some(new));
        }
    }

    fn component(&mut self, old: &ComponentSource, new: &ComponentSource) {
        let shown = |source: &ComponentSource| match source {
            ComponentSource::File { sha256, .. } => format!("{} sha256 {sha256}", source.describe()),
            ComponentSource::Builtin | ComponentSource::Fetched { .. } => source.describe(),
        };
        if old != new {
            self.push(component_direction(old, new), Subject::Component, Some(shown(old)), Some(shown(new)));
        }
    }

    /// Another way in, or other arguments of a command, is code that nobody has seen run so.
    fn entry(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        if old.entry != new.entry {
            let shown = |policy: &ToolPolicy| {
                let entry = serde_json::to_string(&policy.entry).unwrap_or_default();
                Some(one_line(&entry, 400))
            };
            self.push(Direction::Widens, Subject::Entry, shown(old), shown(new));
        }
    }

    fn mounts(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        let all = old.grants.mounts.iter().chain(&new.grants.mounts).map(|mount| mount.guest.as_str());
        for mount in all.collect::<BTreeSet<_>>() {
            let (old, new) = (old.grants.access(mount), new.grants.access(mount));
            let narrower = old.is_some_and(|old| new.is_none_or(|new| old.covers(new)));
            let named = |access: Option<Access>| access.map(|access| access.as_str());
            self.diff_right(Subject::Mount(mount.to_owned()), named(old), named(new), narrower);
        }
    }

    fn interfaces(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        let all = old.grants.interfaces.iter().chain(&new.grants.interfaces).copied();
        for interface in all.collect::<BTreeSet<_>>() {
            let granted = |p: &ToolPolicy| p.grants.allows(interface).then_some(interface.as_str());
            let (old, new) = (granted(old), granted(new));
            self.diff_right(Subject::Interface(interface), old, new, new.is_none());
        }
    }

    /// A right that is there or not; whether less is allowed where it differs.
    pub(super) fn diff_right(
        &mut self,
        subject: Subject,
        old: Option<&str>,
        new: Option<&str>,
        narrower: bool,
    ) {
        if old != new {
            let direction = if narrower { Direction::Narrows } else { Direction::Widens };
            self.push(direction, subject, old.map(str::to_owned), new.map(str::to_owned));
        }
    }

    fn arguments(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        for at in old.arguments.keys().chain(new.arguments.keys()).collect::<BTreeSet<_>>() {
            let (before, after) = (old.class(at), new.class(at));
            if before == after {
                continue;
            }
            let looseness = |class| looseness(class, can_named_files_leave(new));
            // Rules about paths come before those that asked about it as a value.
            let is_excepted = matches!(after, Some(ArgumentClass::Path(_))) && has_path_exception(new);
            let direction = match (before.map(looseness), after.map(looseness)) {
                (Some(before), Some(after))
                    if !is_excepted && before.iter().zip(after).all(|(b, a)| a <= *b) =>
                {
                    Direction::Narrows
                }
                // Also where a rule appears (text is let in that was refused) or is dropped
                // (nothing says any more what may stand there).
                _ => Direction::Widens,
            };
            let subject = Subject::Argument(at.clone());
            self.push(direction, subject, before.map(|c| c.spell()), after.map(|c| c.spell()));
        }
    }

    /// A path that is filled in where none was given, or another directory behind `~`, lets more
    /// calls through. Where it is no longer filled in, nobody is asked about it. An address that is
    /// filled in is the only one that may be given: without it, or with another one, others are let
    /// through.
    fn completions(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        for at in old.completions.keys().chain(new.completions.keys()).collect::<BTreeSet<_>>() {
            let (before, after) = (old.completions.get(at), new.completions.get(at));
            if before == after {
                continue;
            }
            let is_address = matches!(new.class(at), Some(ArgumentClass::Url(_)));
            let fewer = after.is_none_or(|after| {
                before.is_some_and(|before| {
                    (after.default.is_none() || after.default == before.default)
                        && (after.home.is_none() || after.home == before.home)
                })
            });
            let is_filled = |completion: Option<&Completion>| completion.is_some_and(|c| c.default.is_some());
            let is_unasked = is_filled(before) && !is_filled(after) && !old.approval.is_empty();
            let fewer = fewer && !is_address && !is_unasked;
            let direction = if fewer { Direction::Narrows } else { Direction::Widens };
            let subject = Subject::Completion(at.clone());
            self.push(direction, subject, before.map(Completion::spell), after.map(Completion::spell));
        }
    }

    /// Rules speak together, the more specific before the others, so they are compared together.
    fn approvals(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        let arguments: Vec<_> =
            old.arguments.iter().chain(&new.arguments).map(|(at, class)| (at.as_str(), *class)).collect();
        let stricter = new.approval.cover(&old.approval, &arguments);
        let direction = match (stricter, old.approval.cover(&new.approval, &arguments)) {
            (false, _) => Direction::Widens,
            (true, false) => Direction::Narrows,
            (true, true) => Direction::Neutral,
        };
        let all = old.approval.iter().chain(new.approval.iter()).map(|(about, _)| about);
        for about in all.collect::<BTreeSet<_>>() {
            let (before, after) = (old.approval.find_condition(about), new.approval.find_condition(about));
            if before != after {
                let shown = |when: Option<ApprovalCondition>| when.map(|when| spell_word(&when));
                let subject = Subject::Approval(about.to_owned());
                self.push(direction, subject, shown(before), shown(after));
            }
        }
    }

    fn limits(&mut self, old: &ToolPolicy, new: &ToolPolicy) {
        for (at, row) in old.limits.rows().into_iter().enumerate() {
            self.diff_ranked(Subject::Limit(row.name), old, new, |policy| {
                let row = &policy.limits.rows()[at];
                (row.amount, row.shown.clone())
            });
        }
    }

    pub(super) fn push(
        &mut self,
        direction: Direction,
        subject: Subject,
        old: Option<String>,
        new: Option<String>,
    ) {
        let tool = self.tool.clone();
        self.changes.push(Change { direction, tool, subject, old, new });
    }
}

/// How much a class lets through, in ways that do not make up for one another: texts that the judge
/// accepts, addresses among them, the path itself staged, paths below it staged, what the audit
/// shows, people who are written to, and files that leave because the call names them, where
/// `named_leave`.
fn looseness(class: ArgumentClass, named_leave: bool) -> [u8; 7] {
    match class {
        ArgumentClass::Value => [3, 1, 0, 0, 1, 0, 0],
        ArgumentClass::Content => [3, 1, 0, 0, 0, 0, 0],
        // A path for reading may be any in a mount; one for writing may not be a mount that is
        // read-only.
        ArgumentClass::Path(PathUse::Read) => [2, 0, 0, 0, 1, 0, u8::from(named_leave)],
        ArgumentClass::Path(PathUse::WriteBelow) => [1, 0, 0, 1, 1, 0, 0],
        // Nor a mount itself.
        ArgumentClass::Path(PathUse::Write) => [0, 0, 1, 0, 1, 0, 0],
        // It accepts no text that another class accepts as what it is there.
        ArgumentClass::Recipient => [0, 0, 0, 0, 1, 1, 0],
        // Nor does an address at one of the hosts, which are compared by themselves; its query is
        // not audited.
        ArgumentClass::Url(_) => [0, 1, 0, 0, 1, 0, 0],
    }
}

/// Whether files that a call names for reading can leave because of that: with a reply or a
/// message, or copied out of a folder that the guest does not have.
fn can_named_files_leave(policy: &ToolPolicy) -> bool {
    let grants = &policy.grants;
    [Interface::ReplyAttachments, Interface::Messaging].iter().any(|interface| grants.allows(*interface))
        || grants.mounts.iter().any(|mount| mount.access == Access::CopyOut)
}

/// Whether a rule about a path asks less than each time.
fn has_path_exception(policy: &ToolPolicy) -> bool {
    policy
        .approval
        .iter()
        .any(|(about, rule)| about.starts_with('/') && rule.when != ApprovalCondition::Always)
}

fn describe_policy(policy: &ToolPolicy) -> String {
    format!("{}, {}, profile {}", spell_word(&policy.safety), policy.grants.describe(), policy.profile)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = || "none".to_owned();
        let (old, new) = (self.old.clone().unwrap_or_else(none), self.new.clone().unwrap_or_else(none));
        write!(f, "{}: {}: {}: {old} → {new}", spell_word(&self.direction), self.tool, self.subject)
    }
}

/// The same bytes under another name are nothing new; anything else is code that nobody has
/// reviewed here. A signer is one more who must have agreed to it.
fn component_direction(old: &ComponentSource, new: &ComponentSource) -> Direction {
    use ComponentSource::{Fetched, File};
    match (old, new) {
        (File { sha256: old, .. }, File { sha256: new, .. }) if old == new => Direction::Neutral,
        (Fetched { oci: old, signer: was }, Fetched { oci: new, signer: is })
            if old.digest() == new.digest() =>
        {
            match (was, is) {
                _ if was == is => Direction::Neutral,
                (None, Some(_)) => Direction::Narrows,
                _ => Direction::Widens,
            }
        }
        _ => Direction::Widens,
    }
}
