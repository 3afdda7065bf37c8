//! Every configuration key by name, and its twin in the environment: `workspace.max_bytes` is
//! `COFFERDAM_WORKSPACE_MAX_BYTES`.

use super::ConfigError;
use EnvFormat::{Boolean, File, Integer, Integers, Tables, Text, Texts};
use InForceBy::{Reload, Restart};
use cofferdam_core::text::one_line;
use std::collections::BTreeMap;
use std::iter::successors;
use std::path::Path;
use toml::{Table, Value};

/// How a key is written in the environment.
#[derive(Clone, Copy, PartialEq)]
enum EnvFormat {
    Text,
    /// A path.
    File,
    Integer,
    Boolean,
    /// Whole numbers with commas between.
    Integers,
    /// Words with commas between.
    Texts,
    /// Tables by name, in the environment as an inline table: `{ "-100" = { members = "none" } }`.
    Tables,
}

/// What brings another value of a key into force.
#[derive(Clone, Copy, PartialEq)]
enum InForceBy {
    Reload,
    Restart,
}

/// Every key, how it is written in the environment, and what a change of it takes.
const KEYS: &[(&str, EnvFormat, InForceBy)] = &[
    ("workspace.root", File, Restart),
    ("workspace.max_bytes", Text, Reload),
    ("workspace.per_user", Boolean, Restart),
    ("workspace.affinity", Text, Restart),
    ("workspace.session_tmp_age", Text, Restart),
    ("state.dir", File, Restart),
    ("store.engine", Text, Restart),
    ("store.url_env", Text, Restart),
    ("store.url_file", File, Restart),
    ("store.schema", Text, Restart),
    ("store.blobs", Text, Restart),
    ("cluster.node", Text, Restart),
    ("cluster.lease", Text, Restart),
    ("policies.dir", File, Restart),
    ("audit.rotate_bytes", Text, Restart),
    ("audit.sign_key_file", File, Restart),
    ("provider.kind", Text, Reload),
    ("provider.base_url", Text, Reload),
    ("provider.model", Text, Reload),
    ("provider.api_key_env", Text, Reload),
    ("provider.api_key_file", File, Reload),
    ("provider.accepts", Texts, Reload),
    ("provider.max_output_tokens", Integer, Reload),
    ("provider.instructions_file", File, Reload),
    ("transcription.base_url", Text, Restart),
    ("transcription.model", Text, Restart),
    ("transcription.api_key_env", Text, Restart),
    ("speech.base_url", Text, Restart),
    ("speech.model", Text, Restart),
    ("speech.voice", Text, Restart),
    ("speech.api_key_env", Text, Restart),
    ("attachments.max_bytes", Text, Reload),
    ("attachments.max_turn_bytes", Text, Reload),
    ("attachments.max_count", Integer, Reload),
    ("attachments.max_download_size_bytes", Integer, Restart),
    ("attachments.download_timeout", Text, Restart),
    ("attachments.max_redirects", Integer, Restart),
    ("attachments.temp_dir_quota_bytes", Integer, Restart),
    ("attachments.allowed_private_hosts", Texts, Restart),
    ("attachments.allowed_mime_types.image", Texts, Restart),
    ("attachments.allowed_mime_types.audio", Texts, Restart),
    ("attachments.allowed_mime_types.video", Texts, Restart),
    ("attachments.allowed_mime_types.pdf", Texts, Restart),
    ("attachments.allowed_mime_types.file", Texts, Restart),
    ("replies.max_bytes", Text, Reload),
    ("replies.max_call_bytes", Text, Reload),
    ("replies.max_turn_bytes", Text, Reload),
    ("replies.max_count", Integer, Reload),
    ("replies.max_held_bytes", Text, Reload),
    ("turns.at_once", Integer, Restart),
    ("turns.written_bytes", Text, Reload),
    ("turns.rounds", Integer, Reload),
    ("turns.calls", Integer, Reload),
    ("turns.deadline", Text, Reload),
    ("turns.tokens", Integer, Reload),
    ("turns.history_tokens", Integer, Reload),
    ("turns.user_tokens_per_day", Integer, Reload),
    ("turns.user_written_bytes_per_day", Text, Reload),
    ("turns.reach", Text, Restart),
    ("approvals.expires", Text, Reload),
    ("sandbox.compile_time", Text, Restart),
    ("isolation.require", Boolean, Restart),
    ("metrics.listen", Text, Restart),
    ("network.allowed_private_hosts", Texts, Restart),
    ("network.ca_file", File, Restart),
    ("log.format", Text, Reload),
    ("log.filter", Text, Reload),
    ("workflows.dir", File, Restart),
    ("workflows.env", Texts, Restart),
    ("workflows.max_open", Integer, Restart),
    ("workflows.run_deadline", Text, Restart),
    ("channels.telegram.token_env", Text, Restart),
    ("channels.telegram.token_file", File, Restart),
    ("channels.telegram.api_url", Text, Restart),
    ("channels.telegram.allowed_users", Integers, Reload),
    ("channels.telegram.approvers", Integers, Reload),
    ("channels.telegram.pairing", Boolean, Reload),
    ("channels.telegram.pairing_expires", Text, Reload),
    ("channels.telegram.groups", Tables, Reload),
    ("channels.telegram.other_groups", Text, Reload),
    ("channels.telegram.flood_limits", Text, Restart),
    ("channels.discord.token_env", Text, Restart),
    ("channels.discord.token_file", File, Restart),
    ("channels.discord.api_url", Text, Restart),
    ("channels.discord.allowed_users", Integers, Reload),
    ("channels.discord.approvers", Integers, Reload),
    ("channels.discord.pairing", Boolean, Reload),
    ("channels.discord.pairing_expires", Text, Reload),
    ("channels.discord.message_content", Boolean, Restart),
    ("channels.discord.guilds", Tables, Reload),
    ("channels.discord.other_guilds", Text, Reload),
    ("channels.discord.cdn_url", Text, Restart),
];

