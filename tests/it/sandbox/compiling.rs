//! Compiling a component that somebody else wrote: in a process that is killed when it takes too
//! long.

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use support::guests::sha256;
use support::home::{Home, Ran};
use support::workers;

/// A component with one core module of `count` functions that keep a compiler busy.
fn slow(count: usize) -> Vec<u8> {
    let mut code = vec![0_u8];
    // x = ((x * k1) ^ x) + …, a thousand times: each step needs what was before.
    for step in 0..1000_u32 {
        code.extend([0x20, 0, 0x42]);
        code.extend(leb(step % 64));
        code.extend([0x7e, 0x20, 0, 0x85, 0x20, 0, 0x7c, 0x21, 0]);
    }
    code.extend([0x20, 0, 0x0b]);
    let body = [leb(code.len() as u32), code].concat();
    let functions = count as u32;
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, vec![1, 0x60, 1, 0x7e, 1, 0x7e]),
        section(3, [leb(functions), vec![0; count]].concat()),
        section(10, [leb(functions), body.repeat(count)].concat()),
    ];
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, module.concat())].concat()
}

pub(super) fn section(id: u8, content: Vec<u8>) -> Vec<u8> {
    [vec![id], leb(content.len() as u32), content].concat()
}

/// An unsigned number, seven bits a byte.
pub(super) fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes.push(if number > 0 { low | 0x80 } else { low });
        if number == 0 {
            return bytes;
        }
    }
}

/// A component whose one core module has a table and a memory of these sizes, in elements and pages
/// of 64 KiB.
fn large(elements: u32, pages: u32) -> Vec<u8> {
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(4, [vec![1, 0x70, 0], leb(elements)].concat()),
        section(5, [vec![1, 0], leb(pages)].concat()),
    ];
    // The module, and an instance of it.
    let instance = section(2, vec![1, 0, 0, 0]);
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, module.concat()), instance].concat()
}

/// A component that exports the function `take`, of the last of these types; it takes so many
/// numbers of its core module.
fn taking(types: &[&[u8]], numbers: u8) -> Vec<u8> {
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, [vec![1, 0x60, numbers], vec![0x7f; usize::from(numbers)], vec![0]].concat()),
        section(3, vec![1, 0]),
        section(7, b"\x01\x01f\0\0".to_vec()),
        section(10, vec![1, 2, 0, 0x0b]),
    ];
    let last = u8::try_from(types.len() - 1).expect("few");
    [
        b"\0asm\x0d\0\x01\0".to_vec(),
        section(1, module.concat()),
        // An instance of it, its function, lifted to the type, under its name.
        section(2, vec![1, 0, 0, 0]),
        section(6, b"\x01\0\0\x01\0\x01f".to_vec()),
        section(7, [&[last + 1][..], &types.concat()].concat()),
        section(8, vec![1, 0, 0, 0, 0, last]),
        section(11, b"\x01\0\x04take\x01\0\0".to_vec()),
    ]
    .concat()
}

/// A gateway with this component as a tool.
fn with(component: &[u8], sections: &str) -> Home {
    let text = format!(
        "schema = 1\ntool = \"slow\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"slow.wasm\", sha256 = {:?} }}\n",
        sha256(component)
    );
    let home = Home::new().config(sections).policy("tools/slow.toml", &text);
    std::fs::write(home.policies_dir().join("tools/slow.wasm"), component).expect("writable");
    home
}

