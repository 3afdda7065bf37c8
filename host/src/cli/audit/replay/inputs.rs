//! Copies of the files that a call may look at, in the workspace in which it is made again. What is
//! copied from is only read, beneath its mounts, and no link is followed out of them.

use anyhow::{Context, bail};
use cofferdam_core::path::GuestPath;
use cofferdam_warden::files::open_beneath;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, FileType, OFlags, ResolveFlags, fstat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files and folders that are copied for one call.
pub(super) const ENTRIES_MAX: u64 = 10_000;
/// Bytes that are copied for one call.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// Folders within one another.
pub(super) const DEPTH_MAX: usize = 64;

/// Copies from one workspace into another.
pub(super) struct Inputs<'a> {
    /// Where each mount is copied from, by its guest name.
    pub(super) from: &'a dyn Fn(&str) -> PathBuf,
    /// The workspace that is copied to: a folder of our own.
    pub(super) to: &'a Path,
    /// What is left out, by its virtual path.
    pub(super) without: BTreeSet<String>,
    /// What was passed over: links, devices, and names that are no text.
    pub(super) passed: u64,
    entries: u64,
    bytes: u64,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(from: &'a dyn Fn(&str) -> PathBuf, to: &'a Path, without: BTreeSet<String>) -> Self {
        Self { from, to, without, passed: 0, entries: 0, bytes: 0 }
    }

    /// Copies what lies at a path, with all below it, to another path; nothing where nothing is.
    ///
    /// # Errors
    /// What cannot be read, and more than is copied for one call.
    pub(super) fn copy(&mut self, path: &GuestPath, to: &str) -> anyhow::Result<()> {
        let folder = (self.from)(path.mount());
        let mount = match File::open(&folder) {
            Ok(mount) => mount,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => bail!("cannot read {}: {error}", path.mount()),
        };
        let below = if path.is_mount() { "." } else { path.below_mount() };
        match open_to_read(&mount, below, OFlags::empty()) {
            Ok(found) => self.take(&found, to, 0),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            // The guest is refused there as well.
            Err(Errno::LOOP | Errno::XDEV) => {
                self.passed += 1;
                Ok(())
            }
            Err(errno) => Err(errno).with_context(|| format!("cannot read {path}")),
        }
    }

    fn take(&mut self, found: &OwnedFd, to: &str, depth: usize) -> anyhow::Result<()> {
        if self.without.contains(to) {
            return Ok(());
        }
        self.entries += 1;
        let stat = fstat(found)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(found, to),
            FileType::Directory => self.folder(found, to, depth),
            _ => {
                self.passed += 1;
                Ok(())
            }
        }
    }

    fn file(&mut self, found: &OwnedFd, to: &str) -> anyhow::Result<()> {
        let left = BYTES_MAX.saturating_sub(self.bytes);
        let size = u64::try_from(fstat(found)?.st_size).unwrap_or(u64::MAX);
        self.copy_within(size <= left)?;
        let real = self.to.join(to.trim_start_matches('/'));
        std::fs::create_dir_all(real.parent().unwrap_or(self.to))?;
        let mut copy = File::create(&real).with_context(|| format!("cannot copy {to}"))?;
        let source = File::from(found.try_clone()?);
        let copied = std::io::copy(&mut source.take(left + 1), &mut copy)
            .with_context(|| format!("cannot copy {to}"))?;
        self.bytes += copied;
        self.copy_within(copied <= left)
    }

    fn folder(&mut self, found: &OwnedFd, to: &str, depth: usize) -> anyhow::Result<()> {
        self.copy_within(depth < DEPTH_MAX)?;
        std::fs::create_dir_all(self.to.join(to.trim_start_matches('/')))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(found).with_context(|| format!("cannot list {to}"))? {
            let entry = entry.with_context(|| format!("cannot list {to}"))?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => self.passed += 1,
            }
            self.copy_within(self.entries + names.len() as u64 <= ENTRIES_MAX)?;
        }
        names.sort();
        for name in names {
            let below = format!("{}/{name}", to.trim_end_matches('/'));
            match open_to_read(found, &name, OFlags::NOFOLLOW) {
                Ok(found) => self.take(&found, &below, depth + 1)?,
                Err(Errno::NOENT) => {}
                Err(Errno::LOOP | Errno::XDEV | Errno::NXIO) => self.passed += 1,
                Err(errno) => return Err(errno).with_context(|| format!("cannot read {below}")),
            }
        }
        Ok(())
    }

    fn copy_within(&self, is_within: bool) -> anyhow::Result<()> {
        if is_within && self.entries <= ENTRIES_MAX {
            return Ok(());
        }
        bail!(
            "what the call may look at is more than {ENTRIES_MAX} files, {BYTES_MAX} bytes or {DEPTH_MAX} folders within \
             one another; give a folder that holds less with --files DIR"
        )
    }
}

/// Opens for reading beneath a folder; a FIFO is not waited for.
fn open_to_read(dir: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    open_beneath(dir, path, flags, ResolveFlags::NO_XDEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;
    use std::fs;

    /// What is copied of `/shared` of a workspace that `fill` made.
    fn copied(fill: impl Fn(&Path), without: &[&str]) -> (tempfile::TempDir, anyhow::Result<u64>) {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        fs::create_dir(from.path().join("shared")).expect("writable");
        fill(&from.path().join("shared"));
        let mount = |mount: &str| from.path().join(mount.trim_start_matches('/'));
        let without = without.iter().map(|path| (*path).to_owned()).collect();
        let mut inputs = Inputs::new(&mount, to.path(), without);
        let done = inputs.copy(&GuestPath::parse("/shared").expect("a path"), "/shared");
        let passed = inputs.passed;
        (to, done.map(|()| passed))
    }

    #[test]
    fn files_are_copied_and_links_and_devices_passed_over() {
        let (to, passed) = copied(
            |shared| {
                fs::create_dir(shared.join("d")).expect("writable");
                fs::write(shared.join("d/a"), "a").expect("writable");
                fs::write(shared.join("b"), "b").expect("writable");
                std::os::unix::fs::symlink("/etc/passwd", shared.join("link")).expect("writable");
                let mode = Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(rustix::fs::CWD, shared.join("fifo"), FileType::Fifo, mode, 0)
                    .expect("made");
            },
            &["/shared/b"],
        );
        assert_eq!(passed.expect("copied"), 2);
        let shared = to.path().join("shared");
        assert_eq!(fs::read_to_string(shared.join("d/a")).expect("copied"), "a");
        for absent in ["b", "link", "fifo"] {
            assert!(fs::symlink_metadata(shared.join(absent)).is_err(), "{absent}");
        }
    }

    #[test]
    fn more_than_is_copied_is_refused() {
        let many = |shared: &Path| {
            for n in 0..=ENTRIES_MAX {
                fs::write(shared.join(n.to_string()), "").expect("writable");
            }
        };
        let large = |shared: &Path| {
            // Sparse: nothing of it is on the disk.
            File::create(shared.join("a")).and_then(|file| file.set_len(BYTES_MAX + 1)).expect("writable");
        };
        let deep = |shared: &Path| {
            fs::create_dir_all(shared.join("d/".repeat(DEPTH_MAX))).expect("writable");
        };
        for (what, (_, done)) in
            [("many", copied(many, &[])), ("large", copied(large, &[])), ("deep", copied(deep, &[]))]
        {
            assert!(done.expect_err(what).to_string().contains("--files DIR"), "{what}");
        }
    }
}
