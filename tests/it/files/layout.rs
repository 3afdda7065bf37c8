//! A layout in which tools could reach what the gateway relies on: nothing starts, and the message
//! says what to move.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use support::home::Home;
use support::program;

fn refused(home: &Home, config: &str, told: &[&str]) {
    fs::write(home.config_file(), config).expect("writable");
    refused_as_it_is(home, told);
}

fn refused_as_it_is(home: &Home, told: &[&str]) {
    let file = home.file("sent", b"abc");
    for command in
        [&["call", "attachment_save", "index=0", "path=/shared/a", "--attach", &*file][..], &["tools"]]
    {
        let ran = home.run(command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        for part in told {
            assert!(ran.stderr.contains(part), "{part:?} is not told: {ran:?}");
        }
    }
    assert!(!home.host("/shared/a").exists());
}

#[test]
fn state_or_policies_where_tools_write() {
    let home = Home::new().own_policies();
    for mount in ["shared", "tmp", "vault", "sessions", "users"] {
        let state =
            format!("[workspace]\nroot = \"workspace\"\n[state]\ndir = \"workspace/{mount}/state\"\n");
        refused(&home, &state, &["[state] dir", &format!("/{mount}"), "move it out"]);
        let policies = format!(
            "[workspace]\nroot = \"workspace\"\n[state]\ndir = \"state\"\n[policies]\ndir = \"workspace/{mount}/policies\"\n"
        );
        refused(&home, &policies, &["[policies] dir", &format!("/{mount}"), "move it out"]);
    }
}

#[test]
fn state_behind_a_link_into_a_mount() {
    let home = Home::new();
    fs::create_dir_all(home.host("/shared/real")).expect("writable");
    symlink("workspace/shared/real", home.dir().join("link")).expect("writable");
    let config = "[workspace]\nroot = \"workspace\"\n[state]\ndir = \"link/state\"\n";
    refused(&home, config, &["[state] dir", "/shared"]);
    // The other way round: the workspace is reached through a link.
    symlink(home.workspace(), home.dir().join("elsewhere")).expect("writable");
    let config = "[workspace]\nroot = \"elsewhere\"\n[state]\ndir = \"workspace/shared/state\"\n";
    refused(&home, config, &["[state] dir", "/shared"]);
}

#[test]
fn the_configuration_where_tools_write() {
    let home = Home::new();
    // Its folder becomes /shared of the workspace above.
    let shared = home.dir().join("shared");
    fs::create_dir(&shared).expect("writable");
    let config = shared.join("cofferdam.toml");
    fs::write(&config, "[workspace]\nroot = \"..\"\n[state]\ndir = \"../state\"\n").expect("writable");
    let mut command = Command::new(program::cofferdam());
    let output = command.arg("--config").arg(&config).arg("tools").output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("the configuration") && told.contains("/shared"), "{told}");
}

#[test]
fn a_mount_that_is_a_link() {
    let home = Home::new();
    fs::create_dir_all(home.workspace()).expect("writable");
    let outside = home.dir().join("outside");
    fs::create_dir(&outside).expect("writable");
    symlink(&outside, home.host("/shared")).expect("writable");
    let file = home.file("sent", b"abc");
    let ran = home.call(&["attachment_save", "index=0", "path=/shared/a", "--attach", &file]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("symbolic link"), "{ran:?}");
    assert!(!outside.join("a").exists());
}

#[test]
fn a_mount_that_is_a_file() {
    let home = Home::new();
    fs::create_dir_all(home.workspace()).expect("writable");
    fs::write(home.host("/tmp"), "a file").expect("writable");
    let ran = home.call(&["file_read", "path=/shared/a"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("must be a directory"), "{ran:?}");
    assert_eq!(fs::read(home.host("/tmp")).expect("there"), b"a file");
}
