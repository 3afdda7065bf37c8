//! The sandbox, as the gateway sees it: loads components and runs judged calls, each in a fresh
//! instance with nothing within reach but what its permit grants.
//!
//! Guests run in worker processes; there is no native fallback: without a worker nothing runs. It
//! publishes nothing; a call's plan leaves it as a value.

mod authority;
mod binary;
mod cache;
mod clock;
mod described;
pub mod imports;
mod notice;
pub mod workers;

pub use authority::http::{ANSWERS_MAX, REQUESTS_MAX};
pub(crate) use authority::http::{ExchangeNote, WebAccess};
pub use authority::{MESSAGE_FILES_MAX, NOBODY_REACHED, REPORT_BYTES_MAX};
pub use binary::{Binary, Embedded};
pub use cache::{CACHE_ENTRIES_MAX, COMPONENT_BYTES_MAX};
pub use clock::CANCEL_GRACE;
pub use cofferdam_ipc::ExportedFunction;
pub use notice::{report_loading, tell_of_compiling};

use crate::attachments::Attachments;
use crate::attachments::outgoing::Addition;
use crate::messaging::Messaging;
use crate::publish::{PlannedChange, TurnShare, Workspace};
use authority::Authority;
use clock::CallClock;
use cofferdam_confine::{self as confine, COMPILE_CPU_SECONDS};
use cofferdam_core::audit::CallFacts;
use cofferdam_core::capability::{Grants, Interface, MOUNTS};
use cofferdam_core::entry::EntryCall;
use cofferdam_core::json::parse_strict;
use cofferdam_core::limits::{Limits, SCHEMA_BYTES_MAX, TimeSpan};
use cofferdam_core::text::{escape_deceptive, one_line};
use cofferdam_core::tool::{Description, ErrorCode, ToolError, ToolName};
use cofferdam_ipc::CallSpec;
use cofferdam_policy::{EntryPolicy, GuestPath, Permit};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use workers::{CodeStore, IdleWorkers, Worker, WorkerKey, WorkerStarter};

/// What the sandbox is built with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where compiled components are kept.
    pub cache_dir: PathBuf,
    /// Whether workers must be confined whole.
    pub isolation: confine::Config,
    /// How long a component may compile.
    pub compile_time: TimeSpan,
}

/// How long a component may compile when nobody says.
pub const COMPILE_TIME: TimeSpan = TimeSpan::seconds(COMPILE_CPU_SECONDS);
/// The longest that can be asked for.
pub const COMPILE_TIME_CEILING: TimeSpan = TimeSpan::seconds(3600);

/// Whether components can be compiled within this.
pub fn compile_time_is_sound(time: TimeSpan) -> bool {
    time.0 > Duration::ZERO && time <= COMPILE_TIME_CEILING
}

/// Why a component cannot be loaded, or the sandbox not be built.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine does not start on this machine.
    #[error("the sandbox does not start: {0}")]
    Engine(String),
    /// The compile cache is unusable.
    #[error("the compile cache is unusable: {0}")]
    Cache(String),
    /// The component is larger than [`COMPONENT_BYTES_MAX`].
    #[error("the component has {0} bytes; at most {COMPONENT_BYTES_MAX} are loaded")]
    TooLarge(usize),
    /// It is no component, or not one this engine takes.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// What the build made of a builtin does not run on this machine.
    #[error(
        "the machine code that is embedded in this program does not load: {0}; install the one for this machine"
    )]
    Embedded(String),
    /// It imports what is not granted.
    #[error("the component does not load: {0}")]
    Link(String),
    /// It does not describe itself as a tool.
    #[error("the component does not describe a tool: {0}")]
    Describe(String),
}

/// Longest summary of a tool.
const SUMMARY_BYTES_MAX: usize = 400;

/// A component that is compiled and links, and what is said of it: by itself, or by its policy.
#[derive(Clone)]
pub struct Component {
    binary: Arc<Binary>,
    told: Arc<cofferdam_ipc::Description>,
}

impl Component {
    /// SHA-256 of the component's bytes, lower-case hex.
    pub fn sha256(&self) -> &str {
        self.binary.sha256()
    }

    /// Whether it asks for this interface: one that its profile grants need not be used.
    pub fn imports_interface(&self, interface: Interface) -> bool {
        let imports = self.binary.imports_beyond_baseline().unwrap_or_default();
        imports.iter().any(|import| import.needs == imports::Needs::Interface(interface))
    }
}

/// Takes what a call says of its progress.
pub type Reports = Arc<dyn Fn(&str) + Send + Sync>;

/// What a call needs besides its permit.
pub(crate) struct CallInputs {
    /// The call's attachments; not handed on unless the permit grants them.
    pub attachments: Attachments,
    /// Takes what the call adds to the reply; not handed on unless the permit grants it.
    pub reply: Option<Addition>,
    /// Writes to people, and of which call that is; not handed on unless the permit grants it.
    pub messaging: Option<(Arc<dyn Messaging>, CallFacts)>,
    /// Takes progress reports, if anybody does.
    pub report: Option<Reports>,
    /// Takes the lines that the guest prints, if anybody does.
    pub printed: Option<Reports>,
    /// The way to the network; none unless the permit grants it.
    pub web: Option<WebAccess>,
    /// What the call may write of its turn's share.
    pub turn: TurnShare,
    /// Files that an earlier run of this call has made before a crash cut it off: their names are
    /// free to it.
    pub made: Vec<GuestPath>,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// When the call's time began.
    pub started: Instant,
}

impl CallInputs {
    fn clock(&self, limits: &Limits) -> CallClock {
        CallClock::new(self.started + limits.deadline.0, self.cancel.clone())
    }
}

