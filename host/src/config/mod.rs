//! The configuration: `cofferdam.toml`, every key also from the environment, read strictly.
//!
//! Refuses unknown keys (in the file and as `COFFERDAM_…`), and a layout in which tools could
//! change what the gateway itself relies on.

mod attached;
mod error;
mod keys;
mod load;
mod network;
mod places;
mod settings;
mod store;
mod workflows;
mod workspace;

pub use error::ConfigError;
pub use keys::is_reloadable;
pub use load::{CONFIG_BYTES_MAX, FILE_NAME, Flags};
pub use network::{CA_FILE_BYTES_MAX, SecretSource};
pub use settings::{Setting, SettingOrigin};
pub use store::StoreEngine;
pub(crate) use workflows::SECRET_ENDS;

use crate::{log, monitor};
use cofferdam_agent::{llm, tools, turn, voice};
use cofferdam_confine as confine;
use cofferdam_core::capability::MOUNTS;
use cofferdam_core::limits::TimeSpan;
use cofferdam_discord as discord;
use cofferdam_telegram as telegram;
use cofferdam_warden::{attachments, audit, publish};
use places::KeyPositions;
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

impl Config {
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
