//! Policy files: what an operator writes, read strictly and combined into one effective policy a
//! tool.
//!
//! Everything unknown is refused with the file, the line and what to write instead; nothing here
//! touches the disk.

use super::approval::{self, ApprovalCondition, Approvals, Rule};
use super::classes::{ArgumentClass, Classified, Imports, PathUse, Safety};
use super::command::{CommandOutputRule, CommandTable};
use super::component::ComponentSource;
use super::effective::{EntryPolicy, ToolPolicy};
use super::function::FunctionTable;
use super::grant::NetworkTable;
use super::limits_table::LimitsTable;
use super::origin::{NetworkPlace, Origins, SourceLocation};
use super::outputs;
use super::source::{CheckedPart, PolicyProblem, PolicySource, check_head, check_name};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::{Access, Grants, Interface, MOUNTS, MountGrant, ScratchGrant};
use cofferdam_core::command::is_word;
use cofferdam_core::limits::Limits;
use cofferdam_core::path::GuestPath;
use cofferdam_core::tool::ToolName;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    schema: Spanned<u32>,
    profile: Spanned<String>,
    why: Spanned<String>,
    mounts: Spanned<Vec<Spanned<MountLine>>>,
    #[serde(default)]
    interfaces: Vec<Spanned<Interface>>,
    network: Option<Spanned<NetworkTable>>,
    scratch: Option<Spanned<ScratchGrant>>,
    #[serde(default)]
    limits: LimitsTable,
}

/// A [`MountGrant`] as it is written, with the place of its right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MountLine {
    guest: String,
    access: Spanned<Access>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolFile {
    schema: Spanned<u32>,
    tool: Spanned<String>,
    profile: Spanned<String>,
    component: Spanned<ComponentSource>,
    safety: Spanned<Safety>,
    why: Spanned<String>,
    #[serde(default)]
    imports: Imports,
    command: Option<CommandTable>,
    function: Option<FunctionTable>,
    #[serde(default)]
    outputs: BTreeMap<String, Spanned<CommandOutputRule>>,
    #[serde(default)]
    arguments: Option<Spanned<BTreeMap<String, Spanned<Classified>>>>,
    #[serde(default)]
    approval: BTreeMap<String, Spanned<ApprovalCondition>>,
    #[serde(default)]
    limits: Option<Spanned<LimitsTable>>,
}

pub(super) struct Profile {
    pub(super) name: String,
    grants: Grants,
    limits: Limits,
    sha256: String,
    why: String,
    why_at: SourceLocation,
    mounts_at: SourceLocation,
    access_at: Vec<SourceLocation>,
    interfaces_at: Vec<SourceLocation>,
    network_at: Option<NetworkPlace>,
    limits_at: BTreeMap<&'static str, SourceLocation>,
}

impl ProfileFile {
    pub(super) fn check(self, source: &PolicySource<'_>) -> Result<Profile, PolicyProblem> {
        check_head(source, &self.schema, &self.why)?;
        check_name(self.profile.get_ref()).map_err(|why| {
            source.problem_at(self.profile.span().start, &format!("the profile's name {why}"))
        })?;
        let (mut mounts, mut access_at) = (Vec::<MountGrant>::new(), Vec::new());
        let mounts_at = source.place(&self.mounts);
        let network_at = self.network.as_ref().map(|network| NetworkPlace {
            whole: source.place(network),
            hosts: source.place(&network.get_ref().hosts),
        });
        let network = self.network.map(|network| network.into_inner().check(source)).transpose()?;
        for mount in self.mounts.into_inner() {
            let at = mount.span().start;
            let MountLine { guest, access } = mount.into_inner();
            access_at.push(source.place(&access));
            let mount = MountGrant { guest, access: access.into_inner() };
            if !MOUNTS.contains(&mount.guest.as_str()) {
                return Err(source.problem_at(
                    at,
                    &format!("no mount {:?}; write one of {}", mount.guest, MOUNTS.join(", ")),
                ));
            }
            if mounts.iter().any(|m| m.guest == mount.guest) {
                return Err(
                    source.problem_at(at, &format!("mount {} is granted twice; keep one", mount.guest))
                );
            }
            mounts.push(mount);
        }
        if let Some(scratch) = &self.scratch
            && let Some(problem) = outputs::scratch_problem(scratch.get_ref())
        {
            return Err(source.problem_at(scratch.span().start, &problem));
        }
        let limits = self.limits.to_limits(&Limits::CEILING, &Limits::CEILING, "the gateway", source)?;
        Ok(Profile {
            name: self.profile.into_inner(),
            why_at: source.place(&self.why),
            mounts_at,
            access_at,
            interfaces_at: self.interfaces.iter().map(|interface| source.place(interface)).collect(),
            network_at,
            limits_at: self.limits.places(source),
            grants: Grants {
                mounts,
                interfaces: self.interfaces.into_iter().map(Spanned::into_inner).collect(),
                network,
                scratch: self.scratch.map(Spanned::into_inner),
            },
            limits,
            sha256: sha256_hex(source.text.as_bytes()),
            why: self.why.into_inner(),
        })
    }
}

