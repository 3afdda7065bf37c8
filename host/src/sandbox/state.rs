//! What belongs to one call inside the sandbox: its WASI context, its handles, its limits.

use super::bindings::cofferdam::tool::types::{ErrorCode as WitCode, ToolError as WitError};
use super::engine::TABLE_ELEMENTS_MAX;
use super::files::{Files, Mount};
use super::host_calls::{HostCalls, SharedCalls};
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::{MutexGuard, PoisonError};
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The store's data.
pub(super) struct State {
    pub(super) wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) memory: MemoryLimit,
    pub(super) mounts: Vec<Mount>,
    /// Entries of directories read so far.
    pub(super) entries_read: u64,
    pub(super) calls: SharedCalls,
}

/// The gateway's side, for one request. Nobody panics while holding it, and a poisoned one still refuses.
pub(super) fn lock(calls: &SharedCalls) -> MutexGuard<'_, dyn HostCalls + 'static> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(super) fn files(&mut self) -> Files<'_> {
        let Self { wasi, table, mounts, entries_read, .. } = self;
        let view = WasiFilesystemCtxView { ctx: wasi.filesystem(), table };
        Files { wasi: view, mounts, entries_read }
    }

    /// The gateway's side.
    pub(super) fn calls(&self) -> MutexGuard<'_, dyn HostCalls + 'static> {
        lock(&self.calls)
    }

    /// An error as the guest may see it.
    ///
    /// # Errors
    /// For a code that only the host may say (a deadline, a cancellation): the guest ends here.
    pub(super) fn error(&self, error: ToolError) -> wasmtime::Result<WitError> {
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
            ErrorCode::WriteFailed => WitCode::WriteFailed,
            _ => return Err(wasmtime::Error::new(error)),
        };
        Ok(WitError { code, message: error.message })
    }
}

/// A guest's error as the host knows it: the code from the guest's subset, the message bounded.
pub(super) fn from_guest(error: WitError) -> ToolError {
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
        WitCode::WriteFailed => ErrorCode::WriteFailed,
    };
    ToolError::new(code, error.message)
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Bounds linear memory and tables, and remembers which bound was hit.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    bytes_max: usize,
    /// Of all memories that the guest has.
    bytes: usize,
    exceeded: Option<Exceeded>,
}

/// A bound that a guest was held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Memory,
    Table,
}

impl MemoryLimit {
    /// So much, over all memories.
    pub(super) fn of(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, exceeded: None }
    }

    /// The bound that was hit last.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
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
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        let fits = bytes <= self.bytes_max;
        if fits {
            self.bytes = bytes;
        } else {
            self.exceeded = Some(Exceeded::Memory);
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= TABLE_ELEMENTS_MAX;
        if !fits {
            self.exceeded = Some(Exceeded::Table);
        }
        Ok(fits)
    }
}
