//! `workspace-write`: guests stage and seal here; publishing is somebody else's, after the call.
//!
//! Takes exactly the paths of the permit, whatever the guest asks for.

use super::bindings::cofferdam::tool::types::ToolError as WitError;
use super::bindings::cofferdam::tool::workspace_write as wit;
use super::state::State;
use crate::attachments::BlobBytes;
use crate::publish::{Disposition, PublishError, StagedFile};
use bytes::Bytes;
use cofferdam_core::policy::GuestPath;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// A staged file in a guest's hands. The body stream shares it.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Staged(Arc<Mutex<StagedFile>>);

impl State {
    fn stage_judged(&mut self, path: &str, disposition: Disposition) -> Result<StagedFile, ToolError> {
        let denied = |reason: String| ToolError::new(ErrorCode::PathDenied, reason);
        let path = GuestPath::parse(path).map_err(|bad| denied(bad.to_string()))?;
        let staging = self.staging.as_mut().ok_or_else(|| denied("nothing may be written here".into()))?;
        if !staging.permit.may_stage(&path) {
            return Err(denied(format!(
                "{path} was not judged for writing in this call; use the path argument itself"
            )));
        }
        Ok(staging.workspace.stage(&path, disposition, &staging.budget)?)
    }

    fn append_judged(
        &mut self,
        this: &Resource<Staged>,
        index: u32,
    ) -> wasmtime::Result<Result<u64, ToolError>> {
        let staged = self.without_stream(this, "appended an attachment to")?;
        let blob = match self.attachments.get(index) {
            Ok((_, blob)) => blob,
            Err(error) => return Ok(Err(error)),
        };
        let mut file = staged.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = match blob.bytes() {
            BlobBytes::Memory(bytes) => file.append_bytes_known(bytes, blob.sha256()),
            BlobBytes::File(source) => file.append_file_known(source, blob.len(), blob.sha256()),
        };
        Ok(appended.map(|()| blob.len()).map_err(ToolError::from))
    }

    /// The file of a handle whose body stream nobody holds; otherwise the guest ends here.
    fn without_stream(&self, this: &Resource<Staged>, did: &str) -> wasmtime::Result<Arc<Mutex<StagedFile>>> {
        let staged = &self.table.get(this)?.0;
        if Arc::strong_count(staged) > 1 {
            wasmtime::bail!("it {did} a staged file while it held the file's body stream");
        }
        Ok(staged.clone())
    }
}

impl wit::Host for State {
    fn stage(
        &mut self,
        path: String,
        disposition: wit::Disposition,
    ) -> wasmtime::Result<Result<Resource<Staged>, WitError>> {
        let disposition = match disposition {
            wit::Disposition::CreateNew => Disposition::CreateNew,
            wit::Disposition::Replace => Disposition::Replace,
        };
        match self.stage_judged(&path, disposition) {
            Ok(file) => Ok(Ok(self.table.push(Staged(Arc::new(Mutex::new(file))))?)),
            Err(error) => Ok(Err(self.error(error)?)),
        }
    }
}

impl wit::HostStagedFile for State {
    fn body(&mut self, this: Resource<Staged>) -> wasmtime::Result<Resource<DynOutputStream>> {
        let staged = self.without_stream(&this, "asked for a second body stream of")?;
        let stream: DynOutputStream = Box::new(BodyStream(staged));
        Ok(self.table.push_child(stream, &this)?)
    }

    fn append_attachment(
        &mut self,
        this: Resource<Staged>,
        index: u32,
    ) -> wasmtime::Result<Result<u64, WitError>> {
        match self.append_judged(&this, index)? {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(error) => Ok(Err(self.error(error)?)),
        }
    }

    fn finish(&mut self, this: Resource<Staged>) -> wasmtime::Result<Result<wit::Sealed, WitError>> {
        drop(self.without_stream(&this, "sealed")?);
        let staged = Arc::into_inner(self.table.delete(this)?.0).expect("only a body stream would share it");
        match staged.into_inner().unwrap_or_else(PoisonError::into_inner).seal() {
            Ok(sealed) => {
                let facts = sealed.facts();
                let staging = self.staging.as_mut().expect("a staged file exists only where staging does");
                staging.sealed.push(sealed);
                Ok(Ok(wit::Sealed { bytes: facts.bytes, sha256: facts.sha256 }))
            }
            Err(error) => Ok(Err(self.error(error.into())?)),
        }
    }

    fn drop(&mut self, this: Resource<Staged>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// Bytes that one write may carry: large enough that 40 MiB are 40 calls.
const PERMIT_BYTES: usize = 1 << 20;

struct BodyStream(Arc<Mutex<StagedFile>>);

impl BodyStream {
    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The text starts with the code, so that the guest can tell a quota from a full disk.
        file.write(bytes).map_err(|e: PublishError| {
            StreamError::LastOperationFailed(wasmtime::Error::msg(ToolError::from(e).to_string()))
        })
    }
}

#[async_trait::async_trait]
impl Pollable for BodyStream {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for BodyStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > PERMIT_BYTES {
            return Err(StreamError::trap("more bytes than the stream permits at once"));
        }
        self.append(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT_BYTES)
    }

    // The stock one allocates as much as the guest asks for.
    fn write_zeroes(&mut self, mut nelem: usize) -> StreamResult<()> {
        const ZEROES: &[u8] = &[0; 16 << 10];
        if nelem > PERMIT_BYTES {
            return Err(StreamError::trap("more zeroes than the stream permits at once"));
        }
        while nelem > 0 {
            let piece = nelem.min(ZEROES.len());
            self.append(&ZEROES[..piece])?;
            nelem -= piece;
        }
        Ok(())
    }
}
