//! Approvals on the command line: `call` refuses without `--approve`, `chat` asks, and the policy
//! commands show where a person is asked.

use super::{line, put, run};
use serde_json::json;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use support::home::{Home, Ran};

/// The default policies, where `file_write` has these rules.
fn asking(rules: &str) -> Home {
    asking_of("file_write", rules)
}

/// The same for another tool.
fn asking_of(tool: &str, rules: &str) -> Home {
    let home = Home::new().own_policies();
    let name = format!("tools/{tool}.toml");
    let text = std::fs::read_to_string(home.policies_dir().join(&name)).expect("there");
    home.policy(&name, &format!("{text}\n[approval]\n{rules}\n"))
}

const WRITE: &[&str] = &["call", "file_write", "path=/shared/a", "content=hello"];

fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The states of approvals in the audit, and who decided.
fn audited(home: &Home) -> Vec<String> {
    let all = home.audit().into_iter().filter(|record| record["event"] == "approval");
    all.map(|record| format!("{} {}", record["approval"], record["by"]).replace('"', "")).collect()
}

#[test]
fn a_call_that_must_be_approved_says_how() {
    let home = asking("\"*\" = \"always\"");
    let ran = home.run(WRITE);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "approval_required"), "{ran:?}");
    let said = ran.message();
    assert!(said.contains("* = \"always\" at tools/file_write.toml:22"), "{said}");
    assert!(said.contains("add --approve to cofferdam call"), "{said}");
    assert!(!home.host("/shared/a").exists());
    let outcome = home.audit().pop().expect("recorded");
    assert_eq!((&outcome["verdict"], &outcome["code"]), (&json!("deny"), &json!("approval_required")));
    assert_eq!(audited(&home), [""; 0]);
}

