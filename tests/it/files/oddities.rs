//! `file_read` on what is not a plain file in a plain folder: links are followed inside the mount
//! and nowhere else, and nothing that could block or act is opened.

use super::check::{home, refuses, special, works};
use rustix::fs::{FileType, makedev};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};
use support::needs;

#[test]
fn links_inside_the_mount_are_followed() {
    let home = home();
    fs::create_dir_all(home.host("/shared/a/b")).expect("writable");
    fs::write(home.host("/shared/a/b/file"), "found").expect("writable");
    symlink("a/b/file", home.host("/shared/to_file")).expect("writable");
    symlink("a", home.host("/shared/to_folder")).expect("writable");
    symlink("../b/../../to_file", home.host("/shared/a/b/around")).expect("writable");
    fs::hard_link(home.host("/shared/a/b/file"), home.host("/shared/other_name")).expect("writable");
    for path in ["/shared/to_file", "/shared/to_folder/b/file", "/shared/a/b/around", "/shared/other_name"] {
        let ran = home.call(&["file_read", &format!("path={path}")]);
        assert_eq!(ran.json()["content"], "found", "{path}: {ran:?}");
    }
    works(&home);
}

#[test]
fn links_out_of_the_mount_are_not() {
    let home = home();
    let secret = home.file("secret", b"secret");
    fs::write(home.host("/vault/secret"), "secret").expect("writable");
    fs::write(home.host("/tmp/secret"), "secret").expect("writable");
    fs::write(home.host("/shared/inside"), "inside").expect("writable");
    fs::create_dir(home.host("/shared/folder")).expect("writable");
    let inside = home.host("/shared/inside");
    let targets = [
        ("absolute", Path::new(&secret)),
        ("above", Path::new("../../secret")),
        ("far_above", Path::new("../../../../../../../../../../etc/passwd")),
        ("vault", Path::new("../vault/secret")),
        ("other_mount", Path::new("../tmp/secret")),
        ("process", Path::new("/proc/self/environ")),
        ("root", Path::new("/proc/self/root/etc/passwd")),
        // What an absolute link means depends on who looks: it is never followed.
        ("absolute_inside", &*inside),
    ];
    for (name, target) in targets {
        symlink(target, home.host(&format!("/shared/{name}"))).expect("writable");
        let ran = refuses(&home, "path_denied", &["file_read", &format!("path=/shared/{name}")]);
        assert!(!ran.stdout.contains("content"), "{ran:?}");
    }
    symlink("../..", home.host("/shared/up")).expect("writable");
    refuses(&home, "path_denied", &["file_read", "path=/shared/up/secret"]);
    symlink("../..", home.host("/shared/folder/out")).expect("writable");
    refuses(&home, "path_denied", &["file_read", "path=/shared/folder/out/vault/secret"]);
}

#[test]
fn links_that_lead_nowhere() {
    let home = home();
    symlink("nothing", home.host("/shared/dangling")).expect("writable");
    symlink("b", home.host("/shared/a")).expect("writable");
    symlink("a", home.host("/shared/b")).expect("writable");
    symlink("itself/file", home.host("/shared/itself")).expect("writable");
    refuses(&home, "not_found", &["file_read", "path=/shared/dangling"]);
    refuses(&home, "path_denied", &["file_read", "path=/shared/a"]);
    refuses(&home, "path_denied", &["file_read", "path=/shared/itself"]);
}

#[test]
fn a_fifo_is_refused_at_once() {
    let home = home();
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    symlink("fifo", home.host("/shared/link")).expect("writable");
    for path in ["path=/shared/fifo", "path=/shared/link", "path=/shared/fifo/below"] {
        let started = Instant::now();
        let code = if path.ends_with("below") { "not_found" } else { "not_a_regular_file" };
        refuses(&home, code, &["file_read", path]);
        assert!(started.elapsed() < Duration::from_secs(10), "{path} took {:?}", started.elapsed());
    }
}

#[test]
fn a_socket_is_refused() {
    let home = home();
    let _listener = UnixListener::bind(home.host("/shared/socket")).expect("writable");
    refuses(&home, "not_a_regular_file", &["file_read", "path=/shared/socket"]);
}

#[test]
fn a_device_is_refused() {
    if !needs::available("files::oddities::a_device_is_refused", "root", needs::root()) {
        return;
    }
    let home = home();
    special(&home.host("/shared/zero"), FileType::CharacterDevice, makedev(1, 5));
    special(&home.host("/shared/console"), FileType::CharacterDevice, makedev(5, 1));
    special(&home.host("/shared/disk"), FileType::BlockDevice, makedev(7, 0));
    for path in ["path=/shared/zero", "path=/shared/console", "path=/shared/disk"] {
        refuses(&home, "not_a_regular_file", &["file_read", path]);
    }
}

#[test]
fn names_that_only_other_programs_make_harm_nobody() {
    let home = home();
    for name in [&b"new\nline"[..], b"\x1b[2J", b"\xff\xfe not text", b"-rf", b"'; rm *"] {
        fs::write(home.host("/shared").join(std::ffi::OsStr::from_bytes(name)), "abc").expect("writable");
    }
    assert_eq!(home.call(&["file_read", "path=/shared/-rf"]).json()["content"], "abc");
    assert_eq!(home.call(&["file_read", "path=/shared/'; rm *"]).json()["content"], "abc");
    refuses(&home, "path_denied", &["file_read", "path=/shared/new\nline"]);
    refuses(&home, "path_denied", &["file_read", "path=/shared/\u{1b}[2J"]);
}
