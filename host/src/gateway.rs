//! The composition root: builds the rooms from a configuration and joins them. Decides nothing else.

use crate::bus::Requests;
use crate::config::Config;
use crate::llm::Answering;
use crate::tools::{CallThreads, Mechanisms, Registry, RegistryError, Sources, Toolbox, read_policy};
use crate::turn::{History, Runner, Whose};
use cofferdam_core::audit::{Effect, Outcome, VerdictKind};
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{PolicyProblem, PolicySet, ToolPolicy};
use cofferdam_warden::attachments::BlobStore;
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::audit::{AuditError, AuditLog};
use cofferdam_warden::publish::{OpenError, Place, Workspaces};
use cofferdam_warden::sandbox::{self, Binary, Sandbox, SandboxError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub mod candidate;
mod expire;
mod isolation;
mod lock;
mod ready;
mod reload;
mod serving;
mod watch;

pub use isolation::{Readable, confine, own_folder};
pub use lock::{LOCK_WAIT_MAX, ServeLock};
pub use ready::Purpose;
pub use reload::ReloadError;
pub use serving::{holder, listens, serving, workers};
pub use watch::{Watch, Watching};

mod builtin {
    include!(concat!(env!("OUT_DIR"), "/builtin.rs"));
}

/// Everything a command needs, opened.
pub struct Gateway {
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// The audit.
    pub audit: Arc<AuditLog>,
    /// Where attachments' bytes are held.
    pub blobs: BlobStore,
    /// Where the bytes of replies' files are held.
    pub outgoing: Outgoing,
    mechanisms: Mechanisms,
    threads: Arc<CallThreads>,
}

/// How a gateway shares its state directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one `serve`: what a crash left open must be settled before a turn is replayed.
    Serve,
    /// A command that may run beside it: settles what it can without waiting long.
    Beside,
}

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A policy is wrong; nothing starts under a policy that was not understood whole.
    #[error("{}", lines(.0))]
    Policies(Vec<PolicyProblem>),
    /// The workspace is unusable.
    #[error(transparent)]
    Workspace(#[from] OpenError),
    /// No sandbox, no start.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// No audit, no start.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A folder or file of the state is unusable.
    #[error("{what}: {cause}")]
    State {
        /// The file or folder.
        what: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The process cannot be confined as the configuration demands.
    #[error("{0}")]
    Isolation(String),
    /// Another `serve` uses the state.
    #[error("another cofferdam serve uses {0}; stop it, or give this one its own [state] dir")]
    Locked(String),
}

fn lines(problems: &[PolicyProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The audit's place in the state directory.
pub fn audit_file(config: &Config) -> PathBuf {
    config.state_dir.join("audit.jsonl")
}

impl Gateway {
    /// Opens workspace, audit and sandbox, loads the tools, and settles what a crash left open.
    ///
    /// # Errors
    /// [`GatewayError`]; nothing is half-open then.
    pub fn open(config: &Config, role: Role) -> Result<Self, GatewayError> {
        let policies = load_policies(config.policies_dir.as_deref()).map_err(GatewayError::Policies)?;
        Self::open_with(config, role, &cache_dir(config), |sandbox| {
            Registry::load(sandbox, &policies, &sources(config.policies_dir.as_deref()))
        })
    }

    /// The same with tools from elsewhere, their compiled code kept in `cache`.
    fn open_with(
        config: &Config,
        role: Role,
        cache: &Path,
        load: impl FnOnce(&Sandbox) -> Registry,
    ) -> Result<Self, GatewayError> {
        make_private(&config.state_dir)?;
        let workspaces = Arc::new(Workspaces::open(&config.workspace)?);
        let audit = Arc::new(AuditLog::open_with(&audit_file(config), &config.audit)?);
        let outgoing = outgoing(config, role)?;
        settle_open_intents(&audit, &workspaces, &outgoing, role)?;
        let (sandbox, threads) = sandbox(config, cache)?;
        sandbox.try_worker()?;
        let registry = load(&sandbox);
        if role == Role::Serve {
            sandbox.keep_spare();
            // Not before the intents are settled, from what lies in those folders.
            expire::start(&workspaces)?;
        }
        let blobs_dir = config.state_dir.join("blobs");
        let blobs = BlobStore::open(&blobs_dir)
            .map_err(|cause| GatewayError::State { what: blobs_dir.display().to_string(), cause })?;
        let mechanisms = Mechanisms {
            sandbox: Arc::new(sandbox),
            workspaces,
            audit: audit.clone(),
            outgoing: outgoing.clone(),
            requests: Arc::new(Requests::new(config.turns.reach)),
        };
        let threads = Arc::new(threads);
        let turn_bytes = config.turns.written_bytes;
        let toolbox = Arc::new(Toolbox::new(registry, mechanisms.clone(), threads.clone(), turn_bytes));
        Ok(Self { toolbox, audit, blobs, outgoing, mechanisms, threads })
    }

    /// A runner of turns with this provider; `history` keeps what it is to remember.
    pub fn runner(&self, config: &Config, answering: Answering, history: Arc<dyn History>) -> Runner {
        let Answering { provider, commands, instructions, clock } = answering;
        // The workspace's own: what holds for files holds for what is said of them, and neither is reloaded.
        let whose = if self.mechanisms.workspaces.per_user() { Whose::Person } else { Whose::Session };
        Runner::new(provider, self.toolbox.clone(), history, config.turns, instructions)
            .with_commands(commands)
            .by(clock)
            .remembering(whose)
    }
}

/// Where the bytes of replies' files are held: the one `serve`'s outlive it.
fn outgoing(config: &Config, role: Role) -> Result<Outgoing, GatewayError> {
    let dir = config.state_dir.join("outgoing");
    let opened = match role {
        Role::Serve => Outgoing::open(&dir, config.replies),
        Role::Beside => Outgoing::beside(&dir, config.replies),
    };
    opened.map_err(|cause| GatewayError::State { what: dir.display().to_string(), cause })
}

/// Threads that calls run on, and calls that the sandbox reserves for. More threads than cores,
/// because calls also wait for the disk.
fn call_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16)
}

/// Where compiled components are kept.
fn cache_dir(config: &Config) -> PathBuf {
    config.state_dir.join("cache")
}

fn sandbox(config: &Config, cache: &Path) -> Result<(Sandbox, CallThreads), GatewayError> {
    let threads = call_threads();
    let limits = sandbox::Config {
        cache_dir: cache.to_owned(),
        isolation: config.isolation,
        compile_time: config.compile_time,
    };
    let sandbox = Sandbox::new(&limits)?;
    let threads = CallThreads::start(threads)
        .map_err(|cause| GatewayError::State { what: "cannot start threads for calls".into(), cause })?;
    Ok((sandbox, threads))
}

/// Policies and tools alone, for commands that look and do not call.
///
/// # Errors
/// [`GatewayError`].
pub fn look(config: &Config, policies_dir: Option<&Path>) -> Result<Registry, GatewayError> {
    review(config, policies_dir).map(|(_, registry)| registry)
}

/// The same with the policies themselves, for commands that explain them.
///
/// # Errors
/// [`GatewayError`].
pub fn review(config: &Config, policies_dir: Option<&Path>) -> Result<(PolicySet, Registry), GatewayError> {
    let policies = load_policies(policies_dir).map_err(GatewayError::Policies)?;
    make_private(&config.state_dir)?;
    // No workspace: opening one makes folders and sweeps, and a reviewer's machine has none.
    let (sandbox, _) = sandbox(config, &cache_dir(config))?;
    let registry = Registry::load(&sandbox, &policies, &sources(policies_dir));
    Ok((policies, registry))
}

/// The bytes of the component that a policy of this folder names, as pinned.
///
/// # Errors
/// Why they cannot be had.
pub fn component_bytes(policy: &ToolPolicy, policies_dir: Option<&Path>) -> Result<Binary, RegistryError> {
    crate::tools::component_bytes(policy, &sources(policies_dir))
}

fn sources(policies_dir: Option<&Path>) -> Sources {
    Sources { builtins: builtin_component, policies_dir: policies_dir.map(Path::to_owned) }
}

/// A builtin tool, as the build made it.
struct Builtin {
    tool: &'static str,
    /// Of the component.
    sha256: &'static str,
    bytes: &'static [u8],
    /// Its machine code.
    code: &'static [u8],
    /// What it says of itself and imports, as JSON.
    told: &'static str,
}

/// The component of a builtin tool.
fn builtin_component(tool: &str) -> Option<Binary> {
    let Builtin { sha256, bytes, code, told, .. } =
        builtin::COMPONENTS.iter().find(|builtin| builtin.tool == tool)?;
    Some(Binary::embedded(sha256, bytes, code, told))
}

/// The embedded policies: each file's name, such as `tools/file_read.toml`, and its text.
pub fn embedded_policies() -> &'static [(&'static str, &'static str)] {
    builtin::POLICIES
}

