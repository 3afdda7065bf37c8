//! `[isolation] require`: with it nothing starts under less than the whole; without it what lacks
//! is told.

use crate::sandbox::chat::Chat;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use support::home::{Home, Ran};
use support::kernel::{self, CAPABILITIES, LANDLOCK, SECCOMP, spawn_pretending, spawn_without};
use support::tracer::joined;
use support::{needs, workers};

fn required() -> Home {
    Home::new().config("[isolation]\nrequire = true\n")
}

/// Runs the program on a kernel that lacks these calls.
fn without(calls: &[libc::c_long], home: &Home, words: &[&str]) -> Ran {
    let mut command = home.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = kernel::spawn_without(calls, &mut command).expect("the program starts");
    child.wait_with_output().expect("it ends").into()
}

fn put(home: &Home) {
    std::fs::create_dir_all(home.host("/shared")).expect("writable");
    std::fs::write(home.host("/shared/a"), "x").expect("writable");
}

#[test]
fn with_everything_in_force_it_starts() {
    let home = required();
    put(&home);
    let ran = home.call(&["file_read", "path=/shared/a"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn with_less_it_does_not_start_and_says_how_to_mend_it() {
    let home = required();
    put(&home);
    for (calls, said) in [
        (LANDLOCK, &["Landlock is not in force", "CONFIG_SECURITY_LANDLOCK", "6.7"][..]),
        (SECCOMP, &["seccomp is not in force", "CONFIG_SECCOMP_FILTER"]),
    ] {
        for words in [&["call", "file_read", "path=/shared/a"][..], &["chat"]] {
            let ran = without(calls, &home, words);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
            for said in said.iter().chain(&["[isolation] require = true", "gateway"]) {
                assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
            }
        }
    }
    assert_eq!(home.audit().len(), 0, "nothing was called");
}

#[test]
fn without_it_the_gateway_works_with_what_there_is() {
    let home = Home::new();
    put(&home);
    for calls in [LANDLOCK, SECCOMP] {
        let ran = without(calls, &home, &["call", "file_read", "path=/shared/a"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    }
}

#[test]
fn a_worker_that_cannot_confine_itself_runs_no_guest() {
    for home in [Home::new(), required()] {
        put(&home);
        let below = |layers| {
            let mut command = home.command(&["call", "file_read", "path=/shared/a"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = kernel::spawn_below(layers, &mut command).expect("the program starts");
            Ran::from(child.wait_with_output().expect("it ends"))
        };
        // One layer for the gateway and one for its worker.
        let enough = below(kernel::LANDLOCK_LAYERS_MAX - 2);
        assert_eq!(enough.code, Some(0), "{enough:?}");
        let short = below(kernel::LANDLOCK_LAYERS_MAX - 1);
        assert_eq!((short.code, short.stdout.as_str()), (Some(2), ""), "{short:?}");
        assert!(short.stderr.contains("a worker cannot confine itself, so no guest runs"), "{short:?}");
    }
}

/// A gateway of root keeps some of its capabilities, and its workers are to drop them all.
#[test]
fn a_worker_that_is_less_confined_than_its_gateway_is_refused() {
    let test = "isolation::require::a_worker_that_is_less_confined_than_its_gateway_is_refused";
    if !needs::available(test, "root, who has capabilities", needs::root()) {
        return;
    }
    let call = |home: &Home| {
        put(home);
        let mut command = home.command(&["call", "file_read", "path=/shared/a"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = spawn_pretending(CAPABILITIES, &mut command).expect("the program starts");
        Ran::from(child.wait_with_output().expect("it ends"))
    };
    let free = call(&Home::new());
    assert_eq!(free.code, Some(0), "{free:?}");
    let home = required();
    let refused = call(&home);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    for said in ["[isolation] require = true, and in the worker (call) ", "capabilities are left"] {
        assert!(refused.stderr.contains(said), "{said:?} in {refused:?}");
    }
    assert_eq!(home.audit().len(), 0, "nothing was called");
}

/// A tracer of a gateway under which what it starts keeps its capabilities, and believes that it
/// dropped them.
fn keep_capabilities(gateway: u32) -> Child {
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "-e", "trace=capset", "-e", "inject=capset:retval=0"]);
    joined(command.args(["-p", &gateway.to_string()]))
}

#[test]
fn a_worker_that_starts_later_is_held_to_it_as_the_first() {
    let test = "isolation::require::a_worker_that_starts_later_is_held_to_it_as_the_first";
    if !needs::available(test, "root and strace", needs::root() && needs::program("strace")) {
        return;
    }
    let read = "/file_read path=/shared/a";
    for (home, answer) in [(Home::new(), "{"), (required(), "tool_unavailable: no sandbox process could be")]
    {
        put(&home);
        let mut chat = Chat::start(&home);
        assert!(chat.say(read).starts_with('{'));
        let mut tracer = keep_capabilities(chat.id());
        for worker in workers::of(chat.id()) {
            let process = Pid::from_raw(i32::try_from(worker).expect("small")).expect("not 0");
            kill_process(process, Signal::KILL).expect("ours");
            workers::until("its end", || workers::is_gone(worker));
        }
        let said = chat.say(read);
        assert!(said.starts_with(answer), "{said}");
        // From here on they start as they should again.
        kill_process(Pid::from_child(&tracer), Signal::INT).expect("ours");
        tracer.wait().expect("ours");
        assert!(chat.say(read).starts_with('{'));
        chat.end();
    }
}

#[test]
fn serve_tells_what_lacks_once() {
    let home = Home::new().telegram("http://127.0.0.1:9", &[1]);
    let mut command = home.command(&["serve"]);
    command.env("TELEGRAM_BOT_TOKEN", "1:a").stderr(Stdio::piped());
    let mut child = spawn_without(LANDLOCK, &mut command).expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("less isolated")));
    child.kill().expect("ours");
    child.wait().expect("ours");
    let told = told.expect("a line that tells it").expect("text");
    assert!(told.contains("WARN") && told.contains("Landlock is not in force"), "{told}");
    assert!(!lines.any(|line| line.is_ok_and(|line| line.contains("less isolated"))), "once");
}

#[test]
fn doctor_counts_what_lacks_when_it_is_required() {
    for (home, code, weight) in [(Home::new(), 0, "notice"), (required(), 3, "problem")] {
        let ran = without(LANDLOCK, &home, &["doctor", "--json"]);
        let value = ran.json();
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(value["kernel"]["landlock_abi"], serde_json::Value::Null);
        let findings = value["findings"].as_array().expect("a list");
        assert!(findings.iter().all(|finding| finding["weight"] == weight), "{findings:?}");
        let said = super::findings(&value);
        for who in ["gateway", "worker (call)", "worker (compile)"] {
            let expected = format!("isolation: {who}: Landlock is not in force");
            assert!(said.iter().any(|said| said.starts_with(&expected)), "{expected} in {said:?}");
        }
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    for (section, said) in [
        ("requires = true", "cofferdam.toml:6: "),
        ("mode = \"processes\"", "unknown field `mode`"),
        ("require = \"yes\"", "boolean"),
        ("require = 1", "boolean"),
    ] {
        let ran = Home::new().config(&format!("[isolation]\n{section}\n")).run(&["tools"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    }
    let home = Home::new();
    let output = home.command(&["tools"]).env("COFFERDAM_ISOLATION_REQUIRE", "yes").output().expect("starts");
    let ran = Ran::from(output);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("COFFERDAM_ISOLATION_REQUIRE: \"yes\" is neither true nor false"), "{ran:?}");
}
