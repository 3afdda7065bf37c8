//! A file on its way into the workspace: written where nobody sees it, sealed, and published by the
//! host after the call succeeded. Dropped without `finish` it is gone. It never touches a file in
//! place.

use std::io::{self, Write};

use crate::bindings::cofferdam::tool::workspace_write::{self, Disposition};
use crate::bindings::wasi::io::streams::OutputStream;
use crate::{Sealed, ToolError, stream};

/// A file that nobody else sees yet. Bytes are appended by [`Write`] or from an attachment.
#[derive(Debug)]
pub struct StagedFile {
    // Before `file`, and so dropped first: a stream must not outlive what it appends to.
    body: Option<OutputStream>,
    file: workspace_write::StagedFile,
}

impl StagedFile {
    /// A new file at `path`, a virtual path such as `/shared/a.txt` that the policy judged for
    /// writing. Missing directories are made when it is published.
    ///
    /// # Errors
    /// `already_exists` when the name is taken, and what the host refuses: `path_denied`,
    /// `is_a_directory`, `quota_exceeded`, `no_space`, …
    pub fn create_new(path: &str) -> Result<Self, ToolError> {
        Self::stage(path, Disposition::CreateNew)
    }

    /// A file that takes the place of a regular file at `path` in one step, or is new.
    ///
    /// # Errors
    /// What the host refuses: `path_denied`, `is_a_directory`, `not_a_regular_file`, …
    pub fn replace(path: &str) -> Result<Self, ToolError> {
        Self::stage(path, Disposition::Replace)
    }

    /// Appends all bytes of attachment `index`, which stay on the host's side; returns their
    /// number.
    ///
    /// # Errors
    /// Those of [`attachments::open`](crate::attachments::open) and of writing.
    pub fn append_attachment(&mut self, index: u32) -> Result<u64, ToolError> {
        self.close_body()?;
        self.file.append_attachment(index)
    }

    /// Appends the bytes of the workspace file at `path`, which stay on the host's side; returns
    /// how many and their SHA-256.
    ///
    /// # Errors
    /// `not_found`, `is_a_directory`, `not_a_regular_file`, `path_denied`, and those of writing.
    pub fn append_file(&mut self, path: &str) -> Result<Sealed, ToolError> {
        self.close_body()?;
        self.file.append_file(path)
    }

    /// Publishes only if what is replaced still has this SHA-256 (lower-case hex): the file that
    /// this call read is the one it replaces. Otherwise the call fails with `write_failed`, and
    /// nothing changes.
    ///
    /// # Errors
    /// `invalid_arguments` when it is no SHA-256.
    pub fn expect(&self, sha256: &str) -> Result<(), ToolError> {
        self.file.expect(sha256)
    }

    /// Seals the file for publishing; returns its length and SHA-256 in lower-case hex.
    ///
    /// # Errors
    /// What went wrong while writing; the file is then gone.
    pub fn finish(mut self) -> Result<Sealed, ToolError> {
        self.close_body()?;
        workspace_write::StagedFile::finish(self.file)
    }

    fn stage(path: &str, disposition: Disposition) -> Result<Self, ToolError> {
        Ok(Self { body: None, file: workspace_write::stage(path, disposition)? })
    }

    fn close_body(&mut self) -> Result<(), ToolError> {
        match self.body.take() {
            Some(body) => stream::flush(&body).map_err(ToolError::on_path("a staged file")),
            None => Ok(()),
        }
    }
}

/// Errors carry the host's [`ToolError`]; [`ToolError::on_path`] brings it back.
impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let body = self.body.get_or_insert_with(|| self.file.body());
        stream::write(body, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.body.as_ref().map_or(Ok(()), stream::flush)
    }
}
