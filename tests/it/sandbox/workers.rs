//! What a running worker holds and is held to, as the kernel shows it, and that nothing of one
//! gateway reaches another's.

use super::chat::Chat;
use super::{hostile, put};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsRawFd;
use support::home::Home;
use support::needs;
use support::workers::{self, Open};

/// A gateway in whose environment there are secrets, and whose starter left a file open for writing
/// to it.
fn careless(home: &Home) -> Chat {
    let secret = File::create(home.dir().join("left-open")).expect("writable");
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).expect("ours");
    assert!(secret.as_raw_fd() > 2);
    let mut command = home.command(&["chat"]);
    command.env("TELEGRAM_BOT_TOKEN", "1:secret").env("OPENAI_API_KEY", "sk-secret");
    Chat::spawn(command)
}

#[test]
fn a_worker_holds_what_it_needs_and_nothing_else() {
    let test = "a_worker_holds_what_it_needs_and_nothing_else";
    if !needs::available(test, "root, to look into workers", needs::root()) {
        return;
    }
    let home = hostile();
    put(&home, "/shared/a", b"mine");
    let file = home.file("sent.txt", b"sent");
    let mut chat = careless(&home);
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    assert!(chat.say("/file_read path=/shared/a").contains("mine"));
    chat.begin(&format!("/attach {file}"));
    assert_eq!(chat.say("/hostile behaviour=open_attachments bytes=3"), r#"{"opened":3}"#);
    let all = workers::of(chat.id());
    assert!(all.len() >= 2, "one of each tool: {all:?}");
    let (mut mounts, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    let score = |process: u32| {
        std::fs::read_to_string(format!("/proc/{process}/oom_score_adj")).expect("ours to read")
    };
    // Which the system ends first when memory runs out.
    assert_eq!(score(chat.id()), score(std::process::id()), "the gateway's is as it was");
    for worker in all {
        assert_eq!((score(worker).as_str(), workers::status(worker, "Threads").as_str()), ("800\n", "1"));
        for (number, open) in workers::descriptors(worker) {
            let what =
                kind(&home, worker, &open).unwrap_or_else(|| panic!("{number} of {worker} is {open:?}"));
            kinds.insert(what);
            if what == "mount" {
                mounts.insert(open.target);
            }
        }
        assert_eq!(std::fs::read(format!("/proc/{worker}/environ")).expect("ours to read"), b"", "{worker}");
        let words = std::fs::read(format!("/proc/{worker}/cmdline")).expect("ours to read");
        assert_eq!(words, b"cofferdam-worker\0");
    }
    assert_eq!(kinds, BTreeSet::from(["code", "mount", "null", "own descriptors", "own pages", "socket"]));
    let expected = ["shared", "tmp"].map(|name| home.workspace().join(name).to_string_lossy().into_owned());
    assert_eq!(mounts, BTreeSet::from(expected));
    chat.end();
}

/// What a worker may hold; none for what it may not. Nothing on disk is open for writing.
fn kind(home: &Home, worker: u32, open: &Open) -> Option<&'static str> {
    let writes = open.flags & libc::O_ACCMODE != libc::O_RDONLY;
    let below = |folder: std::path::PathBuf| open.target.starts_with(&*folder.to_string_lossy());
    let own = |name: &str| open.target == format!("/proc/{worker}/{name}");
    match open.target.as_str() {
        "/dev/null" => Some("null"),
        target if target.starts_with("socket:[") => Some("socket"),
        target if target.starts_with("/memfd:cofferdam-code") && !writes => Some("code"),
        _ if own("fd") && open.flags & libc::O_PATH != 0 => Some("own descriptors"),
        _ if own("pagemap") && !writes => Some("own pages"),
        _ if below(home.workspace()) && !writes => Some("mount"),
        _ => None,
    }
}

#[test]
fn a_worker_is_confined_in_every_thread_while_it_runs_a_guest() {
    let home = Home::new().hostile("deadline = \"60s\"");
    let mut chat = Chat::start(&home);
    chat.begin("/hostile behaviour=spin");
    let worker = busy(&chat);
    let threads = std::fs::read_dir(format!("/proc/{worker}/task")).expect("it runs").flatten();
    for thread in threads {
        let thread = thread.file_name().to_str().expect("a number").parse().expect("a number");
        for (name, value) in [
            ("NoNewPrivs", "1"),
            ("Seccomp", "2"),
            ("CapEff", "0000000000000000"),
            ("CapPrm", "0000000000000000"),
            ("CapInh", "0000000000000000"),
            ("CapAmb", "0000000000000000"),
        ] {
            assert_eq!(workers::status(thread, name), value, "{name} of {thread}");
        }
    }
    let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).expect("it runs");
    for (name, soft, hard) in [
        ("Max core file size", "0", "0"),
        ("Max open files", "1024", "1024"),
        ("Max data size", "4294967296", "4294967296"),
        ("Max file size", "0", "0"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        let words: Vec<_> = line.split_whitespace().take(2).collect();
        assert_eq!(words, [soft, hard], "{name}");
    }
    let cwd = std::fs::read_link(format!("/proc/{worker}/cwd"));
    assert!(cwd.is_err() || cwd.is_ok_and(|cwd| cwd == std::path::Path::new("/")));
}

/// The worker that runs a guest which spins.
fn busy(chat: &Chat) -> u32 {
    let found = std::cell::Cell::new(0);
    workers::until("a worker that spins", || {
        let busy = workers::of(chat.id()).into_iter().find(|worker| workers::ticks(*worker) > 60);
        found.set(busy.unwrap_or(0));
        busy.is_some()
    });
    found.get()
}

#[test]
fn a_worker_serves_so_many_calls_and_another_takes_its_place() {
    const CALLS: usize = 1000;
    let home = hostile();
    let mut chat = Chat::start(&home);
    for _ in 1..CALLS {
        assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    }
    let before = workers::of(chat.id());
    let gone = || before.iter().filter(|worker| workers::is_gone(**worker)).count();
    assert_eq!((before.is_empty(), gone()), (false, 0));
    for _ in 0..3 {
        assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
        workers::until("the end of the one that served them", || gone() > 0);
    }
    assert_eq!(gone(), 1, "the others serve on");
    chat.end();
}

#[test]
fn two_gateways_of_one_workspace_leave_each_others_workers_alone() {
    let home = hostile();
    let (mut one, mut other) = (Chat::start(&home), Chat::start(&home));
    for chat in [&mut one, &mut other] {
        assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    }
    let before = workers::of(other.id());
    for worker in workers::of(one.id()) {
        kill_process(Pid::from_raw(i32::try_from(worker).expect("small")).expect("not 0"), Signal::KILL)
            .expect("ours");
    }
    assert_eq!(other.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    let theirs = workers::of(one.id());
    drop(one);
    workers::until("the end of its workers", || theirs.iter().all(|worker| workers::is_gone(*worker)));
    assert_eq!(other.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    assert_eq!(workers::of(other.id()), before, "they are the same as before");
    other.end();
}