/// The policies of a folder, or the embedded ones.
///
/// # Errors
/// Every problem found.
pub fn load_policies(dir: Option<&Path>) -> Result<PolicySet, Vec<PolicyProblem>> {
    let Some(dir) = dir else { return PolicySet::parse(builtin::POLICIES.iter().copied()) };
    let mut files = Vec::new();
    for folder in ["profiles", "tools"] {
        let unreadable = |name: &str, e: io::Error| {
            let problem = format!("cannot read {}: {e}", dir.join(name).display());
            vec![PolicyProblem { file: name.to_owned(), line: None, problem }]
        };
        let entries = std::fs::read_dir(dir.join(folder)).map_err(|e| unreadable(folder, e))?;
        for entry in entries {
            let path = entry.map_err(|e| unreadable(folder, e))?.path();
            let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if name.ends_with(".toml") {
                let text = read_policy(&path).map_err(|e| unreadable(&name, e))?;
                files.push((name, text));
            }
        }
    }
    files.sort();
    PolicySet::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

/// Makes a folder for its owner alone. Those around it are as anybody's: an account that is given the folder later
/// must get to it.
fn make_folder(dir: &Path) -> io::Result<()> {
    dir.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn make_private(dir: &Path) -> Result<(), GatewayError> {
    make_folder(dir).map_err(|cause| GatewayError::State { what: dir.display().to_string(), cause })
}

/// Writes the missing outcome of every intent that a crash cut off, from what lies on disk.
///
/// Publishing that is under way in another process is waited for.
fn settle_open_intents(
    audit: &AuditLog,
    workspaces: &Workspaces,
    outgoing: &Outgoing,
    role: Role,
) -> Result<(), GatewayError> {
    let wait = match role {
        Role::Serve => Duration::from_secs(30),
        Role::Beside => Duration::from_millis(500),
    };
    let mut reconcile = match audit.open_intents(wait) {
        Err(AuditError::Busy { .. }) if role == Role::Beside => return Ok(()),
        found => found?,
    };
    // One at a time: each may name thousands of files.
    loop {
        let oldest = reconcile.intents().next().map(|(seq, intent)| (seq, intent.clone()));
        let Some((seq, intent)) = oldest else { break };
        // The paths are those of the call's own session and user.
        let workspace = workspaces.at(&Place::of(&intent.facts))?;
        let happened = |effect: &Effect| match effect {
            Effect::Attached(file) => outgoing.holds(&file.sha256).then(|| effect.clone()),
            _ => workspace.happened(effect).ok().flatten(),
        };
        let files: Vec<_> = intent.files.iter().filter_map(happened).collect();
        let (code, reason) = match files.len() {
            n if n == intent.files.len() => (None, None),
            0 => (
                Some(ErrorCode::Cancelled),
                Some("the gateway stopped before publishing; nothing was changed"),
            ),
            _ => (
                Some(ErrorCode::WriteFailed),
                Some("the gateway stopped while publishing; the changes listed happened"),
            ),
        };
        tracing::warn!(call = %intent.facts.call, landed = files.len(), of = intent.files.len(), "settled after a crash");
        let outcome = Outcome {
            facts: intent.facts,
            verdict: VerdictKind::Permit,
            reason: reason.map(str::to_owned),
            code,
            files,
            intent: Some(seq),
            reconciled: true,
            duration_us: 0,
        };
        reconcile.settle(seq, outcome)?;
    }
    if let Err(error) = reconcile.finish() {
        // The next start reads more of the log; nothing else depends on it.
        tracing::warn!(error = &error as &dyn std::error::Error, "cannot note how far the audit is settled");
    }
    Ok(())
}
