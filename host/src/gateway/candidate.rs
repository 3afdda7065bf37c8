//! A component from a file, as its author tries it: looked at with nothing granted, held against a
//! policy chosen for it, and opened in a gateway of its own.
//!
//! It takes the component that is given, whatever the policy pins; everything else is refused as it
//! would be when served. It serves nobody else, and no pin is changed here.

use super::ready::Cache;
use super::{Gateway, GatewayError, Role, builtin, builtin_component, load_policies, sandbox};
use crate::config::Config;
use cofferdam_agent::tools::{Registry, RegistryError, not_granted, read_component, read_policy};
use cofferdam_core::capability::{Access, Grants, MountGrant};
use cofferdam_core::network::Network;
use cofferdam_core::schema::Schema;
use cofferdam_core::text::is_deceptive;
use cofferdam_core::tool::Description;
use cofferdam_policy::schema::{Leaf, leaves};
use cofferdam_policy::{ComponentSource, PolicySet, ToolPolicy};
use cofferdam_warden::sandbox::imports::{Import, Interfaces, Needs, NotAComponent, interfaces};
use cofferdam_warden::sandbox::{Binary, SandboxError, loading};
use std::io;
use std::path::{Path, PathBuf};

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
    /// Where its machine code is kept.
    cache: Cache,
}

/// Why a file is not looked at further.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// There is no such file, or it may not be read.
    #[error("cannot read {file}: {cause}; build the tool with: cargo build --release --target wasm32-wasip2")]
    Unreadable {
        /// The file as given.
        file: String,
        /// What the system said.
        cause: io::Error,
    },
    /// No gateway would take it, whatever it is.
    #[error("{file}: {cause}")]
    NotTaken {
        /// The file as given.
        file: String,
        /// Why not.
        cause: String,
    },
    /// The file is no component.
    #[error("{file} is not a component: {cause}")]
    NotAComponent {
        /// The file as given.
        file: String,
        /// What is wrong with it.
        cause: String,
    },
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
        let not_a_component = |cause: String| CandidateError::NotAComponent { file: shown.clone(), cause };
        let not_taken = |cause: String| CandidateError::NotTaken { file: shown.clone(), cause };
        let bytes = read_component(file).map_err(|cause| match cause.kind() {
            io::ErrorKind::Other => not_taken(cause.to_string()),
            _ => CandidateError::Unreadable { file: shown.clone(), cause },
        })?;
        let interfaces = interfaces(&bytes).map_err(|e| match e {
            NotAComponent::TooMany => not_taken(e.to_string()),
            e => not_a_component(e.to_string()),
        })?;
        let binary = Binary::new(bytes);
        let cache = Cache::to_look(config)?;
        let (sandbox, _) = sandbox(config, cache.path())?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let grants = linked(&interfaces.beyond_baseline());
        let described = match loading(&name, || sandbox.load(binary.clone(), &grants)) {
            Err(e @ (SandboxError::Compile(_) | SandboxError::TooLarge(_))) => {
                return Err(not_taken(e.to_string()));
            }
            Err(e) => Err(e),
            Ok(component) => sandbox.describe(&component),
        };
        let description = described.map_err(|e| why_undescribed(&interfaces, &e));
        Ok(Self { file: file.to_owned(), binary, interfaces, description, cache })
    }

    /// The policy that `chosen` (a folder of policies, or one tool's file) has for this tool;
    /// without it one that grants nothing.
    ///
    /// # Errors
    /// Everything that is wrong with what was chosen, each with what to write.
    pub fn policy(&self, chosen: Option<&Path>) -> Result<ToolPolicy, Vec<String>> {
        let description = self.description.as_ref().map_err(|why| vec![why.clone()])?;
        let told = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let name = description.name.as_str();
        let (set, place) = match chosen {
            None => {
                let tool = self.granting_nothing(description);
                let files = [("profiles/nothing.toml", NOTHING), (&*format!("tools/{name}.toml"), &*tool)];
                (PolicySet::parse(files).map_err(told)?, "nothing".to_owned())
            }
            Some(file) if file.is_file() => {
                let set = of_file(file)?;
                if let Some(policy) = set.iter().next().filter(|policy| policy.tool != description.name) {
                    let (file, tool) = (policy.file.clone(), policy.tool.to_string());
                    let found = name.to_owned();
                    return Err(vec![RegistryError::Misnamed { file, tool, found }.to_string()]);
                }
                (set, file.display().to_string())
            }
            Some(dir) => (load_policies(Some(dir)).map_err(told)?, dir.display().to_string()),
        };
        set.get(name).cloned().ok_or_else(|| {
            vec![format!(
                "{name}: {place} has no policy for it; add tools/{name}.toml, which `cofferdam tool inspect {}` prints",
                self.file.display()
            )]
        })
    }

    /// The text of a tool's policy under which nothing is granted and every text is audited as it
    /// is.
    pub fn granting_nothing(&self, description: &Description) -> String {
        let texts = leaves(&description.arguments).unwrap_or_default();
        let texts = texts.iter().filter(|(_, leaf)| **leaf == Leaf::MayBeText);
        let lines: String = texts.map(|(at, _)| format!("{} = \"value\"\n", toml_key(at))).collect();
        let name = &description.name;
        format!(
            "schema = 1\ntool = \"{name}\"\nprofile = \"nothing\"\n\
             component = {{ file = \"{name}.wasm\", sha256 = \"{}\" }}\nsafety = \"read-only\"\n\
             why = \"say what {name} is for\"\n\n[arguments]\n{lines}",
            self.binary.sha256()
        )
    }

    /// Everything for which the tool would not load under `policy`, its pin apart; each with what
    /// to write.
    pub fn problems(&self, policy: &ToolPolicy) -> Vec<String> {
        let description = match &self.description {
            Ok(description) => description,
            Err(why) => return vec![why.clone()],
        };
        let mut problems: Vec<String> =
            not_granted(policy, &self.binary).map(|e| e.to_string()).into_iter().collect();
        if let Err(found) = policy.check_schema(&description.arguments) {
            problems.extend(found.iter().map(ToString::to_string));
        }
        if let Err(cause) = Schema::compile(&description.arguments) {
            let (file, tool) = (policy.file.clone(), policy.tool.to_string());
            problems.push(RegistryError::Schema { file, tool, cause }.to_string());
        }
        problems
    }

    /// Why a gateway that serves this policy would not take these bytes, if they are not the ones
    /// it pins.
    pub fn unpinned(&self, policy: &ToolPolicy) -> Option<String> {
        let (file, tool) = (policy.file.clone(), policy.tool.to_string());
        match &policy.component {
            ComponentSource::File { sha256, .. } if *sha256 == self.binary.sha256() => None,
            ComponentSource::File { file: component, sha256: pinned } => {
                let (component, pinned, found) =
                    (component.clone(), pinned.clone(), self.binary.sha256().to_owned());
                Some(RegistryError::Mismatch { file, tool, component, pinned, found }.to_string())
            }
            ComponentSource::Builtin => {
                let same =
                    builtin_component(&tool).is_some_and(|builtin| builtin.sha256() == self.binary.sha256());
                (!same).then(|| {
                    format!(
                        "{file}: {tool}: the policy takes the builtin component, not this file; write: \
                         component = {{ file = \"{tool}.wasm\", sha256 = \"{}\" }}",
                        self.binary.sha256()
                    )
                })
            }
        }
    }

    /// A gateway that has this one tool under `policy`, with the workspace and state of `places`.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn gateway(&self, places: &Config, policy: &ToolPolicy) -> Result<Gateway, GatewayError> {
        Gateway::open_with(places, Role::Beside, self.cache.path(), |sandbox| {
            Registry::of_component(sandbox, policy, self.binary.clone())
        })
    }
}

