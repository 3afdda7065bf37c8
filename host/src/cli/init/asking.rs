//! What a new gateway must know of its operator. Each answer is tried at once where it can be, so that a wrong one
//! is told while it can still be corrected.

mod model;

use super::template::Setting;
use super::terminal::Terminal;
use anyhow::Context;
use cofferdam_chat::setup::ProbeError;
use cofferdam_core::secret::Secret;
use cofferdam_telegram::{self as telegram, Token};
use model::{Key, Model};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that has not answered by then is not reached.
const CHECK_TIME_MAX: Duration = Duration::from_secs(10);

/// What the person said.
pub(super) struct Answers {
    /// The bot's token, as it was typed.
    pub(super) token: Option<Secret>,
    user: Option<i64>,
    model: Option<Model>,
    workspace: Option<PathBuf>,
}

impl Answers {
    /// Asks everything. Nothing is written.
    ///
    /// # Errors
    /// When the person gives up.
    pub(super) fn ask(
        terminal: &mut Terminal,
        environment: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        terminal.say("Enter takes what is in [brackets]. Nothing is written before the last answer.\n")?;
        let token = token(terminal, environment)?;
        let user = user(terminal)?;
        let model = model::ask(terminal, environment)?;
        let workspace = workspace(terminal, environment)?;
        Ok(Self { token, user, model, workspace })
    }

    /// The model's key, if it was typed.
    pub(super) fn typed_key(&self) -> Option<&Secret> {
        match self.model.as_ref().map(|model| &model.key) {
            Some(Key::Typed(key)) => Some(key),
            _ => None,
        }
    }

    /// What differs from the template, with the secrets in these files.
    pub(super) fn settings(&self, token_file: &str, key_file: &str) -> Vec<Setting> {
        let mut settings: Vec<Setting> = Vec::new();
        if let Some(root) = &self.workspace {
            settings.push(("workspace", "root", root.to_string_lossy().into_owned().into()));
        }
        settings.extend(self.model.iter().flat_map(|model| model.settings(key_file)));
        if self.token.is_some() {
            settings.push(("channels.telegram", "token_file", token_file.into()));
        }
        if let Some(user) = self.user {
            settings.push(("channels.telegram", "allowed_users", vec![user].into()));
        }
        settings
    }

    /// Whether somebody is served from the first message on.
    pub(super) fn knows_somebody(&self) -> bool {
        self.user.is_some()
    }

    /// What must stand before a command of this configuration: the variables that hold a secret still.
    pub(super) fn variables(&self) -> String {
        let token = self.token.is_none().then_some("TELEGRAM_BOT_TOKEN");
        let key = match self.model.as_ref().map(|model| &model.key) {
            Some(Key::Variable(name)) => Some(&**name),
            _ => None,
        };
        token.into_iter().chain(key).map(|name| format!("{name}=… ")).collect()
    }
}

/// Waits for something of the network.
fn wait_for<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start what speaks to the network")?.block_on(future))
}

/// The bot's token, tried by asking who it is.
fn token(terminal: &mut Terminal, environment: &BTreeMap<String, String>) -> anyhow::Result<Option<Secret>> {
    let mut config = telegram::Config::default();
    if let Some(url) = environment.get("COFFERDAM_CHANNELS_TELEGRAM_API_URL") {
        config.api_url.clone_from(url);
    }
    config.check().context("COFFERDAM_CHANNELS_TELEGRAM_API_URL")?;
    loop {
        let question = "Token of the Telegram bot, from @BotFather (not shown; Enter: none for now)";
        let text = terminal.ask_hidden(question)?;
        if text.is_empty() {
            return Ok(None);
        }
        let Some(token) = Token::parse(&text) else {
            terminal
                .say("That is no bot token: digits, a colon, then letters and digits. Copy all of it.")?;
            continue;
        };
        match wait_for(telegram::who(&config, token, CHECK_TIME_MAX))?.bot {
            Ok(bot) => {
                terminal.say(&format!("It is the token of {bot}."))?;
                return Ok(Some(Secret::new(text)));
            }
            Err(ProbeError::Refused { .. }) => {
                terminal
                    .say("Telegram does not accept it. Copy it again: @BotFather, /mybots, API Token.")?;
            }
            Err(ProbeError::Unreachable(said)) => {
                terminal.say(&format!("It cannot be checked now: {said}"))?;
                if terminal.agrees("Keep it unchecked?")? {
                    return Ok(Some(Secret::new(text)));
                }
            }
        }
    }
}

fn user(terminal: &mut Terminal) -> anyhow::Result<Option<i64>> {
    loop {
        let question = "Your numeric Telegram id (Enter: none yet; write to the bot, and it says what to do)";
        let text = terminal.ask(question, "")?;
        match text.parse() {
            Ok(id) if id > 0 => return Ok(Some(id)),
            _ if text.is_empty() => return Ok(None),
            _ => terminal.say("An id is a positive number, such as 123456789; names can change hands.")?,
        }
    }
}

fn workspace(
    terminal: &mut Terminal,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<Option<PathBuf>> {
    let usual = "cofferdam/workspace in your data folder";
    let text = terminal.ask("Folder for all files that tools read and write", usual)?;
    if text == usual {
        return Ok(None);
    }
    let path = match (text.strip_prefix("~/"), environment.get("HOME")) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => PathBuf::from(text),
    };
    // As the person means it: from where they are, not from where the configuration lies.
    Ok(Some(std::path::absolute(path).context("that folder")?))
}