#[test]
fn whoever_is_at_the_command_line_approves_one_call() {
    let home = asking("\"*\" = \"always\"");
    let ran = home.run(&[WRITE, &["--approve"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let uid = uid();
    assert!(
        line(&ran)["total_bytes"] == 5 && ran.stderr.contains("approved: file_write needs approval: "),
        "{ran:?}"
    );
    assert!(ran.stderr.contains(&format!("Asked for by cli {uid}.")), "{ran:?}");
    assert_eq!(audited(&home), ["asked null".to_owned(), format!("approved cli:{uid}")]);
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    // It is not remembered, and where no rule asks it changes nothing.
    assert_eq!(home.run(WRITE).error(), "approval_required");
    let read = home.run(&["call", "file_read", "path=/shared/a", "--approve"]);
    assert_eq!((read.code, read.stderr.as_str()), (Some(0), ""), "{read:?}");
    assert_eq!(audited(&home).len(), 2);
}

#[test]
fn what_was_approved_is_not_what_the_rules_deny() {
    let home = asking("\"*\" = \"always\"");
    let ran = home.run(&["call", "file_write", "path=/vault/a", "content=x", "--approve"]);
    assert_eq!(ran.error(), "path_denied");
    put(&home, "/shared/a", b"there");
    assert_eq!(home.run(&[WRITE, &["--approve"]].concat()).error(), "already_exists", "as the tool decides");
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"there");
}

/// A chat whose lines are typed one by one.
struct Chat {
    child: Child,
    lines: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    said: Vec<u8>,
}

impl Chat {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["chat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (lines, out) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("piped")));
        Self { child, lines, out, said: Vec::new() }
    }

    fn types(&mut self, line: &str) {
        writeln!(self.lines.as_mut().expect("open"), "{line}").expect("it reads");
    }

    /// Reads until these words; all that was said since the last time.
    fn until(&mut self, words: &str) -> String {
        while !self.said.ends_with(words.as_bytes()) {
            let mut byte = [0];
            assert_eq!(
                self.out.read(&mut byte).expect("it speaks"),
                1,
                "{:?}",
                String::from_utf8_lossy(&self.said)
            );
            self.said.extend(byte);
        }
        String::from_utf8(std::mem::take(&mut self.said)).expect("text")
    }

    /// The call that is shown next, and the code that approves it.
    fn asked(&mut self) -> (String, String) {
        let said = self.until("/no] ");
        let (shown, code) = said.split_once("\nApprove? [yes ").expect("a question");
        (shown.to_owned(), code.trim_end_matches("/no] ").to_owned())
    }

    /// Ends the lines; the rest of what it says.
    fn end(mut self) -> String {
        self.lines = None;
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("text");
        let ran = Ran::from(self.child.wait_with_output().expect("ours"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{rest}");
        rest
    }
}

#[test]
fn a_chat_shows_the_call_and_a_yes_with_its_code_approves() {
    for (answers, allowed) in [
        (&["yes CODE"][..], true),
        (&["Y  CODE"], true),
        (&["y", "yes please", "yes 0000", "", "yes CODE"], true),
        (&["no"], false),
        (&["y", "n"], false),
        (&["y", "yes"], false),
        (&[], false),
    ] {
        let home = asking("\"*\" = \"always\"");
        let mut chat = Chat::start(&home);
        chat.types("/file_write path=/shared/a content=hello");
        let (shown, code) = chat.asked();
        assert!(shown.contains("\ncreates /shared/a: nothing is there now\n"), "{shown}");
        assert!(code.len() == 4 && !home.host("/shared/a").exists(), "{code}");
        // The code is of no use in a text that was there before it.
        answers.iter().for_each(|answer| chat.types(&answer.replace("CODE", &code)));
        let said = chat.end();
        let said = said.lines().rfind(|line| !line.is_empty()).expect("an answer").rsplit("/no] ").next();
        let said = said.expect("an answer");
        assert_eq!(said.starts_with('{'), allowed, "{answers:?}: {said}");
        assert_eq!(
            said.starts_with(&format!("approval_denied: terminal:{} did not", uid())),
            !allowed,
            "{said}"
        );
        assert_eq!(home.host("/shared/a").exists(), allowed);
        let state = if allowed { "approved" } else { "denied" };
        assert_eq!(audited(&home), ["asked null".to_owned(), format!("{state} terminal:{}", uid())]);
    }
}

#[test]
fn lines_that_were_there_before_the_question_approve_nothing_and_are_messages() {
    let home = asking("\"*\" = \"always\"");
    let lines = "/file_write path=/shared/a content=hello\ny\nyes\n/file_read path=/shared/a\n";
    let file = home.file("lines", lines.as_bytes());
    let ran = run(home.command(&["chat"]).stdin(std::fs::File::open(file).expect("there")));
    assert_eq!(ran.stdout.matches("That does not say which call it approves.").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("approval_denied: ") && ran.stdout.contains("\nnot_found: "), "{ran:?}");
    assert!(!home.host("/shared/a").exists());
    // Whoever wants to leave is not kept by a question.
    let mut chat = Chat::start(&home);
    chat.types("/file_write path=/shared/a content=hello");
    chat.asked();
    chat.types("/quit");
    assert!(chat.until("nothing was changed\n").contains("approval_denied: "));
    assert_eq!(chat.child.wait().expect("ours").code(), Some(0));
}

#[test]
fn lines_that_wait_for_a_question_are_kept_up_to_a_number() {
    let home = asking("\"*\" = \"always\"");
    let mut chat = Chat::start(&home);
    chat.types("/file_write path=/shared/a content=hello");
    let (_, code) = chat.asked();
    for n in 0..18 {
        chat.types(&format!("/file_read path=/shared/none{n:02}"));
        let said = chat.until("/no] ");
        let kept = said.starts_with("Kept as a message for later; the call still waits.\n");
        let full = said.starts_with("Not kept, since too many lines wait; the call waits, too.\n");
        assert_eq!((kept, full), (n < 16, n >= 16), "{n}: {said}");
    }
    assert!(!home.host("/shared/a").exists());
    chat.types(&format!("yes {code}"));
    let said = chat.end();
    assert!(home.host("/shared/a").exists());
    // Those that were kept are answered in their order, and no others.
    let answers: Vec<&str> = said.split("not_found: ").skip(1).collect();
    assert_eq!(answers.len(), 16, "{said}");
    for (n, answer) in answers.into_iter().enumerate() {
        assert!(answer.contains(&format!("/shared/none{n:02}")), "{n}: {said}");
    }
}

#[test]
fn whoever_wants_to_leave_leaves_however_many_lines_wait() {
    let home = asking("\"*\" = \"always\"");
    let mut chat = Chat::start(&home);
    chat.types("/file_write path=/shared/a content=hello");
    chat.asked();
    for n in 0..15 {
        chat.types(&format!("/file_read path=/shared/none{n:02}"));
        chat.until("/no] ");
    }
    // It is asked about as well, and nobody is there to answer any more.
    chat.types("/file_write path=/shared/b content=hello");
    chat.until("/no] ");
    chat.types("/quit\nyes\n/file_write path=/shared/c content=late");
    assert_eq!(chat.child.wait().expect("ours").code(), Some(0));
    // Its lines are open until here.
    let said = chat.end();
    assert_eq!(
        (said.matches("approval_denied: ").count(), said.matches("not_found: ").count()),
        (2, 15),
        "{said}"
    );
    assert!(!home.host("/shared/a").exists() && !home.host("/shared/b").exists());
    assert!(!home.host("/shared/c").exists());
}

#[test]
fn a_call_that_names_more_paths_than_are_shown_is_refused() {
    let home = asking_of("attachment_add", "\"*\" = \"always\"");
    let call = |count: usize| {
        let paths: Vec<_> = (0..count).map(|n| format!("/shared/{n}")).collect();
        home.run(&["call", "attachment_add", "--args", &json!({ "paths": paths }).to_string(), "--approve"])
    };
    let ran = call(51);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "approval_required"), "{ran:?}");
    assert!(ran.message().contains("touches more than a person can be shown at once"), "{ran:?}");
    assert_eq!((audited(&home), ran.stderr.as_str()), (Vec::<String>::new(), ""), "nobody was asked");
    let ran = call(50);
    assert!(
        (0..50).all(|n| ran.stderr.contains(&format!("\n  reads /shared/{n}: nothing is there now\n"))),
        "{ran:?}"
    );
    assert_ne!(ran.error(), "approval_required", "{ran:?}");
    assert_eq!(audited(&home), ["asked null".to_owned(), format!("approved cli:{}", uid())]);
}

#[test]
fn a_chat_remembers_a_path_as_long_as_it_lasts() {
    let home = asking("path = \"first-time-per-path\"");
    let write =
        |path: &str, content: &str| format!("/file_write path={path} content={content} overwrite=true");
    let mut chat = Chat::start(&home);
    chat.types(&write("/shared/a", "1"));
    let (_, code) = chat.asked();
    chat.types(&format!("yes {code}"));
    chat.types(&write("/shared/a", "2"));
    chat.types(&write("/shared/b", "3"));
    let (shown, _) = chat.asked();
    assert!(shown.contains("creates /shared/b") && !shown.contains("Approve?"), "asked once: {shown}");
    chat.types("no");
    chat.end();
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"2");
    assert!(!home.host("/shared/b").exists());
    let mut chat = Chat::start(&home);
    chat.types(&write("/shared/a", "4"));
    chat.asked();
    chat.end();
}

#[test]
fn a_path_that_is_approved_for_the_first_time_is_held_against_what_was_shown() {
    let home = asking("path = \"first-time-per-path\"");
    let write = "/file_write path=/shared/a content=new overwrite=true";
    let mut chat = Chat::start(&home);
    chat.types(write);
    let (shown, code) = chat.asked();
    assert!(shown.contains("creates /shared/a: nothing is there now"), "{shown}");
    put(&home, "/shared/a", b"another's");
    chat.types(&format!("yes {code}"));
    // What was refused is not remembered.
    chat.types(write);
    let (shown, code) = chat.asked();
    assert!(shown.contains("approval_denied: what this call would do has changed since"), "{shown}");
    assert!(shown.contains("changes or replaces /shared/a: there is a file of 9 bytes"), "{shown}");
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"another's");
    chat.types(&format!("yes {code}"));
    chat.end();
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"new");
}

