//! A component from a file, as its author tries it: looked at with nothing granted, held against a
//! policy chosen for it, and opened in a gateway of its own.
//!
//! It takes the component that is given, also where the policy pins another; everything else is
//! refused as it would be when served. It serves nobody else, and no pin is changed here.

mod skeleton;

use super::ready::choose_cache;
use super::{Gateway, GatewayError, Role, builtin, builtin_component, load_policies, open_fetched, sandbox};
use crate::config::Config;
use cofferdam_agent::tools::{Registry, RegistryError, check_granted, read_component, read_policy};
use cofferdam_core::capability::Grants;
use cofferdam_core::schema::Schema;
use cofferdam_core::tool::{Description, ToolName};
use cofferdam_oci::Store;
use cofferdam_policy::{ComponentSource, EntryPolicy, PolicyProblem, PolicySet, ToolPolicy};
use cofferdam_warden::sandbox::imports::{Interfaces, NotAComponent, interfaces};
use cofferdam_warden::sandbox::{Binary, ExportedFunction, Sandbox, SandboxError, report_loading};
use cofferdam_warden::shell::quote_path;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A component that somebody is working on.
pub struct Candidate {
    /// Where it was read from.
    pub file: PathBuf,
    /// The component.
    pub binary: Binary,
    /// What it imports and exports.
    pub interfaces: Interfaces,
    /// What it says of itself, or why it does not.
    pub description: Result<Description, String>,
    /// The functions that it exports, if it is neither a tool of the contract nor a command.
    pub functions: Vec<ExportedFunction>,
    sandbox: Sandbox,
    /// Where its machine code is kept, and what is gone with it.
    cache: (PathBuf, Option<TempDir>),
    /// What policies may pin of registries.
    fetched: Store,
}

/// Why a file is not looked at further.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// There is no such file, it may not be read, or it is a folder or something else.
    #[error("cannot read {0}: {1}; build the tool with: cargo build --release --target wasm32-wasip2")]
    Unreadable(String, io::Error),
    /// No gateway would take it, or it is no component.
    #[error("{0}")]
    NotTaken(String),
    /// There is no sandbox to look in.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

impl Candidate {
    /// Reads the component and lets it describe itself, in the sandbox and with nothing granted.
    ///
    /// # Errors
    /// [`CandidateError`]. A component that does not describe itself is looked at all the same.
    pub fn open(config: &Config, file: &Path) -> Result<Self, CandidateError> {
        let shown = file.display().to_string();
        let not_taken = |cause: String| CandidateError::NotTaken(format!("{shown}: {cause}"));
        let bytes = read_component(file).map_err(|cause| match cause.kind() {
            io::ErrorKind::Other if file.is_file() => not_taken(cause.to_string()),
            _ => CandidateError::Unreadable(shown.clone(), cause),
        })?;
        let interfaces = interfaces(&bytes).map_err(|e| match e {
            NotAComponent::TooMany => not_taken(e.to_string()),
            e => CandidateError::NotTaken(format!("{shown} is not a component: {e}")),
        })?;
        let binary = Binary::new(bytes);
        let cache = choose_cache(config)?;
        let sandbox = sandbox(config, &cache.0)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let load = || sandbox.load(binary.clone(), &Grants::NOTHING, &EntryPolicy::Tool);
        let described = match report_loading(&name, load) {
            Err(e @ (SandboxError::Compile(_) | SandboxError::TooLarge(_))) => {
                return Err(not_taken(e.to_string()));
            }
            Err(e) => Err(e),
            Ok(component) => sandbox.describe(&component),
        };
        // Those of the two other kinds are called by them.
        let mut functions = sandbox.functions(&binary).unwrap_or_default();
        functions.retain(|function| {
            !["cofferdam:tool/", "wasi:cli/run@"].iter().any(|of| function.export.starts_with(of))
        });
        let description = described.map_err(|e| explain_undescribed(&interfaces, &e));
        Ok(Self {
            file: file.to_owned(),
            binary,
            interfaces,
            description,
            functions,
            sandbox,
            cache,
            fetched: open_fetched(config),
        })
    }

    /// What it could be: a tool of the contract, a command, functions.
    pub fn possible_kinds(&self) -> Vec<String> {
        let of = [
            (is_tool(&self.interfaces), "a tool of the contract (cofferdam:tool/tool)".to_owned()),
            (is_command(&self.interfaces), "a WASI command (wasi:cli/run), by [command]".to_owned()),
            (!self.functions.is_empty(), format!("{} functions, each by [function]", self.functions.len())),
        ];
        of.into_iter().filter(|(is, _)| *is).map(|(_, said)| said).collect()
    }