impl ToolFile {
    /// The tool's policy under its profile; each problem names the tool.
    pub(super) fn combine(
        self,
        source: &PolicySource<'_>,
        profiles: &BTreeMap<String, Profile>,
    ) -> CheckedPart<ToolPolicy> {
        let tool = cofferdam_core::text::one_line(self.tool.get_ref(), 80);
        self.apply_profile(source, profiles).map_err(|mut problems| {
            for found in &mut problems {
                found.problem.insert_str(0, &format!("{tool}: "));
            }
            problems
        })
    }

    fn apply_profile(
        self,
        source: &PolicySource<'_>,
        profiles: &BTreeMap<String, Profile>,
    ) -> CheckedPart<ToolPolicy> {
        check_head(source, &self.schema, &self.why).map_err(|p| vec![p])?;
        let tool = ToolName::parse(self.tool.get_ref())
            .map_err(|bad| vec![source.problem_at(self.tool.span().start, &bad)])?;
        if is_word(tool.as_str()) {
            let text = format!("/{tool} is a word to the gateway itself; choose another name for the tool");
            return Err(vec![source.problem_at(self.tool.span().start, &text)]);
        }
        let Some(profile) = profiles.get(self.profile.get_ref()) else {
            let known: Vec<_> = profiles.keys().map(String::as_str).collect();
            let wanted = self.profile.get_ref();
            let text = match known.as_slice() {
                [] => {
                    let name = cofferdam_core::text::one_line(wanted, 80);
                    format!("no profile {wanted:?}, nor any other; add profiles/{name}.toml")
                }
                known => format!("no profile {wanted:?}; write one of {}", known.join(", ")),
            };
            return Err(vec![source.problem_at(self.profile.span().start, &text)]);
        };
        let (limits, origins) = self.limits(source, profile).map_err(|p| vec![p])?;
        if *self.safety.get_ref() == Safety::ReadOnly && profile.grants.may_write() {
            let text = format!(
                "safety = \"read-only\" under profile {}, which may write; use a read-only profile or \
                                safety = \"side-effecting\"",
                profile.name
            );
            return Err(vec![source.problem_at(self.safety.span().start, &text)]);
        }
        let arguments_at = self.arguments.as_ref().map_or(0, |table| table.span().start);
        let arguments = self.arguments.map(Spanned::into_inner).unwrap_or_default();
        let unwritable = arguments.iter().filter_map(|(at, class)| {
            let problem = format!(
                "{at:?} is written, but profile {} grants no mount for writing; use {{ path = \"read\" }} or a profile with \
                 access = \"atomic-write\"",
                profile.name
            );
            (class.get_ref().class.is_written() && !profile.grants.may_write())
                .then(|| source.problem_at(class.span().start, &problem))
        });
        let offline = arguments.iter().filter_map(|(at, class)| {
            let is_url = matches!(class.get_ref().class, ArgumentClass::Url(_));
            let problem = super::grant::explain_no_network(at, &profile.name);
            (is_url && profile.grants.network.is_none())
                .then(|| source.problem_at(class.span().start, &problem))
        });
        let mut problems: Vec<_> = unwritable.chain(offline).collect();
        let incomplete = arguments.iter().filter_map(|(at, written)| {
            let Classified { class, completion } = written.get_ref();
            Some(source.problem_at(written.span().start, &completion.problem(at, *class, &profile.grants)?))
        });
        if problems.is_empty() {
            problems.extend(incomplete);
        }
        let approval = approvals(self.approval, source, profile, &arguments);
        let approval = approval.map_err(|unaskable| problems.extend(unaskable));
        let is_builtin = *self.component.get_ref() == ComponentSource::Builtin;
        let refused = |said: &str| Err(vec![source.problem_at(self.component.span().start, said)]);
        let entry = match (self.command, self.function) {
            (None, None) => Ok(EntryPolicy::Tool),
            (Some(_), Some(_)) => refused("it has [command] and [function]; keep the one that it is"),
            _ if is_builtin => {
                refused("a builtin component is neither; write component = { file = \"…\", sha256 = \"…\" }")
            }
            (Some(table), None) => {
                table.check(source, tool.clone()).map(|c| EntryPolicy::Command(Box::new(c)))
            }
            (None, Some(table)) => table.check(source, tool.clone()).map(EntryPolicy::Function),
        };
        let entry = entry.and_then(|entry| {
            outputs::add(self.outputs, entry, &arguments, profile.grants.scratch.is_some(), source)
        });
        let entry = entry.map_err(|unusable| problems.extend(unusable));
        let (Ok(approval), Ok(entry), true) = (approval, entry, problems.is_empty()) else {
            return Err(problems);
        };
        let completions = arguments.iter().map(|(k, v)| (k.clone(), v.get_ref().completion.clone()));
        Ok(ToolPolicy {
            approval,
            completions: completions.filter(|(_, completion)| !completion.is_empty()).collect(),
            tool,
            profile: profile.name.clone(),
            component: self.component.into_inner(),
            safety: self.safety.into_inner(),
            imports: self.imports,
            entry,
            why: self.why.into_inner(),
            grants: profile.grants.clone(),
            argument_lines: arguments.iter().map(|(k, v)| (k.clone(), source.line(v.span().start))).collect(),
            arguments: arguments.into_iter().map(|(k, v)| (k, v.into_inner().class)).collect(),
            limits,
            sha256: sha256_hex(
                format!("{}{}", profile.sha256, sha256_hex(source.text.as_bytes())).as_bytes(),
            ),
            file: source.name.to_owned(),
            arguments_line: source.line(arguments_at),
            origins,
        })
    }

