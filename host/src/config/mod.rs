//! The configuration: `cofferdam.toml`, every key also from the environment, read strictly.
//!
//! Refuses unknown keys (in the file and as `COFFERDAM_…`), and a layout in which tools could
//! change what the gateway itself relies on.

mod attached;
mod error;
mod flags;
mod keys;
mod network;
mod places;
mod settings;
mod store;
mod workflows;
mod workspace;

pub use error::ConfigError;
pub use flags::Flags;
pub use keys::is_reloadable;
pub use network::{CA_FILE_BYTES_MAX, SecretSource};
pub use settings::{Setting, SettingOrigin};
pub use store::StoreEngine;
pub(crate) use workflows::SECRET_ENDS;

use places::{KeyPositions, line_of};
use workspace::WorkspaceTable;

use crate::{log, monitor};
use cofferdam_agent::server::UnusableKey;
use cofferdam_agent::{llm, tools, turn, voice};
use cofferdam_chat::words::HELP_CHARS_MAX;
use cofferdam_confine as confine;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::MOUNTS;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::text::one_line;
use cofferdam_discord as discord;
use cofferdam_telegram as telegram;
use cofferdam_warden::{attachments, audit, publish, sandbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Everything an operator can set, complete with defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// The tools' files.
    pub workspace: publish::Config,
    /// Audit, database, compile cache, blobs.
    pub state_dir: PathBuf,
    /// Where inbox, replies, conversations and runs are kept.
    pub store: store::Config,
    /// Policies that replace the embedded ones.
    pub policies_dir: Option<PathBuf>,
    /// When the audit is rotated, and whether its heads are signed.
    pub audit: audit::Config,
    /// Who answers.
    pub provider: llm::Config,
    /// Who hears voice messages.
    pub transcription: voice::TranscriptionConfig,
    /// Who speaks answers.
    pub speech: voice::SpeechConfig,
    /// Limits on what comes in.
    pub attachments: attachments::Config,
    /// Limits on what goes out with replies.
    pub replies: attachments::outgoing::Config,
    /// Limits on what one turn does.
    pub turns: turn::Config,
    /// How long a person is waited for.
    pub approvals: tools::Config,
    /// How long a component may compile.
    pub compile_time: TimeSpan,
    /// Where guests run, and what must confine them.
    pub isolation: confine::Config,
    /// What workflows may name.
    pub workflows: workflows::Config,
    /// Limits on attachments of workflows.
    pub workflow_attachments: crate::workflows::AttachmentLimits,
    /// Whom guests may reach besides public hosts, and where secrets are.
    pub network: network::Config,
    /// Where anyone who watches the gateway may ask.
    pub metrics: monitor::Config,
    /// How the log is written.
    pub log: log::Config,
    /// The Telegram bot, if there is one.
    pub telegram: Option<telegram::Config>,
    /// The Discord bot, if there is one.
    pub discord: Option<discord::Config>,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
    /// SHA-256 of that file, lower-case hex.
    pub file_sha256: Option<String>,
    /// Every key with its value and where that came from.
    pub settings: Vec<Setting>,
    /// Where keys were written.
    places: KeyPositions,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    workspace: WorkspaceTable,
    state: FolderTable,
    store: store::StoreTable,
    cluster: store::ClusterTable,
    policies: FolderTable,
    audit: audit::Config,
    provider: llm::Config,
    transcription: voice::TranscriptionConfig,
    speech: voice::SpeechConfig,
    attachments: attached::AttachedTable,
    replies: attachments::outgoing::Config,
    turns: turn::Config,
    approvals: tools::Config,
    sandbox: SandboxTable,
    isolation: confine::Config,
    metrics: monitor::Config,
    log: log::Config,
    network: network::NetworkSection,
    secrets: BTreeMap<String, network::SecretTable>,
    workflows: workflows::Config,
    channels: ChannelsTable,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FolderTable {
    dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct SandboxTable {
    compile_time: TimeSpan,
}

impl Default for SandboxTable {
    fn default() -> Self {
        Self { compile_time: sandbox::COMPILE_TIME }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct ChannelsTable {
    telegram: Option<telegram::Config>,
    discord: Option<discord::Config>,
}

/// The file that is read from the current folder when none is named.
pub const FILE_NAME: &str = "cofferdam.toml";

/// Bytes of the file: many times what anybody writes by hand.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;

impl Config {
    /// The configuration from a file (`--config`, else `./cofferdam.toml`, else the user's), the
    /// environment, and `--workspace`, the later ones first.
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is not understood.
    pub fn load(
        file: Option<&Path>,
        workspace: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        let flags = Flags { workspace: workspace.map(Path::to_owned), variables: BTreeMap::new() };
        Self::load_with(file, &flags, environment)
    }

    fn load_layers(
        file: Option<&Path>,
        workspace: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        let absolute = |name: &str| environment.get(name).map(Path::new).filter(|dir| dir.is_absolute());
        let home = |name: &str, fallback: &str| {
            absolute(name).map(Path::to_owned).or_else(|| Some(absolute("HOME")?.join(fallback)))
        };
        if let Some(problem) = workspace.and_then(Path::to_str).and_then(keys::path_problem) {
            return Err(ConfigError::Invalid(format!("--workspace {problem}")));
        }
        let file = file.map(Path::to_owned).or_else(|| {
            let user = home("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("cofferdam").join(FILE_NAME));
            // One that is a link to nothing is meant all the same, and is refused.
            let is_there = |file: &PathBuf| file.symlink_metadata().is_ok();
            [Some(PathBuf::from(FILE_NAME)), user].into_iter().flatten().find(is_there)
        });
        let (mut written, file_sha256, places) = match &file {
            Some(file) => read(file).map(|(table, sha256, places)| (table, Some(sha256), places))?,
            None => (toml::Table::new(), None, KeyPositions::default()),
        };
        let places = places.with_environment(environment);
        let in_file = written.clone();
        keys::apply_environment(&mut written, environment)?;
        let as_written = written.clone();
        let mut written = ConfigFile::deserialize(written).map_err(|error| {
            let invalid = || ConfigError::Invalid(one_line(error.message(), 400));
            find_bad_variable(&in_file, environment).unwrap_or_else(invalid)
        })?;
        let in_use = toml::Table::try_from(&written).expect("what was read can be written");
        let needs_home = |what: &str, variable: &str, key: &str| {
            let named = || format!("{FILE_NAME}, and name that file with --config");
            let file = file.as_ref().map_or_else(named, |file| file.display().to_string());
            ConfigError::Invalid(format!(
                "neither {variable} nor HOME names a folder to put {what} in; set {key} in {file}"
            ))
        };
        let root = match workspace.map(Path::to_owned).or(written.workspace.root.take()) {
            Some(root) => root,
            None => home("XDG_DATA_HOME", ".local/share")
                .ok_or_else(|| needs_home("the workspace", "XDG_DATA_HOME", "[workspace] root"))?
                .join("cofferdam/workspace"),
        };
        let state_dir = match written.state.dir {
            Some(dir) => dir,
            None => home("XDG_STATE_HOME", ".local/state")
                .ok_or_else(|| needs_home("the state", "XDG_STATE_HOME", "[state] dir"))?
                .join("cofferdam"),
        };
        let refused = |error: UnusableKey| places.refuse(&error.key, &error);
        if let Some(telegram) = &written.channels.telegram {
            telegram.check().map_err(refused)?;
        }
        if let Some(discord) = &written.channels.discord {
            discord.check().map_err(refused)?;
        }
        written.provider.check().map_err(refused)?;
        written.transcription.table().check().map_err(refused)?;
        written.speech.table().check().map_err(refused)?;
        written.approvals.check().map_err(|e| places.refuse("approvals.expires", e))?;
        let compile_time = written.sandbox.compile_time;
        if !sandbox::compile_time_is_sound(compile_time) {
            let ceiling = sandbox::COMPILE_TIME_CEILING;
            let said = format!("compile_time = \"{compile_time}\" is not from 1ms to {ceiling}");
            return Err(places.refuse("sandbox.compile_time", said));
        }
        written.audit.check().map_err(|e| places.refuse("audit.rotate_bytes", e))?;
        written.turns.check().map_err(|(key, e)| places.refuse(&format!("turns.{key}"), e))?;
        written.metrics.check().map_err(|e| places.refuse("metrics.listen", e))?;
        written.workflows.check(&places)?;
        let workflow_attachments = written.attachments.for_workflows(&places)?;
        let network = network::Config::new(written.network, written.secrets, file.as_deref(), &places)?;
        let has_homes = written.workspace.has_homes();
        let workspace_config = written.workspace.check(root, &places)?;
        let here = (state_dir.as_path(), &network, has_homes);
        let store = written.store.check(written.cluster, here, (environment, &places))?;
        written.log.check().map_err(|e| places.refuse("log.filter", e))?;
        // Characters of `/help` that are the channel's own.
        let spare_help_chars = if written.speech.table().is_on { HELP_CHARS_MAX } else { 0 };
        let mut config = Self {
            workspace: workspace_config,
            state_dir,
            store,
            policies_dir: written.policies.dir,
            audit: written.audit,
            provider: llm::Config { spare_help_chars, ..written.provider },
            transcription: written.transcription,
            speech: written.speech,
            attachments: written.attachments.for_messages(),
            replies: written.replies,
            turns: written.turns,
            approvals: written.approvals,
            compile_time,
            isolation: written.isolation,
            workflows: written.workflows,
            workflow_attachments,
            network,
            metrics: written.metrics,
            log: written.log,
            telegram: written.channels.telegram,
            discord: written.channels.discord,
            file,
            file_sha256,
            settings: Vec::new(),
            places,
        };
        let flag = workspace.map(|dir| match environment.get("COFFERDAM_WORKSPACE") {
            // The flag's own variable.
            Some(variable) if Path::new(variable) == dir => SettingOrigin::Environment,
            _ => SettingOrigin::Flag,
        });
        config.settings = settings::collect((&in_file, &as_written, &in_use), environment, &config, flag);
        config.check_layout()?;
        Ok(config)
    }

    /// Where a key was written: `cofferdam.toml:12`, or the variable; none where nobody wrote it or
    /// its section.
    pub fn place(&self, key: &str) -> Option<String> {
        let flagged =
            self.settings.iter().any(|setting| setting.key == key && setting.origin == SettingOrigin::Flag);
        if flagged { None } else { self.places.get(key) }
    }

    /// Refuses a layout in which a tool's mount holds what the gateway relies on.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] names what lies where, and what to move.
    pub fn check_layout(&self) -> Result<(), ConfigError> {
        let kept = [
            ("state.dir", Some(&self.state_dir)),
            ("store.url_file", self.store.url_file.as_ref()),
            ("policies.dir", self.policies_dir.as_ref()),
            ("", self.file.as_ref()),
            ("audit.sign_key_file", self.audit.sign_key_file.as_ref()),
            ("workflows.dir", self.workflows.dir.as_ref()),
            ("channels.telegram.token_file", self.telegram.as_ref().and_then(|t| t.token_file.as_ref())),
            ("channels.discord.token_file", self.discord.as_ref().and_then(|d| d.token_file.as_ref())),
            ("provider.api_key_file", self.provider.api_key_file.as_ref()),
            ("provider.instructions_file", self.provider.instructions_file.as_ref()),
            ("network.ca_file", self.network.ca_file.as_ref()),
        ];
        let secrets = self.network.files().map(|file| ("secrets.file", Some(file)));
        for (key, path) in kept.into_iter().chain(secrets) {
            if let Some(lies) = path.and_then(|path| self.say_if_in_reach(path)) {
                return Err(match key.rsplit_once('.') {
                    Some((_, name)) => self.places.refuse(key, format!("{name} {lies}")),
                    None => ConfigError::Invalid(format!("the configuration {lies}")),
                });
            }
        }
        Ok(())
    }

    /// In which folder of the tools a path lies, if in any, and what to do: the words that follow
    /// the name of what must not lie there.
    pub fn say_if_in_reach(&self, path: &Path) -> Option<String> {
        let (root, real) = (&self.workspace.root, resolved(path));
        let mut folders = MOUNTS.iter().chain(publish::HOLDERS);
        let folder = folders.find(|f| real.starts_with(resolved(&root.join(f.trim_start_matches('/')))))?;
        let (path, root) = (path.display(), root.display());
        Some(format!("({path}) lies in {folder}, where tools read and write; move it out of {root}"))
    }
}

/// The path with symlinks resolved as far as it exists.
pub fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = absolute.ancestors().find_map(|there| {
        let missing = absolute.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.components().chain(missing.components()).collect())
    });
    real.unwrap_or(absolute)
}

/// The file as a table, checked on its own first so that a refusal names the line; paths in it are
/// relative to its folder. And the file's SHA-256.
fn read(file: &Path) -> Result<(toml::Table, String, KeyPositions), ConfigError> {
    let shown = file.display().to_string();
    let unreadable = |error| ConfigError::Unreadable(shown.clone(), error);
    let mut bytes = Vec::new();
    // A pipe may be given as well, as a shell's `<(…)` is.
    let read = File::open(file).and_then(|file| file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(unreadable)?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        let said = format!("{shown} has more than {CONFIG_BYTES_MAX} bytes; name a shorter configuration");
        return Err(ConfigError::Invalid(said));
    }
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    let text = String::from_utf8(bytes).map_err(no_text).map_err(unreadable)?;
    let refused = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = line_of(&text, at);
        ConfigError::Invalid(format!("{shown}:{line}: {}", one_line(error.message(), 400)))
    };
    let mut table: toml::Table = toml::from_str(&text).map_err(refused)?;
    let places = KeyPositions::from_file(shown.clone(), &text);
    if let Some(section) = keys::find_bad_section(&table) {
        let said = "is written as a value; write it as a section, with its keys below it";
        return Err(places.refuse(&format!("{section}."), said));
    }
    toml::from_str::<ConfigFile>(&text).map_err(refused)?;
    if let Some((key, problem)) = keys::find_bad_path(&table) {
        return Err(places.refuse(key, problem));
    }
    let base = std::path::absolute(file).ok().and_then(|f| f.parent().map(Path::to_owned));
    keys::anchor_paths(&mut table, &base.unwrap_or_default());
    Ok((table, sha256_hex(text.as_bytes()), places))
}

/// The variable that is not understood: the file alone was.
fn find_bad_variable(in_file: &toml::Table, environment: &BTreeMap<String, String>) -> Option<ConfigError> {
    environment.iter().find_map(|(name, text)| {
        let mut table = in_file.clone();
        keys::apply_environment(&mut table, &BTreeMap::from([(name.clone(), text.clone())])).ok()?;
        let error = ConfigFile::deserialize(table).err()?;
        Some(ConfigError::Environment(name.clone(), one_line(error.message(), 400)))
    })
}
