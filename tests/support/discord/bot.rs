//! The bot's own account: who it is, its application, and its commands.

use serde_json::{Map, Value, json};

use super::clock::Clock;
use super::error::RestError;

/// The bot's user, and its application, whose ids are the same.
pub const BOT_ID: u64 = 900_000_000_000_000_001;

/// The privileged intent is on, in an application that few use.
const MESSAGE_CONTENT_LIMITED: u64 = 1 << 19;
/// Most commands of an application.
const MAX_COMMANDS: usize = 100;
/// Most options of a command.
const MAX_OPTIONS: usize = 25;

/// What concerns the bot and no channel.
#[derive(Default)]
pub(super) struct Bot {
    /// `flags` of the application, those of intents apart.
    pub(super) flags: u64,
    /// Whether the Message Content intent is on in the Developer Portal.
    pub(super) message_content: bool,
    /// The global commands as the API gives them back.
    pub(super) commands: Vec<Value>,
}

/// The bot as the author of its messages.
pub(super) fn user() -> Value {
    json!({
        "id": BOT_ID.to_string(),
        "username": "Cofferdam under test",
        "discriminator": "4711",
        "global_name": null,
        "avatar": null,
        "avatar_decoration_data": null,
        "public_flags": 0,
        "primary_guild": null,
        "clan": null,
        "bot": true,
    })
}

impl Bot {
    /// The answer of `GET /users/@me`.
    pub(super) fn me(&self) -> Value {
        let mut me = user();
        for (name, value) in [
            ("flags", json!(0)),
            ("mfa_enabled", json!(true)),
            ("locale", json!("en-US")),
            ("verified", json!(true)),
            ("email", Value::Null),
            ("banner", Value::Null),
            ("accent_color", Value::Null),
        ] {
            me[name] = value;
        }
        me
    }

    /// The answer of `GET /applications/@me`.
    pub(super) fn application(&self) -> Value {
        json!({
            "id": BOT_ID.to_string(),
            "name": "Cofferdam under test",
            "icon": null,
            "description": "",
            "summary": "",
            "type": null,
            "bot": user(),
            "bot_public": true,
            "bot_require_code_grant": false,
            "verify_key": "00".repeat(32),
            "flags": self.application_flags(),
            "hook": true,
            "owner": {
                "id": "900000000000000002", "username": "owner", "discriminator": "0", "avatar": null,
                "public_flags": 0, "global_name": null,
            },
            "team": null,
            "approximate_guild_count": 1,
            "approximate_user_install_count": 0,
            "redirect_uris": [],
            "interactions_endpoint_url": null,
            "role_connections_verification_url": null,
            "integration_types_config": { "0": {} },
            "tags": [],
        })
    }

    /// The flags of the application, also in READY.
    pub(super) fn application_flags(&self) -> u64 {
        self.flags | if self.message_content { MESSAGE_CONTENT_LIMITED } else { 0 }
    }

    /// Replaces all global commands, by the real server's rules.
    pub(super) fn put_commands(
        &mut self,
        params: &Map<String, Value>,
        clock: &mut Clock,
    ) -> Result<Value, RestError> {
        let Some(given) = params.get("body").and_then(Value::as_array) else {
            return Err(RestError::new(400, 50035, "Invalid Form Body"));
        };
        if given.len() > MAX_COMMANDS {
            return Err(RestError::new(400, 30032, "Maximum number of application commands reached (100)"));
        }
        for (index, command) in given.iter().enumerate() {
            check_command(command, &index.to_string())?;
            let twice = given[..index].iter().any(|other| other["name"] == command["name"]);
            if twice {
                let path = format!("{index}.name");
                let message = "Application command names must be unique";
                return Err(RestError::field(&path, "APPLICATION_COMMANDS_DUPLICATE_NAME", message));
            }
        }
        self.commands = given.iter().map(|command| self.stored(command, clock)).collect();
        Ok(Value::Array(self.commands.clone()))
    }

    /// A command with the fields that the API adds; it keeps the id of its name.
    fn stored(&self, command: &Value, clock: &mut Clock) -> Value {
        let known = self.commands.iter().find(|known| known["name"] == command["name"]);
        let version = clock.next_id().to_string();
        let id = known.map_or_else(|| version.clone().into(), |known| known["id"].clone());
        let mut stored = json!({
            "id": id,
            "application_id": BOT_ID.to_string(),
            "version": version,
            "default_member_permissions": null,
            "type": 1,
            "name": null,
            "name_localizations": null,
            "description": "",
            "description_localizations": null,
            "dm_permission": true,
            "contexts": null,
            "integration_types": [0],
            "nsfw": false,
        });
        for (name, value) in command.as_object().into_iter().flatten() {
            stored[name] = value.clone();
        }
        stored
    }
}

fn check_command(command: &Value, at: &str) -> Result<(), RestError> {
    check_name(command, at)?;
    if command["type"].as_u64().unwrap_or(1) == 1 {
        check_description(command, at)?;
    }
    let options = command["options"].as_array().map_or(&[][..], Vec::as_slice);
    if options.len() > MAX_OPTIONS {
        return Err(RestError::too_long(&format!("{at}.options"), MAX_OPTIONS));
    }
    let mut optional = false;
    for (index, option) in options.iter().enumerate() {
        let at = format!("{at}.options.{index}");
        check_name(option, &at)?;
        check_description(option, &at)?;
        if !(1..=11).contains(&option["type"].as_u64().unwrap_or_default()) {
            return Err(RestError::field(
                &format!("{at}.type"),
                "BASE_TYPE_CHOICES",
                "Value must be one of 1..11.",
            ));
        }
        let required = option["required"].as_bool().unwrap_or_default();
        if required && optional {
            let message = "Required options must be placed before non-required options";
            return Err(RestError::field(&at, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message));
        }
        optional |= !required;
    }
    Ok(())
}

fn check_name(named: &Value, at: &str) -> Result<(), RestError> {
    let name = named["name"].as_str().unwrap_or_default();
    let fits = |c: char| matches!(c, '-' | '_' | '\'') || c.is_alphanumeric();
    let valid =
        (1..=32).contains(&name.chars().count()) && name.chars().all(fits) && name == name.to_lowercase();
    valid.then_some(()).ok_or_else(|| {
        let message = "Command name is invalid";
        RestError::field(&format!("{at}.name"), "APPLICATION_COMMAND_INVALID_NAME", message)
    })
}

fn check_description(described: &Value, at: &str) -> Result<(), RestError> {
    let length = described["description"].as_str().unwrap_or_default().chars().count();
    (1..=100).contains(&length).then_some(()).ok_or_else(|| {
        let message = "Must be between 1 and 100 in length.";
        RestError::field(&format!("{at}.description"), "BASE_TYPE_BAD_LENGTH", message)
    })
}
