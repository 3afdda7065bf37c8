//! `[attachments]`: limits on what comes with messages, and on what workflows show.

use super::ConfigError;
use super::places::KeyPositions;
use crate::workflows::{AllowedTypes, AttachmentLimits};
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_egress::HostPort;
use cofferdam_warden::attachments::Config;
use serde::Deserialize;

/// The section as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AttachedTable {
    max_bytes: Option<ByteSize>,
    max_turn_bytes: Option<ByteSize>,
    max_count: Option<u32>,
    max_download_size_bytes: Option<u64>,
    allowed_mime_types: AllowedTypes,
    download_timeout: Option<TimeSpan>,
    max_redirects: Option<u32>,
    temp_dir_quota_bytes: Option<u64>,
    allowed_private_hosts: Vec<String>,
}

impl AttachedTable {
    /// Limits on what comes with messages.
    pub(super) fn for_messages(&self) -> Config {
        let defaults = Config::default();
        Config {
            max_bytes: self.max_bytes.unwrap_or(defaults.max_bytes),
            max_turn_bytes: self.max_turn_bytes.unwrap_or(defaults.max_turn_bytes),
            max_count: self.max_count.unwrap_or(defaults.max_count),
        }
    }

    /// Limits on what workflows show.
    pub(super) fn for_workflows(&self, places: &KeyPositions) -> Result<AttachmentLimits, ConfigError> {
        let defaults = AttachmentLimits::default();
        let hosts: Result<Vec<HostPort>, _> =
            self.allowed_private_hosts.iter().map(|host| host.parse()).collect();
        let limits = AttachmentLimits {
            max_bytes: self.max_download_size_bytes.unwrap_or(defaults.max_bytes),
            allowed: self.allowed_mime_types.clone(),
            download_timeout: self.download_timeout.unwrap_or(defaults.download_timeout),
            max_redirects: self.max_redirects.unwrap_or(defaults.max_redirects),
            temp_dir_quota_bytes: self.temp_dir_quota_bytes,
            private_hosts: hosts.map_err(|e| {
                places.refuse("attachments.allowed_private_hosts", format!("allowed_private_hosts: {e}"))
            })?,
        };
        limits.check().map_err(|(key, e)| places.refuse(&format!("attachments.{key}"), e))?;
        Ok(limits)
    }
}
