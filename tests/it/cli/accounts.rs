//! Whose the state is: another account leaves no files in it that its own could not open.

use super::{refused, run};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;
use support::home::{Home, Ran};
use support::{needs, program};

/// An account that nobody is.
const OTHER: u32 = 65_534;

const FLOW: &str = "workflow: list\ntasks: [{ id: look, tool: file_list, with: { path: /shared } }]\n";

/// Runs the program as an account.
fn run_as(home: &Home, account: u32, words: &[&str]) -> Ran {
    // Its own copy of the program, since the build's may be closed to others.
    let copy = home.dir().join("cofferdam");
    if !copy.exists() {
        program::copy_cofferdam(&copy);
    }
    let mut command = Command::new(&copy);
    command.uid(account).gid(account).env_clear().env("HOME", "/nonexistent").current_dir("/");
    run(command.arg("--config").arg(home.config_file()).args(words))
}

/// A gateway that serves somebody.
fn home() -> Home {
    Home::new().telegram("http://127.0.0.1:1", &[5])
}

/// What lies in the state. What SQLite makes beside a database belongs to that one's account.
fn names(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.state()).expect("there").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with("cofferdam.db-"));
    names.sort();
    names
}

/// Asserts that each command is refused, since `what` is another account's, and leaves nothing.
fn all_refused(home: &Home, what: &str, commands: &[&[&str]]) {
    let before = names(home);
    let said =
        format!("{what} belongs to the account {OTHER}; run this as that one: sudo -u '#{OTHER}' cofferdam");
    for words in commands {
        refused(&home.run(words), &[&said]);
        assert_eq!(names(home), before, "{words:?}");
    }
}

#[test]
fn what_is_left_for_serve_is_left_by_the_account_of_the_state_alone() {
    let test = "cli::accounts::what_is_left_for_serve_is_left_by_the_account_of_the_state_alone";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    let home = home();
    let flow = home.file("list.yaml", FLOW.as_bytes());
    chown(home.state(), Some(OTHER), None).expect("root may");
    all_refused(
        &home,
        "the state folder",
        &[
            &["say", "telegram:5", "hello"],
            &["store", "migrate"],
            &["store", "copy", "sqlite", "postgres"],
            &["store", "rehome", "a", "b"],
            &["run", &flow],
            &["workflow", "cancel", "list-1"],
            &["tool", "fetch"],
        ],
    );
}

#[test]
fn beside_files_of_another_account_nothing_is_made() {
    let test = "cli::accounts::beside_files_of_another_account_nothing_is_made";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    let token = format!("123456:{}", "a".repeat(35));
    let home = home().environment([("TELEGRAM_BOT_TOKEN", token)]);
    let ran = home.run(&["run", &home.file("list.yaml", FLOW.as_bytes())]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = ran.json();
    let id = line["run"].as_str().expect("an id");
    chown(home.state().join("audit.jsonl"), Some(OTHER), None).expect("root may");
    all_refused(
        &home,
        "/state/audit.jsonl",
        &[
            &["call", "file_list", "path=/shared"],
            &["chat"],
            &["mcp"],
            &["serve"],
            &["say", "telegram:5", "hello"],
            &["workflow", "resume", id],
            &["workflow", "cancel", id],
        ],
    );
    let looked = home.run(&["workflow", "show", id]);
    assert_eq!(looked.code, Some(0), "who only looks may: {looked:?}");
    let told = home.run(&["doctor", "--offline", "--json"]).json();
    let mend = format!("sudo -u '#{OTHER}' cofferdam doctor --config {}", home.config_file().display());
    let mut findings = told["findings"].as_array().expect("a list").iter();
    assert!(findings.any(|found| found["section"] == "serve" && found["mend"] == mend), "{told}");
}

/// As a container does that runs as root, on a volume that is not root's.
#[test]
fn a_state_may_be_begun_in_a_folder_of_another_account() {
    let test = "cli::accounts::a_state_may_be_begun_in_a_folder_of_another_account";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    let home = home();
    chown(home.state(), Some(OTHER), None).expect("root may");
    let done = |ran: Ran| assert_eq!(ran.code, Some(0), "{ran:?}");
    done(home.call(&["file_list", "path=/shared"]));
    // From now on its files say whose it is.
    done(home.call(&["file_list", "path=/shared"]));
    done(home.run(&["store", "migrate"]));
    done(home.run(&["run", &home.file("list.yaml", FLOW.as_bytes())]));
}

/// As in a pod, whose volume is root's, and whose account may write there by its group.
#[test]
fn a_state_may_be_begun_in_a_folder_of_root_by_who_may_write_there() {
    let test = "cli::accounts::a_state_may_be_begun_in_a_folder_of_root_by_who_may_write_there";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    let home = home();
    for (dir, mode) in [(home.dir(), 0o755), (home.state().as_path(), 0o777)] {
        std::fs::set_permissions(dir, Permissions::from_mode(mode)).expect("ours");
    }
    let migrate = |account: u32| run_as(&home, account, &["store", "migrate"]);
    let ran = migrate(OTHER);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::metadata(home.state().join("cofferdam.db")).expect("made").uid(), OTHER);
    refused(&migrate(0), &["/state/cofferdam.db belongs to the account 65534"]);
}

#[test]
fn an_account_that_a_state_is_closed_to_is_told_whose_it_is() {
    let test = "cli::accounts::an_account_that_a_state_is_closed_to_is_told_whose_it_is";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    let home = home();
    for (dir, mode) in [(home.dir(), 0o755), (home.state().as_path(), 0o700)] {
        std::fs::set_permissions(dir, Permissions::from_mode(mode)).expect("ours");
    }
    let said = "the state folder belongs to the account 0; run this as that one: sudo -u '#0' cofferdam";
    for words in [&["say", "telegram:5", "hello"][..], &["store", "migrate"], &["allow", "7KQ2-M9XD"]] {
        refused(&run_as(&home, OTHER, words), &[said]);
    }
    let reload = run_as(&home, OTHER, &["reload"]);
    assert_eq!(reload.code, Some(3), "{reload:?}");
    assert!(reload.stderr.contains(" is closed to this account, so no gateway can be seen"), "{reload:?}");
    let status = run_as(&home, OTHER, &["status"]);
    assert_eq!(status.code, Some(3), "{status:?}");
    assert!(status.stdout.starts_with("serve: none that can be seen from here\n"), "{status:?}");
}
