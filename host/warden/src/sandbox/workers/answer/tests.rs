//! A hostile worker at the other end: it gets the answers of its call's authority and no more, and
//! the conversation ends in every case.

use super::super::processor::{Placement, run_anywhere};
use super::*;
use crate::attachments::Attachments;
use crate::publish::{self, TurnShare, Workspaces};
use crate::sandbox::CallInputs;
use crate::sandbox::authority::Authority;
use cofferdam_core::host_call::{Contents, Disposition, FILES_MAX, ReplyFile, ReplySource, StagedId};
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{JudgedCall, Permit, PolicySet, Verdict, judge};
use rustix::process::Pid;
use rustix::thread::sched_getaffinity;
use serde_bytes::{ByteBuf, Bytes};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Our end, which looks up now and then, and the peer's.
fn pair() -> (Socket, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let mut socket = Socket::of_gateway(ours.into());
    socket.set_patience(Duration::from_millis(5)).expect("it has timeouts");
    (socket, theirs)
}

/// Grants nothing.
struct Nothing;

impl HostCalls for Nothing {
    fn handle(&mut self, _: Request<'_>) -> Answer {
        let refused = Err(ToolError::new(ErrorCode::PathDenied, "nothing is granted here"));
        Answer { reply: refused, descriptor: None }
    }

