//! What tables put into a workspace: files, folders, links, FIFOs, sockets, devices. And what the
//! world looks like before and after.

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use support::guests::sha256;

/// One thing, by the key that names it: a guest path, or `${outside}/…`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Thing {
    file: Option<String>,
    folder: Option<String>,
    link: Option<String>,
    hard: Option<String>,
    fifo: Option<String>,
    socket: Option<String>,
    device: Option<String>,
    /// What a file holds; `old` if not given.
    content: Option<String>,
    /// A file's length, without content.
    sparse: Option<u64>,
    /// Bytes after the file's name, which need be no text.
    hex: Option<String>,
    mode: Option<u32>,
    /// What a link names, or a hard link is another name of.
    to: Option<String>,
    /// A device's numbers.
    number: Option<(u32, u32)>,
}

impl Thing {
    /// Makes it; `expand` fills in the table's texts, `host` finds a path on the host.
    pub(super) fn make(&self, expand: &dyn Fn(&str) -> String, host: &dyn Fn(&str) -> PathBuf) {
        let at = |path: &str| {
            let mut path = host(&expand(path)).into_os_string().into_vec();
            path.extend(self.hex.as_deref().map(|hex| hex::decode(hex).expect("hex")).unwrap_or_default());
            let path = PathBuf::from(OsString::from_vec(path));
            fs::create_dir_all(path.parent().expect("below a mount")).expect("writable");
            path
        };
        let to = || expand(self.to.as_deref().expect("a link leads somewhere"));
        let node = |path: &str, kind, device| {
            mknodat(CWD, at(path), kind, Mode::from_raw_mode(0o666), device)
                .expect("such files are possible");
        };
        if let Some(path) = &self.file {
            let path = at(path);
            fs::write(&path, expand(self.content.as_deref().unwrap_or("old"))).expect("writable");
            if let Some(length) = self.sparse {
                let file = fs::File::options().write(true).open(&path).expect("ours");
                file.set_len(length).expect("sparse files are possible");
            }
            if let Some(mode) = self.mode {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
            }
        } else if let Some(path) = &self.folder {
            fs::create_dir_all(at(path)).expect("writable");
        } else if let Some(path) = &self.link {
            symlink(to(), at(path)).expect("writable");
        } else if let Some(path) = &self.hard {
            fs::hard_link(host(&to()), at(path)).expect("one filesystem");
        } else if let Some(path) = &self.fifo {
            node(path, FileType::Fifo, 0);
        } else if let Some(path) = &self.socket {
            // The name stays when nobody listens any more.
            drop(UnixListener::bind(at(path)).expect("writable"));
        } else if let Some(path) = &self.device {
            let (major, minor) = self.number.expect("a device has numbers");
            node(path, FileType::CharacterDevice, makedev(major, minor));
        } else {
            panic!("a thing is a file, folder, link, hard (link), fifo, socket or device");
        }
    }
}

/// Everything below some folders, each with all that a program could change of it.
pub(super) type World = BTreeMap<PathBuf, String>;

/// What lies below these paths, links not followed, nothing opened that could block.
pub(super) fn world(roots: &[PathBuf]) -> World {
    let mut found = World::new();
    let mut todo = roots.to_vec();
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path).expect("nobody deletes meanwhile");
        if meta.is_dir() {
            todo.extend(fs::read_dir(&path).expect("readable").map(|entry| entry.expect("readable").path()));
        }
        found.insert(path.clone(), told(&path, &meta));
    }
    found
}

fn told(path: &Path, meta: &fs::Metadata) -> String {
    let kind = meta.file_type();
    let holds = if kind.is_symlink() {
        format!("link to {}", fs::read_link(path).expect("a link").display())
    } else if kind.is_dir() {
        // Its time changes with its entries, which are told themselves.
        return format!("folder {:o} of {}", meta.mode(), meta.uid());
    } else if kind.is_file() && meta.len() <= 16 << 20 {
        format!("file with {}", sha256(&fs::read(path).expect("readable")))
    } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
        format!("{kind:?}")
    } else {
        "large file".to_owned()
    };
    let (len, time) = (meta.len(), (meta.mtime(), meta.mtime_nsec()));
    format!("{holds}, {len} bytes, mode {:o}, inode {}, changed {time:?}", meta.mode(), meta.ino())
}