    /// Policies to begin with, each the tool and the text of its file; of functions one each.
    pub fn skeletons(&self) -> Vec<(ToolName, String)> {
        let (sha256, stem) = (self.binary.sha256(), self.stem());
        let tool = self.description.as_ref().ok();
        let tool = tool.map(|said| skeleton::for_tool(&said.name, &said.arguments, sha256));
        let command = is_command(&self.interfaces).then(|| skeleton::for_command(&stem, sha256));
        let functions = skeleton::for_functions(&self.functions, &stem, sha256);
        tool.into_iter().chain(command).chain(functions).collect()
    }

    fn stem(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What a policy makes of it: its own description, or that of a command or a function.
    ///
    /// # Errors
    /// Why there is none.
    fn describe_under(&self, policy: &ToolPolicy) -> Result<Description, String> {
        if policy.entry == EntryPolicy::Tool {
            return self.description.clone();
        }
        let load = || self.sandbox.load(self.binary.clone(), &policy.grants, &policy.entry);
        let component = report_loading(policy.tool.as_str(), load);
        let description = component.and_then(|component| self.sandbox.describe(&component));
        description.map_err(|e| format!("{}: {}: {e}", policy.file, policy.tool))
    }

    /// The policy that `chosen` (a folder of policies, or one tool's file) has for this tool;
    /// without it one that grants nothing.
    ///
    /// # Errors
    /// Everything that is wrong with what was chosen, each with what to write.
    pub fn policy(&self, chosen: Option<&Path>) -> Result<ToolPolicy, Vec<String>> {
        let set = self.policies(chosen)?;
        let Ok(description) = &self.description else { return self.foreign_policy(&set) };
        if chosen.is_some_and(Path::is_file) {
            if let Some(foreign) = set.iter().find(|policy| policy.entry != EntryPolicy::Tool) {
                return Ok(foreign.clone());
            }
            if let Some(policy) = set.iter().next().filter(|policy| policy.tool != description.name) {
                return Err(vec![RegistryError::misnamed(policy, &description.name).to_string()]);
            }
        }
        let name = description.name.as_str();
        let place = chosen.map_or_else(|| "nothing".to_owned(), |path| path.display().to_string());
        set.get(name).cloned().ok_or_else(|| {
            vec![format!(
                "{name}: {place} has no policy for it; add tools/{name}.toml, which `cofferdam tool inspect {}` prints",
                quote_path(&self.file)
            )]
        })
    }

    /// The same for what does not describe itself: a command or a function says its policy alone.
    fn foreign_policy(&self, set: &PolicySet) -> Result<ToolPolicy, Vec<String>> {
        let is_of_it = |policy: &&ToolPolicy| {
            policy.entry != EntryPolicy::Tool && (set.iter().count() == 1 || self.is_pinned_by(policy))
        };
        set.iter().find(is_of_it).cloned().ok_or_else(|| self.undescribed())
    }

    /// The policies that were chosen; without a choice those of the first skeleton.
    fn policies(&self, chosen: Option<&Path>) -> Result<PolicySet, Vec<String>> {
        let set = match chosen {
            None => {
                let (tool, text) = self.skeletons().into_iter().next().ok_or_else(|| self.undescribed())?;
                let name = format!("tools/{tool}.toml");
                PolicySet::parse([("profiles/nothing.toml", NOTHING), (&*name, &*text)])
            }
            Some(file) if file.is_file() => return load_file(file),
            Some(dir) => load_policies(Some(dir)),
        };
        set.map_err(in_words)
    }

    fn undescribed(&self) -> Vec<String> {
        self.description.as_ref().err().into_iter().cloned().collect()
    }

    /// Everything for which the tool would not load under `policy`, its pin apart; each with what
    /// to write.
    pub fn problems(&self, policy: &ToolPolicy) -> Vec<String> {
        let description = match self.describe_under(policy) {
            Ok(description) => description,
            Err(why) => return vec![why],
        };
        let missing = check_granted(policy, &self.binary).err();
        let mut problems: Vec<String> = missing.iter().map(ToString::to_string).collect();
        if let Err(found) = policy.check_schema(&description.arguments) {
            problems.extend(found.iter().map(ToString::to_string));
        }
        if let Err(cause) = Schema::compile(&description.arguments) {
            problems.push(RegistryError::bad_schema(policy, &cause).to_string());
        }
        problems
    }

    /// Why a gateway that serves this policy would not take these bytes, if they are not the ones
    /// it pins.
    pub fn pin_problem(&self, policy: &ToolPolicy) -> Option<String> {
        let (file, tool, sha256) = (&policy.file, policy.tool.as_str(), self.binary.sha256());
        let pin = format!("write: component = {{ file = \"{tool}.wasm\", sha256 = \"{sha256}\" }}");
        let problem = match &policy.component {
            _ if self.is_pinned_by(policy) => return None,
            ComponentSource::Fetched { oci, .. } => {
                format!("{file}: {tool}: the policy takes {oci}, not this file; for this one {pin}")
            }
            ComponentSource::File { file: component, sha256: pinned } => {
                RegistryError::mismatch(policy, component, pinned, sha256).to_string()
            }
            ComponentSource::Builtin
                if builtin_component(tool).is_some_and(|builtin| builtin.sha256() == sha256) =>
            {
                return None;
            }
            ComponentSource::Builtin => {
                format!("{file}: {tool}: the policy takes the builtin component, not this file; {pin}")
            }
        };
        Some(problem)
    }

    /// Whether a policy pins these very bytes; what it takes from a registry has been fetched then.
    fn is_pinned_by(&self, policy: &ToolPolicy) -> bool {
        match &policy.component {
            ComponentSource::Builtin => false,
            ComponentSource::File { sha256, .. } => *sha256 == self.binary.sha256(),
            ComponentSource::Fetched { oci, .. } => {
                self.fetched.component_digest(oci).is_ok_and(|digest| digest.hex() == self.binary.sha256())
            }
        }
    }

    /// A gateway that has this one tool under `policy`, with the workspace and state of `places`.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn gateway(&self, places: &Config, policy: &ToolPolicy) -> Result<Gateway, GatewayError> {
        let load = |sandbox: &Sandbox| Registry::from_component(sandbox, policy, self.binary.clone());
        Gateway::open_with(places, Role::Beside, &self.cache.0, (load, Some(policy.tool.as_str())))
    }
}

