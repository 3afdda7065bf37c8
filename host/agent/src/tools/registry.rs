//! The tools a gateway has: each policy with its component and its schema, or the
//! reason why the tool does not load.

use super::sources::{Sources, component_bytes};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::schema::{Mismatch, STEPS_MAX, Schema, SchemaError, SchemaFinding, ValueRefusal};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{Description, ErrorCode, ToolError, ToolName, wire_name};
use cofferdam_policy::{ArgumentClass, Imports, PolicyProblem, PolicySet, ToolPolicy};
use cofferdam_warden::sandbox::imports::{Import, Needs};
use cofferdam_warden::sandbox::{Binary, Component, Sandbox, SandboxError, report_loading};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// A tool that can be called.
pub struct RegisteredTool {
    /// What it says of itself.
    pub description: Description,
    /// What it may do.
    pub policy: ToolPolicy,
    /// What runs.
    pub component: Component,
    /// What it imports and its profile does not grant: each refuses when it is called.
    pub stubs: Vec<Import>,
    pub(super) schema: Schema,
}

/// A tool, or why it does not load.
pub type Loaded = Result<Arc<RegisteredTool>, RegistryError>;

/// Why a tool does not load. Other tools do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", join(.problems))]
pub struct RegistryError {
    /// Which of the reasons it is.
    pub fault: LoadFault,
    /// What is wrong, as problems of the tool's policy file, each with the tool and what to write;
    /// without a line where it lies in the component.
    pub problems: Vec<PolicyProblem>,
}

/// The reasons for which a tool does not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFault {
    /// The component cannot be had: a builtin, a file, or one that is kept of a registry.
    Missing,
    /// The component is not the one that the policy pins.
    Mismatch,
    /// It imports what its profile does not grant, and its policy says `imports = "strict"`.
    NotGranted,
    /// The sandbox does not take it.
    Refused,
    /// The component calls itself something else.
    Misnamed,
    /// Schema and policy do not fit.
    Unfit,
    /// The schema is not usable for validation.
    Schema,
}

impl RegistryError {
    /// What is wrong with the component of a policy.
    pub(super) fn new(policy: &ToolPolicy, fault: LoadFault, why: impl Display) -> Self {
        let problem = format!("{}: {why}", policy.tool);
        Self { fault, problems: vec![PolicyProblem { file: policy.file.clone(), line: None, problem }] }
    }

    /// The component, as it is written, has another SHA-256 than the policy pins.
    pub fn mismatch(policy: &ToolPolicy, component: &str, pinned: &str, found: &str) -> Self {
        let why = format!(
            "component {component} has sha256 {found}, the policy pins {pinned}; review the new component, then write: \
             component = {{ file = {component:?}, sha256 = \"{found}\" }}"
        );
        Self::new(policy, LoadFault::Mismatch, why)
    }

    /// The component calls itself `found`.
    pub fn misnamed(policy: &ToolPolicy, found: &ToolName) -> Self {
        let why =
            format!("the component calls itself {found}; write tool = \"{found}\" or pin another component");
        Self::new(policy, LoadFault::Misnamed, why)
    }

    /// The schema of the component's arguments is not usable.
    pub fn bad_schema(policy: &ToolPolicy, cause: &SchemaError) -> Self {
        let why = format!("the tool's schema is not usable: {cause}; mend it in the tool's describe");
        Self::new(policy, LoadFault::Schema, why)
    }
}

