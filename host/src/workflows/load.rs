//! A workflow's file of this machine, with the files of agents that it names.

use super::catalog::OFFERED_FILES_MAX;
use super::files::AttachableFolder;
use cofferdam_warden::files::open_regular;
use cofferdam_workflow::attachment::FolderPath;
use cofferdam_workflow::{FILE_BYTES_MAX, FileProblem, Workflow};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workflow and the folder that it lies in.
pub struct Loaded {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// Its folder, open.
    pub folder: AttachableFolder,
    /// Its folder's path, absolute.
    pub dir: PathBuf,
}

/// Why a file is no workflow, or a folder's workflows are not offered.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read {file}: {cause}; name a workflow's file, such as publish.yaml")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Its name says nothing about what it holds.
    #[error("{0}: a workflow's file ends with .yaml, .yml or .json; rename it")]
    Name(String),
    /// It says something that is not understood.
    #[error(transparent)]
    Problem(#[from] FileProblem),
    /// The folder cannot be read.
    #[error("[workflows] dir = {dir:?} cannot be read: {cause}")]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// More than anybody keeps in order.
    #[error("[workflows] dir = {0:?} has more than {OFFERED_FILES_MAX} files; move some away")]
    TooMany(PathBuf),
    /// A workflow of a folder could never run as its file says.
    #[error("{file}: {problem}")]
    Unfit {
        /// The file.
        file: String,
        /// Why not, and what to write.
        problem: String,
    },
}

/// The workflow of a file.
///
/// # Errors
/// [`LoadError`].
pub fn load(file: &Path) -> Result<Loaded, LoadError> {
    let name = file.display().to_string();
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !matches!(ending, "yaml" | "yml" | "json") {
        return Err(LoadError::Name(name));
    }
    let unreadable = |cause| LoadError::Unreadable { file: name.clone(), cause };
    // One byte more than is taken, so that who reads it next can tell.
    let read_text = |file: File| std::io::read_to_string(file.take(FILE_BYTES_MAX as u64 + 1));
    let text = open_regular(file).and_then(read_text).map_err(unreadable)?;
    let path = file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = AttachableFolder::open(path).map_err(unreadable)?;
    let dir = path.canonicalize().map_err(unreadable)?;
    let mut read = |path: &FolderPath| {
        let local = folder.file(path).map_err(|error| error.to_string())?;
        read_text(local.file).map_err(|error| error.to_string())
    };
    let workflow = Arc::new(Workflow::load(&name, &text, &mut read)?);
    Ok(Loaded { workflow, folder, dir })
}