#[test]
fn a_component_that_takes_too_long_is_refused_and_its_process_ended() {
    let home = with(&slow(800), "[sandbox]\ncompile_time = \"1s\"\n");
    let ran = home.call(&["slow"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    let says = "it is not compiled after 1s; make it smaller, or raise sandbox.compile_time";
    assert!(ran.message().contains(says), "{ran:?}");
    assert_eq!(home.call(&["file_read", "path=/shared/none"]).error(), "not_found", "the others work");
    let kept = std::fs::read_dir(home.state().join("cache")).expect("there").flatten();
    let names = kept.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let component = sha256(&slow(800));
    assert!(!names.into_iter().any(|name| name.starts_with(&component)), "there is no code of it");
    assert_eq!(workers::of(1), Vec::<u32>::new(), "none was left behind");
}

#[test]
fn a_small_one_of_the_kind_compiles() {
    // It is no tool, which is only found once there is code.
    let home = with(&slow(2), "");
    let ran = home.call(&["slow"]);
    assert!(ran.message().contains("the component does not load: "), "{ran:?}");
}

#[test]
fn a_component_with_more_than_an_instance_may_have_is_refused_with_the_reason() {
    for (component, says) in [
        (large(20_000, 1), "the component does not load: "),
        (large(20_001, 1), "20001"),
        (large(1, 4097), "exceeds"),
    ] {
        let home = with(&component, "");
        let ran = home.call(&["slow"]);
        assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
        assert!(ran.message().contains(says) && !ran.message().contains("cache"), "{says:?} in {ran:?}");
    }
}

#[test]
fn functions_that_are_not_called_and_answered_at_once_are_refused_by_name() {
    // One parameter `s` of the first type: as it is, or in the last type before.
    let (takes_first, takes_second) = (b"\x40\x01\x01s\0\x01\0", b"\x40\x01\x01s\x01\x01\0");
    for (types, numbers, why) in [
        (&[&b"\x66\x01\x7d"[..], takes_first][..], 1, "has a stream"),
        (&[b"\x65\x01\x7d", takes_first], 1, "has a future"),
        (&[b"\x66\0", b"\x6b\0", takes_second], 2, "has a stream"),
        (&[b"\x65\0", b"\x6f\x01\0", takes_second], 1, "has a future"),
        (&[b"\x43\0\x01\0"], 0, "is asynchronous"),
    ] {
        let component = taking(types, numbers);
        let ran = with(&component, "").call(&["slow"]);
        assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
        let says =
            format!("the component does not compile: its function take {why}, which no tool can have here");
        assert!(ran.message().contains(&says), "{says:?} in {ran:?}");
    }
    // The same with a text of numbers: it compiles, and is found to be no tool.
    let ran = with(&taking(&[b"\x40\x01\x01s\x79\x01\0"], 1), "").call(&["slow"]);
    assert!(ran.message().contains("the component does not load: "), "{ran:?}");
}

#[test]
fn times_that_make_no_sense_are_refused() {
    for (time, says) in [
        ("0s", "[sandbox] compile_time = \"0s\" is not from 1ms to 1h"),
        ("2h", "is not from 1ms to 1h"),
        ("soon", "\"soon\" is not a duration"),
    ] {
        let ran = Home::new().config(&format!("[sandbox]\ncompile_time = \"{time}\"\n")).run(&["tools"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(says), "{says:?} in {ran:?}");
    }
}

#[test]
fn compiling_that_takes_long_is_told_and_what_is_kept_is_not() {
    let home = with(&slow(800), "");
    for words in [&["tools"][..], &["call", "slow"]] {
        let _ = std::fs::remove_dir_all(home.state().join("cache"));
        let output = home.command(words).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for part in ["compiling slow (", "compiling slow took "] {
            assert!(said.contains(&format!("cofferdam: {part}")), "{words:?}: {said}");
        }
    }
    let kept = Home::new().command(&["tools"]).output().expect("the program starts");
    assert_eq!((kept.status.code(), kept.stderr), (Some(0), Vec::new()));
}

/// A start on an empty folder: each would compile it, and on a busy machine run into its time.
#[test]
fn of_many_processes_one_compiles_a_component_and_the_others_wait_for_it() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    std::fs::remove_dir_all(home.state().join("cache")).expect("warmed");
    let call = || {
        let mut command = home.command(&["call", "hello", "name=Ada"]);
        command.env("COFFERDAM_LOG", "info").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let calls: Vec<_> = (0..16).map(|_| call()).collect();
    let mut compiled = 0;
    for call in calls {
        let ran = Ran::from(call.wait_with_output().expect("ours"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
        compiled += ran.stderr.matches("code: compiled").count();
    }
    assert_eq!(compiled, 1);
    let left = std::fs::read_dir(home.state().join("cache")).expect("there").flatten();
    let locks = left.filter(|entry| entry.path().extension().is_some_and(|e| e == "compiling")).count();
    assert_eq!(locks, 0, "no lock stays");
}

/// Killed, the one that compiles leaves its lock file and no code: the next does not wait for what
/// never comes.
#[test]
fn who_waits_for_a_process_that_is_killed_compiles_itself() {
    let component = slow(800);
    let home = with(&component, "");
    let start = || {
        let mut command = home.command(&["call", "slow"]);
        command.env("COFFERDAM_LOG", "info").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let lock = home.state().join("cache").join(format!("{}.compiling", sha256(&component)));
    let is_held = || {
        let file = std::fs::File::open(&lock);
        file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
    };
    let mut first = start();
    workers::until("the first compiles", || is_held() && !workers::of(first.id()).is_empty());
    let signal = |signal| {
        kill_process(Pid::from_raw(first.id() as i32).expect("a process"), signal).expect("ours");
    };
    // It comes to no end while the other begins to wait.
    signal(Signal::STOP);
    let compiling = workers::of(first.id());
    let mut second = start();
    let mut said = BufReader::new(second.stderr.take().expect("piped"));
    let mut told = String::new();
    while !told.contains("cofferdam: compiling slow (") {
        assert!(said.read_line(&mut told).expect("text") > 0, "it waits, and says so: {told}");
    }
    assert!(is_held() && !told.contains("code: compiled"), "the first has not let go: {told}");
    signal(Signal::KILL);
    assert!(!first.wait().expect("ours").success());
    said.read_to_string(&mut told).expect("text");
    let answer = said_and_gone(second);
    assert_eq!(told.matches("code: compiled").count(), 1, "{told}");
    assert!(answer.contains("the component does not load: "), "there is code of what is no tool: {answer}");
    workers::until("its process goes with it", || compiling.iter().all(|worker| workers::is_gone(*worker)));
    assert!(!lock.exists(), "no lock stays");
}

/// What a process says on standard output until it ends.
fn said_and_gone(mut process: Child) -> String {
    let mut said = String::new();
    process.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    process.wait().expect("ours");
    said
}
