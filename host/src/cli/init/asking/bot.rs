//! A bot on one of the platforms: its token, tried by asking the platform who it is, and the person
//! who is served.

use super::super::template::Setting;
use super::super::terminal;
use super::{CHECK_TIME_MAX, wait_for};
use anyhow::Context;
use cofferdam_chat::setup::{BotFacts, PlatformNames, ProbeError};
use cofferdam_core::secret::Secret;
use cofferdam_discord as discord;
use cofferdam_telegram as telegram;
use std::collections::BTreeMap;

/// A platform that the gateway can have a bot on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Platform {
    Telegram,
    Discord,
}

pub(in super::super) struct BotAnswers {
    pub(in super::super) platform: Platform,
    /// Its token, as it was typed.
    pub(in super::super) token: Option<Secret>,
    /// Who is served.
    pub(super) user: Option<i64>,
}

impl Platform {
    /// In the order in which they are asked about.
    pub(in super::super) const ALL: [Self; 2] = [Self::Telegram, Self::Discord];

    /// What it and its section are called, and the variable that holds the token where no file
    /// does.
    pub(in super::super) fn names(self) -> PlatformNames {
        match self {
            Self::Telegram => telegram::PLATFORM,
            Self::Discord => discord::PLATFORM,
        }
    }

    /// The ending of the file that holds the token, beside the configuration.
    pub(in super::super) fn file_suffix(self) -> String {
        format!("{}-token", self.names().name.to_lowercase())
    }

    /// Where a token is made; what to do about one that is not accepted.
    fn token_hints(self) -> [&'static str; 2] {
        match self {
            Self::Telegram => ["@BotFather", "Copy it again: @BotFather, /mybots, API Token."],
            Self::Discord => ["the Developer Portal", "Copy it again: Developer Portal, Bot, Reset Token."],
        }
    }
}

impl BotAnswers {
    /// Asks for the token, and for the person where there is one.
    ///
    /// # Errors
    /// When the person gives up, or the environment names an address that is none.
    pub(super) fn ask(environment: &BTreeMap<String, String>, platform: Platform) -> anyhow::Result<Self> {
        let token = token(environment, platform)?;
        let user = match &token {
            Some(_) => user(platform)?,
            None => None,
        };
        Ok(Self { platform, token, user })
    }

    /// What differs from the template, with the token in this file.
    pub(super) fn settings(&self, token_file: &str) -> Vec<Setting> {
        let section = self.platform.names().section;
        let token = self.token.is_some().then(|| (section, "token_file", token_file.into()));
        let user = self.user.map(|user| (section, "allowed_users", vec![user].into()));
        token.into_iter().chain(user).collect()
    }
}

/// The bot's token; none when the person has none. It is tried at the address of the environment,
/// else at the platform's own.
fn token(environment: &BTreeMap<String, String>, platform: Platform) -> anyhow::Result<Option<Secret>> {
    let variable = format!("COFFERDAM_CHANNELS_{}_API_URL", platform.names().name.to_uppercase());
    let url = environment.get(&variable);
    match platform {
        Platform::Telegram => {
            let mut config = telegram::Config::default();
            url.into_iter().for_each(|url| config.api_url.clone_from(url));
            config.check().context(variable)?;
            ask_token(platform, |text| {
                let token = telegram::BotToken::parse(text)?;
                Some(wait_for(telegram::probe_account(&config, token, CHECK_TIME_MAX)))
            })
        }
        Platform::Discord => {
            let mut config = discord::Config::default();
            url.into_iter().for_each(|url| config.api_url.clone_from(url));
            config.check().context(variable)?;
            ask_token(platform, |text| {
                let token = discord::BotToken::parse(text)?;
                Some(wait_for(discord::examine(&config, token, CHECK_TIME_MAX)))
            })
        }
    }
}

/// Asks for a token and tries it by `fetch_account`, which says who its bot is; none of what is no
/// token.
fn ask_token(
    platform: Platform,
    fetch_account: impl Fn(&str) -> Option<anyhow::Result<BotFacts>>,
) -> anyhow::Result<Option<Secret>> {
    let PlatformNames { name, form, .. } = platform.names();
    let [source, refused] = platform.token_hints();
    loop {
        let question = format!("Token of the {name} bot, from {source} (not shown; Enter: none for now)");
        let text = terminal::ask_hidden(&question)?;
        if text.is_empty() {
            return Ok(None);
        }
        let Some(known) = fetch_account(&text).transpose()? else {
            terminal::say(&format!("That is no bot token: {form}. Copy all of it."))?;
            continue;
        };
        match known.bot {
            Ok(bot) => {
                terminal::say(&format!("It is the token of {bot}."))?;
                known.obstacles.iter().try_for_each(|one| terminal::say(&format!("But: {}", one.what)))?;
                if let Some(link) = known.invite {
                    let may = discord::permissions();
                    terminal::say(&format!("Invite it into a guild of yours with {link} ({may})."))?;
                }
                return Ok(Some(Secret::new(text)));
            }
            Err(ProbeError::Refused(..)) => {
                terminal::say(&format!("{name} does not accept it. {refused}"))?;
            }
            Err(error @ (ProbeError::Limited(..) | ProbeError::Unreachable(_))) => {
                terminal::say(&format!("It cannot be checked now: {error}"))?;
                if terminal::ask_yes_no("Keep it unchecked?")? {
                    return Ok(Some(Secret::new(text)));
                }
            }
        }
    }
}

fn user(platform: Platform) -> anyhow::Result<Option<i64>> {
    let name = platform.names().name;
    loop {
        let question =
            format!("Your numeric {name} id (Enter: none yet; write to the bot, and it says what to do)");
        let text = terminal::ask(&question, "")?;
        match text.parse() {
            Ok(id) if id > 0 => return Ok(Some(id)),
            _ if text.is_empty() => return Ok(None),
            _ => terminal::say("An id is a positive number, such as 123456789; names can change hands.")?,
        }
    }
}
