//! `[channels.discord]`: what an operator may set, and what is refused before anything is
//! contacted.

use super::token::BotToken;
use cofferdam_agent::server::{Address, ServerScope, UnusableKey};
use cofferdam_chat::people::{
    Group, GroupMembers, allowed, approving, check_groups, check_users, deserialize_by_id, serialize_by_id,
};
use cofferdam_chat::setup::{PlatformNames, TokenAt};
use cofferdam_core::limits::TimeSpan;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The section as written. Nothing in it is secret: the token is in the environment, or in a file
/// of its own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the environment variable that holds the bot's token.
    pub token_env: String,
    /// File that holds the token instead, readable by its owner alone.
    pub token_file: Option<PathBuf>,
    /// Address of the REST API with its path; plain http only for loopback.
    pub api_url: String,
    /// Numeric ids of the people who are served; empty: nobody.
    #[serde(deserialize_with = "allowed")]
    pub allowed_users: Vec<i64>,
    /// Numeric ids of those of them who may approve calls; empty: the person who asked for the
    /// call.
    #[serde(deserialize_with = "approving")]
    pub approvers: Vec<i64>,
    /// Whether a stranger in private is told a one-time code by which the operator may let them in.
    pub pairing: bool,
    /// How long such a code is good; from 1 min to [`cofferdam_chat::people::PAIRING_EXPIRES_MAX`].
    pub pairing_expires: TimeSpan,
    /// Whether the privileged Message Content intent is asked for.
    pub message_content: bool,
    /// What holds in single guilds, by their ids.
    #[serde(deserialize_with = "deserialize_guilds", serialize_with = "serialize_by_id")]
    pub guilds: BTreeMap<i64, Group>,
    /// Who is served in guilds that are not named: [`GroupMembers::Allowed`] or
    /// [`GroupMembers::None`].
    pub other_guilds: GroupMembers,
    /// What stands in for the two hosts that files come from; on loopback, for tests.
    pub cdn_url: Option<String>,
}

/// Discord, as it is named to people, and its tokens.
pub const PLATFORM: PlatformNames = PlatformNames {
    name: "Discord",
    section: "channels.discord",
    variable: "DISCORD_BOT_TOKEN",
    source: "Discord's Developer Portal (Bot, Reset Token)",
    form: "three parts with dots between, without \"Bot \" before them",
};

impl Default for Config {
    fn default() -> Self {
        Self {
            token_env: PLATFORM.variable.into(),
            token_file: None,
            api_url: "https://discord.com/api/v10".into(),
            allowed_users: Vec::new(),
            approvers: Vec::new(),
            pairing: true,
            pairing_expires: TimeSpan::seconds(60 * 60),
            message_content: false,
            guilds: BTreeMap::new(),
            other_guilds: GroupMembers::Allowed,
            cdn_url: None,
        }
    }
}

impl Config {
    /// Checks everything but the token.
    ///
    /// # Errors
    /// [`UnusableKey`], which says what to write instead.
    pub fn check(&self) -> Result<(), UnusableKey> {
        self.token_at().check()?;
        check_groups(PLATFORM.section, "guild", (&self.guilds, self.other_guilds))?;
        let deaf = |guild: &Group| !guild.mention_required && guild.members != GroupMembers::None;
        if let Some((id, _)) = self.guilds.iter().find(|(_, guild)| deaf(guild) && !self.message_content) {
            // Without the intent Discord withholds what it would be about.
            let said = format!(
                "guilds.\"{id}\": mention_required = false needs message_content = true: without that intent Discord brings no words of messages that do not mention the bot"
            );
            return Err(UnusableKey::new(PLATFORM.section, &format!("guilds.{id}.mention_required"), said));
        }
        check_users(PLATFORM.section, (&self.allowed_users, &self.approvers), self.pairing_expires)?;
        self.address()?;
        self.cdn().map(|_| ())
    }

    /// The token, from its file or this process's environment.
    ///
    /// # Errors
    /// [`UnusableKey`], which names the file or variable.
    pub fn token(&self) -> Result<BotToken, UnusableKey> {
        self.token_at().read(BotToken::parse)
    }

