//! `[channels.telegram]`: what an operator may set, and what is refused before anything is contacted.

use super::groups::{self, Group, Members};
use super::token::Token;
use cofferdam_agent::server::{Address, BadAddress, SecretFileError, read_secret};
use cofferdam_chat::lanes::Window;
use cofferdam_core::limits::Span;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The section as written. Nothing in it is secret: the token is in the environment, or in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    /// Numeric ids of those of them who may approve calls; empty: whoever asked for the call.
    #[serde(deserialize_with = "approving")]
    pub approvers: Vec<i64>,
    /// Whether a stranger in private is told a one-time code by which the operator may let them in.
    pub pairing: bool,
    /// How long such a code is good; from 1 min to [`PAIRING_EXPIRES_MAX`].
    pub pairing_expires: Span,
    /// What holds in single groups, by their ids.
    #[serde(deserialize_with = "groups::named")]
    pub groups: BTreeMap<i64, Group>,
    /// Who is served in groups that are not named: [`Members::Allowed`] or [`Members::None`].
    pub other_groups: Members,
    /// Who keeps messages from going out too fast.
    pub flood_limits: FloodLimits,
    /// How long things take. No file sets it; tests shorten it.
    #[serde(skip)]
    pub timing: Timing,
}

/// The variable that holds the token when nobody says.
const TOKEN_ENV: &str = "TELEGRAM_BOT_TOKEN";

/// The longest that a one-time code may be good.
pub const PAIRING_EXPIRES_MAX: Span = Span::seconds(24 * 60 * 60);

impl Default for Config {
    fn default() -> Self {
        Self {
            token_env: TOKEN_ENV.into(),
            token_file: None,
            api_url: "https://api.telegram.org".into(),
            allowed_users: Vec::new(),
            approvers: Vec::new(),
            pairing: true,
            pairing_expires: Span::seconds(60 * 60),
            groups: BTreeMap::new(),
            other_groups: Members::Allowed,
            flood_limits: FloodLimits::default(),
            timing: Timing::default(),
        }
    }
}

/// Who keeps messages from going out too fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FloodLimits {
    /// This program, by the limits that Telegram has published.
    #[default]
    Telegram,
    /// The server at `api_url`, by its answers alone.
    Server,
}

/// Times of this channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long further parts of an album are waited for.
    pub albums: Window,
    /// How long Telegram holds a poll without updates; whole seconds.
    pub long_poll: Duration,
    /// A download that brings nothing for so long is given up.
    pub download_stall: Duration,
    /// How long the turns under way may finish after a stop.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            albums: Window { silence: Duration::from_millis(1500), cap: Duration::from_secs(10) },
            long_poll: Duration::from_secs(30),
            download_stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// Why the section is refused. No message repeats a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// `token_env` is not a variable's name: perhaps the token itself, so it is not repeated.
    #[error(
        "token_env is not the name of an environment variable; write a name there, such as TELEGRAM_BOT_TOKEN, and put the token into that variable"
    )]
    TokenEnv,
    /// The variable is missing or empty.
    #[error(
        "the environment variable {0} is not set; put the bot's token from @BotFather into it, or name another variable in [channels.telegram] token_env"
    )]
    TokenMissing(String),
    /// The variable holds something else.
    #[error("the environment variable {0} does not hold a bot token; copy the token again from @BotFather")]
    TokenMalformed(String),
    /// The token is in two places.
    #[error("token_env and token_file are both written; take one of them out")]
    TokenTwice,
    /// The token's file did not open or read, or others may read it.
    #[error("token_file: {0}")]
    TokenFile(#[from] SecretFileError),
    /// The file holds something else.
    #[error("token_file: {0} does not hold a bot token; copy the token again from @BotFather")]
    TokenFileMalformed(String),
    /// `api_url` is no usable address.
    #[error("api_url: {0}; write e.g. \"https://api.telegram.org\"")]
    ApiUrl(#[from] BadAddress),
    /// A group, or nothing.
    #[error("allowed_users: {0} is not a user's id; people's ids are positive numbers")]
    UserId(i64),
    /// Somebody who is not served.
    #[error("approvers: {0} is not among allowed_users; add the id there, or remove it here")]
    Approver(i64),
    /// Too short to be told, or too long to be guessed at.
    #[error("pairing_expires = \"{0}\" is not from 1m to 24h; write e.g. \"1h\"")]
    PairingExpires(Span),
    /// Whoever makes a group with the bot in it would be served.
    #[error(
        "other_groups = \"all\" would serve whoever adds the bot to a group; write \"allowed\" or \"none\", and name the group in [channels.telegram.groups]"
    )]
    OtherGroups,
    /// Strangers would get every tool.
    #[error(
        "groups.\"{0}\": members = \"all\" serves whoever writes there, so say which tools they get, by profile, e.g. profiles = [\"file-read-only\"]"
    )]
    OpenGroup(i64),
}

