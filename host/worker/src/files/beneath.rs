//! Opening beneath a mount: every path is resolved by `openat2`, first as a bare handle, and
//! nothing of the gateway's own is found.

use super::facts::FileFacts;
use cofferdam_core::path::GuestPath;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags, statx};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// The mount of the folder in which something was looked at last.
#[derive(Default)]
pub(crate) struct LastMount {
    dir: Weak<File>,
    mount: u64,
}

impl LastMount {
    /// What lies under a single name in `dir`, as [`look`] finds it and without its three system
    /// calls: such a name leads nowhere else, unless it is a link or something is mounted there.
    ///
    /// None where that has to be looked at: it does not say that nothing is there.
    pub(super) fn facts(&mut self, dir: &Arc<File>, name: &str, follow: bool) -> Option<FileFacts> {
        let leads_on = name.is_empty() || matches!(name, "." | "..") || name.contains('/');
        if leads_on || name.starts_with(GuestPath::RESERVED_PREFIX) {
            return None;
        }
        let mount = self.mount_of(dir)?;
        let found = stat_with_mount(dir, name)?;
        let is_link = rustix::fs::FileType::from_raw_mode(found.stx_mode.into()).is_symlink();
        (found.stx_mnt_id == mount && !(follow && is_link)).then_some(FileFacts(found))
    }

    fn mount_of(&mut self, dir: &Arc<File>) -> Option<u64> {
        // What the weak one points to is not given to another folder.
        if self.dir.as_ptr() != Arc::as_ptr(dir) {
            self.mount = stat_with_mount(dir, "")?.stx_mnt_id;
            self.dir = Arc::downgrade(dir);
        }
        Some(self.mount)
    }
}

/// What lies under the name, itself; of the folder where it is empty. None where the kernel refuses
/// or tells no mount.
fn stat_with_mount(dir: &File, name: &str) -> Option<Statx> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let found = statx(dir, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID).then_some(found)
}

/// A bare handle (`O_PATH`) on what lies at `path` beneath `dir`.
pub(crate) fn look(dir: &File, path: &str, follow: bool) -> Result<File, ErrorCode> {
    open_checked(dir, path, OFlags::PATH, follow)
}

/// The directory at `path` beneath `dir`, for reading. Nothing has to be looked at first: what is
/// no directory, the kernel refuses before it is opened.
pub(crate) fn look_into(dir: &File, path: &str, follow: bool) -> Result<File, ErrorCode> {
    open_checked(dir, path, OFlags::RDONLY | OFlags::DIRECTORY, follow)
}

fn open_checked(dir: &File, path: &str, flags: OFlags, follow: bool) -> Result<File, ErrorCode> {
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    if path.split('/').any(|name| name.starts_with(GuestPath::RESERVED_PREFIX)) {
        return Err(ErrorCode::NoEntry);
    }
    // Without a link on the way there is nothing more to ask; that is nearly always.
    match open_beneath(dir, path, flags, ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => {}
        found => return found.map_err(refusal),
    }
    let found = open_beneath(dir, path, flags, ResolveFlags::empty()).map_err(refusal)?;
    match is_reserved(dir, &found) {
        Ok(false) => Ok(found),
        Ok(true) => Err(ErrorCode::NoEntry),
        Err(_) => Err(ErrorCode::Io),
    }
}

/// Whether what was found through a link is the gateway's own.
fn is_reserved(dir: &File, found: &File) -> Result<bool, Errno> {
    let place = |file: &File| {
        let target = rustix::fs::readlinkat(own_handles()?, DecInt::from_fd(file).as_c_str(), Vec::new())?;
        Ok::<_, Errno>(OsString::from_vec(target.into_bytes()))
    };
    let (root, found) = (place(dir)?, place(found)?);
    Ok(GuestPath::is_reserved_below(Path::new(&root), Path::new(&found)))
}