fn join(problems: &[PolicyProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// All tools of a gateway, by name.
pub struct Registry {
    tools: BTreeMap<String, Loaded>,
    off: BTreeMap<String, String>,
}

impl Registry {
    /// Loads the tools of `policies`; one that does not load keeps its place and its reason.
    pub fn load(sandbox: &Sandbox, policies: &PolicySet, sources: &Sources) -> Self {
        let off = policies.iter().filter_map(|policy| Some((policy.tool.to_string(), reason_off(policy)?)));
        let off: BTreeMap<_, _> = off.collect();
        let on: Vec<_> = policies.iter().filter(|policy| !off.contains_key(policy.tool.as_str())).collect();
        COUNTS.tools_wanted.set(on.len() as u64);
        COUNTS.tools_loaded.set(0);
        let tools = on.into_iter().map(|policy| {
            let binary = component_bytes(policy, sources);
            let loaded = binary.and_then(|binary| load_binary(sandbox, policy, binary));
            COUNTS.tools_loaded.add(1);
            (policy.tool.to_string(), loaded)
        });
        Self { tools: tools.collect(), off }
    }

    /// The one tool of this component under a policy, and not of the one that the policy pins: for
    /// an author who tries what was just built. Nothing else about loading differs.
    pub fn from_component(sandbox: &Sandbox, policy: &ToolPolicy, binary: Binary) -> Self {
        let tools = BTreeMap::from([(policy.tool.to_string(), load_binary(sandbox, policy, binary))]);
        Self { tools, off: BTreeMap::new() }
    }

    /// The name of the tool that this name stands for, be it dotted; one that stands for none is
    /// left as it was said.
    pub fn resolve_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        Some(wire_name(name)).filter(|known| self.tools.contains_key(&**known)).unwrap_or(name.into())
    }

    /// The tool of this name, or of its dotted form: `attachment.add` for `attachment_add`.
    ///
    /// # Errors
    /// `unknown_tool` names the tools there are; `tool_unavailable` says why it did not load.
    pub fn get(&self, name: &str) -> Result<&Arc<RegisteredTool>, ToolError> {
        let unavailable = |why: String| ToolError::new(ErrorCode::ToolUnavailable, format!("{name} {why}"));
        if let Some(loaded) = self.tools.get(&*self.resolve_name(name)) {
            return loaded.as_ref().map_err(|why| unavailable(format!("did not load: {why}")));
        }
        if let Some(why) = self.off.get(&*wire_name(name)) {
            return Err(unavailable(format!("is off: {why}")));
        }
        let known: Vec<_> = self.tools.keys().map(String::as_str).collect();
        let text = format!("no tool {:?}; there is {}", one_line(name, 80), known.join(", "));
        Err(ToolError::new(ErrorCode::UnknownTool, text))
    }

    /// The tools that are off, by name, each with what turns it on: they are not loaded, and nobody
    /// is offered them.
    pub fn tools_off(&self) -> impl Iterator<Item = (&str, &str)> {
        self.off.iter().map(|(name, why)| (name.as_str(), why.as_str()))
    }

    /// All tools by name, loaded or not.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Loaded)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }
}

impl RegisteredTool {
    /// The imports that refuse when they are called.
    pub fn stub_warnings(&self) -> Vec<PolicyProblem> {
        let (file, tool) = (&self.policy.file, &self.policy.tool);
        let warning = |Import { name, needs }: &Import| {
            let grant = match needs {
                Needs::Unknown => needs.to_string(),
                _ => format!("to grant it, write in the profile {}: {needs}", self.policy.profile),
            };
            let problem = format!("{tool}: imports `{name}`, which refuses when it is called; {grant}");
            PolicyProblem { file: file.clone(), line: None, problem }
        };
        self.stubs.iter().map(warning).collect()
    }

    /// Checks arguments against the tool's schema, in a bounded number of steps, until `stopped`
    /// says why not any longer.
    ///
    /// # Errors
    /// `invalid_arguments` with the first problems, each with its place, or that the schema is too
    /// costly; what `stopped` says.
    pub(super) fn validate(
        &self,
        arguments: &Value,
        stopped: &dyn Fn() -> Option<ToolError>,
    ) -> Result<(), ToolError> {
        let is_stopped = || stopped().is_some();
        let Err(mut refusal) = self.schema.check_until(arguments, STEPS_MAX, &is_stopped) else {
            return Ok(());
        };
        if let (ValueRefusal::Stopped, Some(why)) = (&refusal, stopped()) {
            return Err(why);
        }
        if let ValueRefusal::Unfit(findings) = &mut refusal {
            findings.iter_mut().for_each(|finding| self.explain(finding));
        }
        Err(ToolError::new(ErrorCode::InvalidArguments, refusal.to_string()))
    }

    /// Says what only the policy knows: what is a path, and that the whole is arguments.
    fn explain(&self, finding: &mut SchemaFinding) {
        if finding.place.is_empty() {
            finding.place = "the arguments".into();
        }
        let mount = self.policy.grants.mounts.first();
        if let Mismatch::Missing { example: Some(example) } = &mut finding.problem
            && let Some(ArgumentClass::Path(_)) = self.policy.arguments.get(&finding.place)
            && let Some(mount) = mount
        {
            *example = format!("{}/…", mount.guest);
        }
    }
}

fn load_binary(sandbox: &Sandbox, policy: &ToolPolicy, binary: Binary) -> Loaded {
    let refused = |error: SandboxError| RegistryError::new(policy, LoadFault::Refused, error);
    let stubs = check_granted(policy, &binary)?;
    let load = || sandbox.load(binary, &policy.grants, &policy.entry);
    let component = report_loading(policy.tool.as_str(), load).map_err(refused)?;
    let description = sandbox.describe(&component).map_err(refused)?;
    if description.name != policy.tool {
        return Err(RegistryError::misnamed(policy, &description.name));
    }
    let unfit = |problems| RegistryError { fault: LoadFault::Unfit, problems };
    policy.check_schema(&description.arguments).map_err(unfit)?;
    let schema = Schema::compile(&description.arguments);
    let schema = schema.map_err(|cause| RegistryError::bad_schema(policy, &cause))?;
    Ok(Arc::new(RegisteredTool { description, policy: policy.clone(), component, stubs, schema }))
}

/// What turns a tool on whose profile has a network without anybody in it.
pub fn reason_off(policy: &ToolPolicy) -> Option<String> {
    let network = policy.grants.network.as_ref()?;
    let place = &policy.origins.network.as_ref()?.hosts;
    network.hosts.is_empty().then(|| {
        let profile = one_line(&policy.profile, 80);
        format!("its profile {profile} names no hosts; to turn it on name some in {place}: hosts = [\"example.com\"]")
    })
}

/// What this component imports that the policy's profile does not grant.
///
/// # Errors
/// [`LoadFault::NotGranted`] where there is any and the policy says `imports = "strict"`.
pub fn check_granted(policy: &ToolPolicy, binary: &Binary) -> Result<Vec<Import>, RegistryError> {
    let mut missing = binary.imports_beyond_baseline().unwrap_or_default();
    missing.retain(|import| !import.needs.is_granted_by(&policy.grants));
    if missing.is_empty() || policy.imports != Imports::Strict {
        return Ok(missing);
    }
    // Each with the line that grants it.
    let one = |Import { name, needs }: &Import| match needs {
        Needs::Unknown => format!("it imports `{name}`, which the host does not know; {needs}"),
        _ => format!("it imports `{name}`; grant the interface in the profile {}: {needs}", policy.profile),
    };
    let all = missing.iter().map(one).collect::<Vec<_>>().join("; ");
    let why = format!("the component does not load: {all}");
    Err(RegistryError::new(policy, LoadFault::NotGranted, why))
}