#[test]
fn one_yes_is_enough_where_another_rule_asks_besides_the_first_time() {
    let home = asking("path = \"first-time-per-path\"\ncontent = \"always\"");
    let mut chat = Chat::start(&home);
    for (content, rules) in [("1", 2), ("2", 1)] {
        chat.types(&format!("/file_write path=/shared/a content={content} overwrite=true"));
        let (shown, code) = chat.asked();
        assert_eq!(shown.matches("Rule: ").count(), rules, "{shown}");
        assert!(!shown.contains("approval_denied"), "{shown}");
        chat.types(&format!("yes {code}"));
    }
    chat.end();
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"2");
}

#[test]
fn nobody_in_time_is_a_no_in_a_chat_too() {
    let home = asking("\"*\" = \"always\"").config("[approvals]\nexpires = \"1s\"\n");
    let mut command = home.command(&["chat"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut lines, b"/file_write path=/shared/a content=x\n").expect("it reads");
    let mut said = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("piped"));
    while !said.contains("approval_denied: ") {
        assert!(std::io::BufRead::read_line(&mut out, &mut said).expect("text") > 0, "{said}");
    }
    assert!(said.contains("nobody approved this call in time"), "{said}");
    drop(lines);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(audited(&home), ["asked null", "expired null"]);
}

