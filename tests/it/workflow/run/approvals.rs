//! Calls of a run that a policy wants a person to agree to.

use super::super::put;
use super::{COPY, run, states};
use serde_json::Value;
use support::home::Home;
use support::terminal::Terminal;

/// The default policies, where `file_write` asks each time.
fn asking() -> Home {
    let home = Home::new().own_policies();
    let name = "tools/file_write.toml";
    let text = std::fs::read_to_string(home.policies_dir().join(name)).expect("there");
    home.policy(name, &format!("{text}\n[approval]\n\"*\" = \"always\"\n"))
}

#[test]
fn whoever_sits_at_the_terminal_is_asked_and_a_yes_needs_the_code() {
    let home = asking();
    let file = put(&home, "w.yaml", COPY.as_bytes());
    let config = home.config_file();
    let config = config.to_str().expect("text");
    // The one line of standard output is apart from what is asked.
    let at_terminal = |words: &str| {
        let program = support::program::cofferdam();
        let command = format!("exec {} --config {config} {words} > out.json", program.display());
        Terminal::run(&home, home.dir(), &command, &[])
    };
    let line = || -> Value {
        let out = std::fs::read_to_string(home.dir().join("out.json")).expect("written");
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).expect("JSON")
    };
    let code = |terminal: &mut Terminal| {
        terminal.until("file_write needs approval");
        terminal.until("Approve? [yes ");
        terminal.before("/no] ")
    };
    let mut terminal = at_terminal(&format!("run {file} --input name=a"));
    let first = code(&mut terminal);
    terminal.types("yes\n");
    terminal.until("That does not say which call it approves.");
    terminal.types("go on, please\n");
    terminal.until("That does not say which call it approves.");
    terminal.types(&format!("yes {first}\n"));
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(states(&line()), "done done");
    assert!(home.host("/shared/a.txt").exists());

    let mut terminal = at_terminal(&format!("run {file} --input name=b"));
    code(&mut terminal);
    terminal.types("no\n");
    assert_eq!(terminal.ended().0, Some(1));
    assert_eq!(states(&line()), "failed:approval_denied pending");
    assert!(!home.host("/shared/b.txt").exists());

    let id = line()["run"].as_str().expect("an id").to_owned();
    let mut terminal = at_terminal(&format!("workflow resume {id} --json"));
    let second = code(&mut terminal);
    terminal.types(&format!("yes {second}\n"));
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(states(&line()), "done done");
    let audit = home.audit();
    let approvals: Vec<&str> = audit.iter().filter_map(|record| record["approval"].as_str()).collect();
    assert_eq!(approvals, ["asked", "approved", "asked", "denied", "asked", "approved"]);
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn a_policy_that_wants_a_person_is_asked_as_in_a_turn() {
    let home = asking();
    let ran = run(&home, COPY, &["--input", "name=a"]);
    assert_eq!(
        (ran.code, states(&ran.json())),
        (Some(1), "failed:approval_required pending".to_owned()),
        "{ran:?}"
    );
    assert!(!home.host("/shared/a.txt").exists());
    let id = ran.json()["run"].as_str().expect("an id").to_owned();
    let ran = home.run(&["workflow", "resume", &id, "--json", "--approve"]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done".to_owned()), "{ran:?}");
    assert!(ran.stderr.contains("approved: file_write needs approval"), "{ran:?}");
    let approvals: Vec<_> =
        home.audit().iter().filter_map(|record| record["approval"].as_str().map(str::to_owned)).collect();
    assert_eq!(approvals, ["asked", "approved"]);
    assert_eq!(run(&home, COPY, &["--input", "name=b", "--approve"]).code, Some(0));
}
