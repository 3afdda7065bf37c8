//! The worker processes of a running gateway, as `/proc` shows them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Far longer than anything waited for here takes, on a busy machine too.
const SOON: Duration = Duration::from_secs(30);

/// The workers of this gateway, oldest first. What has ended and was not waited for is none.
pub fn of(gateway: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = ids.filter(|id| parent(*id) == Some(gateway) && is_worker(*id)).collect();
    found.sort_unstable();
    found
}

/// Whether the process runs no more.
pub fn is_gone(process: u32) -> bool {
    field(process, 0).is_none_or(|state| state == "Z" || state == "X")
}

/// CPU time that the process has used, in the kernel's ticks.
pub fn ticks(process: u32) -> u64 {
    [11, 12].into_iter().filter_map(|n| field(process, n)?.parse::<u64>().ok()).sum()
}

/// A line of `/proc/PID/status`, without its name.
///
/// # Panics
/// When there is no such process or line.
pub fn status(process: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

/// A number of `/proc/PID/status`, sizes in KiB; none when there is no such process or line.
pub fn number(process: u32, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The memory that a process holds for itself, in KiB; none when it has ended. Pages of its program
/// are not counted: the kernel takes tens of MiB of them whenever others need room, and reads them
/// again when they are used.
pub fn memory(process: u32) -> Option<u64> {
    Some(number(process, "RssAnon")? + number(process, "RssShmem")?)
}

/// How much of its program's code a process has in memory, and how much there is; KiB
/// (`proc_pid_smaps(5)`).
///
/// # Panics
/// When there is no such process, or it is not ours to read.
pub fn resident_code(process: u32) -> (u64, u64) {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).expect("it runs");
    let maps = std::fs::read_to_string(format!("/proc/{process}/smaps")).expect("ours to read");
    let is_code = |line: &&str| line.contains(" r-xp ") && line.ends_with(&*program.to_string_lossy());
    let mut of_code = maps.lines().skip_while(|line| !is_code(line)).skip(1);
    let mut figure = |name: &str| {
        let line = of_code.find_map(|line| line.strip_prefix(name)).expect("it is told");
        line.trim().trim_end_matches(" kB").parse().expect("KiB")
    };
    let size = figure("Size:");
    (figure("Rss:"), size)
}

/// An open descriptor: what it stands for, and the flags with which it was opened.
#[derive(Clone, Debug)]
pub struct Open {
    /// Where its link in `/proc/PID/fd` leads.
    pub target: String,
    /// As in `open(2)`.
    pub flags: i32,
}

/// The descriptors of a process, which only root and its owner see.
///
/// # Panics
/// When they cannot be read.
pub fn descriptors(process: u32) -> BTreeMap<u32, Open> {
    let dir = PathBuf::from(format!("/proc/{process}"));
    let entries = std::fs::read_dir(dir.join("fd")).expect("ours to read").flatten();
    let open = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let target = std::fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        let info = std::fs::read_to_string(dir.join(format!("fdinfo/{number}"))).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
        Some((number, Open { target, flags: i32::from_str_radix(flags, 8).ok()? }))
    };
    entries.filter_map(open).collect()
}

/// Waits until it is so.
///
/// # Panics
/// When it does not become so in time.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < SOON, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn parent(process: u32) -> Option<u32> {
    field(process, 1)?.parse().ok()
}

fn is_worker(process: u32) -> bool {
    let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    words.starts_with(b"cofferdam-worker\0") && !is_gone(process)
}

/// A field of `/proc/PID/stat`, counted from the state.
fn field(process: u32, n: usize) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before may hold anything.
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(n).map(str::to_owned)
}
