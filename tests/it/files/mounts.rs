//! Other filesystems: mounted inside a mount they are out of reach, mounted as one they serve as
//! well as any.

use super::check::{Gateway, bytes, refuses, saves, tree, with_folders, works};
use super::namespace::{Namespace, available};
use std::fs;
use support::home::Home;

/// A gateway whose tool looks at what it is told to, in its own ways.
fn curious() -> Home {
    with_folders(Home::new().hostile("memory = \"16 MiB\""))
}

/// A guest is told nothing of it, not even its size.
fn untold(inside: &Namespace, path: &str) {
    let told = inside.call(&["hostile", "behaviour=stat_raw", &format!("path={path}")]);
    assert_eq!(told.json()["error"], "not-permitted", "{told:?}");
}

/// Neither read nor written, whatever it is.
fn out_of_reach(inside: &Namespace, path: &str) {
    let file = inside.home().file("sent", b"new");
    let path = format!("path={path}");
    for overwrite in ["overwrite=false", "overwrite=true"] {
        refuses(inside, "path_denied", &["attachment_save", "index=0", &path, overwrite, "--attach", &file]);
        refuses(inside, "path_denied", &["file_write_bytes", "content_base64=YWJj", &path, overwrite]);
    }
    let ran = refuses(inside, "path_denied", &["file_read", &path]);
    assert!(!ran.stdout.contains("content"), "{ran:?}");
}

#[test]
fn a_filesystem_mounted_inside_is_out_of_reach() {
    if !available("files::mounts::a_filesystem_mounted_inside_is_out_of_reach") {
        return;
    }
    let inside = Namespace::around(
        curious(),
        "mkdir -p workspace/shared/a/other workspace/shared/top
        mount -t tmpfs none workspace/shared/top
        mount -t tmpfs none workspace/shared/a/other
        echo secret > workspace/shared/a/other/file
        mkdir workspace/shared/a/other/folder
        ln -s a/other/file workspace/shared/link",
    );
    untold(&inside, "/shared/top");
    untold(&inside, "/shared/a/other");
    out_of_reach(&inside, "/shared/a/other/file");
    out_of_reach(&inside, "/shared/a/other/new");
    out_of_reach(&inside, "/shared/a/other/folder/new");
    out_of_reach(&inside, "/shared/a/other/new/new");
    refuses(&inside, "path_denied", &["file_read", "path=/shared/link"]);
    saves(&inside, "/shared/a/beside", "overwrite=false", b"abc");
}

#[test]
fn a_folder_or_file_bound_inside_is_out_of_reach() {
    if !available("files::mounts::a_folder_or_file_bound_inside_is_out_of_reach") {
        return;
    }
    // The same filesystem: only the mount differs.
    let inside = Namespace::around(
        curious(),
        "mkdir -p outside workspace/shared/bound; echo secret > outside/file; echo cover > workspace/shared/file
        mount --bind outside workspace/shared/bound
        mount --bind outside/file workspace/shared/file",
    );
    let outside = inside.home().dir().join("outside");
    let before = tree(&outside);
    untold(&inside, "/shared/bound");
    untold(&inside, "/shared/file");
    out_of_reach(&inside, "/shared/bound/file");
    out_of_reach(&inside, "/shared/bound/new");
    out_of_reach(&inside, "/shared/file");
    assert_eq!(tree(&outside), before);
}

#[test]
fn a_mount_may_be_another_filesystem() {
    if !available("files::mounts::a_mount_may_be_another_filesystem") {
        return;
    }
    let inside = Namespace::new("mount -t tmpfs none workspace/shared");
    // Small ones come from memory, large ones from a spool file that lies elsewhere.
    for len in [0, 1000, 300 << 10, 5 << 20] {
        let path = format!("/shared/{len}/file");
        saves(&inside, &path, "overwrite=false", &bytes(len));
        saves(&inside, &path, "overwrite=true", &bytes(len + 1));
    }
    works(&inside);
}

/// A stack of two folders, one beneath that only shows, one above that takes the changes.
const STACK: &str = "mkdir -p lower/shared upper work
    echo lower > lower/shared/file
    mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work workspace";

#[test]
fn a_container_s_stacked_filesystem_serves() {
    if !available("files::mounts::a_container_s_stacked_filesystem_serves") {
        return;
    }
    let inside = Namespace::new(STACK);
    assert_eq!(inside.call(&["file_read", "path=/shared/file"]).json()["content"], "lower\n");
    saves(&inside, "/shared/file", "overwrite=true", b"new");
    saves(&inside, "/shared/new/file", "overwrite=false", &bytes(300 << 10));
    saves(&inside, "/shared/new/file", "overwrite=true", &bytes(1 << 10));
    assert_eq!(fs::read(inside.home().dir().join("lower/shared/file")).expect("there"), b"lower\n");
    works(&inside);
}

/// Workers are started through it, and look at themselves there.
#[test]
fn without_proc_nothing_starts() {
    if !available("files::mounts::without_proc_nothing_starts") {
        return;
    }
    let inside = Namespace::new("mount -t tmpfs none /proc");
    let stopped = inside.command(&[], &["call", "file_list"]).output().expect("it starts");
    assert_eq!(stopped.status.code(), Some(2), "{stopped:?}");
}

/// There, files are of other devices than the folder they lie in.
#[test]
fn a_stacked_filesystem_of_two_disks_has_its_quota() {
    if !available("files::mounts::a_stacked_filesystem_of_two_disks_has_its_quota") {
        return;
    }
    let home = with_folders(Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"1 MiB\"\n"));
    let inside = Namespace::around(home, &format!("mkdir -p lower; mount -t tmpfs none lower\n{STACK}"));
    saves(&inside, "/shared/a", "overwrite=false", &bytes(700 << 10));
    let file = inside.home().file("sent", &bytes(400 << 10));
    refuses(&inside, "quota_exceeded", &["attachment_save", "index=0", "path=/shared/b", "--attach", &file]);
}
