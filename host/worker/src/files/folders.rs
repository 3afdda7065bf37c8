//! The folders that a call finds, and the entries of one that is being read.

use super::entries::DirectoryEntries;
use crate::state::StoreState;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

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
        let Self { table, entries_read, .. } = self;
        table.get_mut(&Resource::<DirectoryEntries>::new_borrow(stream.rep()))?.next(entries_read)
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<DirectoryEntries>::new_own(stream.rep()))?;
        Ok(())
    }
}
