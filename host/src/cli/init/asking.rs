//! What a new gateway must know of its operator. Each answer is tried at once where it can be, so
//! that a wrong one is told while it can still be corrected.

mod bot;
mod model;

pub(super) use bot::{BotAnswers, Platform};

use super::template::Setting;
use super::terminal;
use anyhow::Context;
use cofferdam_core::secret::Secret;
use model::{KeySource, ModelAnswers};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that has not answered by then is not reached.
const CHECK_TIME_MAX: Duration = Duration::from_secs(10);

pub(super) struct InitAnswers {
    /// The bots that were asked about, with a token or without.
    bots: Vec<BotAnswers>,
    model: Option<ModelAnswers>,
    workspace: Option<PathBuf>,
}

impl InitAnswers {
    /// Asks everything, and of bots on these platforms. Nothing is written.
    pub(super) fn ask(
        environment: &BTreeMap<String, String>,
        platforms: &[Platform],
    ) -> anyhow::Result<Self> {
        terminal::say("Enter takes what is in [brackets]. Nothing is written before the last answer.\n")?;
        let ask = |platform: &Platform| BotAnswers::ask(environment, *platform);
        let bots = platforms.iter().map(ask).collect::<anyhow::Result<_>>()?;
        let model = model::ask(environment)?;
        let workspace = workspace(environment)?;
        Ok(Self { bots, model, workspace })
    }

    /// The bots that the configuration has: those with a token, or the first where nobody has one
    /// yet.
    pub(super) fn bots(&self) -> impl Iterator<Item = &BotAnswers> {
        let none = self.bots.iter().all(|bot| bot.token.is_none());
        let is_there = move |(n, bot): &(usize, &BotAnswers)| bot.token.is_some() || none && *n == 0;
        self.bots.iter().enumerate().filter(is_there).map(|(_, bot)| bot)
    }

    /// The model's key, if it was typed.
    pub(super) fn typed_key(&self) -> Option<&Secret> {
        match self.model.as_ref().map(|model| &model.key) {
            Some(KeySource::Typed(key)) => Some(key),
            _ => None,
        }
    }

    /// What differs from the template, with a token in the file that `token_file` names, and the
    /// key in `key_file`.
    pub(super) fn settings(&self, token_file: impl Fn(Platform) -> String, key_file: &str) -> Vec<Setting> {
        let mut settings: Vec<Setting> = Vec::new();
        if let Some(root) = &self.workspace {
            settings.push(("workspace", "root", root.to_string_lossy().into_owned().into()));
        }
        settings.extend(self.model.iter().flat_map(|model| model.settings(key_file)));
        settings.extend(self.bots().flat_map(|bot| bot.settings(&token_file(bot.platform))));
        settings
    }

    /// Whether somebody is served from the first message on.
    pub(super) fn knows_somebody(&self) -> bool {
        self.bots().any(|bot| bot.user.is_some())
    }

    /// What must stand before a command of this configuration: the variables that hold a secret
    /// still.
    pub(super) fn variables(&self) -> String {
        let tokens = self.bots().filter(|bot| bot.token.is_none()).map(|bot| bot.platform.names().variable);
        let key = match self.model.as_ref().map(|model| &model.key) {
            Some(KeySource::Variable(name)) => Some(&**name),
            _ => None,
        };
        tokens.chain(key).map(|name| format!("{name}=… ")).collect()
    }
}

/// Waits for something of the network.
fn wait_for<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start what speaks to the network")?.block_on(future))
}

fn workspace(environment: &BTreeMap<String, String>) -> anyhow::Result<Option<PathBuf>> {
    let usual = "cofferdam/workspace in your data folder";
    let text = terminal::ask("Folder for all files that tools read and write", usual)?;
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