    fn note(&mut self, _: Notification<'_>) {}
}

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\n\
    mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]\ninterfaces = [\"turn-attachments\"]\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\n\
    safety = \"side-effecting\"\nwhy = \"a test\"\n[arguments]\npath = { path = \"write\" }\n";

/// A permit to write `/shared/mine`.
fn permit() -> Permit {
    let policies = PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]).expect("sound");
    let policy = policies.iter().next().expect("one");
    let call = JudgedCall {
        id: TurnId::new("test").call(0),
        tool: policy.tool.clone(),
        arguments: serde_json::json!({ "path": "/shared/mine" }),
    };
    match judge(call, policy) {
        Verdict::Permit(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn soon() -> CallClock {
    CallClock::until(Instant::now() + Duration::from_millis(50))
}

fn later() -> CallClock {
    CallClock::until(Instant::now() + Duration::from_secs(600))
}

/// Asks things of a real authority over a workspace; returns the error's code and words, or the
/// answer as it looks.
fn asked(requests: &[Request<'_>]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let config = publish::Config::shared(dir.path().join("workspace"), ByteSize::mib(1));
    let workspace = Workspaces::open(&config).expect("a workspace").default_workspace().clone();
    let inputs = CallInputs {
        printed: None,
        web: None,
        attachments: Attachments::default(),
        reply: None,
        messaging: None,
        report: None,
        turn: TurnShare { limit: ByteSize::mib(1), left: 1 << 20 },
        made: Vec::new(),
        cancel: CancellationToken::new(),
        started: Instant::now(),
    };
    let mut authority = Authority::new(permit(), inputs, workspace);
    let (mut ours, theirs) = pair();
    let mut peer = Socket::of_worker(theirs.into());
    thread::scope(|scope| {
        let conversation = scope.spawn(move || converse(&mut ours, &mut authority, &later(), 100, None));
        let said = requests
            .iter()
            .map(|request| {
                let bytes = postcard::to_stdvec(request).expect("encodes");
                let request = decode(&bytes).expect("as it was");
                peer.send(&FromWorker::Request(request), &[], || false).expect("sent");
                let reply =
                    peer.receive(1 << 20, || false, |bytes| decode::<Result<Reply, ToolError>>(bytes));
                match reply.expect("an answer") {
                    Ok(reply) => format!("{reply:?}"),
                    Err(error) => format!("{}: {}", error.code.as_str(), error.message),
                }
            })
            .collect();
        peer.send(&FromWorker::Ended(Ok(Cow::Borrowed("{}"))), &[], || false).expect("sent");
        let ended = conversation.join().expect("no panic").expect("it ended well");
        assert!(matches!(ended, Ok(text) if text == "{}"));
        said
    })
}

#[test]
fn files_that_were_never_staged_are_not_there() {
    let file = StagedId(7);
    let sha256 = "0".repeat(64);
    let said = asked(&[
        Request::Write { file, bytes: Bytes::new(b"x") },
        Request::Write { file: StagedId(u32::MAX), bytes: Bytes::new(b"x") },
        Request::AppendFile { file, path: "/shared/a" },
        Request::Expect { file, sha256: &sha256 },
        Request::Seal(file),
    ]);
    for said in said {
        assert_eq!(said, "internal: the sandbox asked for a staged file that does not exist");
    }
    let said = asked(&[
        Request::AppendAttachment { file, index: 0 },
        Request::AppendAttachment { file, index: u32::MAX },
    ]);
    assert!(said.iter().all(|said| said.starts_with("no_attachments: ")), "{said:?}");
}

#[test]
fn paths_that_were_not_judged_are_refused() {
    let disposition = Disposition::Replace;
    let stage = |path| Request::Stage { path, disposition };
    let paths =
        ["/shared/other", "/vault/mine", "/shared/../etc/passwd", "", "/", "/shared", "/shared/mine/x", "\0"];
    for said in asked(&paths.map(stage)) {
        assert!(said.starts_with("path_denied: "), "{said}");
    }
    let said = asked(&[
        Request::Rename { from: "/shared/mine", to: "/shared/other", disposition },
        Request::Rename { from: "/shared/other", to: "/shared/mine", disposition },
        Request::Remove { path: "/shared", contents: Contents::Keep },
    ]);
    assert!(said.iter().all(|said| said.starts_with("path_denied: ")), "{said:?}");
}

#[test]
fn a_reply_is_out_of_reach_where_it_is_not_granted() {
    let file = |source| ReplyFile { source, name: Some("a".into()), mime_type: None };
    let files = |paths: &[&str]| {
        let files = paths.iter().map(|path| file(ReplySource::Path((*path).into())));
        Request::AddToReply(files.collect(), Default::default())
    };
    let contents =
        Request::AddToReply(vec![file(ReplySource::Contents(ByteBuf::from(vec![0_u8])))], Default::default());
    for asks in [files(&["/shared/mine"]), files(&["/etc/passwd", ""]), files(&[]), contents] {
        let said = asked(&[asks]).remove(0);
        assert!(said.starts_with("path_denied: nothing may be added to the reply here"), "{said}");
    }
}

#[test]
fn a_list_of_files_is_bounded_as_it_is_read() {
    let file = || ReplyFile { source: ReplySource::Path(String::new()), name: None, mime_type: None };
    let read = |count: usize| {
        let request = Request::AddToReply((0..count).map(|_| file()).collect(), Default::default());
        let wire = postcard::to_stdvec(&request).expect("it can be written");
        postcard::from_bytes::<Request<'_>>(&wire).is_ok()
    };
    assert!(read(FILES_MAX));
    assert!(!read(FILES_MAX + 1));
}

#[test]
fn a_file_is_sealed_once() {
    let stage = Request::Stage { path: "/shared/mine", disposition: Disposition::Replace };
    assert_eq!(asked(&[stage]), ["Staged(StagedId(0))"]);
}

/// What becomes of a conversation with a peer that does this, under a deadline that is near.
fn with(peer: impl FnOnce(UnixStream) + Send + 'static) -> String {
    let (mut ours, theirs) = pair();
    let hostile = thread::spawn(move || peer(theirs));
    let ended = match converse(&mut ours, &mut Nothing, &soon(), 100, None) {
        Ok(_) => "an end".to_owned(),
        Err(broken) => broken.to_string(),
    };
    drop(ours);
    hostile.join().expect("no panic");
    ended
}

/// Frames of a message, again and again, until the other side is gone.
fn flood(mut peer: &UnixStream, message: &FromWorker<'_>) {
    let message = postcard::to_stdvec(message).expect("encodes");
    let length = u32::try_from(message.len()).expect("short").to_le_bytes();
    let many = [&length, &[0; 4][..], &message].concat().repeat(100);
    while peer.write_all(&many).is_ok() {}
}

#[test]
fn whatever_a_worker_does_not_stop_doing_ends_at_the_deadline() {
    let over = "the time is over";
    assert_eq!(with(|peer| flood(&peer, &FromWorker::Notification(Notification::Report("x")))), over);
    assert_eq!(with(|peer| flood(&peer, &FromWorker::Notification(Notification::Log("x")))), over);
    assert_eq!(
        with(|peer| flood(&peer, &FromWorker::Notification(Notification::Discard(StagedId(1))))),
        over
    );
    // Asks, and reads no answer.
    assert_eq!(with(|peer| flood(&peer, &FromWorker::Request(Request::Attachments))), over);
    // Says nothing, or the beginning of something.
    assert_eq!(with(|mut peer| drop(std::io::Read::read(&mut peer, &mut [0]))), over);
    let trickle = |mut peer: UnixStream| {
        let _ = peer.write_all(&[0, 0, 1, 0, 0, 0, 0, 0]);
        while peer.write_all(b"x").is_ok() {
            thread::yield_now();
        }
    };
    let ended = with(trickle);
    // A machine that is fast enough brings the whole of it in time, which is no message.
    assert!(ended == over || ended.starts_with("a message does not fit: "), "{ended}");
}

#[test]
fn what_is_no_message_ends_it_at_once() {
    let said = |bytes: &'static [u8]| with(move |mut peer| peer.write_all(bytes).expect("there is room"));
    assert_eq!(said(b""), "the other side ended");
    assert_eq!(said(&[9, 0, 0, 0, 0, 0, 0, 0, 0]), "the other side ended");
    assert_eq!(said(&[0xff; 8]), "a message does not fit: it is too long");
    assert_eq!(said(&[2, 0, 0, 0, 0, 0, 0, 0, 99, 99]), "a message does not fit: it does not decode");
    // What belongs to the call before.
    assert_eq!(said(&[2, 0, 0, 0, 7, 0, 0, 0, 0, 0]), "a message does not fit: it belongs to another call");
    // A result over its limit, by its length alone.
    let long = (REQUEST_BYTES_MAX + 101).to_le_bytes();
    assert_eq!(
        with(move |mut peer| peer.write_all(&long).expect("there is room")),
        "a message does not fit: it is too long"
    );
}

/// `count` as postcard writes a length.
fn varint(mut count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while count >= 0x80 {
        bytes.push(count as u8 | 0x80);
        count >>= 7;
    }
    bytes.push(count as u8);
    bytes
}

/// Memory for what is promised would be more than there is, and end the process.
#[test]
fn what_a_message_promises_to_hold_takes_no_memory() {
    let none = FromWorker::Request(Request::AddToReply(Vec::new(), Default::default()));
    let message = postcard::to_stdvec(&none).expect("encodes");
    let [ask, add, 0, rest @ ..] = message.as_slice() else {
        panic!("{message:?} has no count in its place")
    };
    for promised in [1, 1 << 20, 1 << 40, 1 << 60, u64::MAX] {
        let lying = [&[*ask, *add][..], &varint(promised), rest].concat();
        let decoded = decode::<FromWorker<'_>>(&lying);
        assert!(matches!(decoded, Err(Broken::Malformed("it does not decode"))), "{promised}: {decoded:?}");
    }
}

/// The end of a conversation whose time was over so long ago, with a worker that has answered.
fn answered_after(over_for: Duration) -> Result<Result<String, ToolError>, Broken> {
    let (mut ours, theirs) = pair();
    let mut peer = Socket::of_worker(theirs.into());
    peer.send(&FromWorker::Ended(Ok(Cow::Borrowed("{}"))), &[], || false).expect("there is room");
    converse(&mut ours, &mut Nothing, &CallClock::until(Instant::now() - over_for), 100, None)
}

#[test]
fn a_worker_may_answer_for_a_moment_after_the_end_and_no_longer() {
    // Again and again: a machine may take this very moment away.
    assert!((0..100).any(|_| matches!(answered_after(Duration::ZERO), Ok(Ok(_)))));
    assert!(matches!(answered_after(KILL_GRACE), Err(Broken::Stopped)));
    // A silent one is waited for until then, and given up.
    let (mut ours, _silent) = pair();
    let end = Instant::now();
    let ended = converse(&mut ours, &mut Nothing, &CallClock::until(end), 100, None);
    assert!(matches!(ended, Err(Broken::Stopped)) && end.elapsed() >= KILL_GRACE);
}

#[test]
fn what_a_worker_fails_with_is_told_on_one_bounded_line() {
    let (mut ours, theirs) = pair();
    let mut peer = Socket::of_worker(theirs.into());
    let message = format!("a\nb\u{1b}[2J{}", "x".repeat(10_000));
    let failed = ToolError { code: ErrorCode::Failed, message };
    peer.send(&FromWorker::Ended(Err(failed)), &[], || false).expect("there is room");
    let ended = converse(&mut ours, &mut Nothing, &later(), 100, None).expect("it ended well");
    let told = ended.expect_err("it failed");
    assert_eq!(told.code, ErrorCode::Failed);
    assert!(told.message.starts_with("a b [2Jx"), "{told}");
    assert!(told.message.len() <= ToolError::MESSAGE_BYTES_MAX, "{} bytes", told.message.len());
}

/// How many processors a call's thread and its worker may use after these messages of it.
fn processors_after(said: &[FromWorker<'_>]) -> (u32, u32) {
    let processors = |pid| sched_getaffinity(pid).expect("asked").count();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
    let pid = Pid::from_child(&child);
    let mut placement = Placement::new(pid);
    let (mut ours, theirs) = pair();
    let mut peer = Socket::of_worker(theirs.into());
    let shared = placement.share();
    assert!(shared.is_some() || processors(None) == 1);
    for message in said {
        peer.send(message, &[], || false).expect("sent");
    }
    peer.send(&FromWorker::Ended(Ok(Cow::Borrowed("{}"))), &[], || false).expect("sent");
    let ended = converse(&mut ours, &mut Nothing, &later(), 100, shared);
    assert!(matches!(ended, Ok(Ok(_))));
    let counts = (processors(None), processors(Some(pid)));
    child.kill().and_then(|()| child.wait()).expect("ours");
    run_anywhere();
    counts
}

#[test]
fn what_a_guest_asks_for_may_start_threads_that_run_anywhere() {
    let all = sched_getaffinity(None).expect("asked").count();
    assert_eq!(processors_after(&[]), (1, 1));
    assert_eq!(processors_after(&[FromWorker::Request(Request::Cancelled)]), (all, all));
}
