//! What a running gateway holds, and whether that grows.

use super::people::PEOPLE;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::path::Path;
use support::workers;

/// More memory than after the warm-up by this share, and by this much, is growth.
const MEMORY_SHARE: f64 = 0.25;
const MEMORY_KIB: f64 = 8.0 * 1024.0;
/// What comes and goes: connections, files that are open for a moment.
const DESCRIPTORS: usize = 12;
const THREADS: usize = 4;
/// A waiting worker's socket and mounts, which the gateway holds. Sessions have one each, as they come to need it.
const DESCRIPTORS_PER_WORKER: usize = 6;
/// One worker a session, the one ahead, and one that is being replaced.
const WORKERS: usize = PEOPLE + 2;

/// What there is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    memory_kib: u64,
    descriptors: usize,
    threads: usize,
    /// Files in the folders of what comes and goes.
    spooled: usize,
    processes: usize,
}

impl Held {
    /// Of a process and its state folder.
    pub(super) fn now(process: u32, state: &Path) -> Result<Self> {
        let number = |name: &str| -> Result<u64> {
            let text = workers::status(process, name);
            text.trim_end_matches(" kB").parse().with_context(|| format!("{name}: {text}"))
        };
        let folder = |name: &str| std::fs::read_dir(state.join(name)).into_iter().flatten().count();
        Ok(Self {
            memory_kib: number("VmRSS")?,
            descriptors: workers::descriptors(process).len(),
            threads: usize::try_from(number("Threads")?)?,
            spooled: folder("blobs") + folder("outgoing"),
            processes: workers::of(process).len(),
        })
    }

    /// # Errors
    /// When there is more than there was, beyond what comes and goes.
    pub(super) fn has_not_grown_since(self, before: Self) -> Result<()> {
        let most = before.memory_kib as f64 * (1.0 + MEMORY_SHARE) + MEMORY_KIB;
        ensure!(self.memory_kib as f64 <= most, "memory grows: {before} -> {self}");
        ensure!(self.processes <= WORKERS, "workers grow: {before} -> {self}");
        let workers = self.processes.saturating_sub(before.processes);
        let most = before.descriptors + DESCRIPTORS + workers * DESCRIPTORS_PER_WORKER;
        ensure!(self.descriptors <= most, "descriptors grow: {before} -> {self}");
        ensure!(self.threads <= before.threads + THREADS, "threads grow: {before} -> {self}");
        ensure!(self.spooled == 0, "bytes are left: {self}");
        Ok(())
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory_kib, descriptors, threads, spooled, processes } = self;
        write!(
            f,
            "{memory_kib} KiB, {descriptors} descriptors, {threads} threads, {processes} workers, {spooled} spooled"
        )
    }
}
