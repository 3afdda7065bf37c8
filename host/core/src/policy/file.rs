//! Policy files: what an operator writes, read strictly and combined into one effective policy a tool.
//!
//! Everything unknown is refused with the file, the line and what to write instead; nothing here
//! touches the disk.

use super::schema;
use crate::audit::sha256_hex;
use crate::capability::{Access, Grants, Interface, MOUNTS, MountGrant};
use crate::limits::{ByteSize, Limits, Span};
use crate::tool::ToolName;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// What is wrong with a policy, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct PolicyProblem {
    /// The file as it was given, e.g. `tools/attachment_save.toml`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// How a path argument is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathUse {
    /// Read.
    Read,
    /// Written: this very path.
    Write,
    /// A directory below which files are written.
    WriteBelow,
}

/// How a policy classifies an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArgumentClass {
    /// Audited as it is, bounded.
    Value,
    /// Audited as length and SHA-256 only.
    Content,
    /// A guest path, judged for this use.
    Path(PathUse),
}

impl<'de> Deserialize<'de> for ArgumentClass {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct PathClass {
            path: PathUse,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Path(PathClass),
        }
        const HOW: &str = r#"write "value", "content" or { path = "read" | "write" | "write-below" }"#;
        match Written::deserialize(d) {
            Ok(Written::Word(word)) if word == "value" => Ok(Self::Value),
            Ok(Written::Word(word)) if word == "content" => Ok(Self::Content),
            Ok(Written::Path(class)) => Ok(Self::Path(class.path)),
            Ok(Written::Word(word)) => Err(de::Error::custom(format_args!("unknown class {word:?}; {HOW}"))),
            Err(_) => Err(de::Error::custom(format_args!("not a class; {HOW}"))),
        }
    }
}

/// Where a tool's component comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentSource {
    /// Embedded in the binary under the tool's name.
    Builtin,
    /// A file, relative to the policy file, whose SHA-256 is checked at every load.
    File {
        /// The path as written.
        file: String,
        /// Lower-case hex.
        sha256: String,
    },
}

impl<'de> Deserialize<'de> for ComponentSource {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Pinned {
            file: String,
            sha256: String,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Pinned(Pinned),
        }
        match Written::deserialize(d) {
            Ok(Written::Word(word)) if word == "builtin" => Ok(Self::Builtin),
            Ok(Written::Pinned(Pinned { file, sha256 })) => {
                let hex = sha256.len() == 64
                    && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !hex {
                    return Err(de::Error::custom(
                        "sha256 is not 64 lower-case hex digits; write what sha256sum prints",
                    ));
                }
                Ok(Self::File { file, sha256 })
            }
            _ => Err(de::Error::custom(
                r#"write "builtin" or { file = "my.wasm", sha256 = "…" } (both are needed)"#,
            )),
        }
    }
}

/// What a tool may do to the world, for approvals and replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// Changes nothing.
    ReadOnly,
    /// Changes files or sends something.
    SideEffecting,
    /// Changes what the gateway itself relies on.
    Privileged,
}

/// The effective policy of one tool: its own file and its profile, combined and checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolPolicy {
    /// The tool.
    pub tool: ToolName,
    /// The profile's name.
    pub profile: String,
    /// Where the component comes from.
    pub component: ComponentSource,
    /// What the tool may do to the world.
    pub safety: Safety,
    /// Why the tool is allowed at all.
    pub why: String,
    /// Mounts and interfaces within reach.
    pub grants: Grants,
    /// Class of each argument, by its place: `path`, `paths[]`, `edits[].new_text`.
    pub arguments: BTreeMap<String, ArgumentClass>,
    /// The limits of one call.
    pub limits: Limits,
    /// SHA-256 over the SHA-256s of profile file and tool file, lower-case hex.
    pub sha256: String,
    /// The tool's policy file as it was given.
    pub file: String,
    /// The line of `[arguments]`.
    #[serde(skip)]
    pub arguments_line: usize,
    #[serde(skip)]
    argument_lines: BTreeMap<String, usize>,
}

impl ToolPolicy {
    /// The class of the argument at a place such as `path` or `edits[].new_text`.
    pub fn class(&self, at: &str) -> Option<ArgumentClass> {
        self.arguments.get(at).copied()
    }