#[test]
fn a_chat_that_is_stopped_takes_its_question_back() {
    let home = asking("\"*\" = \"always\"");
    let mut command = home.command(&["chat"]);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).spawn().expect("the program starts");
    let mut lines = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut lines, b"/file_write path=/shared/a content=x\n").expect("it reads");
    let mut out = child.stdout.take().expect("piped");
    let mut said = Vec::new();
    while !said.ends_with(b"/no] ") {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut out, &mut byte).expect("it speaks"), 1);
        said.extend(byte);
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .expect("it runs");
    assert!(child.wait().expect("it ends").success());
    assert!(!home.host("/shared/a").exists());
    assert_eq!(audited(&home), ["asked null", "withdrawn null"]);
    assert_eq!(home.audit().pop().expect("recorded")["code"], "cancelled");
}

#[test]
fn the_policy_commands_tell_where_a_person_is_asked() {
    let home = asking("path = \"on-overwrite\"\n\"/shared/docs\" = \"always\"");
    let words = ["policy", "explain", "file_write", "path=/shared/docs/a", "content=x"];
    let ran = home.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.starts_with("ask: file_write under profile file-read-write (tools/file_write.toml)\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("  asks always for /shared/docs/a: /shared/docs  tools/file_write.toml:23\n"),
        "{ran:?}"
    );
    let explained = line(&home.run(&[&words[..], &["--json"]].concat()));
    let at = json!({ "file": "tools/file_write.toml", "line": 23 });
    let asks = json!([{ "about": "/shared/docs", "when": "always", "at": at, "path": "/shared/docs/a" }]);
    assert_eq!((&explained["verdict"], &explained["asks"]), (&json!("ask"), &asks));
    let shown = home.run(&["policy", "show", "file_write"]).stdout;
    assert!(
        shown.contains("  approval path on-overwrite ") && shown.contains("  approval /shared/docs always "),
        "{shown}"
    );
    let shown = line(&home.run(&["policy", "show", "file_write", "--json"]));
    assert_eq!(shown["tools"][0]["approval"][0]["about"], "/shared/docs");
    let report = home.run(&["policy", "report", "--format", "markdown"]).stdout;
    assert!(report.contains("### Where a person must agree"), "{report}");
    assert_eq!(home.run(&["policy", "check"]).code, Some(0));
    let without = Home::new().own_policies();
    let (old, new) = (home.policies_dir(), without.policies_dir());
    let (old, new) = (old.to_str().expect("text"), new.to_str().expect("text"));
    let widened = home.run(&["policy", "diff", old, new]);
    assert_eq!(widened.code, Some(3), "{widened:?}");
    assert!(
        widened.stdout.contains("widens: file_write: approval path: on-overwrite → none\n"),
        "{widened:?}"
    );
    assert_eq!(home.run(&["policy", "diff", new, old]).code, Some(0));
    let bad = asking("paht = \"always\"").run(&["policy", "check"]);
    assert_eq!(bad.code, Some(3));
    assert!(
        format!("{bad:?}").contains("tools/file_write.toml:22: file_write: [approval] no argument"),
        "{bad:?}"
    );
}
