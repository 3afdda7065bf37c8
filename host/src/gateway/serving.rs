//! Whether a `serve` uses the state, and who holds a lock, for those who only look: the kernel's list of locks is
//! read, because taking the lock, if only for a moment, could refuse a start.

use super::lock::lock_file;
use crate::config::Config;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The process that serves with this state; none when none does, or when it cannot be seen from here, as in
/// another container.
pub fn serving(config: &Config) -> Option<u32> {
    holder(&lock_file(config))
}

/// The process that holds this file or folder locked for itself alone; none when none does, or when it cannot be
/// seen from here.
pub fn holder(file: &Path) -> Option<u32> {
    let file = file.canonicalize().ok()?;
    let meta = fs::metadata(&file).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let device = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let held = locks.lines().filter_map(parse).filter(|lock| lock.inode == meta.ino());
    // Where files have another device than the kernel's own of their filesystem, the open file tells.
    let is_it = |lock: &Lock| lock.device == device || has_open(lock.pid, &file);
    held.into_iter().find(is_it).map(|lock| lock.pid)
}

struct Lock {
    pid: u32,
    device: (u32, u32),
    inode: u64,
}

/// `1: FLOCK  ADVISORY  WRITE 12 fe:01:34 0 EOF`: the exclusive `flock` of a process on a file. Those that wait
/// for one have an arrow before the kind.
fn parse(line: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().skip(1);
    if (words.next()?, words.nth(1)?) != ("FLOCK", "WRITE") {
        return None;
    }
    let pid = words.next()?.parse().ok().filter(|pid| *pid > 0)?;
    let mut place = words.next()?.split(':');
    let mut device = || u32::from_str_radix(place.next()?, 16).ok();
    let device = (device()?, device()?);
    Some(Lock { pid, device, inode: place.next()?.parse().ok()? })
}

fn has_open(pid: u32, file: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.into_iter().any(|open| fs::read_link(open.path()).is_ok_and(|to| to == file))
}

/// How many worker processes the process has.
pub fn workers(pid: u32) -> usize {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    // `12 (name) S 11 …`: the name may hold anything, parentheses too.
    let parent = |stat: String| stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok();
    stats.filter_map(parent).filter(|parent: &u32| *parent == pid).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_list_is_read_as_it_is_written() {
        let pid = |line: &str| parse(line).map(|lock| (lock.pid, lock.device, lock.inode));
        assert_eq!(pid("3: FLOCK  ADVISORY  WRITE 4711 fe:1a:1311 0 EOF"), Some((4711, (0xfe, 0x1a), 1311)));
        for other in [
            "3: -> FLOCK  ADVISORY  WRITE 4711 fe:1a:1311 0 EOF",
            "3: FLOCK  ADVISORY  READ 4711 fe:1a:1311 0 EOF",
            "3: POSIX  ADVISORY  WRITE 4711 fe:1a:1311 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 0 fe:1a:1311 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 4711 <none>:1311 0 EOF",
            "",
        ] {
            assert_eq!(pid(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_knows_its_children() {
        let before = workers(std::process::id());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is there");
        assert!(workers(std::process::id()) > before);
        child.kill().and_then(|()| child.wait()).expect("ours");
    }
}