impl ConfigError {
    /// The key that it is about, with its sections.
    pub fn key(&self) -> String {
        let name = match self {
            Self::TokenEnv | Self::TokenMissing(_) | Self::TokenMalformed(_) | Self::TokenTwice => {
                "token_env"
            }
            Self::TokenFile(_) | Self::TokenFileMalformed(_) => "token_file",
            Self::ApiUrl(_) => "api_url",
            Self::UserId(_) => "allowed_users",
            Self::Approver(_) => "approvers",
            Self::PairingExpires(_) => "pairing_expires",
            Self::OtherGroups => "other_groups",
            Self::OpenGroup(id) => return format!("channels.telegram.groups.{id}.members"),
        };
        format!("channels.telegram.{name}")
    }
}

impl fmt::Display for FloodLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Telegram => "telegram",
            Self::Server => "server",
        })
    }
}

impl Config {
    /// Checks everything but the token.
    ///
    /// # Errors
    /// [`ConfigError`], which says what to write instead.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !is_variable_name(&self.token_env) {
            return Err(ConfigError::TokenEnv);
        }
        // The default says nothing: it is what the file stands for.
        if self.token_file.is_some() && self.token_env != TOKEN_ENV {
            return Err(ConfigError::TokenTwice);
        }
        if let Some(id) = self.allowed_users.iter().find(|id| **id <= 0) {
            return Err(ConfigError::UserId(*id));
        }
        if self.other_groups == Members::All {
            return Err(ConfigError::OtherGroups);
        }
        let open = |group: &Group| group.members == Members::All && group.profiles.is_none();
        if let Some((id, _)) = self.groups.iter().find(|(_, group)| open(group)) {
            return Err(ConfigError::OpenGroup(*id));
        }
        if !(Span::seconds(60)..=PAIRING_EXPIRES_MAX).contains(&self.pairing_expires) {
            return Err(ConfigError::PairingExpires(self.pairing_expires));
        }
        match self.approvers.iter().find(|id| !self.allowed_users.contains(id)) {
            Some(id) => Err(ConfigError::Approver(*id)),
            None => self.address().map(|_| ()),
        }
    }

    /// The token, from its file or this process's environment.
    ///
    /// # Errors
    /// [`ConfigError`], which names the file or variable.
    pub fn token(&self) -> Result<Token, ConfigError> {
        if let Some(file) = &self.token_file {
            let text = read_secret(file)?;
            let malformed = || ConfigError::TokenFileMalformed(file.display().to_string());
            return Token::parse(&text).ok_or_else(malformed);
        }
        self.token_in(|name| std::env::var(name).ok())
    }

    fn token_in(&self, env: impl Fn(&str) -> Option<String>) -> Result<Token, ConfigError> {
        let name = &self.token_env;
        if !is_variable_name(name) {
            return Err(ConfigError::TokenEnv);
        }
        let value = env(name).filter(|value| !value.trim().is_empty());
        let value = value.ok_or_else(|| ConfigError::TokenMissing(name.clone()))?;
        Token::parse(&value).ok_or_else(|| ConfigError::TokenMalformed(name.clone()))
    }

    /// Where the token is, in words: the file or the variable.
    pub fn token_place(&self) -> String {
        self.token_file.as_ref().map_or_else(|| self.token_env.clone(), |file| file.display().to_string())
    }

    /// The TCP port of the Bot API.
    pub fn port(&self) -> Option<u16> {
        self.address().ok().and_then(|address| address.port())
    }

    /// The Bot API's address.
    pub(super) fn address(&self) -> Result<Address, ConfigError> {
        Ok(Address::parse(&self.api_url)?)
    }
}