const PREFIX: &str = "COFFERDAM_";
/// Variables with the prefix that are read elsewhere: the flags of the same name, the log filter,
/// and the token of `mcp --http`.
const OTHERS: &[&str] =
    &["COFFERDAM_CONFIG", "COFFERDAM_WORKSPACE", "COFFERDAM_LOG", cofferdam_mcp::http::TOKEN_VARIABLE];

/// Every key there is, in the order of the documentation.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, ..)| *key)
}

/// Whether another value of a key comes into force by a reload; else it takes a restart.
pub fn is_reloadable(key: &str) -> bool {
    KEYS.iter().any(|(name, _, change)| *name == key && *change == Reload)
}

/// The value of a key as the table has it, or a section.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((section, rest)) => get(table.get(section)?.as_table()?, rest),
    }
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
        let refused = |problem: String| ConfigError::Environment(name.clone(), problem);
        let Some((key, kind, _)) = KEYS.iter().find(|(key, ..)| variable(key) == *name) else {
            let known: Vec<String> = KEYS.iter().map(|(key, ..)| variable(key)).collect();
            return Err(refused(format!("no such setting; there is {}", known.join(", "))));
        };
        let integer = |text: &str| {
            text.trim()
                .parse::<i64>()
                .map(Value::Integer)
                .map_err(|_| refused(format!("{text:?} is not a whole number")))
        };
        let value = match kind {
            Text => Value::String(text.clone()),
            File => match path_problem(text) {
                Some(problem) => return Err(refused(problem)),
                None => Value::String(text.clone()),
            },
            Integer => integer(text)?,
            Boolean => match text.trim() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                _ => return Err(refused(format!("{text:?} is neither true nor false"))),
            },
            Integers => Value::Array(parts(text).map(integer).collect::<Result<_, _>>()?),
            Tables => {
                inline(text).ok_or_else(|| refused(format!("{text:?} is not an inline table of TOML")))?
            }
            Texts => Value::Array(parts(text).map(|part| Value::String(part.to_owned())).collect()),
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

/// What is wrong with a path that nobody means as it is written.
pub(super) fn path_problem(path: &str) -> Option<String> {
    let said = match path {
        "" => "is no path; write one, or leave it out",
        _ if path.starts_with('~') => {
            "begins with ~, which stands for no folder here; write the whole path, or ./~… for such a name"
        }
        _ => return None,
    };
    Some(format!("{path:?} {said}"))
}

/// The first key whose path nobody means as it is written, and why.
pub(super) fn find_bad_path(table: &Table) -> Option<(&'static str, String)> {
    KEYS.iter().filter(|(_, kind, _)| *kind == File).find_map(|(key, ..)| {
        let problem = path_problem(get(table, key)?.as_str()?)?;
        let name = key.rsplit('.').next().unwrap_or(key);
        Some((*key, format!("{name} = {problem}")))
    })
}

/// The first section in whose place a text stands, which may be a secret and is not repeated.
pub(super) fn find_bad_section(table: &Table) -> Option<String> {
    let mut secrets = table.get("secrets").and_then(Value::as_table).into_iter().flatten();
    if let Some((name, _)) = secrets.find(|(_, value)| value.is_str()) {
        return Some(format!("secrets.{}", one_line(name, 80)));
    }
    let sections = KEYS.iter().filter_map(|(key, ..)| Some(key.rsplit_once('.')?.0));
    let around =
        |section| successors(Some(section), |within: &&'static str| Some(within.rsplit_once('.')?.0));
    let mut all = sections.flat_map(around).chain(["secrets"]);
    all.find(|section| get(table, section).is_some_and(Value::is_str)).map(str::to_owned)
}

/// Makes relative paths of a file relative to the file's folder instead of the current one.
pub(super) fn anchor_paths(table: &mut Table, base: &Path) {
    for (key, ..) in KEYS.iter().filter(|(_, kind, _)| *kind == File) {
        let path = get(table, key).and_then(Value::as_str).map(|path| base.join(path));
        if let Some(path) = path {
            let path = Value::String(path.to_string_lossy().into_owned());
            set(table, key, path).expect("a key that is there lies in tables");
        }
    }
}
