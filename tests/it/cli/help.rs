//! What people read: help texts and listings, compared literally with files of
//! `tests/it/snapshots`.
//!
//! `UPDATE_SNAPSHOTS=1` writes them anew; the difference is then read in review.

use std::path::Path;
use support::home::Home;

/// Compares `text` with the snapshot of this name.
pub(crate) fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, text).expect("writable");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        text,
        kept,
        "{name} differs from {}; if it should, run with UPDATE_SNAPSHOTS=1",
        file.display()
    );
}

fn help(home: &Home, command: &[String]) -> String {
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    words.push("--help");
    let ran = home.run(&words);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}: {ran:?}");
    ran.stdout
}

/// Every command with its help, found in the help itself.
fn commands(home: &Home) -> Vec<(Vec<String>, String)> {
    let mut found = vec![(Vec::new(), help(home, &[]))];
    let mut next = 0;
    while let Some((command, text)) = found.get(next).cloned() {
        let list = text.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        for line in list.lines().take_while(|line| !line.is_empty()) {
            // Two blanks before a name; more before a line that goes on.
            let Some(name) = line.strip_prefix("  ").filter(|l| !l.starts_with(' ')) else { continue };
            let inner = [&command[..], &[name.split(' ').next().expect("a word").to_owned()]].concat();
            let text = help(home, &inner);
            found.push((inner, text));
        }
        next += 1;
    }
    found
}

#[test]
fn every_commands_help_is_as_reviewed() {
    let home = Home::new();
    let commands = commands(&home);
    let names: Vec<String> = commands.iter().map(|(command, _)| command.join(" ")).collect();
    for expected in [
        "call",
        "serve",
        "reload",
        "chat",
        "init",
        "tools",
        "policy check",
        "policy explain",
        "policy diff",
        "policy export",
        "policy show",
        "policy report",
        "audit verify",
        "audit replay",
        "audit show",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    for (command, text) in &commands {
        let name =
            std::iter::once("help").chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
        compare(&name, text);
    }
}

#[test]
fn every_commands_help_teaches() {
    let home = Home::new();
    for (command, text) in commands(&home) {
        let name = command.join(" ");
        // Those that only hold others point at them.
        let example = text.contains("Commands:\n")
            || text
                .lines()
                .any(|line| line.contains(&format!("cofferdam {name}")) && !line.starts_with("Usage"));
        assert!(example, "the help of {name:?} has no example:\n{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

#[test]
fn short_and_long_help_are_the_same() {
    let home = Home::new();
    for command in [&[][..], &["call"], &["audit", "show"]] {
        let ran = |flag| home.run(&[command, &[flag]].concat());
        assert_eq!(ran("-h").stdout, ran("--help").stdout, "{command:?}");
    }
    let version = home.run(&["--version"]);
    assert_eq!(version.stdout, concat!("cofferdam ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn no_command_is_suggested_that_the_help_does_not_list() {
    let home = Home::new();
    let said = |word: &str| home.run(&[word]).stderr;
    let told = said("config");
    assert!(told.starts_with("error: unrecognized subcommand 'config'\n"), "{told}");
    assert!(!told.contains("confine-check") && !told.contains("similar"), "{told}");
    assert!(said("statu").contains("a similar subcommand exists: 'status'"), "others are");
}

#[test]
fn what_a_bot_says_is_as_reviewed() {
    let home = Home::new();
    let lines = "/help\n/attachment_save\n/file_read\n/file_write_bytes\nhello\n/nope\n/file_read path\n/file_read path=/vault/a\n";
    let file = home.file("lines", lines.as_bytes());
    let mut command = home.command(&["chat"]);
    let ran = super::run(command.stdin(std::fs::File::open(file).expect("there")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    compare("chat", &ran.stdout);
}