/// How a call ended.
pub(crate) struct FinishedCall {
    /// The tool's JSON object, or why there is none.
    pub result: Result<Value, ToolError>,
    /// What the guest planned, in order. To be carried out only if `result` is ok.
    pub plan: Vec<PlannedChange>,
    /// Bytes that were staged, discarded ones included.
    pub written_bytes: u64,
    /// What the guest added to the reply. To be kept only if `result` is ok.
    pub reply: Option<Addition>,
}

/// Loads components and runs calls, in workers. How it is made, and how these are started, kept and
/// ended, is in `workers/pool.rs`.
pub struct Sandbox {
    starter: WorkerStarter,
    code: CodeStore,
    idle: Arc<Mutex<IdleWorkers<Worker>>>,
}

impl Sandbox {
    /// The component, linked with what `grants` allow and with stubs for the rest, to be entered as
    /// `entry` says. One that is embedded was compiled and has said what it is when the program
    /// was built; of others the policy says it, and the types of a function.
    ///
    /// # Errors
    /// [`SandboxError`]; what it lacks is named.
    pub fn load(
        &self,
        binary: Binary,
        grants: &Grants,
        entry: &EntryPolicy,
    ) -> Result<Component, SandboxError> {
        let told = match (binary.read_facts(), entry) {
            (Some(told), EntryPolicy::Tool) => told.description,
            _ => described::by(entry, self.description(&binary, grants, &entry.point())?)?,
        };
        Ok(Component { binary: Arc::new(binary), told: Arc::new(told) })
    }

    /// What the component says of itself, checked.
    ///
    /// # Errors
    /// [`SandboxError::Describe`] says what is wrong with the description.
    pub fn describe(&self, component: &Component) -> Result<Description, SandboxError> {
        let said = &component.told;
        let schema = |what: &str, text: &str| {
            if text.len() > SCHEMA_BYTES_MAX {
                let said = format!("its {what} schema is longer than {SCHEMA_BYTES_MAX} bytes");
                return Err(SandboxError::Describe(said));
            }
            parse_strict(text)
                .map_err(|e| SandboxError::Describe(format!("its {what} schema is not JSON: {e}")))
        };
        Ok(Description {
            name: ToolName::parse(&said.name).map_err(SandboxError::Describe)?,
            // Shown in many places, so spelled out once; line ends are mere layout.
            summary: one_line(
                &escape_deceptive(&said.summary.replace(['\n', '\r', '\t'], " ")),
                SUMMARY_BYTES_MAX,
            ),
            arguments: schema("arguments", &said.arguments_schema)?,
            result: schema("result", &said.result_schema)?,
        })
    }

    /// Runs a judged call to its end; its guest sees the granted mounts of `workspace`. Blocks;
    /// meant for a thread of its own, never an async worker.
    pub(crate) fn run(
        &self,
        permit: Permit,
        component: &Component,
        workspace: &Arc<Workspace>,
        inputs: CallInputs,
    ) -> FinishedCall {
        let limits = *permit.limits();
        let clock = inputs.clock(&limits);
        let entry = permit.entry().clone();
        let arguments = match entry {
            EntryCall::Tool | EntryCall::Function(_) => permit.call().arguments.to_string(),
            // It has them already.
            EntryCall::Command(_) => String::new(),
        };
        // What a guest of the contract returns it has made for us; others may know no better.
        let unfit = if entry == EntryCall::Tool { ErrorCode::Trapped } else { ErrorCode::Failed };
        let spec = CallSpec { arguments, entry, grants: permit.grants().clone(), limits };
        let tool = permit.call().tool.as_str();
        let key = worker_key(component, tool, permit.profile(), &spec.grants, workspace);
        let mut authority = Authority::new(permit, inputs, workspace.clone());
        let returned = self.call(&component.binary, key, &spec, &mut authority, &clock);
        // A guest that was stopped inside a host function tells of a failure; the reason is ours.
        // Nobody waits for what a cancelled one says.
        let requests = authority.end_requests();
        let result = match clock.stop_reason() {
            Some(stopped) => Err(stopped.to_tool_error(&limits)),
            None => returned
                .map_err(|error| authority.tell_denied(error))
                .and_then(|text| read_result(&text, &limits, unfit)),
        };
        let result = requests.and(result).map_err(|error| authority.tell_written(error));
        let (plan, written_bytes, reply) = authority.take_plan();
        FinishedCall { result, plan, written_bytes, reply: reply.filter(|reply| !reply.is_empty()) }
    }
}

/// Which workers may run the component: those that hold the granted folders of the workspace.
fn worker_key(
    component: &Component,
    tool: &str,
    profile: &str,
    grants: &Grants,
    workspace: &Workspace,
) -> WorkerKey {
    // What the guest does not open never leaves the gateway.
    let granted = MOUNTS.iter().filter(|guest| grants.may_open(guest));
    let folder = |guest: &&str| Some(((*guest).to_owned(), workspace.mount(guest)?.clone()));
    WorkerKey {
        sha256: component.sha256().to_owned(),
        tool: tool.to_owned(),
        profile: profile.to_owned(),
        folders: granted.filter_map(folder).collect(),
    }
}

fn read_result(text: &str, limits: &Limits, unfit: ErrorCode) -> Result<Value, ToolError> {
    ToolError::check_result(text.len(), limits)?;
    match parse_strict(text) {
        // Printed, it could not be told from a failure, and its code may be one that only the host
        // says.
        Ok(Value::Object(object)) if object.get("error").is_some_and(|error| error.get("code").is_some()) => {
            let said = "the tool returned an error as its result; it must fail with it instead";
            Err(ToolError::new(unfit, said))
        }
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(ToolError::new(unfit, "the tool returned JSON that is not an object")),
        Err(error) => Err(ToolError::new(unfit, format!("the tool returned no JSON: {error}"))),
    }
}
