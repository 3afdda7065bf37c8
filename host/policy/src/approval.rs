//! When a person must agree to a call first: what `[approval]` of a tool's policy says, and which
//! of its rules speaks about a place of a call. The most specific rule decides: a path class before
//! the argument, the argument before `"*"`. Pure; it asks nobody.

use super::classes::{ArgumentClass, PathUse};
use super::effective::find_list;
use super::origin::SourceLocation;
use cofferdam_core::path::{GuestPath, is_below};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// When a call must be approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalCondition {
    /// Not at all: the exception to a wider rule.
    Never,
    /// Until this path was approved for this tool and this person.
    FirstTimePerPath,
    /// When it goes to somebody else than the person whom the call is for.
    Others,
    /// When something is there already that the call could replace, change or remove.
    OnOverwrite,
    /// Each time.
    Always,
}

/// One line of `[approval]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// When it asks.
    pub when: ApprovalCondition,
    /// Where it is written.
    pub at: SourceLocation,
}

impl Rule {
    /// That this rule, of this key, asks so; about no path and nobody.
    fn reason(&self, about: &str, when: ApprovalCondition) -> Reason {
        Reason { about: about.to_owned(), when, at: self.at.clone(), path: None, recipient: None }
    }
}

/// The rules of a tool, by what they are about: `"*"` (every call), an argument's place, or a path,
/// which stands for itself and all below.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Approvals(BTreeMap<String, Rule>);

/// Why a call must be approved: a rule, and the path that it speaks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What the rule is about, as the policy writes it.
    pub about: String,
    /// When it asks here; stricter than it is written where what lies below a path is at stake.
    pub when: ApprovalCondition,
    /// Where the rule is written.
    pub at: SourceLocation,
    /// The path of the call; none where the rule is not about one.
    pub path: Option<GuestPath>,
    /// Whom the call writes to; none where the rule is not about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
}

/// What a path stood for at one moment. Any change of it, or of what it holds, makes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// What has the name.
    pub kind: cofferdam_core::audit::EntryKind,
    /// Length of a file.
    pub bytes: u64,
    /// Device and file number.
    pub number: (u64, u64),
    /// When its content changed: seconds and nanoseconds since 1970 UTC.
    pub modified: (i64, i64),
    /// When anything about it changed.
    pub changed: (i64, i64),
}

/// What only the disk and the memory of approvals can tell. What is missing here is taken for the
/// worst.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What stands at each path that the call may write; `None`: nothing.
    pub there: BTreeMap<GuestPath, Option<PathSnapshot>>,
    /// What reading finds at each path that the call names for that, links followed; `None`:
    /// nothing.
    pub found: BTreeMap<GuestPath, Option<PathSnapshot>>,
    /// Paths that were approved before, for this tool and this person.
    pub approved: BTreeSet<GuestPath>,
    /// Whom the call is for, `CHANNEL:USER`; nobody where that is not known.
    pub asker: Option<String>,
}

/// The key of the rule about every call.
pub(super) const EVERY_CALL: &str = "*";

impl Approvals {
    pub(super) fn new(rules: impl IntoIterator<Item = (String, Rule)>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What each rule is about, and the rule.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Rule)> {
        self.0.iter().map(|(about, rule)| (about.as_str(), rule))
    }

    /// When the rule of this key asks.
    pub fn find_condition(&self, about: &str) -> Option<ApprovalCondition> {
        self.0.get(about).map(|rule| rule.when)
    }

    /// Why the path given at a place must be approved; nothing where it need not.
    ///
    /// A rule about what lies below the path speaks too, unless it is an exception: a call that
    /// removes or moves a folder does so with all that it holds.
    pub(super) fn path_reasons(&self, at: &str, how: PathUse, path: &GuestPath) -> Vec<Reason> {
        let class = self
            .classes()
            .filter(|(class, _)| *class == path.as_str() || is_below(path.as_str(), class))
            .max_by_key(|(class, _)| class.len());
        let besides = if class.is_none() { self.any_item_rules(at) } else { Vec::new() };
        let decides = class.or_else(|| self.argument(at)).or_else(|| self.every_rule());
        let decided = decides
            .into_iter()
            .chain(besides)
            .filter_map(|(about, rule)| Some((about, rule, condition_for(rule.when, how)?)));
        let within = self
            .classes()
            .filter(|(class, rule)| is_below(class, path.as_str()) && condition_for(rule.when, how).is_some())
            .map(|(about, rule)| (about, rule, ApprovalCondition::Always));
        let reason = |(about, rule, when): (&str, &Rule, ApprovalCondition)| Reason {
            path: Some(path.clone()),
            ..rule.reason(about, when)
        };
        decided.chain(within).map(reason).collect()
    }

