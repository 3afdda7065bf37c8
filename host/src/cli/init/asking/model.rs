//! Who answers: no model, or which one, where, and with which key; tried by asking its server for
//! its models.

use super::super::template::Setting;
use super::super::terminal;
use super::{CHECK_TIME_MAX, wait_for};
use cofferdam_agent::llm::{self, KeyStanding, ModelStanding, ProbeError, ProviderKind, ServerFacts};
use cofferdam_agent::server::{Address, ServerScope, check_key};
use cofferdam_core::secret::Secret;
use std::collections::BTreeMap;

pub(super) struct ModelAnswers {
    kind: &'static str,
    /// None where it is the kind's own.
    base_url: Option<String>,
    name: String,
    pub(super) key: KeySource,
}

/// Where its key is.
pub(super) enum KeySource {
    Nowhere,
    /// In the environment.
    Variable(String),
    /// Here; it goes into a file.
    Typed(Secret),
}

const KINDS: [(&str, ProviderKind); 4] = [
    ("commands", ProviderKind::Commands),
    ("openai-chat", ProviderKind::OpenaiChat),
    ("openai-responses", ProviderKind::OpenaiResponses),
    ("anthropic", ProviderKind::Anthropic),
];

enum ModelTrial {
    Keep,
    /// Ask everything again.
    Again,
    /// Ask for the key again.
    OtherKey,
}

impl ModelAnswers {
    /// What differs from the template.
    pub(super) fn settings(&self, key_file: &str) -> Vec<Setting> {
        let mut settings: Vec<Setting> =
            vec![("provider", "kind", self.kind.into()), ("provider", "model", self.name.clone().into())];
        if let Some(url) = &self.base_url {
            settings.push(("provider", "base_url", url.clone().into()));
        }
        match &self.key {
            KeySource::Nowhere => {}
            KeySource::Variable(name) => settings.push(("provider", "api_key_env", name.clone().into())),
            KeySource::Typed(_) => settings.push(("provider", "api_key_file", key_file.into())),
        }
        settings
    }
}

/// Asks until something is kept; none where no model answers.
pub(super) fn ask(environment: &BTreeMap<String, String>) -> anyhow::Result<Option<ModelAnswers>> {
    loop {
        let names = KINDS.map(|(name, _)| name).join(", ");
        let word = terminal::ask(&format!("Who answers ({names})"), KINDS[0].0)?;
        let Some((name, kind)) = KINDS.into_iter().find(|(name, _)| *name == word) else {
            terminal::say(&format!("There is {names}; \"commands\" needs no model and no key."))?;
            continue;
        };
        if kind == ProviderKind::Commands {
            return Ok(None);
        }
        if let Some(model) = ask_model(environment, name, kind)? {
            return Ok(Some(model));
        }
    }
}

/// A model of this kind; none to ask everything again.
fn ask_model(
    environment: &BTreeMap<String, String>,
    word: &'static str,
    kind: ProviderKind,
) -> anyhow::Result<Option<ModelAnswers>> {
    let mut config = llm::Config { kind, ..llm::Config::default() };
    let usual = config.base_url().to_owned();
    let url = terminal::ask("Address of its server", &usual)?;
    let reach = match Address::parse(&url) {
        Ok(address) => address.reach,
        Err(bad) => {
            terminal::say(&format!("{bad}."))?;
            return Ok(None);
        }
    };
    let base_url = Some(url).filter(|url| *url != usual);
    config.base_url.clone_from(&base_url);
    let name = terminal::ask("The model, as its server calls it", kind.model_example())?;
    config.model = Some(name.clone());
    loop {
        let key = key(kind, reach)?;
        let known = match &key {
            KeySource::Nowhere => Some(None),
            KeySource::Typed(key) => Some(Some(key.clone())),
            KeySource::Variable(name) => {
                config.api_key_env = Some(name.clone());
                environment.get(name).and_then(|value| check_key(value)).map(Some)
            }
        };
        if let KeySource::Typed(_) = &key {
            // Any name passes the check, which wants to see that there is a key.
            config.api_key_env = Some(kind.key_env().to_owned());
        }
        if let Err(error) = config.check() {
            terminal::say(&format!("{error}."))?;
            return Ok(None);
        }
        let Some(known) = known else {
            terminal::say("That variable is not set here; `cofferdam doctor` tries it once it is.")?;
            return Ok(Some(ModelAnswers { kind: word, base_url, name, key }));
        };
        match try_model(&config, known)? {
            ModelTrial::Keep => return Ok(Some(ModelAnswers { kind: word, base_url, name, key })),
            ModelTrial::Again => return Ok(None),
            ModelTrial::OtherKey => {}
        }
    }
}

fn key(kind: ProviderKind, reach: ServerScope) -> anyhow::Result<KeySource> {
    let instead = match reach {
        ServerScope::Loopback => "none",
        ServerScope::Remote => "it is in a variable",
    };
    loop {
        let text = terminal::ask_hidden(&format!("Its key (not shown; Enter: {instead})"))?;
        match check_key(&text) {
            Some(key) => return Ok(KeySource::Typed(key)),
            None if !text.is_empty() => terminal::say("A key is one word without blanks. Copy it again.")?,
            None if reach == ServerScope::Loopback => return Ok(KeySource::Nowhere),
            None => {
                let name = terminal::ask("The environment variable that holds it", kind.key_env())?;
                return Ok(KeySource::Variable(name));
            }
        }
    }
}

/// Asks the server for its models, and the person where the answer leaves a doubt.
fn try_model(config: &llm::Config, key: Option<Secret>) -> anyhow::Result<ModelTrial> {
    let Some(probed) = wait_for(llm::probe(config, key, CHECK_TIME_MAX))? else {
        return Ok(ModelTrial::Keep);
    };
    let doubt = match probed.known {
        Ok(ServerFacts { model: ModelStanding::NotListed, .. }) => {
            "The server answers, and does not name this model among its own.".to_owned()
        }
        Ok(ServerFacts { key: KeyStanding::Unproven, .. }) => {
            terminal::say(
                "The server answers; it does so without a key, too, so the first message will show.",
            )?;
            return Ok(ModelTrial::Keep);
        }
        Ok(ServerFacts { model, .. }) => {
            let has = if model == ModelStanding::Listed { ", and has this model" } else { "" };
            terminal::say(&format!("The server answers{has}."))?;
            return Ok(ModelTrial::Keep);
        }
        Err(ProbeError::Key(_)) => {
            terminal::say("The server does not accept this key. Copy it again from where it was made.")?;
            return Ok(ModelTrial::OtherKey);
        }
        Err(error) => format!("It cannot be checked: {error}."),
    };
    terminal::say(&doubt)?;
    Ok(if terminal::ask_yes_no("Keep it so?")? { ModelTrial::Keep } else { ModelTrial::Again })
}
