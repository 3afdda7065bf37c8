//! `[channels.telegram]`: what an operator may set, and what is refused before anything is
//! contacted.

use super::token::BotToken;
use cofferdam_agent::server::{Address, UnusableKey};
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
    /// Address of the Bot API; plain http only for loopback.
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
    /// What holds in single groups, by their ids.
    #[serde(deserialize_with = "deserialize_groups", serialize_with = "serialize_by_id")]
    pub groups: BTreeMap<i64, Group>,
    /// Who is served in groups that are not named: [`GroupMembers::Allowed`] or
    /// [`GroupMembers::None`].
    pub other_groups: GroupMembers,
    /// Who keeps messages from going out too fast.
    pub flood_limits: FloodLimits,
}

/// Telegram, as it is named to people, and its tokens.
pub const PLATFORM: PlatformNames = PlatformNames {
    name: "Telegram",
    section: "channels.telegram",
    variable: "TELEGRAM_BOT_TOKEN",
    source: "@BotFather",
    form: "digits, a colon, then letters, digits, _ and -",
};

impl Default for Config {
    fn default() -> Self {
        Self {
            token_env: PLATFORM.variable.into(),
            token_file: None,
            api_url: "https://api.telegram.org".into(),
            allowed_users: Vec::new(),
            approvers: Vec::new(),
            pairing: true,
            pairing_expires: TimeSpan::seconds(60 * 60),
            groups: BTreeMap::new(),
            other_groups: GroupMembers::Allowed,
            flood_limits: FloodLimits::default(),
        }
    }
}

/// Who keeps messages from going out too fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FloodLimits {
    /// This program, by the limits that Telegram has published.
    #[default]
    Telegram,
    /// The server at `api_url`, by its answers alone.
    Server,
}

impl Config {
    /// Checks everything but the token.
    ///
    /// # Errors
    /// [`UnusableKey`], which says what to write instead.
    pub fn check(&self) -> Result<(), UnusableKey> {
        self.token_at().check()?;
        check_groups(PLATFORM.section, "group", (&self.groups, self.other_groups))?;
        check_users(PLATFORM.section, (&self.allowed_users, &self.approvers), self.pairing_expires)?;
        self.address().map(|_| ())
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

    /// The TCP port of the Bot API.
    pub fn port(&self) -> Option<u16> {
        self.address().ok().and_then(|address| address.port())
    }

    /// The Bot API's address.
    pub(super) fn address(&self) -> Result<Address, UnusableKey> {
        let said = |bad| format!("api_url: {bad}; write e.g. \"https://api.telegram.org\"");
        Address::parse(&self.api_url).map_err(|bad| UnusableKey::new(PLATFORM.section, "api_url", said(bad)))
    }
}

/// Tables by the id of their group.
fn deserialize_groups<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i64, Group>, D::Error> {
    deserialize_by_id(
        deserializer,
        |id| id < 0,
        |said| {
            format!(
                "groups: {said:?} is not a group's id, a negative number; write e.g. [channels.telegram.groups.\"-1001234567890\"] (the log at debug level names the group of each message)"
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_agent::server::ServerScope;

    fn with_url(api_url: &str) -> Result<ServerScope, String> {
        let config = Config { api_url: api_url.into(), ..Config::default() };
        let address = config.check().and_then(|()| config.address());
        address.map(|address| address.reach).map_err(|e| e.to_string())
    }

    #[test]
    fn plain_http_is_for_loopback_only() {
        for url in ["http://127.0.0.1:81", "http://127.9.9.9/x/", "http://[::1]:8081", "http://localhost:1"] {
            assert_eq!(with_url(url), Ok(ServerScope::Loopback), "{url}");
        }
        assert_eq!(with_url("https://api.telegram.org"), Ok(ServerScope::Remote));
        for url in [
            "http://api.telegram.org",
            "http://10.0.0.1",
            "http://localhost.evil.example",
            "http://0.0.0.0",
            "ftp://127.0.0.1",
            "https://u:p@api.telegram.org",
            "https://api.telegram.org/?x=1",
            "api.telegram.org",
            "",
        ] {
            assert!(with_url(url).is_err(), "{url}");
        }
        assert_eq!(
            with_url("http://10.0.0.1").expect_err("refused"),
            "api_url: \"http://10.0.0.1\" is plain http, which only loopback may be; write e.g. \"https://api.telegram.org\""
        );
        assert!(!with_url("https://u:secret@x.example").expect_err("refused").contains("secret"));
    }

    #[test]
    fn groups_are_named_by_number_and_a_wrong_word_is_refused() {
        let read = |text: &str| {
            let config = toml::from_str::<Config>(text).map_err(|error| error.message().to_owned())?;
            config.check().map(|()| config).map_err(|error| error.to_string())
        };
        let group = "[groups.\"-1001234567890\"]\n";
        let config = read(&format!("{group}members = \"all\"\nmention_required = false\nprofiles = [\"p\"]"));
        let group_of = |config: Config| config.groups[&-1_001_234_567_890].clone();
        let profiles = Some(["p".to_owned()].into());
        let expected = Group { members: GroupMembers::All, mention_required: false, profiles };
        assert_eq!(config.map(group_of), Ok(expected));
        assert_eq!(read(group).map(group_of), Ok(Group::default()));
        for (text, said) in [
            ("[groups.team]", "\"team\" is not a group's id"),
            ("[groups.\"5\"]", "\"5\" is not a group's id"),
            ("[groups.\"-5\"]\nmember = \"all\"", "unknown field `member`"),
            ("[groups.\"-5\"]\nmembers = \"some\"", "unknown variant `some`"),
            ("[groups.\"-5\"]\nmembers = \"all\"", "profiles = [\"file-read-only\"]"),
            ("other_groups = \"all\"", "write \"allowed\" or \"none\""),
            ("other_groups = \"some\"", "unknown variant `some`"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }

    #[test]
    fn users_are_numbers() {
        let read = |text: &str| toml::from_str::<Config>(text).map_err(|error| error.message().to_owned());
        assert_eq!(
            read("allowed_users = [1, 5000000000]").map(|c| c.allowed_users),
            Ok(vec![1, 5_000_000_000])
        );
        assert_eq!(
            read("allowed_users = [\"42\"]").expect_err("refused"),
            "\"42\" is text; write the number without quotes: allowed_users = [42]"
        );
        assert!(
            read("allowed_users = [\"@ann\"]")
                .expect_err("refused")
                .contains("write e.g. allowed_users = [123456789]")
        );
        for refused in [
            "allowed_users = [1.5]",
            "allowed_users = 1",
            "token = \"1:x\"",
            "allowed_user = [1]",
            "timing = {}",
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
        let said = read("approvers = [\"bob\"]").expect_err("refused");
        assert!(
            said.contains("write e.g. approvers = [123456789]") && !said.contains("allowed_users"),
            "{said}"
        );
        let group = Config { allowed_users: vec![-100], ..Config::default() };
        assert!(group.check().expect_err("refused").to_string().contains("-100 is not a user's id"));
    }
}
