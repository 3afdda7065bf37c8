//! Resource limits of a confined process, soft and hard alike.
//!
//! The address space has none: wasmtime reserves terabytes of it. Nor has the number of processes:
//! it counts those of the whole user, and seccomp forbids new ones.

use super::{ConfineError, WorkerKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;

/// Descriptors that a worker holds open at once.
pub const WORKER_FD_MAX: u64 = 1024;
/// Private writable memory of a worker, the guest's included.
pub const WORKER_DATA_BYTES_MAX: u64 = 4 << 30;
/// CPU time, in seconds over all threads, after which a compiling worker is killed when nobody says
/// otherwise.
pub const COMPILE_CPU_SECONDS: u64 = 300;

/// Sets a worker's limits; what comes back is what is in force, by name.
pub(super) fn worker(kind: WorkerKind) -> Result<BTreeMap<String, u64>, ConfineError> {
    let mut in_force = set(&[
        ("core", Resource::Core, 0),
        ("nofile", Resource::Nofile, WORKER_FD_MAX),
        ("data", Resource::Data, WORKER_DATA_BYTES_MAX),
        ("fsize", Resource::Fsize, 0),
    ])?;
    if let WorkerKind::Compile { cpu_seconds } = kind {
        // One more until SIGKILL: SIGXCPU says what it was.
        let hard = lower_limit(Resource::Cpu, cpu_seconds.saturating_add(1));
        let limit = Rlimit { current: Some(cpu_seconds.min(hard)), maximum: Some(hard) };
        setrlimit(Resource::Cpu, limit).map_err(|e| ConfineError::refused("set a resource limit", e))?;
        in_force.insert("cpu".to_owned(), cpu_seconds);
    }
    Ok(in_force)
}

/// Sets the gateway's limits: a core dump would hold its secrets.
pub(super) fn gateway() -> Result<BTreeMap<String, u64>, ConfineError> {
    set(&[("core", Resource::Core, 0)])
}

fn set(limits: &[(&str, Resource, u64)]) -> Result<BTreeMap<String, u64>, ConfineError> {
    let mut in_force = BTreeMap::new();
    for &(name, resource, limit) in limits {
        let limit = lower_limit(resource, limit);
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .map_err(|e| ConfineError::refused("set a resource limit", e))?;
        in_force.insert(name.to_owned(), limit);
    }
    Ok(in_force)
}

/// The limit, or a lower one that was there.
fn lower_limit(resource: Resource, limit: u64) -> u64 {
    getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit))
}
