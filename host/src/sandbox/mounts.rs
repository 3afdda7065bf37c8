//! The folders of a workspace that a call is granted, as its guest gets them.
//!
//! For guests in this process each folder is opened once more, and kept for the next call: of those that are
//! kept a bounded number.

use super::files::Mount;
use super::worker::Folders;
use crate::publish::Workspace;
use cap_std::fs::Dir;
use cofferdam_core::capability::{Grants, MOUNTS};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Folders that stay open once more for guests in this process.
const FOLDERS_KEPT_MAX: usize = 64;

/// The granted ones, by guest name.
pub(super) fn granted(grants: &Grants, workspace: &Workspace) -> Folders {
    let granted = MOUNTS.iter().filter(|guest| grants.access(guest).is_some());
    granted.filter_map(|guest| Some(((*guest).to_owned(), workspace.mount(guest)?.clone()))).collect()
}

/// Those that guests in this process were given, the last ones.
#[derive(Default)]
pub(super) struct Mounts(Mutex<VecDeque<(Arc<Dir>, Mount)>>);

impl Mounts {
    /// The mounts of these folders.
    pub(super) fn of(&self, folders: &Folders) -> io::Result<Vec<Mount>> {
        folders.iter().map(|(guest, dir)| self.mount(guest, dir)).collect()
    }

    fn mount(&self, guest: &str, dir: &Arc<Dir>) -> io::Result<Mount> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, mount)) = kept.iter().find(|(of, _)| Arc::ptr_eq(of, dir)) {
            return Ok(mount.clone());
        }
        let mount = Mount::new(guest, File::from(dir.as_fd().try_clone_to_owned()?));
        if kept.len() >= FOLDERS_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((dir.clone(), mount.clone()));
        Ok(mount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_is_kept_and_each_is_opened_once() {
        let (room, mounts) = (tempfile::tempdir().expect("a folder"), Mounts::default());
        let open = || Arc::new(Dir::from_std_file(File::open(room.path()).expect("there")));
        let kept = || mounts.0.lock().expect("sound").len();
        let first = vec![("/tmp".to_owned(), open())];
        for _ in 0..3 {
            assert_eq!((mounts.of(&first).expect("opens").len(), kept()), (1, 1));
        }
        for n in 1..FOLDERS_KEPT_MAX * 2 {
            mounts.of(&vec![("/tmp".to_owned(), open())]).expect("opens");
            assert_eq!(kept(), FOLDERS_KEPT_MAX.min(n + 1));
        }
        assert_eq!((mounts.of(&first).expect("opens").len(), kept()), (1, FOLDERS_KEPT_MAX));
    }
}
