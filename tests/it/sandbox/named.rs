//! A filesystem without unnamed files: what a guest stages has a temporary name meanwhile, and is
//! published or gone as anywhere else. `files::` stops and fails every step of it.

use super::{contents, hostile, put};
use serde_json::Value;
use std::process::{Child, Stdio};
use support::home::{Home, Ran};
use support::kernel::spawn_without_unnamed_files;
use support::workers::until;

fn start(home: &Home, words: &[&str]) -> Child {
    let mut command = home.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn_without_unnamed_files(&mut command).expect("the program starts")
}

fn run(home: &Home, words: &[&str]) -> Ran {
    start(home, words).wait_with_output().expect("ours").into()
}

fn call(home: &Home, behaviour: &str, path: &str) -> Ran {
    let ran = run(home, &["call", "hostile", &format!("behaviour={behaviour}"), &format!("path={path}")]);
    assert!(home.leftovers().is_empty(), "{behaviour} leaves no temporary name: {ran:?}");
    ran
}

#[test]
fn what_a_guest_stages_is_published() {
    let home = hostile();
    let kernel = run(&home, &["doctor", "--offline", "--json"]).json()["kernel"].take();
    assert_eq!(kernel["o_tmpfile"], false, "{kernel}");
    put(&home, "/shared/old", b"old");
    for path in ["/shared/new", "/shared/deep/er/new", "/shared/old", "/tmp/new"] {
        let ran = call(&home, "stage_twice", path);
        assert_eq!((ran.code, ran.error().as_str()), (Some(0), ""), "{path}: {ran:?}");
        if path.starts_with("/shared") {
            assert_eq!(std::fs::read(home.host(path)).expect("published"), b"second\n", "{path}");
        }
    }
    let many = run(&home, &["call", "hostile", "behaviour=stage_many", "path=/shared/many", "bytes=16"]);
    assert_eq!((many.code, &many.json()["error"]), (Some(0), &Value::Null), "{many:?}");
    let sent = home.file("sent", &[7; 300 << 10]);
    let saved = run(&home, &["call", "attachment_save", "index=0", "path=/shared/sent", "--attach", &sent]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert_eq!(std::fs::read(home.host("/shared/sent")).expect("published"), [7; 300 << 10]);
    let again = call(&home, "stage_create", "/shared/new");
    assert_eq!(again.error(), "already_exists", "{again:?}");
}

#[test]
fn what_a_killed_gateway_leaves_under_a_name_the_next_takes_away() {
    let home = hostile();
    let mut cut_off = start(&home, &["call", "hostile", "behaviour=spin_mid_write", "path=/shared/new"]);
    until("half of the file has a name", || !home.leftovers().is_empty());
    cut_off.kill().expect("ours");
    cut_off.wait().expect("ours");
    assert_eq!(home.leftovers().len(), 1, "nobody was left to take it away");
    let ran = call(&home, "stage_create", "/shared/new");
    assert_eq!((ran.code, ran.error().as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn what_is_not_published_is_gone_with_its_name() {
    let home = hostile();
    put(&home, "/shared/old", b"old");
    let before = contents(&home);
    for path in ["/shared/new", "/shared/old", "/shared/deep/er/new", "/tmp/new"] {
        for (behaviour, code) in [
            ("trap_mid_write", "trapped"),
            ("stage_then_trap", "trapped"),
            ("stage_then_exit", "trapped"),
            ("stage_then_error", "write_failed"),
            ("stage_never_finish", ""),
            ("stage_forget", ""),
        ] {
            let ran = call(&home, behaviour, path);
            assert_eq!(ran.error(), code, "{behaviour} {path}: {ran:?}");
        }
    }
    let made = |(name, _): &(String, _)| !["tmp", "vault"].contains(&name.as_str());
    assert_eq!(contents(&home).into_iter().filter(made).collect::<Vec<_>>(), before);
}
