//! What the system says of this process and of others: their time, their memory, their children.

use anyhow::{Context, Result};
use std::time::Duration;

/// The processes that this one has started.
pub(super) fn children() -> Result<Vec<rustix::process::Pid>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(rustix::process::Pid::from_raw));
    }
    Ok(found)
}

/// Processor time of this process and its workers so far, all threads: says what a call costs on a
/// busy machine too.
pub(super) fn cpu_time() -> Result<Duration> {
    // Of workers that have ended: `cutime` and `cstime` of proc(5), in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(13).take(2);
    let ended: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let mut total = cpu_time_of("self")? + Duration::from_millis(ended * 10);
    for task in std::fs::read_dir("/proc/self/task")? {
        let children = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        for worker in children.split_whitespace() {
            total += cpu_time_of(worker).unwrap_or_default();
        }
    }
    Ok(total)
}

/// The same of another process.
pub(super) fn cpu_time_of(process: &str) -> Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        total += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(total))
}

pub(super) fn memory(what: &str) -> Result<u64> {
    memory_of("self", what)
}

/// Whether a process is gone, or only waits to be asked how it ended.
pub(super) fn has_ended(pid: rustix::process::Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

/// KiB, from `/proc/PID/status`.
pub(super) fn memory_of(process: &str, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("a line of it")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
