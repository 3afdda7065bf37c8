//! The folders that a call finds, and the entries of one that is being read.

use super::entries::DirectoryEntries;
use crate::state::StoreState;
use std::collections::VecDeque;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

/// The entries of a folder in the scratch folder that are still to come.
pub(super) type Listed = VecDeque<types::DirectoryEntry>;

impl preopens::Host for StoreState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut found = Vec::with_capacity(self.mounts.len());
        for mount in &self.mounts {
            // Shares the open folder: no system call.
            let dir = Descriptor::Dir(mount.dir.clone());
            found.push((self.table.push(dir)?, mount.guest.clone()));
        }
        if let Some(scratch) = self.scratch.clone() {
            found.push((self.hand_out(scratch.handle())?, scratch.guest().to_owned()));
        }
        Ok(found)
    }
}

impl types::HostDirectoryEntryStream for StoreState {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        if let Ok(listed) = self.table.get_mut(&Resource::<Listed>::new_borrow(stream.rep())) {
            return Ok(listed.pop_front());
        }
        let Self { table, entries_read, .. } = self;
        table.get_mut(&Resource::<DirectoryEntries>::new_borrow(stream.rep()))?.next(entries_read)
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        // Looked at first: a deletion under the wrong type deletes, and fails.
        if self.table.get(&Resource::<Listed>::new_borrow(stream.rep())).is_ok() {
            self.table.delete(Resource::<Listed>::new_own(stream.rep()))?;
        } else {
            self.table.delete(Resource::<DirectoryEntries>::new_own(stream.rep()))?;
        }
        Ok(())
    }
}
