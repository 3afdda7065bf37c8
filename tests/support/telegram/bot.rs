//! The bot's own account: who it is, its webhook and its command menu.

use std::collections::BTreeMap;

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
    /// The menus as last set, each an array of `command` and `description`, by the JSON text of
    /// their scope.
    commands: BTreeMap<String, Value>,
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
        Self { user, webhook: None, commands: BTreeMap::new() }
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
        self.commands.insert(scope(params)?, commands);
        Ok(Value::Bool(true))
    }

    /// `getMyCommands`: what was set for this very scope, never what is shown instead.
    pub(super) fn get_commands(&self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        Ok(self.commands_of(&scope(params)?))
    }

    /// `deleteMyCommands`.
    pub(super) fn delete_commands(&mut self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        self.commands.remove(&scope(params)?);
        Ok(Value::Bool(true))
    }

    /// The menu of a scope as [`scope`] names it.
    pub(super) fn commands_of(&self, scope: &str) -> Value {
        self.commands.get(scope).cloned().unwrap_or_else(|| json!([]))
    }
}

/// The scope of all chats, as [`scope`] names it.
pub(super) const DEFAULT_SCOPE: &str = r#"{"type":"default"}"#;

/// The scope of one chat, as [`scope`] names it.
pub(super) fn chat_scope(chat_id: i64) -> String {
    json!({ "type": "chat", "chat_id": chat_id }).to_string()
}

/// Names the scope of a request.
fn scope(params: &Map<String, Value>) -> Result<String, ApiError> {
    let Some(scope) = params::structured(params, "scope")? else { return Ok(DEFAULT_SCOPE.to_owned()) };
    match scope["type"].as_str() {
        Some("default") => Ok(DEFAULT_SCOPE.to_owned()),
        Some(kind @ ("all_private_chats" | "all_group_chats" | "all_chat_administrators")) => {
            Ok(json!({ "type": kind }).to_string())
        }
        Some("chat") => {
            scope["chat_id"].as_i64().map(chat_scope).ok_or_else(|| ApiError::bad_request("chat_id is empty"))
        }
        _ => Err(ApiError::bad_request("can't parse BotCommandScope: Unsupported type specified")),
    }
}
