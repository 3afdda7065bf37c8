//! `workspace-write` and `progress` as guests call them: handles and streams over what the gateway
//! allows.
//!
//! It decides nothing: every request goes to the [gateway](crate::gateway).

use crate::bindings::cofferdam::tool::progress;
use crate::bindings::cofferdam::tool::workspace_write as wit;
use crate::gateway::{GatewayLink, expect_done, expect_reply};
use crate::output::{ByteSink, StreamTo, check_permit};
use crate::state::{Answered, StoreState};
use cofferdam_core::audit::EntryKind;
use cofferdam_core::host_call::{
    ContentHash, Contents, Disposition, Notification, Planning, Request, StagedId,
};
use serde_bytes::Bytes as Raw;
use std::sync::Arc;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynOutputStream, StreamError, StreamResult};

/// A staged file in a guest's hands. The body stream shares it.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct GuestStagedFile(Arc<Handle>);

/// The guest's hold on a staged file; the gateway forgets the file when it ends.
struct Handle {
    id: StagedId,
    gateway: GatewayLink,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.gateway.notify(Notification::Discard(self.id));
    }
}

impl StoreState {
    /// The file of a handle whose body stream nobody holds; otherwise the guest ends here.
    fn with_free_body(&self, this: &Resource<GuestStagedFile>, did: &str) -> wasmtime::Result<StagedId> {
        let staged = &self.table.get(this)?.0;
        if Arc::strong_count(staged) > 1 {
            wasmtime::bail!("it {did} a staged file while it held the file's body stream");
        }
        Ok(staged.id)
    }
}

impl From<ContentHash> for wit::Sealed {
    fn from(taken: ContentHash) -> Self {
        Self { bytes: taken.bytes, sha256: taken.sha256 }
    }
}

impl From<Planning> for wit::Planned {
    fn from(planning: Planning) -> Self {
        let kind = match planning.kind {
            EntryKind::File => wit::EntryKind::File,
            EntryKind::Directory => wit::EntryKind::Directory,
            EntryKind::Other => wit::EntryKind::Other,
        };
        Self { kind, entries: planning.entries, bytes: planning.bytes }
    }
}

fn disposition(disposition: wit::Disposition) -> Disposition {
    match disposition {
        wit::Disposition::CreateNew => Disposition::CreateNew,
        wit::Disposition::Replace => Disposition::Replace,
    }
}

impl wit::Host for StoreState {
    fn stage(&mut self, path: String, wanted: wit::Disposition) -> Answered<Resource<GuestStagedFile>> {
        let request = Request::Stage { path: &path, disposition: disposition(wanted) };
        match self.gateway.ask(request, expect_reply!(Staged)) {
            Ok(id) => {
                let handle = Handle { id, gateway: self.gateway.clone() };
                Ok(Ok(self.table.push(GuestStagedFile(Arc::new(handle)))?))
            }
            Err(error) => Ok(Err(self.error(error)?)),
        }
    }

    fn rename(&mut self, source: String, target: String, wanted: wit::Disposition) -> Answered<wit::Planned> {
        let request = Request::Rename { from: &source, to: &target, disposition: disposition(wanted) };
        self.answer(self.gateway.ask(request, expect_reply!(Planned)))
    }

    fn remove(&mut self, path: String, recursive: bool) -> Answered<wit::Planned> {
        let contents = if recursive { Contents::Remove } else { Contents::Keep };
        self.answer(self.gateway.ask(Request::Remove { path: &path, contents }, expect_reply!(Planned)))
    }
}

impl wit::HostStagedFile for StoreState {
    fn body(&mut self, this: Resource<GuestStagedFile>) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.with_free_body(&this, "asked for a second body stream of")?;
        let stream: DynOutputStream = Box::new(StreamTo(self.table.get(&this)?.0.clone()));
        Ok(self.table.push_child(stream, &this)?)
    }

    fn append_attachment(&mut self, this: Resource<GuestStagedFile>, index: u32) -> Answered<u64> {
        let file = self.with_free_body(&this, "appended an attachment to")?;
        self.answer(self.gateway.ask(Request::AppendAttachment { file, index }, expect_reply!(Appended)))
    }

    fn append_file(&mut self, this: Resource<GuestStagedFile>, path: String) -> Answered<wit::Sealed> {
        let file = self.with_free_body(&this, "appended a file to")?;
        self.answer(self.gateway.ask(Request::AppendFile { file, path: &path }, expect_reply!(Taken)))
    }

    fn expect(&mut self, this: Resource<GuestStagedFile>, sha256: String) -> Answered<()> {
        let file = self.table.get(&this)?.0.id;
        self.answer(self.gateway.ask(Request::Expect { file, sha256: &sha256 }, expect_done))
    }

    fn finish(&mut self, this: Resource<GuestStagedFile>) -> Answered<wit::Sealed> {
        let file = self.with_free_body(&this, "sealed")?;
        let sealed = self.gateway.ask(Request::Seal(file), expect_reply!(Taken));
        self.table.delete(this)?;
        self.answer(sealed)
    }

    fn drop(&mut self, this: Resource<GuestStagedFile>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl progress::Host for StoreState {
    fn report(&mut self, message: String) -> wasmtime::Result<()> {
        self.gateway.notify(Notification::Report(&message));
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.gateway.is_cancelled())
    }
}

/// The body of a staged file.
impl ByteSink for Arc<Handle> {
    /// Large enough that 40 MiB are 40 calls.
    const PERMIT_BYTES: usize = 1 << 20;

    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        check_permit::<Self>(bytes)?;
        // The text starts with the code, so that the guest can tell a quota from a full disk.
        let request = Request::Write { file: self.id, bytes: Raw::new(bytes) };
        let written = self.gateway.ask(request, expect_done);
        written.map_err(|error| StreamError::LastOperationFailed(wasmtime::Error::msg(error.to_string())))
    }
}
