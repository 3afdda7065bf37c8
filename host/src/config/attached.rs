//! `[attachments]`: limits on what comes with messages, and on what workflows show.

use super::ConfigError;
use super::places::Places;
use crate::workflows::{AllowedTypes, Limits};
use cofferdam_core::limits::ByteSize;
use cofferdam_warden::attachments::Config;
use serde::Deserialize;

/// The section as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Table {
    max_bytes: Option<ByteSize>,
    max_turn_bytes: Option<ByteSize>,
    max_count: Option<u32>,
    max_download_size_bytes: Option<u64>,
    allowed_mime_types: AllowedTypes,
}

impl Table {
    /// Limits on what comes with messages.
    pub(super) fn of_messages(&self) -> Config {
        let defaults = Config::default();
        Config {
            max_bytes: self.max_bytes.unwrap_or(defaults.max_bytes),
            max_turn_bytes: self.max_turn_bytes.unwrap_or(defaults.max_turn_bytes),
            max_count: self.max_count.unwrap_or(defaults.max_count),
        }
    }

    /// Limits on what workflows show.
    pub(super) fn of_workflows(&self, places: &Places) -> Result<Limits, ConfigError> {
        let max_bytes = self.max_download_size_bytes.unwrap_or(Limits::default().max_bytes);
        Limits::check_bytes(max_bytes)
            .map_err(|e| places.refuse("attachments.max_download_size_bytes", e))?;
        self.allowed_mime_types.check().map_err(|(kind, e)| {
            let key = format!("attachments.allowed_mime_types.{kind}");
            places.refuse(&key, format!("{kind}: {e}"))
        })?;
        Ok(Limits { max_bytes, allowed: self.allowed_mime_types.clone() })
    }
}
