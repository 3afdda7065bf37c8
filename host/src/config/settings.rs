//! Every key with the value in use and where it came from, for people who ask why.
//!
//! No value is secret: tokens and keys are in environment variables and files that the
//! configuration only names.

use super::{Config, keys};
use cofferdam_agent::llm::ProviderKind;
use cofferdam_store::StoreLocation;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key, e.g. `workspace.max_bytes`.
    pub key: &'static str,
    /// The value in use as it would be written; none when there is no such thing, as with
    /// `policies.dir`.
    pub value: Option<String>,
    /// Where it came from.
    pub origin: SettingOrigin,
    /// What the file says, in force or not.
    #[serde(skip)]
    pub in_file: Option<String>,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingOrigin {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File,
    /// A `COFFERDAM_…` variable.
    Environment,
    /// A flag of the command line.
    Flag,
}

/// The keys that file and environment set. `written` holds both.
pub(super) fn collect(
    in_file: &Table,
    written: &Table,
    environment: &BTreeMap<String, String>,
) -> Vec<Setting> {
    let setting = |key: &'static str| {
        let in_file = keys::get(in_file, key).map(Value::to_string);
        let origin = if environment.contains_key(&keys::variable(key)) {
            SettingOrigin::Environment
        } else if in_file.is_some() {
            SettingOrigin::File
        } else {
            SettingOrigin::Default
        };
        Setting { key, value: keys::get(written, key).map(Value::to_string), origin, in_file }
    };
    keys::all().map(setting).collect()
}

/// Fills in the defaults, and the workspace that `--workspace` named.
pub(super) fn complete(settings: &mut [Setting], config: &Config, flag: Option<SettingOrigin>) {
    for setting in settings {
        if setting.key == "workspace.root"
            && let Some(origin) = flag
        {
            setting.origin = origin;
            setting.value = None;
        }
        if setting.value.is_none() {
            setting.value = value_in_use(config, setting.key);
        }
    }
}

/// The value in use where nothing was written.
fn value_in_use(config: &Config, key: &str) -> Option<String> {
    let quoted = |text: &dyn std::fmt::Display| Value::String(text.to_string()).to_string();
    let telegram = config.telegram.as_ref();
    let has_model = config.provider.kind != ProviderKind::Commands;
    Some(match key {
        "workspace.root" => quoted(&config.workspace.root.display()),
        "workspace.max_bytes" => quoted(&config.workspace.max_bytes),
        "workspace.per_user" => config.workspace.per_user.to_string(),
        "workspace.session_tmp_age" => quoted(&config.workspace.session_tmp_age),
        "state.dir" => quoted(&config.state_dir.display()),
        "store.engine" => "\"sqlite\"".to_owned(),
        "store.schema" => match &config.store.location {
            StoreLocation::Sqlite(_) => return None,
            StoreLocation::Postgres(at) => quoted(&at.schema()),
        },
        "audit.rotate_bytes" => quoted(&config.audit.rotate_bytes),
        "provider.kind" => "\"commands\"".to_owned(),
        "provider.base_url" if has_model => quoted(&config.provider.base_url()),
        "provider.accepts" if has_model => format!("{:?}", config.provider.accepted_types()),
        "provider.max_output_tokens" if has_model => config.provider.max_output_tokens().to_string(),
        "transcription.base_url" if config.transcription.is_on() => quoted(&config.transcription.base_url()),
        "speech.base_url" if config.speech.is_on() => quoted(&config.speech.base_url()),
        "attachments.max_bytes" => quoted(&config.attachments.max_bytes),
        "attachments.max_turn_bytes" => quoted(&config.attachments.max_turn_bytes),
        "attachments.max_count" => config.attachments.max_count.to_string(),
        "attachments.max_download_size_bytes" => config.workflow_attachments.max_bytes.to_string(),
        "attachments.download_timeout" => quoted(&config.workflow_attachments.download_timeout),
        "attachments.max_redirects" => config.workflow_attachments.max_redirects.to_string(),
        "attachments.temp_dir_quota_bytes" => config.workflow_attachments.temp_dir_quota_bytes?.to_string(),
        "attachments.allowed_private_hosts" | "network.allowed_private_hosts" => "[]".to_owned(),
        "workflows.max_open" => config.workflows.max_open.to_string(),
        "workflows.run_deadline" => quoted(&config.workflows.run_deadline),
        "workflows.env" => format!("{:?}", config.workflows.env),
        "replies.max_bytes" => quoted(&config.replies.max_bytes),
        "replies.max_call_bytes" => quoted(&config.replies.max_call_bytes),
        "replies.max_turn_bytes" => quoted(&config.replies.max_turn_bytes),
        "replies.max_count" => config.replies.max_count.to_string(),
        "replies.max_held_bytes" => quoted(&config.replies.max_held_bytes),
        "turns.written_bytes" => quoted(&config.turns.written_bytes),
        "turns.rounds" => config.turns.rounds.to_string(),
        "turns.calls" => config.turns.calls.to_string(),
        "turns.deadline" => quoted(&config.turns.deadline),
        "turns.tokens" => config.turns.tokens.to_string(),
        "turns.history_tokens" => config.turns.history_tokens.to_string(),
        "turns.user_tokens_per_day" => config.turns.user_tokens_per_day.to_string(),
        "turns.user_written_bytes_per_day" => quoted(&config.turns.user_written_bytes_per_day),
        "turns.reach" => quoted(&config.turns.reach),
        "approvals.expires" => quoted(&config.approvals.expires),
        "sandbox.compile_time" => quoted(&config.compile_time),
        "log.format" => "\"text\"".to_owned(),
        "isolation.require" => config.isolation.require.to_string(),
        "channels.telegram.token_env" => quoted(&telegram?.token_env),
        "channels.telegram.api_url" => quoted(&telegram?.api_url),
        "channels.telegram.allowed_users" => format!("{:?}", telegram?.allowed_users),
        "channels.telegram.approvers" => format!("{:?}", telegram?.approvers),
        "channels.telegram.pairing" => telegram?.pairing.to_string(),
        "channels.telegram.groups" => telegram.map(|_| "{}".to_owned())?,
        "channels.telegram.other_groups" => "\"allowed\"".to_owned(),
        "channels.telegram.pairing_expires" => quoted(&telegram?.pairing_expires),
        "channels.telegram.flood_limits" => quoted(&telegram?.flood_limits),
        _ => {
            let discord = || discord(config.discord.as_ref()?, key);
            return allowed_patterns(config, key).or_else(discord);
        }
    })
}

