//! Every configuration key by name, and its twin in the environment: `workspace.max_bytes` is
//! `COFFERDAM_WORKSPACE_MAX_BYTES`.

use super::ConfigError;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// How a key is written in the environment.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Path,
    Integer,
    Boolean,
    /// Whole numbers with commas between.
    Integers,
    /// Words with commas between.
    Texts,
    /// Tables by name, in the environment as an inline table: `{ "-100" = { members = "none" } }`.
    Tables,
}

const KEYS: &[(&str, Kind)] = &[
    ("workspace.root", Kind::Path),
    ("workspace.max_bytes", Kind::Text),
    ("workspace.per_user", Kind::Boolean),
    ("workspace.session_tmp_age", Kind::Text),
    ("state.dir", Kind::Path),
    ("policies.dir", Kind::Path),
    ("audit.rotate_bytes", Kind::Text),
    ("audit.sign_key_file", Kind::Path),
    ("provider.kind", Kind::Text),
    ("provider.base_url", Kind::Text),
    ("provider.model", Kind::Text),
    ("provider.api_key_env", Kind::Text),
    ("provider.api_key_file", Kind::Path),
    ("provider.accepts", Kind::Texts),
    ("provider.max_output_tokens", Kind::Integer),
    ("provider.instructions_file", Kind::Path),
    ("transcription.base_url", Kind::Text),
    ("transcription.model", Kind::Text),
    ("transcription.api_key_env", Kind::Text),
    ("speech.base_url", Kind::Text),
    ("speech.model", Kind::Text),
    ("speech.voice", Kind::Text),
    ("speech.api_key_env", Kind::Text),
    ("attachments.max_bytes", Kind::Text),
    ("attachments.max_turn_bytes", Kind::Text),
    ("attachments.max_count", Kind::Integer),
    ("attachments.max_download_size_bytes", Kind::Integer),
    ("attachments.download_timeout", Kind::Text),
    ("attachments.max_redirects", Kind::Integer),
    ("attachments.temp_dir_quota_bytes", Kind::Integer),
    ("attachments.allowed_private_hosts", Kind::Texts),
    ("attachments.allowed_mime_types.image", Kind::Texts),
    ("attachments.allowed_mime_types.audio", Kind::Texts),
    ("attachments.allowed_mime_types.video", Kind::Texts),
    ("attachments.allowed_mime_types.pdf", Kind::Texts),
    ("attachments.allowed_mime_types.file", Kind::Texts),
    ("replies.max_bytes", Kind::Text),
    ("replies.max_call_bytes", Kind::Text),
    ("replies.max_turn_bytes", Kind::Text),
    ("replies.max_count", Kind::Integer),
    ("replies.max_held_bytes", Kind::Text),
    ("turns.written_bytes", Kind::Text),
    ("turns.rounds", Kind::Integer),
    ("turns.calls", Kind::Integer),
    ("turns.deadline", Kind::Text),
    ("turns.tokens", Kind::Integer),
    ("turns.history_tokens", Kind::Integer),
    ("turns.user_tokens_per_day", Kind::Integer),
    ("turns.user_written_bytes_per_day", Kind::Text),
    ("turns.reach", Kind::Text),
    ("approvals.expires", Kind::Text),
    ("sandbox.compile_time", Kind::Text),
    ("isolation.require", Kind::Boolean),
    ("metrics.listen", Kind::Text),
    ("network.allowed_private_hosts", Kind::Texts),
    ("network.ca_file", Kind::Path),
    ("log.format", Kind::Text),
    ("log.filter", Kind::Text),
    ("workflows.dir", Kind::Path),
    ("workflows.env", Kind::Texts),
    ("workflows.max_open", Kind::Integer),
    ("workflows.run_deadline", Kind::Text),
    ("channels.telegram.token_env", Kind::Text),
    ("channels.telegram.token_file", Kind::Path),
    ("channels.telegram.api_url", Kind::Text),
    ("channels.telegram.allowed_users", Kind::Integers),
    ("channels.telegram.approvers", Kind::Integers),
    ("channels.telegram.pairing", Kind::Boolean),
    ("channels.telegram.pairing_expires", Kind::Text),
    ("channels.telegram.groups", Kind::Tables),
    ("channels.telegram.other_groups", Kind::Text),
    ("channels.telegram.flood_limits", Kind::Text),
    ("channels.discord.token_env", Kind::Text),
    ("channels.discord.token_file", Kind::Path),
    ("channels.discord.api_url", Kind::Text),
    ("channels.discord.allowed_users", Kind::Integers),
    ("channels.discord.approvers", Kind::Integers),
    ("channels.discord.pairing", Kind::Boolean),
    ("channels.discord.pairing_expires", Kind::Text),
    ("channels.discord.message_content", Kind::Boolean),
    ("channels.discord.guilds", Kind::Tables),
    ("channels.discord.other_guilds", Kind::Text),
    ("channels.discord.cdn_url", Kind::Text),
];

