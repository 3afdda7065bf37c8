//! What the answers have said of files, and whether the workspace is so.

use super::gateway::Gateway;
use super::people::{Outcome, Question};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What was said of files, by their paths.
#[derive(Default)]
pub(super) struct Told {
    /// Each is there, whole.
    there: BTreeMap<String, Question>,
    /// Each may be there, and is whole then.
    perhaps: BTreeMap<String, Question>,
}

impl Told {
    /// Files that are there.
    pub(super) fn files(&self) -> usize {
        self.there.len()
    }

    /// Notes what an answer says, if it is so now.
    pub(super) fn note(&mut self, question: Question, outcome: &Outcome, gateway: &Gateway) -> Result<()> {
        let Some(path) = question.path() else { return Ok(()) };
        let host = gateway.seen(gateway.home.host(&path));
        match outcome {
            Outcome::Done => {
                let bytes = std::fs::read(host).with_context(|| path.clone())?;
                ensure!(bytes == question.content().into_bytes(), "{path} is not what was sent");
                self.there.insert(path, question);
            }
            Outcome::Failed(code)
                if ["no_space", "write_failed", "attachment_unavailable"].contains(&code.as_str()) =>
            {
                ensure!(!host.exists(), "{path} is there, though it failed with {code}");
            }
            Outcome::Failed(_) | Outcome::Honest => drop(self.perhaps.insert(path, question)),
        }
        Ok(())
    }

    /// Holds the whole workspace against what was said: what was saved is there, and nothing but
    /// that and what may be.
    pub(super) fn hold(&self, gateway: &Gateway) -> Result<()> {
        let workspace = gateway.seen(gateway.home.workspace());
        let mut found = BTreeSet::new();
        for path in files_below(&workspace)? {
            let guest = format!("/{path}");
            let question = self.there.get(&guest).or_else(|| self.perhaps.get(&guest));
            let question = question.with_context(|| format!("nobody was told of {guest}"))?;
            let bytes = std::fs::read(workspace.join(path))?;
            ensure!(bytes == question.content().into_bytes(), "{guest} is not what was sent");
            found.insert(guest);
        }
        let missing: Vec<_> = self.there.keys().filter(|path| !found.contains(*path)).collect();
        ensure!(missing.is_empty(), "these were saved and are gone: {missing:?}");
        Ok(())
    }
}

/// The paths of all files below a folder, from there.
pub(super) fn files_below(folder: &Path) -> Result<BTreeSet<String>> {
    let (mut found, mut dirs) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                dirs.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(folder)?.to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}