/// The profile that grants nothing.
pub const NOTHING: &str =
    "schema = 1\nprofile = \"nothing\"\nwhy = \"tools that compute, and touch nothing\"\nmounts = []\n";

fn is_tool(interfaces: &Interfaces) -> bool {
    interfaces.exports.iter().any(|name| name.starts_with("cofferdam:tool/tool@0.1."))
}

fn is_command(interfaces: &Interfaces) -> bool {
    interfaces.exports.iter().any(|name| name.starts_with("wasi:cli/run@0.2."))
}

fn explain_undescribed(interfaces: &Interfaces, error: &SandboxError) -> String {
    if !is_tool(interfaces) {
        return "it does not export cofferdam:tool/tool@0.1.0, so it is no tool; in Rust: \
                cofferdam_sdk::export_tool!(YourTool);"
            .into();
    }
    error.to_string()
}

/// One tool's policy with its profile: from `../profiles` beside it, else the embedded one of that
/// name, or the one that skeletons have.
fn load_file(file: &Path) -> Result<PolicySet, Vec<String>> {
    let read =
        |path: &Path| read_policy(path).map_err(|e| vec![format!("cannot read {}: {e}", path.display())]);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = read(file)?;
    let mut files = Vec::new();
    let base = std::path::absolute(file).map_err(|e| vec![e.to_string()])?;
    let beside = base.parent().and_then(Path::parent).map(|dir| dir.join("profiles"));
    for entry in beside.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|e| e == "toml") {
            files.push((format!("profiles/{}", name(&entry.path())), read(&entry.path())?));
        }
    }
    let wanted = find_text(&text, "profile");
    if !files.iter().any(|(_, text)| find_text(text, "profile") == wanted) {
        let embedded = builtin::POLICIES.iter().copied().filter(|(name, _)| name.starts_with("profiles/"));
        let mut known = embedded.chain([("profiles/nothing.toml", NOTHING)]);
        let same = known.find(|(_, text)| find_text(text, "profile") == wanted);
        files.extend(same.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
    files.push((format!("tools/{}", name(file)), text));
    files.sort();
    PolicySet::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).map_err(in_words)
}

fn in_words(problems: Vec<PolicyProblem>) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// The text under `key`, where the file is sound enough to have one; parsing for real tells what is
/// not.
fn find_text(text: &str, key: &str) -> Option<String> {
    Some(toml::from_str::<toml::Table>(text).ok()?.get(key)?.as_str()?.to_owned())
}