fn open_beneath(dir: &File, path: &str, flags: OFlags, resolve: ResolveFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether the path still
    // lies beneath. A guest that makes this happen only delays itself.
    for _ in 0..16 {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            Ok(fd) => return Ok(File::from(fd)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::AGAIN)
}

fn refusal(errno: Errno) -> ErrorCode {
    match errno {
        Errno::AGAIN => ErrorCode::Busy,
        // Leaves the mount, or enters another one.
        Errno::XDEV => ErrorCode::NotPermitted,
        errno => std::io::Error::from(errno).into(),
    }
}

/// This process's own handles by number, opened once: each path through /proc would be four
/// look-ups, and a confined process cannot open it any more.
pub(crate) fn own_handles() -> Result<BorrowedFd<'static>, Errno> {
    static HANDLES: OnceLock<Result<OwnedFd, Errno>> = OnceLock::new();
    let own = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handles = HANDLES.get_or_init(|| rustix::fs::open("/proc/self/fd", own, Mode::empty()));
    handles.as_ref().map(AsFd::as_fd).map_err(|errno| *errno)
}

/// Opens for reading what a bare handle stands for, by the handle itself, so nothing can be
/// swapped.
pub(crate) fn reopen(handle: &File, flags: OFlags) -> Result<OwnedFd, ErrorCode> {
    // Without /proc nothing can be read; that is no "not found".
    let handles = own_handles().map_err(|_| ErrorCode::Io)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | flags;
    let name = DecInt::from_fd(handle);
    rustix::fs::openat(handles, name.as_c_str(), flags, Mode::empty())
        .map_err(|errno| std::io::Error::from(errno).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A folder with everything that a name can be, gone with this.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("cofferdam-beneath-{}-{name}", std::process::id()));
            std::fs::create_dir_all(path.join("folder")).expect("writable");
            std::fs::write(path.join("file"), name).expect("writable");
            std::fs::write(path.join("folder/inner"), b"inner").expect("writable");
            std::fs::write(path.join(format!("{}x", GuestPath::RESERVED_PREFIX)), b"ours").expect("writable");
            for (target, link) in
                [("file", "link"), ("/", "out"), ("nothing", "dangling"), ("circle", "circle")]
            {
                symlink(target, path.join(link)).expect("writable");
            }
            Self(path)
        }

        fn open(&self) -> Arc<File> {
            Arc::new(File::open(&self.0).expect("there"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn told(facts: &FileFacts) -> String {
        format!("{:?} {:?}", facts.stat(), facts.hash())
    }

    #[test]
    fn a_short_look_finds_what_a_look_finds_or_nothing() {
        let folder = Folder::new("same");
        let (dir, mut last) = (folder.open(), LastMount::default());
        let reserved = format!("{}x", GuestPath::RESERVED_PREFIX);
        for name in [
            "file",
            "folder",
            "link",
            "out",
            "dangling",
            "circle",
            "absent",
            "",
            ".",
            "..",
            "folder/",
            "/file",
            "folder/inner",
            "folder/..",
            "a\0b",
            &reserved,
        ] {
            for follow in [false, true] {
                let found = look(&dir, name, follow).and_then(|handle| FileFacts::read(&handle));
                if let Some(quick) = last.facts(&dir, name, follow) {
                    let found = found.unwrap_or_else(|code| panic!("{name:?} is {code:?}, and was found"));
                    assert_eq!(told(&quick), told(&found), "{name:?}, {follow}");
                }
            }
        }
        let mut finds = |name: &str, follow| last.facts(&dir, name, follow).is_some();
        assert!(finds("file", true) && finds("folder", false) && finds("link", false) && finds("out", false));
        assert!(
            !finds("link", true) && !finds("out", true) && !finds(&reserved, false) && !finds("..", false)
        );
    }

    #[test]
    fn each_folder_is_looked_at_in_its_own_mount() {
        let folder = Folder::new("mounts");
        let mut last = LastMount::default();
        // Other filesystems are mounted in the root of a machine.
        let root = Arc::new(File::open("/").expect("there"));
        assert!(last.facts(&root, "proc", false).is_none(), "it is another mount");
        for _ in 0..3 {
            // The place in memory of the last one may be used again.
            assert!(last.facts(&folder.open(), "file", false).is_some());
            assert!(last.facts(&Arc::new(File::open("/proc").expect("there")), "self", false).is_some());
        }
    }
}
