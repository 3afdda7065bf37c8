//! Writing to a name that is something else already: a link, a special file, a folder. All writing
//! tools refuse alike, with and without `overwrite`, and what is there stays untouched.

use super::check::{home, refuses, saves, special, tree, works};
use rustix::fs::{FileType, makedev};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use support::home::Home;
use support::needs;

/// Every way to write to `path` ends in `code`.
fn no_tool_writes(home: &Home, code: &str, path: &str) {
    let file = home.file("sent", b"new content");
    let path = format!("path={path}");
    for overwrite in ["overwrite=false", "overwrite=true"] {
        refuses(home, code, &["attachment_save", "index=0", &path, overwrite, "--attach", &file]);
        refuses(home, code, &["file_write_bytes", "content_base64=YWJj", &path, overwrite]);
    }
}

#[test]
fn a_link_as_the_name() {
    let home = home();
    let outside = home.file("outside", b"outside");
    fs::write(home.host("/shared/inside"), "inside").expect("writable");
    let targets = [
        ("to_file", "inside"),
        ("to_folder", "."),
        ("dangling", "nothing"),
        ("outside", &*outside),
        ("dangling_outside", "../../created"),
        ("itself", "itself"),
    ];
    for (name, target) in targets {
        symlink(target, home.host(&format!("/shared/{name}"))).expect("writable");
        no_tool_writes(&home, "not_a_regular_file", &format!("/shared/{name}"));
    }
    assert_eq!(fs::read(&outside).expect("there"), b"outside");
    assert!(!home.dir().join("created").exists());
}

#[test]
fn a_link_on_the_way() {
    let home = home();
    let outside = home.dir().join("outside");
    fs::create_dir(&outside).expect("writable");
    fs::create_dir(home.host("/shared/folder")).expect("writable");
    symlink("folder", home.host("/shared/inside")).expect("writable");
    symlink(&outside, home.host("/shared/absolute")).expect("writable");
    symlink("../../outside", home.host("/shared/above")).expect("writable");
    symlink("../../../outside", home.host("/shared/folder/deep")).expect("writable");
    symlink("nothing", home.host("/shared/dangling")).expect("writable");
    for way in ["inside", "absolute", "above", "folder/deep", "dangling"] {
        no_tool_writes(&home, "path_denied", &format!("/shared/{way}/file"));
        no_tool_writes(&home, "path_denied", &format!("/shared/{way}/new/file"));
    }
    assert_eq!(tree(&outside).len(), 0);
}

#[test]
fn a_folder_a_fifo_a_socket() {
    let home = home();
    fs::create_dir_all(home.host("/shared/folder/full")).expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    let _listener = UnixListener::bind(home.host("/shared/socket")).expect("writable");
    no_tool_writes(&home, "is_a_directory", "/shared/folder");
    no_tool_writes(&home, "is_a_directory", "/shared/folder/full");
    no_tool_writes(&home, "not_a_regular_file", "/shared/fifo");
    no_tool_writes(&home, "not_a_regular_file", "/shared/socket");
    no_tool_writes(&home, "path_denied", "/shared");
    no_tool_writes(&home, "path_denied", "/tmp");
}

#[test]
fn a_device() {
    if !needs::available("files::targets::a_device", "root", needs::root()) {
        return;
    }
    let home = home();
    special(&home.host("/shared/null"), FileType::CharacterDevice, makedev(1, 3));
    special(&home.host("/shared/disk"), FileType::BlockDevice, makedev(7, 0));
    no_tool_writes(&home, "not_a_regular_file", "/shared/null");
    no_tool_writes(&home, "not_a_regular_file", "/shared/disk");
}

#[test]
fn a_file_on_the_way() {
    let home = home();
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    no_tool_writes(&home, "path_denied", "/shared/file/below");
    no_tool_writes(&home, "path_denied", "/shared/file/far/below");
    no_tool_writes(&home, "path_denied", "/shared/fifo/below");
}

#[test]
fn another_name_of_an_overwritten_file_keeps_its_content() {
    let home = home();
    let outside = home.dir().join("outside");
    fs::write(home.host("/shared/a"), "old").expect("writable");
    fs::hard_link(home.host("/shared/a"), home.host("/tmp/b")).expect("writable");
    fs::hard_link(home.host("/shared/a"), &outside).expect("writable");
    saves(&home, "/shared/a", "overwrite=true", b"new");
    assert_eq!(fs::read(home.host("/tmp/b")).expect("there"), b"old");
    assert_eq!(fs::read(&outside).expect("there"), b"old");
    works(&home);
}
