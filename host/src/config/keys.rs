//! Every configuration key by name, and its twin in the environment: `workspace.max_bytes` is
//! `COFFERDAM_WORKSPACE_MAX_BYTES`.

use super::ConfigError;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// How a key is written in the environment.
#[derive(Clone, Copy, PartialEq)]
enum EnvFormat {
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

const KEYS: &[(&str, EnvFormat)] = &[
    ("workspace.root", EnvFormat::Path),
    ("workspace.max_bytes", EnvFormat::Text),
    ("workspace.per_user", EnvFormat::Boolean),
    ("workspace.session_tmp_age", EnvFormat::Text),
    ("state.dir", EnvFormat::Path),
    ("store.engine", EnvFormat::Text),
    ("store.url_env", EnvFormat::Text),
    ("store.url_file", EnvFormat::Path),
    ("store.schema", EnvFormat::Text),
    ("policies.dir", EnvFormat::Path),
    ("audit.rotate_bytes", EnvFormat::Text),
    ("audit.sign_key_file", EnvFormat::Path),
    ("provider.kind", EnvFormat::Text),
    ("provider.base_url", EnvFormat::Text),
    ("provider.model", EnvFormat::Text),
    ("provider.api_key_env", EnvFormat::Text),
    ("provider.api_key_file", EnvFormat::Path),
    ("provider.accepts", EnvFormat::Texts),
    ("provider.max_output_tokens", EnvFormat::Integer),
    ("provider.instructions_file", EnvFormat::Path),
    ("transcription.base_url", EnvFormat::Text),
    ("transcription.model", EnvFormat::Text),
    ("transcription.api_key_env", EnvFormat::Text),
    ("speech.base_url", EnvFormat::Text),
    ("speech.model", EnvFormat::Text),
    ("speech.voice", EnvFormat::Text),
    ("speech.api_key_env", EnvFormat::Text),
    ("attachments.max_bytes", EnvFormat::Text),
    ("attachments.max_turn_bytes", EnvFormat::Text),
    ("attachments.max_count", EnvFormat::Integer),
    ("attachments.max_download_size_bytes", EnvFormat::Integer),
    ("attachments.download_timeout", EnvFormat::Text),
    ("attachments.max_redirects", EnvFormat::Integer),
    ("attachments.temp_dir_quota_bytes", EnvFormat::Integer),
    ("attachments.allowed_private_hosts", EnvFormat::Texts),
    ("attachments.allowed_mime_types.image", EnvFormat::Texts),
    ("attachments.allowed_mime_types.audio", EnvFormat::Texts),
    ("attachments.allowed_mime_types.video", EnvFormat::Texts),
    ("attachments.allowed_mime_types.pdf", EnvFormat::Texts),
    ("attachments.allowed_mime_types.file", EnvFormat::Texts),
    ("replies.max_bytes", EnvFormat::Text),
    ("replies.max_call_bytes", EnvFormat::Text),
    ("replies.max_turn_bytes", EnvFormat::Text),
    ("replies.max_count", EnvFormat::Integer),
    ("replies.max_held_bytes", EnvFormat::Text),
    ("turns.written_bytes", EnvFormat::Text),
    ("turns.rounds", EnvFormat::Integer),
    ("turns.calls", EnvFormat::Integer),
    ("turns.deadline", EnvFormat::Text),
    ("turns.tokens", EnvFormat::Integer),
    ("turns.history_tokens", EnvFormat::Integer),
    ("turns.user_tokens_per_day", EnvFormat::Integer),
    ("turns.user_written_bytes_per_day", EnvFormat::Text),
    ("turns.reach", EnvFormat::Text),
    ("approvals.expires", EnvFormat::Text),
    ("sandbox.compile_time", EnvFormat::Text),
    ("isolation.require", EnvFormat::Boolean),
    ("metrics.listen", EnvFormat::Text),
    ("network.allowed_private_hosts", EnvFormat::Texts),
    ("network.ca_file", EnvFormat::Path),
    ("log.format", EnvFormat::Text),
    ("log.filter", EnvFormat::Text),
    ("workflows.dir", EnvFormat::Path),
    ("workflows.env", EnvFormat::Texts),
    ("workflows.max_open", EnvFormat::Integer),
    ("workflows.run_deadline", EnvFormat::Text),
    ("channels.telegram.token_env", EnvFormat::Text),
    ("channels.telegram.token_file", EnvFormat::Path),
    ("channels.telegram.api_url", EnvFormat::Text),
    ("channels.telegram.allowed_users", EnvFormat::Integers),
    ("channels.telegram.approvers", EnvFormat::Integers),
    ("channels.telegram.pairing", EnvFormat::Boolean),
    ("channels.telegram.pairing_expires", EnvFormat::Text),
    ("channels.telegram.groups", EnvFormat::Tables),
    ("channels.telegram.other_groups", EnvFormat::Text),
    ("channels.telegram.flood_limits", EnvFormat::Text),
    ("channels.discord.token_env", EnvFormat::Text),
    ("channels.discord.token_file", EnvFormat::Path),
    ("channels.discord.api_url", EnvFormat::Text),
    ("channels.discord.allowed_users", EnvFormat::Integers),
    ("channels.discord.approvers", EnvFormat::Integers),
    ("channels.discord.pairing", EnvFormat::Boolean),
    ("channels.discord.pairing_expires", EnvFormat::Text),
    ("channels.discord.message_content", EnvFormat::Boolean),
    ("channels.discord.guilds", EnvFormat::Tables),
    ("channels.discord.other_guilds", EnvFormat::Text),
    ("channels.discord.cdn_url", EnvFormat::Text),
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
pub(super) fn apply_environment(
    table: &mut Table,
    environment: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
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
            EnvFormat::Text | EnvFormat::Path => Value::String(text.clone()),
            EnvFormat::Integer => integer(text)?,
            EnvFormat::Boolean => match text.trim() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                _ => return Err(refused(format!("{text:?} is neither true nor false"))),
            },
            EnvFormat::Integers => Value::Array(parts(text).map(integer).collect::<Result<_, _>>()?),
            EnvFormat::Tables => {
                inline(text).ok_or_else(|| refused(format!("{text:?} is not an inline table of TOML")))?
            }
            EnvFormat::Texts => {
                Value::Array(parts(text).map(|part| Value::String(part.to_owned())).collect())
            }
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
    for (key, _) in KEYS.iter().filter(|(_, kind)| *kind == EnvFormat::Path) {
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
