//! Somebody with a shell swaps what the gateway looked at for something else before it acts.
//! Nothing lands outside, and nothing outside is read.

use super::check::{home, outside, save, tree, works};
use super::flipping::Stop;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exchanges the two names as fast as it can while `work` runs.
fn while_swapping(one: &Path, other: &Path, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
                    .expect("the filesystem can exchange");
            }
        });
        // Dropped when `work` panics as well: the scope waits for the other thread.
        let _stop = Stop(&done);
        work();
    });
}

const ROUNDS: usize = 40;

#[test]
fn a_folder_becomes_a_link_to_the_outside() {
    let home = home();
    let outside = outside(&home);
    let before = tree(&outside);
    let (folder, link) = (home.host("/shared/folder"), home.host("/shared/link"));
    fs::create_dir(&folder).expect("writable");
    symlink(&outside, &link).expect("writable");
    let file = home.file("sent", b"abc");
    let mut saved = 0;
    while_swapping(&folder, &link, || {
        for n in 0..ROUNDS {
            // With folders to make below, and over what may be there.
            let path = if n % 2 == 0 {
                format!("path=/shared/folder/{n}")
            } else {
                format!("path=/shared/folder/new{n}/file")
            };
            let ran = home.call(&save(&path, "overwrite=true", &file));
            match ran.error().as_str() {
                "" => saved += 1,
                "path_denied" | "write_failed" => {}
                _ => panic!("{ran:?}"),
            }
        }
    });
    assert_eq!(tree(&outside), before);
    let landed = |dir: &Path| tree(dir).values().filter(|told| told.starts_with("file")).count();
    let real = if folder.is_symlink() { &link } else { &folder };
    assert_eq!(landed(real), saved, "every save that was reported is there, and no other");
    works(&home);
}

#[test]
fn a_file_becomes_a_link_to_the_outside() {
    let home = home();
    let outside = outside(&home);
    let before = tree(&outside);
    let (name, link) = (home.host("/shared/name"), home.host("/shared/link"));
    fs::write(&name, "old").expect("writable");
    symlink(outside.join("file"), &link).expect("writable");
    let file = home.file("sent", b"abc");
    while_swapping(&name, &link, || {
        for _ in 0..ROUNDS {
            let ran = home.call(&save("path=/shared/name", "overwrite=true", &file));
            assert!(matches!(ran.error().as_str(), "" | "not_a_regular_file" | "write_failed"), "{ran:?}");
        }
    });
    assert_eq!(tree(&outside), before);
    works(&home);
}

#[test]
fn reading_through_a_folder_that_becomes_a_link() {
    let home = home();
    let outside = outside(&home);
    let (folder, link) = (home.host("/shared/folder"), home.host("/shared/link"));
    fs::create_dir(&folder).expect("writable");
    fs::write(folder.join("file"), "inside").expect("writable");
    symlink(&outside, &link).expect("writable");
    while_swapping(&folder, &link, || {
        for _ in 0..ROUNDS {
            let ran = home.call(&["file_read", "path=/shared/folder/file"]);
            match ran.error().as_str() {
                "" => assert_eq!(ran.json()["content"], "inside", "{ran:?}"),
                // The last: the folder changed faster than the kernel could tell where it lies.
                "path_denied" | "write_failed" => {}
                _ => panic!("{ran:?}"),
            }
        }
    });
    works(&home);
}