    /// Where the token is.
    pub fn token_at(&self) -> TokenAt<'_> {
        TokenAt { variable: &self.token_env, file: self.token_file.as_deref(), platform: PLATFORM }
    }

    /// Whether `api_url` is on this machine: then the ports of its gateway are known to nobody
    /// before it says them.
    pub fn is_on_loopback(&self) -> bool {
        self.address().is_ok_and(|address| address.reach == ServerScope::Loopback)
    }

    /// The TCP ports of the REST API and of what stands in for the files' hosts.
    pub fn ports(&self) -> Vec<u16> {
        let cdn = self.cdn().ok().flatten();
        [self.address().ok(), cdn].into_iter().flatten().filter_map(|address| address.port()).collect()
    }

    /// The API's address.
    pub(super) fn address(&self) -> Result<Address, UnusableKey> {
        let said = |bad| format!("api_url: {bad}; write e.g. \"https://discord.com/api/v10\"");
        Address::parse(&self.api_url).map_err(|bad| UnusableKey::new(PLATFORM.section, "api_url", said(bad)))
    }

    /// What stands in for the files' hosts.
    pub(super) fn cdn(&self) -> Result<Option<Address>, UnusableKey> {
        let Some(text) = &self.cdn_url else { return Ok(None) };
        let what = match Address::parse(text) {
            Ok(address) if address.reach == ServerScope::Loopback => return Ok(Some(address)),
            Ok(_) => "cdn_url is for tests and may be on loopback only".to_owned(),
            Err(bad) => format!("cdn_url: {bad}"),
        };
        let said = format!("{what}; take it out: files come from Discord's own hosts");
        Err(UnusableKey::new(PLATFORM.section, "cdn_url", said))
    }
}

/// Tables by the id of their guild.
fn deserialize_guilds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i64, Group>, D::Error> {
    deserialize_by_id(
        deserializer,
        |id| id > 0,
        |said| {
            format!(
                "guilds: {said:?} is not a guild's id, a positive number; write e.g. [channels.discord.guilds.\"1234567890123456789\"] (Discord shows it as Server ID in developer mode)"
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_with_its_key() {
        let check = |text: &str, key: &str| {
            let config: Config = toml::from_str(text).expect(text);
            assert_eq!(config.check().expect_err(text).key, format!("channels.discord.{key}"), "{text}");
        };
        check("api_url = \"http://discord.com/api/v10\"", "api_url");
        check("api_url = \"\"", "api_url");
        check("cdn_url = \"https://cdn.discordapp.com\"", "cdn_url");
        check("cdn_url = \"http://10.0.0.1\"", "cdn_url");
        check("allowed_users = [0]", "allowed_users");
        check("allowed_users = [-5]", "allowed_users");
        check("allowed_users = [1]\napprovers = [2]", "approvers");
        check("pairing_expires = \"1s\"", "pairing_expires");
        check("other_guilds = \"all\"", "other_guilds");
        check("[guilds.\"5\"]\nmembers = \"all\"", "guilds.5.members");
        check("[guilds.\"5\"]\nmention_required = false", "guilds.5.mention_required");
        check("token_env = \"a b\"", "token_env");
        check("token_env = \"X\"\ntoken_file = \"y\"", "token_env");
        for wrong in
            ["intents = 1", "allowed_users = [\"1\"]", "allowed_users = [\"ann\"]", "[guilds.\"-5\"]"]
        {
            assert!(toml::from_str::<Config>(wrong).is_err(), "{wrong}");
        }
        let sound = "api_url = \"http://127.0.0.1:1/api/v10\"\ncdn_url = \"http://127.0.0.1:2\"\n\
                     message_content = true\n[guilds.\"5\"]\nmention_required = false";
        let config: Config = toml::from_str(sound).expect("it");
        assert_eq!((config.check(), config.ports(), config.is_on_loopback()), (Ok(()), vec![1, 2], true));
        assert_eq!((Config::default().check(), Config::default().is_on_loopback()), (Ok(()), false));
    }
}
