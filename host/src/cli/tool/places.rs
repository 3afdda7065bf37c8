//! Where an author's calls find their files and leave their records: a folder that is gone at the
//! end, unless another is named. Never the workspace or the state of a gateway.

use crate::config::Config;
use anyhow::Context;
use clap::CommandFactory;
use clap::parser::ValueSource;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A workspace and a state, and the temporary folder that holds what nobody named.
pub(in crate::cli) struct TrialFolders {
    /// The configuration with these places in it.
    pub(in crate::cli) config: Config,
    _temporary: TempDir,
}

impl TrialFolders {
    /// Places for one call or one case.
    ///
    /// # Errors
    /// When there is no temporary folder to be had, or the state would lie where the tool writes.
    pub(in crate::cli) fn new(
        config: &Config,
        workspace: Option<&Path>,
        state: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let temporary = tempfile::Builder::new()
            .prefix("cofferdam-tool-")
            .tempdir()
            .context("cannot make a temporary folder; set TMPDIR")?;
        let own = |name: &str| temporary.path().join(name);
        let mut config = config.clone();
        config.workspace.root = workspace.map_or_else(|| own("workspace"), Path::to_owned);
        config.state_dir = state.map_or_else(|| own("state"), Path::to_owned);
        config.policies_dir = None;
        // What a case puts into `/shared` is there for anyone who runs it.
        config.workspace.per_user = false;
        config.check_layout()?;
        Ok(Self { config, _temporary: temporary })
    }
}

/// The workspace that was named for this very run. What the environment or the configuration say is
/// a gateway's, and an experiment does not write there.
pub(super) fn workspace_from_flags() -> Option<PathBuf> {
    let matches = super::super::Cli::command().try_get_matches().ok()?;
    let mut matches = &matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let named = matches.value_source("workspace") == Some(ValueSource::CommandLine);
    matches.get_one::<PathBuf>("workspace").filter(|_| named).cloned()
}
