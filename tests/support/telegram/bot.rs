//! The bot's own account: who it is, its webhook and its command menu.

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::params;

/// Most commands of a menu.
const MAX_COMMANDS: usize = 100;

/// What concerns the bot and no chat.
pub(super) struct Bot {
    /// The bot as the `from` of its messages.
    pub(super) user: Value,
    /// The address of an active webhook.
    pub(super) webhook: Option<String>,
    /// The menu as last set, an array of `command` and `description`.
    pub(super) commands: Value,
}

impl Bot {
    /// The account that the token belongs to: its id is the token's first part.
    pub(super) fn new(token: &str) -> Self {
        let id = token.split(':').next().and_then(|digits| digits.parse::<i64>().ok());
        let user = json!({
            "id": id.expect("tokens of this server start with digits"),
            "is_bot": true,
            "first_name": "Cofferdam under test",
            "username": "cofferdam_test_bot",
        });
        Self { user, webhook: None, commands: json!([]) }
    }

    /// The answer of `getMe`.
    pub(super) fn me(&self) -> Value {
        let mut me = self.user.clone();
        for (name, set) in [
            ("can_join_groups", true),
            ("can_read_all_group_messages", false),
            ("supports_inline_queries", false),
            ("can_connect_to_business", false),
            ("has_main_web_app", false),
        ] {
            me[name] = Value::Bool(set);
        }
        me
    }

    /// `setMyCommands`, with the real server's rules for names and descriptions.
    pub(super) fn set_commands(&mut self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let commands = params::structured(params, "commands")?.unwrap_or_else(|| json!([]));
        let Value::Array(entries) = &commands else {
            return Err(ApiError::bad_request("can't parse commands: expected an Array of BotCommand"));
        };
        if entries.len() > MAX_COMMANDS {
            return Err(ApiError::bad_request("BOT_COMMANDS_TOO_MUCH"));
        }
        for entry in entries {
            let name = entry["command"].as_str().unwrap_or_default();
            let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !(1..=32).contains(&name.len()) || !name.chars().all(valid) {
                return Err(ApiError::bad_request("BOT_COMMAND_INVALID"));
            }
            let description = entry["description"].as_str().unwrap_or_default();
            if !(1..=256).contains(&description.chars().count()) {
                return Err(ApiError::bad_request("BOT_COMMAND_DESCRIPTION_INVALID"));
            }
        }
        self.commands = commands;
        Ok(Value::Bool(true))
    }
}