    /// Why an argument that is no path must be approved, now that it was given.
    pub(super) fn value_reasons(&self, at: &str) -> Vec<Reason> {
        let rules = self.argument(at).into_iter().chain(self.any_item_rules(at));
        rules.filter_map(|(about, rule)| pathless(about, rule)).collect()
    }

    /// Why writing to somebody must be approved.
    pub(super) fn recipient_reasons(&self, at: &str, recipient: &str) -> Vec<Reason> {
        let reason = |(about, rule): (&str, &Rule)| match rule.when {
            ApprovalCondition::Others => Some(Reason {
                recipient: Some(recipient.to_owned()),
                ..rule.reason(about, ApprovalCondition::Others)
            }),
            _ => pathless(about, rule),
        };
        self.argument(at).into_iter().chain(self.any_item_rules(at)).filter_map(reason).collect()
    }

    /// Why a call that names no path at all must be approved.
    pub(super) fn call_reason(&self) -> Option<Reason> {
        self.every_rule().and_then(|(about, rule)| pathless(about, rule))
    }

    /// The rule about an argument. Where an argument is one thing or a list of them, what is said of
    /// it, or of any item, is said of each, also of one that has a class of its own.
    fn argument(&self, at: &str) -> Option<(&str, &Rule)> {
        let own = self.0.get_key_value(at).map(|(about, rule)| (about.as_str(), rule));
        own.or_else(|| {
            let list = find_list(at)?;
            let any = format!("{list}[]");
            self.argument(if at == any { list } else { &any })
        })
    }

    /// The rules about any such item that ask besides the rule that decides, where a place has an
    /// index of its own: `pairs[].path` for `pairs[0].path`, `urls[][]` for `urls[0][]`. Of these
    /// and a rule about the list (`urls[0]`) none is more specific; one about the very place is.
    fn any_item_rules(&self, at: &str) -> Vec<(&str, &Rule)> {
        let decides = self.argument(at).map(|(about, _)| about);
        let said: Vec<_> = self.iter().filter(|(about, _)| is_said_of(about, at)).collect();
        let is_narrowest =
            |about: &str| !said.iter().any(|(other, _)| *other != about && is_said_of(about, other));
        let besides = said.iter().filter(|(about, _)| Some(*about) != decides && is_narrowest(about));
        besides.copied().collect()
    }

    fn every_rule(&self) -> Option<(&str, &Rule)> {
        self.0.get_key_value(EVERY_CALL).map(|(about, rule)| (about.as_str(), rule))
    }

    fn classes(&self) -> impl Iterator<Item = (&str, &Rule)> {
        self.iter().filter(|(about, _)| about.starts_with('/'))
    }

    /// Whether every call that `old` asks about is asked about here, at least as strictly.
    /// `arguments` are those of both policies.
    ///
    /// The rules change at a class and at the folders that hold it; each of these, and one more
    /// name in each, stand for all paths.
    pub fn cover(&self, old: &Self, arguments: &[(&str, ArgumentClass)]) -> bool {
        let keys: Vec<&str> = self.classes().chain(old.classes()).map(|(class, _)| class).collect();
        let mut other = "elsewhere".to_owned();
        while keys.iter().any(|key| key.contains(&other)) {
            other.push('_');
        }
        let folders = keys.iter().flat_map(|class| {
            let ends = class.match_indices('/').map(|(at, _)| at).chain([class.len()]);
            ends.map(|end| &class[..end])
        });
        let folders: BTreeSet<&str> = folders.chain([""]).collect();
        let paths = folders.into_iter().flat_map(|folder| [folder.to_owned(), format!("{folder}/{other}")]);
        let paths: Vec<_> = paths.filter_map(|path| GuestPath::parse(&path).ok()).collect();
        let whens = |reasons: Vec<Reason>| reasons.into_iter().map(|reason| reason.when).collect::<Vec<_>>();
        let enough = |new: Vec<Reason>, old: Vec<Reason>| {
            let (new, old) = (whens(new), whens(old));
            new.contains(&ApprovalCondition::Always) || old.iter().all(|when| new.contains(when))
        };
        let everywhere = arguments.iter().all(|(at, class)| match class {
            ArgumentClass::Path(how) => paths
                .iter()
                .all(|path| enough(self.path_reasons(at, *how, path), old.path_reasons(at, *how, path))),
            ArgumentClass::Value | ArgumentClass::Content | ArgumentClass::Url(_) => {
                enough(self.value_reasons(at), old.value_reasons(at))
            }
            ArgumentClass::Recipient => enough(self.recipient_reasons(at, ""), old.recipient_reasons(at, "")),
        });
        everywhere
            && enough(self.call_reason().into_iter().collect(), old.call_reason().into_iter().collect())
    }
}