/// The profile that grants nothing.
pub const NOTHING: &str =
    "schema = 1\nprofile = \"nothing\"\nwhy = \"tools that compute, and touch nothing\"\nmounts = []\n";

/// What must be linked for the component to be instantiated. `describe` finds nothing behind it.
fn linked(imports: &[Import]) -> Grants {
    let shared = MountGrant { guest: "/shared".into(), access: Access::AtomicWrite };
    let writes = imports.iter().any(|import| import.needs == Needs::WritableMount);
    let interface = |import: &Import| match import.needs {
        Needs::Interface(interface) => Some(interface),
        Needs::WritableMount | Needs::Network | Needs::Unknown => None,
    };
    Grants {
        mounts: writes.then_some(shared).into_iter().collect(),
        interfaces: imports.iter().filter_map(interface).collect(),
        network: imports.iter().any(|import| import.needs == Needs::Network).then(Network::nobody),
    }
}

fn why_undescribed(interfaces: &Interfaces, error: &SandboxError) -> String {
    if !interfaces.exports.iter().any(|name| name.starts_with("cofferdam:tool/tool@0.1.")) {
        return "it does not export cofferdam:tool/tool@0.1.0, so it is no tool; in Rust: \
                cofferdam_sdk::export_tool!(YourTool);"
            .into();
    }
    let unknown: Vec<_> =
        interfaces.beyond_baseline().into_iter().filter(|import| import.needs == Needs::Unknown).collect();
    match unknown.first() {
        Some(Import { name, needs }) => {
            format!("it imports `{name}`, which the host does not know; {needs}")
        }
        None => error.to_string(),
    }
}

/// One tool's policy with its profile: from `../profiles` beside it, else the embedded one of that
/// name.
fn of_file(file: &Path) -> Result<PolicySet, Vec<String>> {
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
    let wanted = named(&text, "profile");
    if !files.iter().any(|(_, text)| named(text, "profile") == wanted) {
        let embedded = builtin::POLICIES.iter().filter(|(name, _)| name.starts_with("profiles/"));
        let same = embedded.filter(|(_, text)| named(text, "profile") == wanted);
        files.extend(same.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    }
    files.push((format!("tools/{}", name(file)), text));
    files.sort();
    PolicySet::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

/// The text under `key`, where the file is sound enough to have one; parsing for real tells what is
/// not.
fn named(text: &str, key: &str) -> Option<String> {
    Some(toml::from_str::<toml::Table>(text).ok()?.get(key)?.as_str()?.to_owned())
}

/// The place of an argument as a key of `[arguments]`.
pub fn toml_key(at: &str) -> String {
    let bare = at.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare {
        return at.to_owned();
    }
    // JSON's escapes are TOML's, too; it leaves as they are what a reader would not see.
    let shown = |c: char| match c {
        c if is_deceptive(c) => format!("\\U{:08X}", u32::from(c)),
        c => c.to_string(),
    };
    serde_json::Value::from(at).to_string().chars().map(shown).collect()
}