const PREFIX: &str = "COFFERDAM_";
/// Variables with the prefix that are read elsewhere: the flags of the same name, the log filter,
/// and the token of `mcp --http`.
const OTHERS: &[&str] =
    &["COFFERDAM_CONFIG", "COFFERDAM_WORKSPACE", "COFFERDAM_LOG", cofferdam_mcp::http::TOKEN_VARIABLE];

/// Every key there is, in the order of the documentation.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, _)| *key)
}

/// The value of a key as the table has it.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (sections, name) = key.rsplit_once('.')?;
    sections.split('.').try_fold(table, |table, section| table.get(section)?.as_table())?.get(name)
}

/// The key's name in the environment.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "_"))
}

/// The flag of a key that has one, by the name of its variable.
pub(super) fn flag(variable: &str) -> String {
    let name = variable.strip_prefix(PREFIX).unwrap_or(variable);
    format!("--{}", name.to_lowercase().replace('_', "-"))
}

/// Lays the environment's keys over the table.
pub(super) fn overlay(table: &mut Table, environment: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    for (name, text) in environment.iter().filter(|(name, _)| name.starts_with(PREFIX)) {
        if OTHERS.contains(&name.as_str()) {
            continue;
        }
        let refused = |problem: String| ConfigError::Environment { name: name.clone(), problem };
        let Some((key, kind)) = KEYS.iter().find(|(key, _)| variable(key) == *name) else {
            let known: Vec<String> = KEYS.iter().map(|(key, _)| variable(key)).collect();
            return Err(refused(format!("no such setting; there is {}", known.join(", "))));
        };
        let integer = |text: &str| {
            text.trim()
                .parse::<i64>()
                .map(Value::Integer)
                .map_err(|_| refused(format!("{text:?} is not a whole number")))
        };
        let value = match kind {
            Kind::Text | Kind::Path => Value::String(text.clone()),
            Kind::Integer => integer(text)?,
            Kind::Boolean => match text.trim() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                _ => return Err(refused(format!("{text:?} is neither true nor false"))),
            },
            Kind::Integers => Value::Array(parts(text).map(integer).collect::<Result<_, _>>()?),
            Kind::Tables => {
                inline(text).ok_or_else(|| refused(format!("{text:?} is not an inline table of TOML")))?
            }
            Kind::Texts => Value::Array(parts(text).map(|part| Value::String(part.to_owned())).collect()),
        };
        set(table, key, value).map_err(refused)?;
    }
    Ok(())
}

/// An inline table.
fn inline(text: &str) -> Option<Value> {
    let mut table = toml::from_str::<Table>(&format!("x = {text}")).ok()?;
    table.remove("x").filter(|value| value.is_table() && table.is_empty())
}

/// What stands between commas.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn set(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or(key);
    let mut at = table;
    for part in parts {
        at = at
            .entry(part)
            .or_insert_with(|| Value::Table(Table::new()))
            .as_table_mut()
            .ok_or_else(|| format!("{part} in the configuration is not a table"))?;
    }
    at.insert(last.to_owned(), value);
    Ok(())
}

/// Makes relative paths of a file relative to the file's folder instead of the current one.
pub(super) fn anchor_paths(table: &mut Table, base: &Path) {
    for (key, _) in KEYS.iter().filter(|(_, kind)| *kind == Kind::Path) {
        if let Some(Value::String(path)) = get_mut(table, key) {
            *path = base.join(&*path).to_string_lossy().into_owned();
        }
    }
}

fn get_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let (sections, name) = key.rsplit_once('.')?;
    let inner =
        sections.split('.').try_fold(table, |table, section| table.get_mut(section)?.as_table_mut())?;
    inner.get_mut(name)
}
