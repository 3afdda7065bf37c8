//! Whether a `serve` uses the state, and who holds a lock, for those who only look: the kernel's
//! list of locks is read, because taking the lock, if only for a moment, could refuse a start.

use super::lock::lock_file;
use crate::config::Config;
use std::fs::{self, File};
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The process that serves with this state; none when none does, or when it cannot be seen from
/// here, as in another container.
pub fn find_serving_process(config: &Config) -> Option<u32> {
    holder(&lock_file(config))
}

/// The process that holds this file or folder locked for itself alone; none when none does, or when
/// it cannot be seen from here.
pub fn holder(file: &Path) -> Option<u32> {
    let file = file.canonicalize().ok()?;
    let meta = fs::metadata(&file).ok()?;
    let device = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    // Where files have another device than the kernel's own of their filesystem, the open file
    // tells.
    let is_it = |lock: &Lock| {
        lock.inode == meta.ino() && (lock.device == device || open_files(lock.pid).any(|open| open == file))
    };
    let read = || read_by_pages(File::open("/proc/locks").ok()?);
    find_lock(read, is_it).map(|lock| lock.pid)
}

/// A list of the kernel's, each page of it by one read: who asks for less than a page, as
/// [`fs::read_to_string`] does at first, gets less, and passes over what moves in between.
fn read_by_pages(mut list: impl Read) -> Option<String> {
    let mut text = String::with_capacity(2 * PAGE_BYTES);
    list.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The lock that is meant, in the kernel's list of locks as `read` brings it.
fn find_lock(read: impl Fn() -> Option<String>, is_it: impl Fn(&Lock) -> bool) -> Option<Lock> {
    for _ in 0..LOOKS {
        let locks = read()?;
        let found = locks.lines().filter_map(parse).find(&is_it);
        if found.is_some() || locks.len() < PAGE_BYTES {
            return found;
        }
    }
    None
}

/// The kernel hands its list out page by page, and goes on by an entry's number: a lock that is let
/// go in between moves another one past the reader. So a file that is not found in a longer list is
/// looked for again, so often.
const LOOKS: usize = 5;
/// A list that is shorter came in one piece, by [`read_by_pages`].
const PAGE_BYTES: usize = 3 << 10;

struct Lock {
    pid: u32,
    device: (u32, u32),
    inode: u64,
}

/// `1: FLOCK  ADVISORY  WRITE 12 fe:01:34 0 EOF`: the exclusive `flock` of a process on a file.
/// Those that wait for one have an arrow before the kind.
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

/// What the process has open, as far as this account may look into it.
fn open_files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|open| fs::read_link(open.path()).ok())
}

/// Whether the process listens on this address, as far as this account may look into it.
pub fn is_listening(pid: u32, address: SocketAddr) -> bool {
    let table = if address.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let table = File::open(table).ok().and_then(read_by_pages).unwrap_or_default();
    let inodes = table.lines().filter_map(|line| listener(line, address.port()));
    let sockets: Vec<_> = inodes.map(|inode| PathBuf::from(format!("socket:[{inode}]"))).collect();
    open_files(pid).any(|open| sockets.contains(&open))
}

/// `0: 0100007F:24F8 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 …`: the inode
/// of a socket that listens (0A) on this port.
fn listener(line: &str, port: u16) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (_, local) = words.get(1)?.rsplit_once(':')?;
    let listens = *words.get(3)? == "0A" && u16::from_str_radix(local, 16).ok()? == port;
    words.get(9).copied().filter(|_| listens)
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
    fn a_lock_that_a_long_list_passes_over_is_looked_for_again() {
        let (line, other) =
            ("1: FLOCK  ADVISORY  WRITE 7 fe:01:34 0 EOF\n", "2: FLOCK  ADVISORY  WRITE 8 fe:01:5 0 EOF\n");
        let long = other.repeat(PAGE_BYTES / other.len() + 1);
        let check = |lists: &[String], expected: (Option<u32>, usize)| {
            let looks = std::cell::Cell::new(0);
            let read = || {
                let list = lists[looks.get().min(lists.len() - 1)].clone();
                looks.set(looks.get() + 1);
                Some(list)
            };
            let found = find_lock(read, |lock| lock.inode == 34);
            assert_eq!((found.map(|lock| lock.pid), looks.get()), expected);
        };
        check(&[long.clone(), long.clone() + line], (Some(7), 2));
        check(std::slice::from_ref(&long), (None, LOOKS));
        // In one piece: what is not in it is not held.
        check(&[other.to_owned(), line.to_owned()], (None, 1));
        check(&[line.to_owned()], (Some(7), 1));
    }

    #[test]
    fn a_page_of_the_kernels_list_is_read_at_once() {
        // As the kernel does it: a page at most, and no more than was asked for.
        struct List(usize, Vec<usize>);
        impl Read for &mut List {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                let len = into.len().min(self.0).min(4096);
                into[..len].fill(b'x');
                self.0 -= len;
                self.1.push(len);
                Ok(len)
            }
        }
        for (len, pieces) in [(PAGE_BYTES, vec![PAGE_BYTES, 0]), (5000, vec![4096, 904, 0])] {
            let mut list = List(len, Vec::new());
            assert_eq!(read_by_pages(&mut list).map(|text| text.len()), Some(len));
            assert_eq!(list.1, pieces);
        }
    }

    #[test]
    fn the_kernels_list_of_sockets_tells_who_listens_on_a_port() {
        let line = |state: &str| {
            format!(
                "   0: 0100007F:24F8 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 4711 1 x"
            )
        };
        assert_eq!(listener(&line("0A"), 9464), Some("4711"));
        assert_eq!(listener(&line("0A"), 9465), None, "another port");
        assert_eq!(listener(&line("01"), 9464), None, "a connection");
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        assert_eq!(listener(head, 9464), None);
        assert_eq!(listener("", 9464), None);
    }

    #[test]
    fn a_process_knows_its_children() {
        let before = workers(std::process::id());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is there");
        assert!(workers(std::process::id()) > before);
        child.kill().and_then(|()| child.wait()).expect("ours");
    }
}