    /// The limits of a call, and where they and everything else of the policy are written.
    fn limits(
        &self,
        source: &PolicySource<'_>,
        profile: &Profile,
    ) -> Result<(Limits, Origins), PolicyProblem> {
        let none = LimitsTable::default();
        let written = self.limits.as_ref().map_or(&none, Spanned::get_ref);
        let owner = format!("profile {}", profile.name);
        let limits = written.to_limits(&profile.limits, &Limits::DEFAULT, &owner, source)?;
        let mut places = written.places(source);
        let defaults = Limits::DEFAULT.rows();
        for (limit, default) in limits.rows().into_iter().zip(defaults) {
            // Not written by the tool and below the default: the profile says so.
            if limit != default
                && let (false, Some(place)) =
                    (places.contains_key(limit.name), profile.limits_at.get(limit.name))
            {
                places.insert(limit.name, place.clone());
            }
        }
        let origins = Origins {
            profile: source.place(&self.profile),
            component: source.place(&self.component),
            safety: source.place(&self.safety),
            why: source.place(&self.why),
            profile_why: profile.why.clone(),
            profile_why_at: profile.why_at.clone(),
            mounts: profile.mounts_at.clone(),
            access: profile.access_at.clone(),
            interfaces: profile.interfaces_at.clone(),
            network: profile.network_at.clone(),
            limits: places,
            limits_table: self.limits.as_ref().map(|table| source.place(table)),
            profile_limits: profile.limits,
            profile_limits_at: profile.limits_at.clone(),
        };
        Ok((limits, origins))
    }
}

/// The rules of `[approval]`, or all that is wrong with them.
fn approvals(
    written: BTreeMap<String, Spanned<ApprovalCondition>>,
    source: &PolicySource<'_>,
    profile: &Profile,
    arguments: &BTreeMap<String, Spanned<Classified>>,
) -> CheckedPart<Approvals> {
    let writes = arguments.values().any(|c| c.get_ref().class == ArgumentClass::Path(PathUse::Write));
    let granted = |path: &GuestPath| profile.grants.access(path.mount()).is_some();
    let problems: Vec<_> = written
        .iter()
        .filter_map(|(about, when)| {
            let class = arguments.get(about).map(|classified| classified.get_ref().class);
            let problem = approval::problem(about, *when.get_ref(), class, writes, granted)?;
            Some(source.problem_at(when.span().start, &format!("[approval] {problem}")))
        })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Approvals::new(written.into_iter().map(|(about, when)| {
        let at = source.place(&when);
        (about, Rule { when: when.into_inner(), at })
    })))
}