    /// Holds the policy against the schema of the arguments: every place that can hold a string is
    /// classified, every classified place exists, and a path class sits on a string.
    ///
    /// # Errors
    /// One problem a place, each with the line to add or remove.
    pub fn check_schema(&self, arguments: &Value) -> Result<(), Vec<PolicyProblem>> {
        let problem = |line, problem: String| PolicyProblem { file: self.file.clone(), line, problem };
        let leaves = schema::leaves(arguments).map_err(|what| {
            vec![problem(
                self.arguments_line,
                format!("the schema of {} cannot be judged: {what}", self.tool),
            )]
        })?;
        let mut problems = Vec::new();
        for (at, leaf) in &leaves {
            if *leaf == schema::Leaf::MayBeText && !self.arguments.contains_key(at) {
                let key = toml_key(at);
                problems.push(problem(
                    self.arguments_line,
                    format!("argument {at:?} can hold text and is not classified; add to [arguments]: {key} = \"value\", \
                             {key} = \"content\" or {key} = {{ path = \"read\" }}"),
                ));
            }
        }
        for (at, class) in &self.arguments {
            let line = self.argument_lines.get(at).copied().unwrap_or(self.arguments_line);
            match leaves.get(at) {
                None => problems
                    .push(problem(line, format!("{} has no argument {at:?}; remove the line", self.tool))),
                Some(schema::Leaf::NeverText) if matches!(class, ArgumentClass::Path(_)) => {
                    problems.push(problem(
                        line,
                        format!(
                            "argument {at:?} can never be a path; classify it as \"value\" or remove the line"
                        ),
                    ))
                }
                Some(_) => {}
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// All policies of a gateway, by tool.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    tools: BTreeMap<ToolName, ToolPolicy>,
}

impl PolicySet {
    /// Reads policy files, each given as (name, text); names under `profiles/` are profiles, names
    /// under `tools/` are tools' policies.
    ///
    /// # Errors
    /// Every problem found, so that one round mends all; nothing is usable then.
    pub fn parse<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<PolicyProblem>> {
        let mut problems = Vec::new();
        let mut profiles = BTreeMap::new();
        let mut tools = Vec::new();
        for (name, text) in files {
            let source = Source { name, text };
            if name.starts_with("profiles/") {
                match source.parse::<ProfileFile>().and_then(|file| file.check(&source)) {
                    Ok(profile) => {
                        if profiles.insert(profile.name.clone(), profile).is_some() {
                            problems.push(source.at(0, "this profile is defined twice; keep one file"));
                        }
                    }
                    Err(problem) => problems.push(problem),
                }
            } else if name.starts_with("tools/") {
                match source.parse::<ToolFile>() {
                    Ok(file) => tools.push((source, file)),
                    Err(problem) => problems.push(problem),
                }
            } else {
                problems.push(source.at(0, "not a policy; move it to profiles/ or tools/"));
            }
        }
        let mut set = Self::default();
        for (source, file) in tools {
            match file.combine(&source, &profiles) {
                Ok(policy) => {
                    if set.tools.contains_key(&policy.tool) {
                        problems.push(
                            source.at(0, &format!("tool {} has two policies; keep one file", policy.tool)),
                        );
                    }
                    set.tools.insert(policy.tool.clone(), policy);
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() && set.tools.is_empty() {
            problems.push(PolicyProblem {
                file: "tools/".into(),
                line: 1,
                problem: "no tool has a policy; add tools/<tool>.toml and profiles/<profile>.toml".into(),
            });
        }
        if problems.is_empty() { Ok(set) } else { Err(problems) }
    }

    /// The policy of a tool.
    pub fn get(&self, tool: &str) -> Option<&ToolPolicy> {
        self.tools.values().find(|p| p.tool.as_str() == tool)
    }

    /// All policies, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ToolPolicy> {
        self.tools.values()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    schema: Spanned<u32>,
    profile: Spanned<String>,
    why: Spanned<String>,
    mounts: Spanned<Vec<Spanned<MountGrant>>>,
    #[serde(default)]
    interfaces: Vec<Spanned<Interface>>,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    schema: Spanned<u32>,
    tool: Spanned<String>,
    profile: Spanned<String>,
    component: ComponentSource,
    safety: Spanned<Safety>,
    why: Spanned<String>,
    #[serde(default)]
    arguments: Option<Spanned<BTreeMap<String, Spanned<ArgumentClass>>>>,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    memory: Option<Spanned<ByteSize>>,
    deadline: Option<Spanned<Span>>,
    written_bytes: Option<Spanned<ByteSize>>,
    arguments: Option<Spanned<ByteSize>>,
    result: Option<Spanned<ByteSize>>,
}

struct Profile {
    name: String,
    grants: Grants,
    limits: Limits,
    sha256: String,
}

impl LimitsTable {
    /// The limits written here, each at most `ceiling`'s; those not written are the smaller of the
    /// default and the ceiling, or the ceiling itself where `unset` says so.
    fn under(
        &self,
        ceiling: &Limits,
        unset: &Limits,
        owner: &str,
        source: &Source<'_>,
    ) -> Result<Limits, PolicyProblem> {
        fn pick<T: Copy + Ord + fmt::Display>(
            name: &str,
            written: &Option<Spanned<T>>,
            ceiling: T,
            unset: T,
            owner: &str,
            source: &Source<'_>,
        ) -> Result<T, PolicyProblem> {
            match written {
                None => Ok(unset.min(ceiling)),
                Some(value) if *value.get_ref() <= ceiling => Ok(*value.get_ref()),
                Some(value) => Err(source.at(
                    value.span().start,
                    &format!(
                        "{name} = \"{}\" is above {owner}'s {ceiling}; write at most \"{ceiling}\"",
                        value.get_ref()
                    ),
                )),
            }
        }
        Ok(Limits {
            memory: pick("memory", &self.memory, ceiling.memory, unset.memory, owner, source)?,
            deadline: pick("deadline", &self.deadline, ceiling.deadline, unset.deadline, owner, source)?,
            written_bytes: pick(
                "written_bytes",
                &self.written_bytes,
                ceiling.written_bytes,
                unset.written_bytes,
                owner,
                source,
            )?,
            arguments: pick("arguments", &self.arguments, ceiling.arguments, unset.arguments, owner, source)?,
            result: pick("result", &self.result, ceiling.result, unset.result, owner, source)?,
        })
    }
}

impl ProfileFile {
    fn check(self, source: &Source<'_>) -> Result<Profile, PolicyProblem> {
        check_head(source, &self.schema, &self.why)?;
        let mut mounts: Vec<MountGrant> = Vec::new();
        for mount in self.mounts.into_inner() {
            let at = mount.span().start;
            let mount = mount.into_inner();
            if !MOUNTS.contains(&mount.guest.as_str()) {
                return Err(
                    source.at(at, &format!("no mount {:?}; write one of {}", mount.guest, MOUNTS.join(", ")))
                );
            }
            if mounts.iter().any(|m| m.guest == mount.guest) {
                return Err(source.at(at, &format!("mount {} is granted twice; keep one", mount.guest)));
            }
            mounts.push(mount);
        }
        let limits = self.limits.under(&Limits::CEILING, &Limits::CEILING, "the gateway", source)?;
        Ok(Profile {
            name: self.profile.into_inner(),
            grants: Grants {
                mounts,
                interfaces: self.interfaces.into_iter().map(Spanned::into_inner).collect(),
            },
            limits,
            sha256: sha256_hex(source.text.as_bytes()),
        })
    }
}

impl ToolFile {
    fn combine(
        self,
        source: &Source<'_>,
        profiles: &BTreeMap<String, Profile>,
    ) -> Result<ToolPolicy, Vec<PolicyProblem>> {
        check_head(source, &self.schema, &self.why).map_err(|p| vec![p])?;
        let tool = ToolName::parse(self.tool.get_ref())
            .map_err(|bad| vec![source.at(self.tool.span().start, &bad.to_string())])?;
        let Some(profile) = profiles.get(self.profile.get_ref()) else {
            let known: Vec<_> = profiles.keys().map(String::as_str).collect();
            let text = format!("no profile {:?}; write one of {}", self.profile.get_ref(), known.join(", "));
            return Err(vec![source.at(self.profile.span().start, &text)]);
        };
        let owner = format!("profile {}", profile.name);
        let limits =
            self.limits.under(&profile.limits, &Limits::DEFAULT, &owner, source).map_err(|p| vec![p])?;
        if *self.safety.get_ref() == Safety::ReadOnly && profile.grants.may_write() {
            let text = format!(
                "safety = \"read-only\" under profile {}, which may write; use a read-only profile or \
                                safety = \"side-effecting\"",
                profile.name
            );
            return Err(vec![source.at(self.safety.span().start, &text)]);
        }
        let (arguments, arguments_at) = match self.arguments {
            Some(table) => {
                let at = table.span().start;
                (table.into_inner(), at)
            }
            None => (BTreeMap::new(), 0),
        };
        let writes = |class: &ArgumentClass| {
            matches!(class, ArgumentClass::Path(PathUse::Write | PathUse::WriteBelow))
        };
        let problems: Vec<_> = arguments
            .iter()
            .filter(|(_, class)| writes(class.get_ref()) && !profile.grants.may_write())
            .map(|(at, class)| {
                source.at(
                    class.span().start,
                    &format!(
                        "{at:?} is written, but profile {} grants no mount for \
                writing; use {{ path = \"read\" }} or a profile with access = \"atomic-write\"",
                        profile.name
                    ),
                )
            })
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(ToolPolicy {
            tool,
            profile: profile.name.clone(),
            component: self.component,
            safety: self.safety.into_inner(),
            why: self.why.into_inner(),
            grants: profile.grants.clone(),
            argument_lines: arguments.iter().map(|(k, v)| (k.clone(), source.line(v.span().start))).collect(),
            arguments: arguments.into_iter().map(|(k, v)| (k, v.into_inner())).collect(),
            limits,
            sha256: sha256_hex(
                format!("{}{}", profile.sha256, sha256_hex(source.text.as_bytes())).as_bytes(),
            ),
            file: source.name.to_owned(),
            arguments_line: source.line(arguments_at),
        })
    }
}

fn check_head(
    source: &Source<'_>,
    schema: &Spanned<u32>,
    why: &Spanned<String>,
) -> Result<(), PolicyProblem> {
    if *schema.get_ref() != 1 {
        return Err(source.at(schema.span().start, "this gateway reads schema = 1; write that"));
    }
    if why.get_ref().trim().is_empty() {
        return Err(source.at(why.span().start, "why is empty; say in one sentence what this grant is for"));
    }
    Ok(())
}

/// A policy file's name and text, for turning places into lines.
#[derive(Clone, Copy)]
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn parse<T: de::DeserializeOwned>(&self) -> Result<T, PolicyProblem> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().unwrap_or(Range { start: 0, end: 0 }).start;
            self.at(at, &crate::text::one_line(error.message(), 400))
        })
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count()
    }

    fn at(&self, at: usize, problem: &str) -> PolicyProblem {
        PolicyProblem { file: self.name.to_owned(), line: self.line(at), problem: problem.to_owned() }
    }
}

fn toml_key(at: &str) -> String {
    let bare = at.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { at.to_owned() } else { format!("{at:?}") }
}

impl Grants {
    /// In words, for people: `/shared (atomic-write), /tmp (atomic-write); turn-attachments`.
    pub fn in_words(&self) -> String {
        let right = |access| match access {
            Access::ReadOnly => "read-only",
            Access::AtomicWrite => "atomic-write",
        };
        let mounts: Vec<_> =
            self.mounts.iter().map(|m| format!("{} ({})", m.guest, right(m.access))).collect();
        let interfaces: Vec<_> = self
            .interfaces
            .iter()
            .map(|i| match i {
                Interface::TurnAttachments => "turn-attachments",
            })
            .collect();
        match (mounts.is_empty(), interfaces.is_empty()) {
            (true, true) => "nothing".into(),
            (false, true) => mounts.join(", "),
            (true, false) => interfaces.join(", "),
            (false, false) => format!("{}; {}", mounts.join(", "), interfaces.join(", ")),
        }
    }
}
