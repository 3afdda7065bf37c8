//! What is written down of a configuration that was read anew.

use serde::{Deserialize, Serialize};

/// A configuration that was read anew: in force for what began after this record, or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reload {
    /// What became of it.
    pub reload: ReloadState,
    /// SHA-256 of the configuration's file, lower-case hex; absent when there is none, or it could
    /// not be understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_sha256: Option<String>,
    /// SHA-256 over the policies: of a line `<tool> <policy_sha256>` for each tool, in order of
    /// their names; absent unless it is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies_sha256: Option<String>,
    /// Why it was refused; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of a configuration that was read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReloadState {
    /// It is in force.
    Applied,
    /// It is not; the one before stays.
    Refused,
}
