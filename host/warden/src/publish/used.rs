//! What the workspaces hold, for those who only look: nothing is made, opened for writing or swept.

use super::open::{existing_root, open_existing};
use super::owner::HOLDERS;
use super::temp::PREFIX;
use super::walk::{self, HiddenNames};
use crate::stop::StopReason;
use cofferdam_core::capability::MOUNTS;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime};

/// Bytes of all regular files in the workspaces below `root`, as the quota counts them; none when
/// it is `until` before they are all seen. A root that is missing holds nothing.
///
/// # Errors
/// When a folder cannot be read; the message names it.
pub fn measure_used(root: &Path, until: Instant) -> io::Result<Option<u64>> {
    let unreadable = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
    };
    let opened = existing_root(root).map_err(|error| unreadable(root, error))?;
    let Some(opened) = opened else { return Ok(Some(0)) };
    let late = || (Instant::now() >= until).then_some(StopReason::Deadline);
    let mounts = MOUNTS.iter().map(|mount| (mount.trim_start_matches('/'), HiddenNames::AtRoot));
    let mut total = 0u64;
    for (name, hidden) in mounts.chain(HOLDERS.iter().map(|holder| (*holder, HiddenNames::Anywhere))) {
        let failed = |error: Errno| unreadable(&root.join(name), error.into());
        let Some(folder) = open_existing(&opened, name).map_err(failed)? else { continue };
        match walk::measure(folder, hidden, &late).map_err(failed)? {
            Ok(bytes) => total = total.saturating_add(bytes),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(total))
}

/// How many names of the gateway's own lie in the usual mounts below `root` and were not touched
/// since `before`: what a crash has left, and the next start removes.
pub fn count_left_behind(root: &Path, before: SystemTime) -> usize {
    let names =
        |mount: &&str| std::fs::read_dir(root.join(mount.trim_start_matches('/'))).into_iter().flatten();
    let entries = MOUNTS.iter().flat_map(names).flatten();
    let ours = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    let old = ours.filter(|entry| {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        changed.is_ok_and(|changed| changed < before)
    });
    old.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn everything_that_the_quota_counts_is_counted_and_nothing_is_made() {
        let dir = tempfile::tempdir().expect("a folder");
        let soon = || Instant::now() + Duration::from_secs(60);
        let count = || measure_used(dir.path(), soon()).expect("readable");
        assert_eq!(measure_used(&dir.path().join("missing"), soon()).expect("nothing"), Some(0));
        assert_eq!(count(), Some(0));
        assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0);
        for (file, bytes) in [
            ("shared/a/b", 3),
            ("users/telegram-7/vault/c", 4),
            ("shared/.cofferdam-tmp-1", 50),
            ("other", 60),
        ] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("below")).expect("writable");
            std::fs::write(file, vec![0; bytes]).expect("writable");
        }
        assert_eq!(count(), Some(7));
        let now = SystemTime::now();
        assert_eq!(count_left_behind(dir.path(), now + Duration::from_secs(60)), 1);
        assert_eq!(count_left_behind(dir.path(), now - Duration::from_secs(60)), 0, "it may be in use");
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("shared")).expect("writable");
        for n in 0..walk::ENTRIES_PER_CHECK {
            std::fs::write(dir.path().join(format!("shared/{n}")), b"").expect("writable");
        }
        assert_eq!(measure_used(dir.path(), Instant::now()).expect("readable"), None);
    }
}
