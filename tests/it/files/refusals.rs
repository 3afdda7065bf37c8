//! What `attachment_save` refuses before it touches the disk: attachments that are not there, paths
//! out of scope, arguments that do not fit.

use super::check::{bytes, home, refuses, save, saves, with_folders};
use serde_json::json;
use std::fs;
use support::home::Home;

#[test]
fn an_attachment_that_is_not_there() {
    let home = home();
    let file = home.file("sent", b"abc");
    let check = |index: &str, files: usize, code: &str, told: &str| {
        let mut arguments = vec!["attachment_save", index, "path=/shared/a"];
        for _ in 0..files {
            arguments.extend(["--attach", &file]);
        }
        let ran = refuses(&home, code, &arguments);
        assert!(ran.message().contains(told), "{ran:?}");
    };
    check("index=0", 0, "no_attachments", "send the file again");
    check("index=1", 1, "index_out_of_range", "1 attachment came");
    check("index=7", 3, "index_out_of_range", "3 attachments came with this message: index 0 to 2");
    check("index=4294967296", 1, "index_out_of_range", "no attachment 4294967296");
    check("index=18446744073709551615", 1, "index_out_of_range", "1 attachment");
    for index in
        ["index=-1", "index=0.5", "index=a", "index=\"0\"", "index=true", "index=null", "index=[0]", "index="]
    {
        check(index, 1, "invalid_arguments", "index");
    }
    // A number that no integer holds.
    check("index=18446744073709551616", 1, "invalid_arguments", "");
}

#[test]
fn arguments_that_do_not_fit() {
    let home = home();
    let file = home.file("sent", b"abc");
    let check = |arguments: &str, told: &str| {
        let ran =
            refuses(&home, "invalid_arguments", &["attachment_save", "--args", arguments, "--attach", &file]);
        assert!(ran.message().contains(told), "{ran:?}");
    };
    check(r#"{"path":"/shared/a"}"#, "index");
    check(r#"{"index":0}"#, "path");
    check(r#"{"index":0,"path":"/shared/a","overwrite":"yes"}"#, "overwrite");
    check(r#"{"index":0,"path":"/shared/a","overwrite":1}"#, "overwrite");
    check(r#"{"index":0,"path":"/shared/a","mode":511}"#, "mode");
    check(r#"{"index":0,"path":"/shared/a","Path":"/shared/b"}"#, "Path");
    check(r#"{"index":0,"path":["/shared/a"]}"#, "path");
    check(r#"{"index":0,"path":null}"#, "path");
    check(r#"{"index":0,"path":"/shared/a","path":"/vault/a"}"#, "duplicate");
    check(r#"{"index":0,"path":"/shared/a"} trailing"#, "not JSON");
    check("[]", "object");
    check("", "not JSON");
}

/// Paths that no tool may write, and most of which none may read.
const OUT_OF_SCOPE: &[&str] = &[
    "",
    "/",
    "/etc/x",
    "/vault/x",
    "/sharedx/x",
    "/Shared/x",
    "shared/x",
    "./shared/x",
    "~/x",
    "/shared/../x",
    "/shared/../../etc/x",
    "/shared/a/../x",
    "/tmp/../shared/x",
    "/shared/./x",
    "/shared//x",
    "//shared/x",
    "/shared/",
    "/shared/x/",
    "/shared/a\nb",
    "/shared/a\rb",
    "/shared/a\tb",
    "/shared/a\u{1b}[2Jb",
    "/shared/a\u{7f}b",
    "/shared/a\u{85}b",
    "/shared/a\u{0}b",
    "/shared/a\u{202e}gpj.exe",
    "/shared/a\u{2066}b",
    "/shared/a\u{200b}b",
    "/shared/a\u{feff}b",
    "/shared/.cofferdam-x",
    "/shared/.cofferdam-tmp-00000000000000000000000000000000",
    "/shared/.cofferdam-x/y",
];

#[test]
fn paths_out_of_scope() {
    let home = home();
    let file = home.file("sent", b"abc");
    let long_name = format!("/shared/{}", "n".repeat(256));
    let long_name_in_letters = format!("/shared/{}", "é".repeat(128));
    let long_path = format!("/shared/{}", "d/".repeat(2044) + "e");
    assert_eq!(long_path.len(), 4097);
    for path in OUT_OF_SCOPE.iter().copied().chain([
        &*long_name,
        &*long_name_in_letters,
        &*long_path,
        "/shared",
        "/tmp",
    ]) {
        let arguments = json!({ "index": 0, "path": path, "overwrite": true }).to_string();
        let ran =
            refuses(&home, "path_denied", &["attachment_save", "--args", &arguments, "--attach", &file]);
        assert!(
            !ran.message().is_empty() && !ran.message().contains(['\n', '\u{1b}', '\u{202e}']),
            "{ran:?}"
        );
    }
}

#[test]
fn no_tool_differs_about_paths() {
    let home = home();
    fs::write(home.host("/vault/x"), "secret").expect("writable");
    for path in OUT_OF_SCOPE {
        let write = json!({ "path": path, "content_base64": "YWJj", "overwrite": true }).to_string();
        refuses(&home, "path_denied", &["file_write_bytes", "--args", &write]);
        let read = json!({ "path": path }).to_string();
        refuses(&home, "path_denied", &["file_read", "--args", &read]);
    }
}

#[test]
fn an_existing_file_is_not_replaced_unasked() {
    let home = home();
    let file = home.file("sent", b"new");
    saves(&home, "/shared/a", "overwrite=false", b"old");
    let ran = refuses(&home, "already_exists", &save("path=/shared/a", "overwrite=false", &file));
    assert!(ran.message().contains("/shared/a"), "{ran:?}");
    refuses(&home, "already_exists", &["attachment_save", "index=0", "path=/shared/a", "--attach", &file]);
    refuses(&home, "already_exists", &["file_write_bytes", "path=/shared/a", "content_base64=YWJj"]);
    assert_eq!(fs::read(home.host("/shared/a")).expect("there"), b"old");
}

#[test]
fn an_attachment_over_a_limit_keeps_its_index_and_says_why() {
    let limits = "[attachments]\nmax_bytes = \"1 KiB\"\nmax_turn_bytes = \"1500 B\"\nmax_count = 3\n";
    let home = with_folders(Home::new().config(limits));
    let (large, fits) = (home.file("large", &bytes(1025)), home.file("fits", &bytes(1024)));
    let small = home.file("small", b"abc");
    let all = ["--attach", &large, "--attach", &fits, "--attach", &fits, "--attach", &small];
    let check = |index: &str, told: &[&str]| {
        let mut arguments = vec!["attachment_save", index, "path=/shared/a"];
        arguments.extend(all);
        let ran = refuses(&home, "attachment_unavailable", &arguments);
        assert!(told.iter().all(|part| ran.message().contains(part)), "{ran:?}");
    };
    check("index=0", &["too large", "1 KiB"]);
    check("index=2", &["too large", "1500 B"]);
    check("index=3", &["too many", "3"]);
    let mut arguments = vec!["attachment_save", "index=1", "path=/shared/a"];
    arguments.extend(all);
    assert_eq!(home.call(&arguments).json()["source_index"], 1);
    assert_eq!(fs::read(home.host("/shared/a")).expect("saved"), bytes(1024));
}
