//! Exit codes, which scripts rely on: 0 done, 1 the tool refused or failed, 2 usage or
//! configuration, 3 a check found a problem.

use super::{put, refused};
use support::home::Home;

/// Runs each line (words separated by blanks) and compares its exit code.
fn check(home: &Home, code: i32, lines: &[&str]) {
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ran = home.run(&words);
        assert_eq!(ran.code, Some(code), "cofferdam {line}: {ran:?}");
    }
}

#[test]
fn usage_and_configuration_are_2() {
    let home = Home::new();
    let there = home.config_file();
    let there = there.to_str().expect("text");
    // Before any call there is no audit to read.
    check(&home, 2, &["audit verify", "audit show"]);
    let none = "which the audit needs; nothing is there: no call was made yet";
    refused(&home.run(&["audit", "verify"]), &[none]);
    check(
        &home,
        2,
        &[
            "",
            "nope",
            "--nope",
            "help",
            "call",
            "call --nope file_read",
            "call file_read path=/shared/a --args {}",
            "call file_read --args {} --args {}",
            "call file_read --args",
            "call file_read --args @missing.json",
            "call file_read --args @.",
            "call file_read path=/shared/a --attach missing",
            "call file_read path=/shared/a --attach .",
            "call file_read path=/shared/a --attach",
            "serve",
            "serve now",
            "chat --attach missing",
            "chat words",
            &format!("init {there}"),
            &format!("init {there}/cofferdam.toml"),
            "init a b",
            "tools file_read",
            "policy",
            "policy nope",
            "policy check a b",
            "policy explain",
            "policy explain file_read --policies missing",
            "policy explain file_read --args @missing.json",
            "policy diff missing",
            "policy diff missing missing",
            "policy show nope",
            "policy report --format pdf",
            "audit",
            "audit verify missing.jsonl",
            "audit show missing.jsonl",
            "audit verify .",
            "audit verify --head 1",
            "audit verify --head 1:abc",
            "audit show --last few",
            "audit show --last -1",
            "audit show --last 1 --all",
            "--config",
        ],
    );
    assert!(home.audit().is_empty(), "no call was made, so none is recorded");
}

#[test]
fn a_refused_or_failed_call_is_1() {
    let home = Home::new();
    check(
        &home,
        1,
        &[
            "call nope",
            "call file_read",
            "call file_read path",
            "call file_read path=a path=b",
            "call file_read --args [",
            "call file_read path=/vault/a",
            "call file_read path=/shared/missing",
            "call attachment_save index=0 path=/shared/a",
        ],
    );
}

#[test]
fn a_check_that_found_a_problem_is_3() {
    let home = Home::new().own_policies();
    put(&home, "/shared/a", b"x");
    check(&home, 0, &["policy check", "call file_read path=/shared/a", "audit verify"]);
    let log = home.state().join("audit.jsonl");
    let text = std::fs::read_to_string(&log).expect("there");
    std::fs::write(&log, text.replacen("/shared/a", "/shared/b", 1)).expect("writable");
    std::fs::write(home.policies_dir().join("tools/x.toml"), "schema = 1").expect("writable");
    let head = format!("audit verify --head 9:{}", "0".repeat(64));
    check(&home, 3, &[&head, "policy check", "policy check --json", "policy check missing"]);
}

#[test]
fn what_was_done_is_0() {
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    check(
        &home,
        0,
        &[
            "--help",
            "-h",
            "--version",
            "call --help",
            "call file_read path=/shared/a",
            "chat",
            "init new.toml",
            "tools",
            "tools --json",
            "policy check",
            "policy check --json",
            "audit verify",
            "audit verify --json",
            "audit show",
            "audit show --json",
            "audit show --all",
            "audit show --last 0",
            "audit show --last 18446744073709551615",
        ],
    );
}

#[test]
fn usage_errors_go_to_stderr_and_say_where_help_is() {
    let home = Home::new();
    for words in [&["nope"][..], &["call", "--nope"], &["audit", "show", "--last", "few"]] {
        refused(&home.run(words), &["error: ", "--help"]);
    }
    refused(&home.run(&["toolz"]), &["tools"]);
    refused(&home.run(&["serve"]), &["no channel", "cofferdam init", "[channels.telegram]"]);
    refused(&home.run(&["audit", "verify", "missing.jsonl"]), &["missing.jsonl"]);
}
