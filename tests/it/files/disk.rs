//! A disk that is full or read-only: the workspace's, the audit's, the one that holds attachments.

use super::check::{Gateway, bytes, refuses, save, saves, tree, verified, works};
use super::namespace::{Namespace, available};
use std::fs;

/// The workspace on a disk of 1 MiB.
const SMALL: &str =
    "mount -t tmpfs -o size=1m none workspace; mkdir workspace/shared workspace/tmp workspace/vault";

/// The state on a disk of its own, with what was compiled already.
const OWN_STATE: &str =
    "cp -a state saved; mount -t tmpfs -o size=64m,mode=700 none state; cp -a saved/. state/";

#[test]
fn a_full_disk_keeps_what_was_there() {
    if !available("files::disk::a_full_disk_keeps_what_was_there") {
        return;
    }
    let inside = Namespace::new(SMALL);
    saves(&inside, "/shared/old", "overwrite=false", &bytes(200 << 10));
    works(&inside);
    fs::write(inside.host("/vault/filler"), bytes(600 << 10)).expect("writable");
    // From memory and from a spool file: their ways to the disk differ.
    for len in [250 << 10, 500 << 10] {
        let file = inside.home().file("sent", &bytes(len));
        let ran = refuses(&inside, "no_space", &save("path=/shared/old", "overwrite=true", &file));
        assert!(ran.message().contains("the disk is full; delete files"), "{ran:?}");
        refuses(&inside, "no_space", &save("path=/shared/new/folder/file", "overwrite=false", &file));
    }
    fs::remove_file(inside.host("/vault/filler")).expect("there");
    saves(&inside, "/shared/old", "overwrite=true", &bytes(250 << 10));
    saves(&inside, "/shared/new/folder/file", "overwrite=false", &bytes(500 << 10));
}

#[test]
fn folders_that_did_not_all_fit_are_unmade() {
    if !available("files::disk::folders_that_did_not_all_fit_are_unmade") {
        return;
    }
    // The root, three mounts, /tmp/next, two for replacing that: the fourth folder is one too many.
    let inside = Namespace::new(&SMALL.replace("size=1m", "nr_inodes=9"));
    works(&inside);
    let file = inside.home().file("sent", b"abc");
    refuses(&inside, "no_space", &save("path=/shared/1/2/3/4/5/6/file", "overwrite=false", &file));
    saves(&inside, "/shared/1/file", "overwrite=false", b"abc");
}

#[test]
fn a_read_only_disk_is_read() {
    if !available("files::disk::a_read_only_disk_is_read") {
        return;
    }
    let inside = Namespace::new(SMALL);
    saves(&inside, "/shared/old", "overwrite=false", b"old");
    inside.sh("mount -o remount,ro workspace");
    let before = tree(&inside.host("/"));
    let file = inside.home().file("sent", b"new");
    for path in ["path=/shared/old", "path=/shared/new", "path=/shared/new/folder/file"] {
        let ran = inside.call(&save(path, "overwrite=true", &file));
        assert_eq!((ran.error().as_str(), ran.code), ("write_failed", Some(1)), "{ran:?}");
    }
    assert_eq!(inside.call(&["file_read", "path=/shared/old"]).json()["content"], "old");
    assert_eq!(tree(&inside.host("/")), before);
    verified(&inside);
    inside.sh("mount -o remount,rw workspace");
    works(&inside);
}

#[test]
fn without_room_for_the_audit_nothing_is_saved() {
    if !available("files::disk::without_room_for_the_audit_nothing_is_saved") {
        return;
    }
    let inside = Namespace::new(OWN_STATE);
    // The audit exists and is empty, so that not even a part of a record finds room.
    assert_eq!(inside.run(&["tools"]).code, Some(0));
    inside.sh("touch state/audit.jsonl; chmod 600 state/audit.jsonl; cat /dev/zero > state/filler || true");
    let before = tree(&inside.host("/"));
    let file = inside.home().file("sent", b"abc");
    for call in [&save("path=/shared/a", "overwrite=false", &file)[..], &["file_read", "path=/shared/a"]] {
        let ran = inside.call(call);
        assert_eq!((ran.error().as_str(), ran.code), ("no_space", Some(1)), "{ran:?}");
        let said = "the audit cannot be written, so the call was refused: the gateway's own disk is full";
        assert!(ran.message().contains(said), "{ran:?}");
    }
    assert_eq!(tree(&inside.host("/")), before);
    assert_eq!(verified(&inside)["records"], 0);
    inside.sh("rm state/filler");
    works(&inside);
}

#[test]
fn without_room_to_hold_an_attachment_it_is_unavailable() {
    if !available("files::disk::without_room_to_hold_an_attachment_it_is_unavailable") {
        return;
    }
    let inside = Namespace::new(OWN_STATE);
    works(&inside);
    // Room for the audit, none for the spool file.
    inside.sh("cat /dev/zero > state/filler || true; truncate -s -128K state/filler");
    let file = inside.home().file("sent", &bytes(500 << 10));
    let ran = refuses(&inside, "attachment_unavailable", &save("path=/shared/a", "overwrite=false", &file));
    assert!(ran.message().contains("No space left"), "{ran:?}");
    inside.sh("rm state/filler");
    saves(&inside, "/shared/a", "overwrite=false", &bytes(500 << 10));
}
