//! Loading: what the file, the environment and the command line say, laid over one another and
//! checked.

use super::places::{KeyPositions, line_of};
use super::workspace::WorkspaceTable;
use super::{Config, ConfigError, SettingOrigin, attached, keys, network, settings, store, workflows};
use crate::{log, monitor};
use cofferdam_agent::server::UnusableKey;
use cofferdam_agent::{llm, tools, turn, voice};
use cofferdam_chat::words::HELP_CHARS_MAX;
use cofferdam_confine as confine;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::text::one_line;
use cofferdam_discord as discord;
use cofferdam_telegram as telegram;
use cofferdam_warden::{attachments, audit, sandbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The file that is read from the current folder when none is named.
pub const FILE_NAME: &str = "cofferdam.toml";

/// Bytes of the file: many times what anybody writes by hand.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// What the command line says, before environment and file.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--workspace`.
    pub workspace: Option<PathBuf>,
    /// What flags of keys say, by the variables before which they stand.
    pub variables: BTreeMap<String, String>,
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

impl Config {
    /// The configuration from a file (`--config`, else `./cofferdam.toml`, else the user's), the
    /// environment, and what the command line says, the later ones first.
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is not understood.
    pub fn load(
        file: Option<&Path>,
        flags: &Flags,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        let mut laid_over = environment.clone();
        laid_over.extend(flags.variables.clone());
        let loaded = Self::load_layers(file, flags.workspace.as_deref(), &laid_over);
        let mut config = loaded.map_err(|error| match error {
            ConfigError::Environment(name, problem) if flags.variables.contains_key(&name) => {
                ConfigError::Invalid(format!("{}: {problem}", keys::flag(&name)))
            }
            other => other,
        })?;
        for setting in &mut config.settings {
            if flags.variables.contains_key(&keys::variable(setting.key)) {
                setting.origin = SettingOrigin::Flag;
            }
        }
        Ok(config)
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
