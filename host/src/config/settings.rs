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

/// Every key, as the file has it, as file and environment have `written` it, and as it is `in_use`
/// with defaults; `flag` is where `--workspace` is from, if it is given.
pub(super) fn collect(
    (in_file, written, in_use): (&Table, &Table, &Table),
    environment: &BTreeMap<String, String>,
    config: &Config,
    flag: Option<SettingOrigin>,
) -> Vec<Setting> {
    let setting = |key: &'static str| {
        let in_file = keys::get(in_file, key).map(Value::to_string);
        let flag = flag.filter(|_| key == "workspace.root");
        let origin = match flag {
            Some(origin) => origin,
            None if environment.contains_key(&keys::variable(key)) => SettingOrigin::Environment,
            None if in_file.is_some() => SettingOrigin::File,
            None => SettingOrigin::Default,
        };
        let written = keys::get(written, key).filter(|_| flag.is_none()).map(Value::to_string);
        let default = || depending_default(config, key).or(keys::get(in_use, key).map(Value::to_string));
        Setting { key, value: written.or_else(default), origin, in_file }
    };
    keys::all().map(setting).collect()
}

/// The value in use where nothing was written, of a key whose default depends on the machine or on
/// other keys.
fn depending_default(config: &Config, key: &str) -> Option<String> {
    let quoted = |text: &dyn std::fmt::Display| Value::String(text.to_string()).to_string();
    let provider = Some(&config.provider).filter(|provider| provider.kind != ProviderKind::Commands);
    Some(match key {
        "workspace.root" => quoted(&config.workspace.root.display()),
        "state.dir" => quoted(&config.state_dir.display()),
        "store.schema" => match &config.store.location {
            StoreLocation::Sqlite(_) => return None,
            StoreLocation::Postgres(at) => quoted(&at.schema()),
        },
        "provider.base_url" => quoted(&provider?.base_url()),
        "provider.accepts" => format!("{:?}", provider?.accepted_types()),
        "provider.max_output_tokens" => provider?.max_output_tokens().to_string(),
        "transcription.base_url" if config.transcription.table().is_on => {
            quoted(&config.transcription.table().base_url)
        }
        "speech.base_url" if config.speech.table().is_on => quoted(&config.speech.table().base_url),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

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
            let flags = Flags { workspace: workspace.map(Into::into), ..Flags::default() };
            Config::load(Some(&file), &flags, &environment).expect("sound")
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
            let may_be_none = ["store.url_env", "store.url_file", "store.schema", "store.blobs", "cluster.node", "cluster.lease", "policies.dir", "workflows.dir", "audit.sign_key_file", "network.ca_file", "channels.telegram.token_file", "log.filter", "metrics.listen", "attachments.temp_dir_quota_bytes"].contains(&setting.key)
                // None of a model's settings has a value where there is no model.
                || ["provider.", "transcription.", "speech."].iter().any(|of| setting.key.starts_with(of))
                // Nor of a channel's where there is no channel.
                || setting.key.starts_with("channels.discord.");
            assert!(setting.value.is_some() || may_be_none, "{setting:?}");
        }
    }
}
