//! Somebody exchanges the names that are renamed and removed, as fast as the system allows.

use super::races::Disturbance;
use super::*;
use Disposition::{CreateNew, Replace};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::thread;

const ROUNDS: usize = 400;

/// What is planted under the two names that are exchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Thing {
    File,
    Directory,
    LinkToFile,
    LinkToDirectory,
}

impl Thing {
    fn plant(self, at: &Path, outside: &Path) {
        match self {
            Self::File => fs::write(at, "inside").unwrap(),
            Self::Directory => {
                fs::create_dir(at).unwrap();
                fs::write(at.join("file"), "inside").unwrap();
            }
            Self::LinkToFile => symlink(outside.join("secret"), at).unwrap(),
            Self::LinkToDirectory => symlink(outside, at).unwrap(),
        }
    }

    fn is_at(self, at: &Path) -> bool {
        fs::symlink_metadata(at).is_ok_and(|meta| match self {
            Self::File => meta.is_file(),
            Self::Directory => meta.is_dir(),
            Self::LinkToFile => meta.is_symlink() && !at.is_dir(),
            Self::LinkToDirectory => meta.is_symlink() && at.is_dir(),
        })
    }
}

const PAIRS: [(Thing, Thing); 4] = [
    (Thing::File, Thing::LinkToFile),
    (Thing::Directory, Thing::LinkToDirectory),
    (Thing::File, Thing::Directory),
    (Thing::Directory, Thing::LinkToFile),
];

/// Runs `round` again and again while `/shared/a` and `/shared/b` are exchanged; what is missing is
/// planted before each. A round says whether it did what it tried. Checks that outside nothing was
/// touched.
fn flipped(pair: (Thing, Thing), mut round: impl FnMut(&Room) -> bool) {
    let room = Room::new(StagingMethod::detect());
    let outside = room.outside();
    fs::write(outside.join("secret"), "secret").unwrap();
    let (a, b) = (room.host("/shared/a"), room.host("/shared/b"));
    let disturbance = Disturbance::new();
    let mut done = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            while disturbance.goes_on() {
                // Fails while one is missing.
                let _ = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
            }
        });
        let _end = disturbance.guard();
        for n in 0..20 * ROUNDS {
            if n >= ROUNDS && done > 0 {
                break;
            }
            let there: Vec<_> = [&a, &b].into_iter().filter(|at| fs::symlink_metadata(at).is_ok()).collect();
            // With at most one there, nothing is exchanged until both are.
            let missing = |thing: &Thing| there.len() < 2 && !there.iter().any(|at| thing.is_at(at));
            let missing: Vec<_> = [pair.0, pair.1].into_iter().filter(missing).collect();
            for thing in missing {
                let free = if fs::symlink_metadata(&a).is_err() { &a } else { &b };
                let aside = room.host("/vault/planted");
                thing.plant(&aside, &outside);
                fs::rename(&aside, free).unwrap();
            }
            done += usize::from(round(&room));
        }
    });
    assert!(done > 0, "{pair:?}: the race was never lost");
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    let left = fs::read_dir(room.host("/shared")).unwrap().map(|e| e.unwrap().file_name());
    assert!(left.into_iter().all(|name| name == "a" || name == "b"), "something is left over");
}

fn is_known(error: &ToolError) -> bool {
    error.message.contains("changed since the call looked at it")
        || error.message.contains("in the moment of the rename, which was taken back")
        || error.message.contains("kept changing meanwhile, so nothing was changed")
}

/// Removes what has the name, without following it.
fn clear(at: &Path) {
    match fs::symlink_metadata(at) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(at).unwrap(),
        Ok(_) => fs::remove_file(at).unwrap(),
        Err(_) => {}
    }
}

#[test]
fn a_rename_moves_what_was_planned_or_nothing() {
    for pair in PAIRS {
        flipped(pair, |room| {
            let target = room.host("/tmp/moved");
            match room.rename("/shared/a", "/tmp/moved", CreateNew) {
                Ok(effects) => {
                    let Effect::Moved { kind, inode, .. } = &effects[0] else { panic!("it did {effects:?}") };
                    let meta = fs::symlink_metadata(&target).unwrap();
                    assert_eq!(meta.ino(), *inode);
                    assert_eq!(meta.is_dir(), *kind == EntryKind::Directory);
                    assert!(!meta.is_symlink());
                    clear(&target);
                    true
                }
                Err(error) => {
                    assert!(
                        error.code == ErrorCode::NotARegularFile || is_known(&error),
                        "{pair:?}: {error}"
                    );
                    assert!(fs::symlink_metadata(&target).is_err(), "{error}");
                    false
                }
            }
        });
    }
}

#[test]
fn a_replacing_rename_follows_nothing() {
    for pair in [(Thing::File, Thing::LinkToFile), (Thing::File, Thing::LinkToDirectory)] {
        flipped(pair, |room| {
            clear(&room.host("/tmp/new"));
            fs::write(room.host("/tmp/new"), "new").unwrap();
            match room.rename("/tmp/new", "/shared/a", Replace) {
                Ok(_) => true,
                Err(error) => {
                    assert!(error.code == ErrorCode::NotARegularFile || is_known(&error), "{error}");
                    false
                }
            }
        });
    }
}

#[test]
fn a_removal_follows_nothing_and_takes_one_thing() {
    for pair in PAIRS {
        for contents in [Contents::Keep, Contents::Remove] {
            flipped(pair, |room| {
                let count = || fs::read_dir(room.host("/shared")).unwrap().count();
                match room.remove("/shared/a", contents) {
                    Ok(_) => {
                        assert_eq!(count(), 1);
                        true
                    }
                    Err(error) => {
                        let known = is_known(&error) || error.message.contains("is not empty");
                        assert!(known, "{pair:?}: {error}");
                        assert_eq!(count(), 2, "{error}");
                        false
                    }
                }
            });
        }
    }
}