/// The same of the Discord channel, where there is one.
fn discord(discord: &cofferdam_discord::Config, key: &str) -> Option<String> {
    let quoted = |text: &dyn std::fmt::Display| Value::String(text.to_string()).to_string();
    Some(match key.strip_prefix("channels.discord.")? {
        "token_env" => quoted(&discord.token_env),
        "api_url" => quoted(&discord.api_url),
        "allowed_users" => format!("{:?}", discord.allowed_users),
        "approvers" => format!("{:?}", discord.approvers),
        "pairing" => discord.pairing.to_string(),
        "pairing_expires" => quoted(&discord.pairing_expires),
        "message_content" => discord.message_content.to_string(),
        "guilds" => "{}".to_owned(),
        "other_guilds" => "\"allowed\"".to_owned(),
        _ => return None,
    })
}

/// The patterns of one type of attachments.
fn allowed_patterns(config: &Config, key: &str) -> Option<String> {
    let kind = key.strip_prefix("attachments.allowed_mime_types.")?;
    let lists = config.workflow_attachments.allowed.lists();
    lists.into_iter().find(|(known, _)| *known == kind).map(|(_, patterns)| format!("{patterns:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_shown_with_its_value_and_origin() {
        let environment: BTreeMap<String, String> = [
            ("HOME", "/home/me"),
            ("COFFERDAM_ATTACHMENTS_MAX_COUNT", "3"),
            ("COFFERDAM_ISOLATION_REQUIRE", "true"),
            ("COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS", "1,2"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("cofferdam.toml");
        std::fs::write(&file, "[workspace]\nmax_bytes = \"1 GiB\"\nroot = \"/w\"\n").expect("writable");
        let load = |workspace: Option<&str>| {
            Config::load(Some(&file), workspace.map(std::path::Path::new), &environment).expect("sound")
        };
        let config = load(None);
        let check = |config: &Config, key: &str, value: &str, origin: SettingOrigin| {
            let found = config.settings.iter().find(|setting| setting.key == key).expect("known");
            assert_eq!((found.value.as_deref(), found.origin), (Some(value), origin), "{key}");
        };
        check(&config, "workspace.max_bytes", "\"1 GiB\"", SettingOrigin::File);
        check(&config, "workspace.root", "\"/w\"", SettingOrigin::File);
        check(&config, "state.dir", "\"/home/me/.local/state/cofferdam\"", SettingOrigin::Default);
        check(&config, "attachments.max_count", "3", SettingOrigin::Environment);
        check(&config, "isolation.require", "true", SettingOrigin::Environment);
        check(&config, "channels.telegram.allowed_users", "[1, 2]", SettingOrigin::Environment);
        check(&load(Some("/x")), "workspace.root", "\"/x\"", SettingOrigin::Flag);
        // Keys without a default of their own are the only ones that may show nothing.
        for setting in &config.settings {
            let may_be_none = ["store.url_env", "store.url_file", "store.schema", "policies.dir", "workflows.dir", "audit.sign_key_file", "network.ca_file", "channels.telegram.token_file", "log.filter", "metrics.listen", "attachments.temp_dir_quota_bytes"].contains(&setting.key)
                // None of a model's settings has a value where there is no model.
                || ["provider.", "transcription.", "speech."].iter().any(|of| setting.key.starts_with(of))
                // Nor of a channel's where there is no channel.
                || setting.key.starts_with("channels.discord.");
            assert!(setting.value.is_some() || may_be_none, "{setting:?}");
        }
    }
}