/// What a rule comes to for a path of this use: nothing is overwritten by reading, and of a folder
/// nobody knows beforehand which names in it are.
fn condition_for(when: ApprovalCondition, how: PathUse) -> Option<ApprovalCondition> {
    match (when, how) {
        (ApprovalCondition::Never, _) | (ApprovalCondition::OnOverwrite, PathUse::Read) => None,
        // No rule that loads says so of a path.
        (ApprovalCondition::OnOverwrite, PathUse::WriteBelow) | (ApprovalCondition::Others, _) => {
            Some(ApprovalCondition::Always)
        }
        (when, _) => Some(when),
    }
}

/// Whether what is said of an argument is said of the one at `at`: it is the same, an item of it,
/// or one of those that any item stands for.
fn is_said_of(about: &str, at: &str) -> bool {
    let mut parts = at.split('[');
    let is_same = about.split('[').all(|said| {
        let is_index = |c: char| c.is_ascii_digit();
        parts.next().is_some_and(|part| {
            said == part || said.starts_with(']') && said == part.trim_start_matches(is_index)
        })
    });
    is_same && parts.next().is_none() || find_list(at).is_some_and(|list| is_said_of(about, list))
}

fn pathless(about: &str, rule: &Rule) -> Option<Reason> {
    let asks = rule.when != ApprovalCondition::Never;
    asks.then(|| rule.reason(about, ApprovalCondition::Always))
}

/// What is wrong with a rule about `about`, with what to write instead. `class` is that of the
/// argument of this name, `writes` whether any argument of the tool is a path that is written
/// itself.
pub(super) fn problem(
    about: &str,
    when: ApprovalCondition,
    class: Option<ArgumentClass>,
    writes: bool,
    granted: impl Fn(&GuestPath) -> bool,
) -> Option<String> {
    if about == EVERY_CALL {
        let fits = matches!(when, ApprovalCondition::Always | ApprovalCondition::Never);
        let said = r#""*" is every call, not a path; write "*" = "always" or "never", or name an argument"#;
        return (!fits).then(|| said.to_owned());
    }
    if about.starts_with('/') {
        return match GuestPath::parse(about) {
            Err(bad) => Some(bad.to_string()),
            Ok(path) if !granted(&path) => {
                Some(format!("{about:?} is in no mount of the profile; name a path in one of its mounts"))
            }
            Ok(_) if when == ApprovalCondition::Others => {
                Some("a path is nobody who is written to; write \"always\" or \"first-time-per-path\"".into())
            }
            Ok(_) if when == ApprovalCondition::OnOverwrite && !writes => Some(
                "no argument is a path that is written itself; write \"always\" or \"first-time-per-path\""
                    .into(),
            ),
            Ok(_) => None,
        };
    }
    match (class, when) {
        (
            Some(ArgumentClass::Recipient),
            ApprovalCondition::Others | ApprovalCondition::Always | ApprovalCondition::Never,
        ) => None,
        (Some(ArgumentClass::Recipient), _) => Some(format!(
            "{about:?} is somebody who is written to; write {about:?} = \"others\" or \"always\""
        )),
        (Some(_), ApprovalCondition::Others) => Some(format!(
            "{about:?} is nobody who is written to; write \"others\" for an argument of class \"recipient\", and \
             {about:?} = \"always\" here"
        )),
        (None, _) => Some(format!(
            "no argument {about:?} is classified; write one of [arguments], \"*\" for every call, or a path such as \
             \"/shared/Documents\""
        )),
        (Some(ArgumentClass::Path(PathUse::Read | PathUse::WriteBelow)), ApprovalCondition::OnOverwrite) => {
            Some(format!(
                "{about:?} is no path that is written itself; write {about:?} = \"always\" or \"first-time-per-path\""
            ))
        }
        (Some(ArgumentClass::Path(_)), _) | (Some(_), ApprovalCondition::Always) => None,
        (Some(_), _) => {
            Some(format!("{about:?} is no path; write {about:?} = \"always\", or remove the line"))
        }
    }
}
