//! `[workspace]`: the folders that tools work in, and who has them in common.

use super::ConfigError;
use super::places::KeyPositions;
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_warden::publish;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Quota over the workspace when the configuration says nothing.
const WORKSPACE_BYTES_MAX: ByteSize = ByteSize(10 << 30);

/// `[workspace]` as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WorkspaceTable {
    pub(super) root: Option<PathBuf>,
    max_bytes: ByteSize,
    per_user: bool,
    affinity: Affinity,
    session_tmp_age: TimeSpan,
}

/// What of the work follows the files, where several gateways share a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Affinity {
    /// Nothing: all gateways have one workspace in common.
    #[default]
    None,
    /// Each gateway has a workspace of its own; what is done for a person is done where their files
    /// are.
    User,
}

impl Default for WorkspaceTable {
    fn default() -> Self {
        let (max_bytes, session_tmp_age) = (WORKSPACE_BYTES_MAX, publish::SESSION_TMP_AGE);
        Self { root: None, max_bytes, per_user: false, affinity: Affinity::None, session_tmp_age }
    }
}

impl WorkspaceTable {
    /// Whether each gateway has a workspace of its own.
    pub(super) fn has_homes(&self) -> bool {
        self.affinity == Affinity::User
    }

    /// The workspace in this folder.
    pub(super) fn check(self, root: PathBuf, places: &KeyPositions) -> Result<publish::Config, ConfigError> {
        let Self { max_bytes, per_user, session_tmp_age, .. } = self;
        if session_tmp_age < publish::SESSION_TMP_AGE_LEAST {
            let (age, least) = (session_tmp_age, publish::SESSION_TMP_AGE_LEAST);
            let said =
                format!("session_tmp_age = \"{age}\" is less than {least}; a call may still be using it");
            return Err(places.refuse("workspace.session_tmp_age", said));
        }
        if max_bytes == ByteSize(0) {
            let said = "max_bytes = \"0 B\" lets no tool write anything; write e.g. \"10 GiB\"";
            return Err(places.refuse("workspace.max_bytes", said));
        }
        if self.affinity == Affinity::User && !per_user {
            let said = "affinity = \"user\" needs per_user = true: without it all people have one /shared, and each gateway would have another one";
            return Err(places.refuse("workspace.affinity", said));
        }
        Ok(publish::Config { root, max_bytes, per_user, session_tmp_age })
    }
}
