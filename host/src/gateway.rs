//! The composition root: builds the rooms from a configuration and joins them. Decides nothing
//! else.

use crate::config::Config;
use cofferdam_agent::llm::Answering;
use cofferdam_agent::open_requests::Requests;
use cofferdam_agent::tools::{CallThreads, Registry, Toolbox, read_policy};
use cofferdam_agent::turn::{ConversationOwner, History, Runner};
use cofferdam_policy::{PolicyProblem, PolicySet};
use cofferdam_s3::S3Bucket;
use cofferdam_warden::attachments::BlobStore;
use cofferdam_warden::attachments::outgoing::{Bucket, Outgoing};
use cofferdam_warden::audit::{AuditError, AuditLog, ChainPlace};
use cofferdam_warden::calls::{Parts, SETTLE_WAIT, SettleError, Warden};
use cofferdam_warden::publish::{OpenError, Workspaces};
use cofferdam_warden::sandbox::{self, Binary, Sandbox, SandboxError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

mod account;
pub mod attaching;
pub mod candidate;
mod components;
mod expire;
pub mod heads;
mod isolation;
mod lock;
mod node;
mod ready;
mod reload;
mod replaying;
mod serving;
mod trust;
mod watch;
mod web;

pub use account::{check_account, is_state_closed};
use components::sources;
pub use components::{component_bytes, open_fetched, open_fetched_for_writing};
pub use isolation::{ReadScope, confine, own_folder};
pub use lock::{LOCK_WAIT_MAX, ServeLock, note_file};
pub use node::{cluster_node, existing_node};
pub use ready::{PreparePurpose, look, review, try_tools};
pub use reload::ReloadError;
pub use replaying::policy_now;
pub use serving::{find_serving_process, holder, is_listening, workers};
pub use trust::trust;
pub use watch::{Watch, Watching, channels};
pub use web::find_unusable_secrets;

mod builtin {
    include!(concat!(env!("OUT_DIR"), "/builtin.rs"));
}

/// Everything a command needs, opened.
pub struct Gateway {
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// The trusted core.
    pub warden: Warden,
    /// Where attachments' bytes are held.
    pub blobs: BlobStore,
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
    #[error("{0}: {1}")]
    State(String, io::Error),
    /// The process cannot be confined as the configuration demands.
    #[error("{0}")]
    Isolation(String),
    /// The state is another account's.
    #[error("{what} belongs to the account {owner}; run this as that one: sudo -u '#{owner}' cofferdam …")]
    OtherAccount {
        /// The file or folder of the state.
        what: String,
        /// The account's number.
        owner: u32,
    },
    /// Another `serve` uses the state.
    #[error("another cofferdam serve uses {0}; stop it, or give this one its own [state] dir")]
    Locked(String),
}

impl From<SettleError> for GatewayError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Audit(error) => error.into(),
            SettleError::Workspace(error) => error.into(),
        }
    }
}