fn is_variable_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn allowed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    user_ids::<D, 0>(deserializer)
}

fn approving<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    user_ids::<D, 1>(deserializer)
}

/// The keys that hold ids of users.
const OF_USERS: [&str; 2] = ["allowed_users", "approvers"];

fn user_ids<'de, D: Deserializer<'de>, const KEY: usize>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    Ok(Vec::<UserId<KEY>>::deserialize(deserializer)?.into_iter().map(|id| id.0).collect())
}

/// A user's id in one of [`OF_USERS`]: a number. Names change hands, so they are refused with the reason.
struct UserId<const KEY: usize>(i64);

impl<'de, const KEY: usize> Deserialize<'de> for UserId<KEY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserIdVisitor::<KEY>)
    }
}

struct UserIdVisitor<const KEY: usize>;

impl<const KEY: usize> de::Visitor<'_> for UserIdVisitor<KEY> {
    type Value = UserId<KEY>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a user's numeric id")
    }

    fn visit_i64<E>(self, id: i64) -> Result<UserId<KEY>, E> {
        Ok(UserId(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<UserId<KEY>, E> {
        i64::try_from(id).map(UserId).map_err(|_| E::custom("a user's id is smaller than that"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<UserId<KEY>, E> {
        let key = OF_USERS[KEY];
        let said = cofferdam_core::text::one_line(text, 80);
        Err(E::custom(match text.parse::<i64>() {
            Ok(id) => format!("{said:?} is text; write the number without quotes: {key} = [{id}]"),
            Err(_) => format!(
                "{said:?} is not a numeric id, and names can change hands; write e.g. {key} = [123456789] (the bot tells a stranger who writes to it his id)"
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_agent::server::Reach;

    fn with_url(api_url: &str) -> Result<Reach, String> {
        let config = Config { api_url: api_url.into(), ..Config::default() };
        let address = config.check().and_then(|()| config.address());
        address.map(|address| address.reach).map_err(|e| e.to_string())
    }

    #[test]
    fn plain_http_is_for_loopback_only() {
        for url in ["http://127.0.0.1:81", "http://127.9.9.9/x/", "http://[::1]:8081", "http://localhost:1"] {
            assert_eq!(with_url(url), Ok(Reach::Loopback), "{url}");
        }
        assert_eq!(with_url("https://api.telegram.org"), Ok(Reach::Remote));
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
    fn a_missing_token_names_the_variable_and_a_misplaced_one_is_not_repeated() {
        let said = |token_env: &str, value: Option<&str>| {
            let config = Config { token_env: token_env.into(), ..Config::default() };
            config.token_in(|_| value.map(Into::into)).expect_err("refused").to_string()
        };
        assert!(said("MY_TOKEN", None).starts_with("the environment variable MY_TOKEN "));
        assert!(said("MY_TOKEN", Some(" ")).contains("is not set"));
        assert!(!said("MY_TOKEN", Some("12 34")).contains("12 34"));
        assert!(!said("123:abcdefgh", None).contains("abcdefgh"));
    }

    #[test]
    fn a_file_holds_the_token_instead() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        let config = Config { token_file: Some(file.clone()), ..Config::default() };
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.token_place(), file.display().to_string());
        let put = |text: &str, mode| {
            std::fs::write(&file, text).expect("writable");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("ours");
            config.token().map(|token| token.reveal().to_owned()).map_err(|error| error.to_string())
        };
        assert_eq!(put("12:abcdefgh\n", 0o600), Ok("12:abcdefgh".to_owned()));
        let said = put("12:abcdefgh", 0o644).expect_err("refused");
        assert!(said.starts_with("token_file: ") && said.contains("chmod 600"), "{said}");
        let said = put("12 abcdefgh", 0o600).expect_err("refused");
        assert!(said.contains("does not hold a bot token") && !said.contains("abcdefgh"), "{said}");
        let both = Config { token_env: "MY_TOKEN".into(), ..config };
        assert_eq!(both.check(), Err(ConfigError::TokenTwice));
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
        let expected = Group { members: Members::All, mention_required: false, profiles };
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
