//! What belongs to one call inside the sandbox: its WASI context, its handles, its limits.

use crate::bindings::cofferdam::tool::types::{ErrorCode as WitCode, ToolError as WitError};
use crate::engine::TABLE_ELEMENTS_MAX;
use crate::files::{GuestMount, LastMount};
use crate::gateway::GatewayLink;
use crate::scratch::ScratchFolder;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// What a function of the host answers a guest; the outer failure ends it.
pub(crate) type Answered<T, E = WitError> = wasmtime::Result<Result<T, E>>;

/// The store's data.
pub(crate) struct StoreState {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) memory: MemoryLimit,
    pub(crate) mounts: Vec<GuestMount>,
    /// The call's own folder, if it has one.
    pub(crate) scratch: Option<Arc<ScratchFolder>>,
    /// Entries of directories read so far.
    pub(crate) entries_read: u64,
    /// Where something was looked at last.
    pub(crate) last_mount: LastMount,
    pub(crate) disk: DiskReads,
    /// Bytes of the bodies of requests that are not sent yet, all together.
    pub(crate) body_bytes: Arc<AtomicUsize>,
    pub(crate) gateway: GatewayLink,
}

impl StoreState {
    /// An error as the guest may see it.
    ///
    /// # Errors
    /// For a code that only the host may say (a deadline, a cancellation): the guest ends here.
    pub(crate) fn error(&mut self, error: ToolError) -> wasmtime::Result<WitError> {
        let code = match error.code {
            ErrorCode::InvalidArguments => WitCode::InvalidArguments,
            ErrorCode::NoAttachments => WitCode::NoAttachments,
            ErrorCode::IndexOutOfRange => WitCode::IndexOutOfRange,
            ErrorCode::AttachmentUnavailable => WitCode::AttachmentUnavailable,
            ErrorCode::PathDenied => WitCode::PathDenied,
            ErrorCode::AlreadyExists => WitCode::AlreadyExists,
            ErrorCode::NotFound => WitCode::NotFound,
            ErrorCode::NotARegularFile => WitCode::NotARegularFile,
            ErrorCode::IsADirectory => WitCode::IsADirectory,
            ErrorCode::TooLarge => WitCode::TooLarge,
            ErrorCode::QuotaExceeded => WitCode::QuotaExceeded,
            ErrorCode::NoSpace => WitCode::NoSpace,
            ErrorCode::WriteFailed => {
                self.disk.forget();
                WitCode::WriteFailed
            }
            // The contract has no case for it. What the guest makes of it is told as what it is
            // when the call ends.
            ErrorCode::ReadFailed => {
                self.disk.fail();
                WitCode::WriteFailed
            }
            _ => return Err(wasmtime::Error::new(error)),
        };
        Ok(WitError { code, message: error.message })
    }

    /// An answer as the guest may see it.
    ///
    /// # Errors
    /// As [`StoreState::error`].
    pub(crate) fn answer<T, W: From<T>>(&mut self, answer: Result<T, ToolError>) -> Answered<W> {
        Ok(match answer {
            Ok(value) => Ok(value.into()),
            Err(error) => Err(self.error(error)?),
        })
    }
}

/// How reading went that a call did; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskReads(Arc<AtomicBool>);

impl DiskReads {
    /// The disk failed, and the guest is told.
    pub(crate) fn fail(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// A write failed, and the guest is told that: it is no longer about reading.
    fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the disk failed, and no write since.
    pub(crate) fn have_failed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A guest's error as the host knows it: the code from the guest's subset, the message bounded.
///
/// `write_failed` is a guest's word for all that fails at a disk: a case more in the enum of the
/// contract would turn away every component that is built already. So the worker, which reads for
/// the guest, says where it was reading that failed.
pub(crate) fn from_guest(error: WitError, disk: &DiskReads) -> ToolError {
    let code = match error.code {
        WitCode::InvalidArguments => ErrorCode::InvalidArguments,
        WitCode::NoAttachments => ErrorCode::NoAttachments,
        WitCode::IndexOutOfRange => ErrorCode::IndexOutOfRange,
        WitCode::AttachmentUnavailable => ErrorCode::AttachmentUnavailable,
        WitCode::PathDenied => ErrorCode::PathDenied,
        WitCode::AlreadyExists => ErrorCode::AlreadyExists,
        WitCode::NotFound => ErrorCode::NotFound,
        WitCode::NotARegularFile => ErrorCode::NotARegularFile,
        WitCode::IsADirectory => ErrorCode::IsADirectory,
        WitCode::TooLarge => ErrorCode::TooLarge,
        WitCode::QuotaExceeded => ErrorCode::QuotaExceeded,
        WitCode::NoSpace => ErrorCode::NoSpace,
        WitCode::WriteFailed if disk.have_failed() => ErrorCode::ReadFailed,
        WitCode::WriteFailed => ErrorCode::WriteFailed,
    };
    ToolError::new(code, error.message)
}

impl WasiView for StoreState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Bounds linear memory and tables, and remembers which bound was hit.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    bytes_max: ByteSize,
    /// Of all memories that the guest has.
    bytes: u64,
    /// What the guest wanted that is over a bound, in words.
    exceeded: Option<String>,
}

impl MemoryLimit {
    /// So much, over all memories.
    pub(crate) fn new(bytes_max: ByteSize) -> Self {
        Self { bytes_max, bytes: 0, exceeded: None }
    }

    /// What was wanted that hit a bound last, in words.
    pub(crate) fn exceeded(&self) -> Option<&str> {
        self.exceeded.as_deref()
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        own: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // A memory whose own bound is smaller does not grow, and so does not count.
        if own.is_some_and(|own| desired > own) {
            return Ok(false);
        }
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current) as u64);
        let fits = bytes <= self.bytes_max.0;
        if fits {
            self.bytes = bytes;
        } else {
            self.exceeded = Some(format!("more memory than its limit of {}", self.bytes_max));
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= TABLE_ELEMENTS_MAX;
        if !fits {
            self.exceeded = Some(format!("a table of more than {TABLE_ELEMENTS_MAX} elements"));
        }
        Ok(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_whose_disk_failed_says_that_reading_failed() {
        let told = |code, disk| from_guest(WitError { code, message: "it says".into() }, disk);
        let (fine, failed) = (DiskReads::default(), DiskReads::default());
        failed.fail();
        for (code, disk, expected) in [
            (WitCode::WriteFailed, &fine, ErrorCode::WriteFailed),
            (WitCode::WriteFailed, &failed, ErrorCode::ReadFailed),
            (WitCode::NotFound, &failed, ErrorCode::NotFound),
        ] {
            let error = told(code, disk);
            assert_eq!((error.code, error.message.as_str()), (expected, "it says"));
        }
    }
}