fn lines(problems: &[PolicyProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The node whose chain of the audit this process writes; none where nothing is shared.
pub fn audit_node(config: &Config) -> Option<&str> {
    config.store.is_shared().then_some(config.store.node.as_str())
}

/// The active file of that chain.
pub fn audit_file(config: &Config) -> PathBuf {
    ChainPlace::new(&config.state_dir, audit_node(config)).active
}

/// The audit, open to be written.
///
/// # Errors
/// [`GatewayError`].
pub fn open_audit(config: &Config) -> Result<AuditLog, GatewayError> {
    let node = audit_node(config);
    if node.is_some() {
        make_private(audit_file(config).parent().unwrap_or(&config.state_dir))?;
    }
    Ok(AuditLog::open_in(&config.state_dir, node, &config.audit)?)
}

impl Gateway {
    /// Opens workspace, audit and sandbox, loads the tools, and settles what a crash left open.
    ///
    /// # Errors
    /// [`GatewayError`]; nothing is half-open then.
    pub fn open(config: &Config, role: Role) -> Result<Self, GatewayError> {
        Self::open_to_call(config, role, None)
    }

    /// The same where it is known which tool is called first: its worker is there already.
    ///
    /// # Errors
    /// [`Gateway::open`].
    pub fn open_to_call(config: &Config, role: Role, first: Option<&str>) -> Result<Self, GatewayError> {
        let policies = load_policies(config.policies_dir.as_deref()).map_err(GatewayError::Policies)?;
        let load = |sandbox: &Sandbox| {
            Registry::load(sandbox, &policies, &sources(config, config.policies_dir.as_deref()))
        };
        Self::open_with(config, role, &cache_dir(config), (load, first))
    }

    /// The same with tools from elsewhere, their compiled code kept in `cache`.
    fn open_with(
        config: &Config,
        role: Role,
        cache: &Path,
        (load, first): (impl FnOnce(&Sandbox) -> Registry, Option<&str>),
    ) -> Result<Self, GatewayError> {
        make_state(config)?;
        let workspaces = Arc::new(Workspaces::open(&config.workspace)?);
        let audit = Arc::new(open_audit(config)?);
        let outgoing = outgoing(config, role)?;
        let (sandbox, threads) = (sandbox(config, cache)?, call_threads(role)?);
        sandbox.unpack_program();
        let registry = load(&sandbox);
        let blobs_dir = config.state_dir.join("blobs");
        let blobs = BlobStore::open(&blobs_dir).map_err(|cause| unusable(&blobs_dir, cause))?;
        let sandbox = Arc::new(sandbox);
        let (kept, folders) = (sandbox.clone(), workspaces.clone());
        let parts = Parts { sandbox, workspaces, audit, outgoing, web: web::web(config, &registry) };
        let warden = Warden::new(parts, config.turns.written_bytes);
        let is_alone = role == Role::Serve && !config.store.is_shared();
        let wait = if is_alone { SETTLE_WAIT } else { Duration::from_millis(500) };
        match warden.settle(&|_| false, wait) {
            // The next start settles what the process that publishes now may leave, and a node what
            // another one has left, before it goes on with that.
            Err(SettleError::Audit(AuditError::Busy { .. })) if !is_alone => {}
            settled => settled?,
        }
        let (threads, requests) = (Arc::new(threads), Arc::new(Requests::new(config.turns.reach)));
        let toolbox = Arc::new(Toolbox::new(registry, warden.clone(), requests, threads.clone()));
        toolbox.try_worker(first)?;
        if role == Role::Serve {
            kept.keep_spare();
            // Not before the intents are settled, from what lies in those folders.
            expire::start(&folders, config.store.is_shared())?;
        }
        Ok(Self { toolbox, warden, blobs, threads })
    }

    /// A runner of turns with this provider; `history` keeps what it is to remember.
    pub fn runner(&self, config: &Config, answering: Answering, history: History) -> Runner {
        let Answering { provider, commands, instructions, clock } = answering;
        // The workspace's own: what holds for files holds for what is said of them, and neither is
        // reloaded.
        let whose = if self.warden.workspaces().is_per_user() {
            ConversationOwner::Person
        } else {
            ConversationOwner::Session
        };
        Runner::new(provider, self.toolbox.clone(), history, config.turns, instructions)
            .with_commands(commands)
            .by(clock)
            .with_history(whose)
    }
}

/// Where the bytes of replies' files lie on this machine: in front of a bucket each node has a folder
/// of its own.
pub fn outgoing_dir(config: &Config) -> PathBuf {
    let own = config.store.bucket.as_ref().and_then(|_| audit_file(config).parent().map(Path::to_owned));
    own.unwrap_or_else(|| config.state_dir.clone()).join("outgoing")
}

/// The bucket that nodes hold them in, if there is one.
///
/// # Errors
/// What its settings lack.
pub fn bucket(config: &Config) -> io::Result<Option<Arc<dyn Bucket>>> {
    let Some(bucket) = &config.store.bucket else { return Ok(None) };
    Ok(Some(Arc::new(S3Bucket::new(bucket)?)))
}

/// Those of this process: the one `serve`'s outlive it.
fn outgoing(config: &Config, role: Role) -> Result<Outgoing, GatewayError> {
    let (dir, bucket) = (outgoing_dir(config), bucket(config));
    let bucket = bucket.map_err(|cause| GatewayError::State("[store] blobs".into(), cause))?;
    let opened = match role {
        Role::Serve if config.store.is_shared() && bucket.is_none() => {
            Outgoing::open_with_nodes(&dir, config.replies)
        }
        Role::Serve => Outgoing::open(&dir, config.replies),
        Role::Beside => Outgoing::open_beside(&dir, config.replies),
    };
    let opened = opened.map_err(|cause| unusable(&dir, cause))?;
    Ok(match bucket {
        Some(bucket) => opened.with_bucket(bucket),
        None => opened,
    })
}

/// Threads for the calls of one person, who is the only one: as many as a session may have at once,
/// and one that is nobody's.
const CALL_THREADS_ALONE_MIN: usize = 9;

/// Threads that calls run on. More than cores, because calls also wait for the disk.
fn call_threads(role: Role) -> Result<CallThreads, GatewayError> {
    let threads = 2 * std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16);
    let threads = match role {
        Role::Serve => threads,
        Role::Beside => threads.max(CALL_THREADS_ALONE_MIN),
    };
    CallThreads::start(threads)
        .map_err(|cause| GatewayError::State("cannot start threads for calls".into(), cause))
}

/// Where compiled components are kept.
fn cache_dir(config: &Config) -> PathBuf {
    config.state_dir.join("cache")
}

fn sandbox(config: &Config, cache: &Path) -> Result<Sandbox, GatewayError> {
    Ok(Sandbox::new(&sandbox::Config {
        cache_dir: cache.to_owned(),
        isolation: config.isolation,
        compile_time: config.compile_time,
    })?)
}

/// The component of a builtin tool, as the build made it.
fn builtin_component(tool: &str) -> Option<Binary> {
    let (_, made) = builtin::COMPONENTS.iter().find(|(name, _)| *name == tool)?;
    Some(Binary::embedded(*made))
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

/// Makes a folder for its owner alone. Those around it are as anybody's: an account that is given
/// the folder later must get to it.
fn make_folder(dir: &Path) -> io::Result<()> {
    dir.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn make_private(dir: &Path) -> Result<(), GatewayError> {
    make_folder(dir).map_err(|cause| unusable(dir, cause))
}

/// Makes the state's folder. Where another account has files in it, this one makes none.
fn make_state(config: &Config) -> Result<(), GatewayError> {
    account::check_begun_state(config)?;
    make_private(&config.state_dir)
}

fn unusable(path: &Path, cause: io::Error) -> GatewayError {
    GatewayError::State(path.display().to_string(), cause)
}
