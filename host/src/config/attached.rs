//! `[attachments]`: limits on what comes with messages, and on what workflows show.

use super::ConfigError;
use super::places::KeyPositions;
use crate::workflows::{AllowedTypes, AttachmentLimits};
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_egress::HostPort;
use cofferdam_warden::attachments::Config;
use serde::{Deserialize, Serialize};

/// The section as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AttachedTable {
    max_bytes: ByteSize,
    max_turn_bytes: ByteSize,
    max_count: u32,
    max_download_size_bytes: u64,
    allowed_mime_types: AllowedTypes,
    download_timeout: TimeSpan,
    max_redirects: u32,
    temp_dir_quota_bytes: Option<u64>,
    allowed_private_hosts: Vec<String>,
}

impl Default for AttachedTable {
    fn default() -> Self {
        let Config { max_bytes, max_turn_bytes, max_count } = Config::default();
        let of_workflows = AttachmentLimits::default();
        Self {
            max_bytes,
            max_turn_bytes,
            max_count,
            max_download_size_bytes: of_workflows.max_bytes,
            allowed_mime_types: of_workflows.allowed,
            download_timeout: of_workflows.download_timeout,
            max_redirects: of_workflows.max_redirects,
            temp_dir_quota_bytes: of_workflows.temp_dir_quota_bytes,
            allowed_private_hosts: Vec::new(),
        }
    }
}

impl AttachedTable {
    /// Limits on what comes with messages.
    pub(super) fn for_messages(&self) -> Config {
        let Self { max_bytes, max_turn_bytes, max_count, .. } = *self;
        Config { max_bytes, max_turn_bytes, max_count }
    }

    /// Limits on what workflows show.
    pub(super) fn for_workflows(&self, places: &KeyPositions) -> Result<AttachmentLimits, ConfigError> {
        let hosts: Result<Vec<HostPort>, _> =
            self.allowed_private_hosts.iter().map(|host| host.parse()).collect();
        let limits = AttachmentLimits {
            max_bytes: self.max_download_size_bytes,
            allowed: self.allowed_mime_types.clone(),
            download_timeout: self.download_timeout,
            max_redirects: self.max_redirects,
            temp_dir_quota_bytes: self.temp_dir_quota_bytes,
            private_hosts: hosts.map_err(|e| {
                places.refuse("attachments.allowed_private_hosts", format!("allowed_private_hosts: {e}"))
            })?,
        };
        limits.check().map_err(|(key, e)| places.refuse(&format!("attachments.{key}"), e))?;
        Ok(limits)
    }
}
