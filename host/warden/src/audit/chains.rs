//! Where the chains of a gateway are: one in the state folder, or one of each node that shares it.
//! No two nodes append to one file, unless one settles what another has left.

use super::{AuditError, AuditLog, Config, files};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The active file of a chain.
pub const FILE_NAME: &str = "audit.jsonl";
/// What the folders of nodes are called, with the node's name behind it.
const NODE_FOLDER: &str = "node-";

/// A chain in a state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPlace {
    /// Whose it is; none for the chain of a gateway that shares nothing.
    pub node: Option<String>,
    /// Its active file. Everything else of the chain is in the same folder.
    pub active: PathBuf,
}

impl ChainPlace {
    /// The chain of a node, or of no node.
    pub fn new(state_dir: &Path, node: Option<&str>) -> Self {
        let folder = match node {
            Some(node) => state_dir.join(format!("{NODE_FOLDER}{node}")),
            None => state_dir.to_owned(),
        };
        Self { node: node.map(str::to_owned), active: folder.join(FILE_NAME) }
    }

    /// The chains that have files, or of which that cannot be seen: that of no node first, then by
    /// the names of the nodes.
    ///
    /// # Errors
    /// [`AuditError::Open`] where the folder cannot be read; one that is missing has none.
    pub fn find_all(state_dir: &Path) -> Result<Vec<Self>, AuditError> {
        let failed = |source| AuditError::Open { path: state_dir.to_owned(), source };
        let mut nodes = Vec::new();
        match state_dir.read_dir() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            entries => {
                for entry in entries.map_err(failed)? {
                    let name = entry.map_err(failed)?.file_name();
                    nodes.extend(
                        name.to_str().and_then(|name| name.strip_prefix(NODE_FOLDER)).map(str::to_owned),
                    );
                }
            }
        }
        nodes.sort_unstable();
        let all = std::iter::once(None).chain(nodes.into_iter().map(Some));
        let mut found: Vec<_> = all.map(|node| Self::new(state_dir, node.as_deref())).collect();
        let is_there = |active: &Path| match active.symlink_metadata() {
            // Where a rotation was cut off there is no active file for now.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                files::newest(active).is_ok_and(|newest| newest.is_some())
            }
            // What cannot be looked at is told of by who opens it, and never left out.
            _ => true,
        };
        found.retain(|chain| is_there(&chain.active));
        Ok(found)
    }
}

impl AuditLog {
    /// The log of this chain, whose siblings may be settled and asked.
    ///
    /// # Errors
    /// As [`AuditLog::open_with`].
    pub fn open_in(state_dir: &Path, node: Option<&str>, config: &Config) -> Result<Self, AuditError> {
        let mut log = Self::open_with(&ChainPlace::new(state_dir, node).active, config)?;
        log.node = node.map(str::to_owned);
        log.siblings = Some((state_dir.to_owned(), config.clone()));
        Ok(log)
    }

    /// The other chains of the gateway that are there.
    pub(super) fn siblings(&self) -> Result<Vec<ChainPlace>, AuditError> {
        let Some((state_dir, _)) = &self.siblings else { return Ok(Vec::new()) };
        let mut all = ChainPlace::find_all(state_dir)?;
        all.retain(|chain| chain.node != self.node);
        Ok(all)
    }

    /// The logs of those nodes and of no node, without this one, each opened or not. A gateway that
    /// shares nothing has all of them for itself.
    ///
    /// # Errors
    /// [`AuditError::Open`] where the state folder cannot be read; of each log as
    /// [`AuditLog::open_with`].
    pub(crate) fn open_siblings(
        &self,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Result<Self, AuditError>>, AuditError> {
        let Some((_, config)) = &self.siblings else { return Ok(Vec::new()) };
        let mut chains = self.siblings()?;
        let is_alone = self.node.is_none();
        chains.retain(|chain| is_alone || chain.node.as_deref().is_none_or(is_meant));
        Ok(chains.iter().map(|chain| Self::open_with(&chain.active, config)).collect())
    }
}
