//! Landlock in the very worker that runs a guest, not in one that was started to try it: what a
//! guest holds open is read where its worker reaches, and nowhere else.
//!
//! Elsewhere is where the gateway itself reaches: its own confinement, which workers inherit,
//! refuses nothing here.

use crate::sandbox::begun;
use serde_json::{Value, json};
use std::path::PathBuf;
use support::home::{Home, Ran};

/// What a guest reads in a folder of `/shared`, before and after somebody moves that to a place of
/// the host.
fn held_while_it_moves(to: impl FnOnce(&Home) -> PathBuf) -> Value {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"60s\"");
    let folder = home.host("/shared/folder");
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("inner"), "text").expect("writable");
    let to = to(&home);
    std::fs::create_dir_all(to.parent().expect("below the home")).expect("writable");
    let call = ["call", "hostile", "behaviour=hold_folder", "path=/shared/folder"];
    let (child, mut log) = begun(home.command(&call));
    assert!(log.any(|line| line.contains("guest: holding")), "it holds the folder");
    std::fs::rename(folder, to).expect("one filesystem");
    drop(log);
    let ran = Ran::from(child.wait_with_output().expect("ours"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

#[test]
fn what_a_guest_holds_is_read_in_its_mounts_wherever_it_moves() {
    let text = json!({ "text": "text" });
    for to in ["/shared/elsewhere/folder", "/tmp/folder"] {
        let seen = held_while_it_moves(|home| home.host(to));
        assert_eq!(seen, json!({ "before": text, "after": text }), "{to}");
    }
}

#[test]
fn what_a_guest_holds_is_not_read_out_of_its_mounts() {
    let places: [fn(&Home) -> PathBuf; 2] =
        [|home| home.host("/vault/folder"), |home| home.state().join("elsewhere/folder")];
    for to in places {
        let seen = held_while_it_moves(to);
        assert_eq!(seen, json!({ "before": { "text": "text" }, "after": { "error": "access" } }));
    }
}
