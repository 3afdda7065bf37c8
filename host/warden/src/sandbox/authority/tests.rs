//! A permit that was given for what lay on disk changes nothing else, for anything that the guest
//! asks for or that comes to lie there meanwhile; and no worker fills the log.

use super::*;
use crate::messaging::UnsentMessage;
use crate::publish::{self, TurnShare, Workspaces};
use cofferdam_core::host_call::{Contents, LINE_OVERHEAD_BYTES};
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::message::{DirectMessage, SentMessage};
use cofferdam_core::network::Network;
use cofferdam_core::web::HttpRequest;
use cofferdam_policy::{Facts, JudgedCall, PermittedCall, PolicySet, Verdict, judge};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use support::web::NoWeb;
use tokio_util::sync::CancellationToken;

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\n\
    mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\n\
    safety = \"side-effecting\"\nwhy = \"a test\"\n[arguments]\npath = { path = \"write\" }\nto = { path = \"write\" }\n\
    [approval]\npath = \"on-overwrite\"\n";
/// The same for a tool that reads one file and writes another.
const COPIES: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\n\
    safety = \"side-effecting\"\nwhy = \"a test\"\n[arguments]\npath = { path = \"read\" }\nto = { path = \"write\" }\n\
    [approval]\npath = \"always\"\n";

struct Room {
    dir: tempfile::TempDir,
    workspace: Arc<Workspace>,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let config = publish::Config::shared(dir.path().join("workspace"), ByteSize::mib(1));
        let workspace = Workspaces::open(&config).expect("a workspace").default_workspace().clone();
        Self { dir, workspace }
    }

    fn mine(&self) -> PathBuf {
        self.dir.path().join("workspace/shared/mine")
    }

    fn put(&self, text: &str) {
        std::fs::write(self.mine(), text).expect("writable");
    }

    /// The authority over `/shared/mine` as it is now: at once where nothing is there, else
    /// approved.
    fn authority(&self) -> Authority {
        self.authority_of(TOOL)
    }

    fn authority_of(&self, tool: &str) -> Authority {
        let policies =
            PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", tool)]).expect("sound");
        let policy = policies.get("t").expect("there");
        let arguments = serde_json::json!({ "path": "/shared/mine", "to": "/shared/other" });
        let call = JudgedCall { id: TurnId::new("test").call(0), tool: policy.tool.clone(), arguments };
        let Verdict::Ask(pending) = judge(call, policy) else { panic!("it asks") };
        let look = |path: &GuestPath| (path.clone(), self.workspace.snapshot(path).expect("looked at"));
        let there = pending.writes().iter().map(look).collect();
        let find = |path: &GuestPath| (path.clone(), self.workspace.read_snapshot(path).expect("looked at"));
        let found = pending.reads().iter().map(find).collect();
        let permit = match pending.decide(&Facts { there, found, ..Facts::default() }) {
            PermittedCall::Permit(permit) => permit,
            PermittedCall::Ask(pending) => {
                let sha256 = pending.sha256("shown");
                pending.grant("shown", &sha256).expect("approved")
            }
        };
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
        Authority::new(permit, inputs, self.workspace.clone())
    }

    /// Stages, seals and publishes; `between` happens at this step: 0 before staging, 1 before
    /// sealing, 2 before publishing.
    fn replace(&self, mut authority: Authority, step: usize, between: impl Fn()) -> Result<(), ToolError> {
        let at = |now| {
            if now == step {
                between();
            }
        };
        at(0);
        let file = authority.stage("/shared/mine", Disposition::Replace)?;
        authority.write(file, b"new")?;
        at(1);
        authority.seal(file)?;
        at(2);
        let (plan, _, _) = authority.take_plan();
        self.workspace.publish(plan).map(|_| ()).map_err(ToolError::from)
    }
}

#[test]
fn where_nothing_was_nothing_is_replaced() {
    for step in 0..3 {
        let room = Room::new();
        let authority = room.authority();
        let refused = room.replace(authority, step, || room.put("somebody's")).expect_err("it is there");
        assert_eq!(refused.code, ErrorCode::AlreadyExists, "{step}: {refused}");
        assert_eq!(std::fs::read(room.mine()).expect("there"), b"somebody's");
    }
    let room = Room::new();
    room.replace(room.authority(), 9, || {}).expect("nothing is there");
    assert_eq!(std::fs::read(room.mine()).expect("there"), b"new");
}

#[test]
fn what_was_approved_is_replaced_and_nothing_else() {
    for step in 0..3 {
        let room = Room::new();
        room.put("old");
        let authority = room.authority();
        let refused = room.replace(authority, step, || room.put("else")).expect_err("it is another one");
        assert_eq!(refused.code, ErrorCode::ApprovalDenied, "{step}: {refused}");
        assert_eq!(std::fs::read(room.mine()).expect("there"), b"else");
        let authority = room.authority();
        let gone = room.replace(authority, step, || std::fs::remove_file(room.mine()).expect("there"));
        assert_eq!(gone.map_err(|e| e.code), Err(ErrorCode::ApprovalDenied), "{step}");
        assert!(!room.mine().exists());
    }
    let room = Room::new();
    room.put("old");
    room.replace(room.authority(), 9, || {}).expect("as it was approved");
    assert_eq!(std::fs::read(room.mine()).expect("there"), b"new");
}

#[test]
fn what_nobody_saw_is_neither_moved_nor_removed() {
    let room = Room::new();
    let (mut moving, mut removing) = (room.authority(), room.authority());
    room.put("somebody's");
    let moved = moving.rename("/shared/mine", "/shared/other", Disposition::Replace);
    assert_eq!(moved.map(|_| ()).map_err(|e| e.code), Err(ErrorCode::ApprovalDenied));
    let removed = removing.remove("/shared/mine", Contents::Remove);
    assert_eq!(removed.map(|_| ()).map_err(|e| e.code), Err(ErrorCode::ApprovalDenied));
    let mut approved = room.authority();
    approved.remove("/shared/mine", Contents::Keep).expect("as it was approved");
}

#[test]
fn what_was_approved_is_moved_over_what_was_approved_and_nothing_else() {
    let moved = |room: &Room, between: &dyn Fn()| {
        let mut authority = room.authority();
        authority.rename("/shared/mine", "/shared/other", Disposition::Replace)?;
        between();
        let (plan, _, _) = authority.take_plan();
        room.workspace.publish(plan).map(|_| ()).map_err(ToolError::from)
    };
    let room = Room::new();
    let other = room.mine().with_file_name("other");
    let put_both = || {
        room.put("mine");
        std::fs::write(&other, "old").expect("writable");
    };
    for changed in [room.mine(), other.clone()] {
        put_both();
        let refused = moved(&room, &|| std::fs::write(&changed, "another").expect("writable"));
        assert_eq!(refused.map_err(|e| e.code), Err(ErrorCode::ApprovalDenied), "{}", changed.display());
        assert_eq!(std::fs::read(&changed).expect("there"), b"another");
        assert!(room.mine().exists() && other.exists());

        put_both();
        let gone = moved(&room, &|| std::fs::remove_file(&changed).expect("there"));
        assert_eq!(gone.map_err(|e| e.code), Err(ErrorCode::ApprovalDenied), "{}", changed.display());
        assert!(!changed.exists());
    }
    put_both();
    moved(&room, &|| {}).expect("as it was approved");
    assert_eq!(std::fs::read(&other).expect("there"), b"mine");
    assert!(!room.mine().exists());
}

#[test]
fn what_was_approved_is_removed_and_nothing_else() {
    let removed = |room: &Room, between: &dyn Fn()| {
        let mut authority = room.authority();
        authority.remove("/shared/mine", Contents::Remove)?;
        between();
        let (plan, _, _) = authority.take_plan();
        room.workspace.publish(plan).map(|_| ()).map_err(ToolError::from)
    };
    let room = Room::new();
    room.put("old");
    // In place: the file keeps its number.
    let refused = removed(&room, &|| room.put("another"));
    assert_eq!(refused.map_err(|e| e.code), Err(ErrorCode::ApprovalDenied));
    assert_eq!(std::fs::read(room.mine()).expect("there"), b"another");
    removed(&room, &|| {}).expect("as it was approved");
    assert!(!room.mine().exists());

    // Of a directory it is which one: what it holds changes all the time.
    std::fs::create_dir(room.mine()).expect("free");
    removed(&room, &|| std::fs::write(room.mine().join("new"), "").expect("writable")).expect("the same one");
    assert!(!room.mine().exists());
}

#[test]
fn what_was_approved_is_read_and_nothing_else() {
    let copied = |room: &Room, mut authority: Authority| {
        let file = authority.stage("/shared/other", Disposition::CreateNew)?;
        authority.append_file(file, "/shared/mine")?;
        authority.seal(file)?;
        let (plan, _, _) = authority.take_plan();
        room.workspace.publish(plan).map(|_| ()).map_err(ToolError::from)
    };
    let room = Room::new();
    room.put("harmless");
    let authority = room.authority_of(COPIES);
    // Put there by a rename, with the length and the time that it had.
    let (old, other) = (std::fs::metadata(room.mine()).expect("there"), room.mine().with_file_name("put"));
    std::fs::write(&other, "a secret").expect("writable");
    let times = std::fs::FileTimes::new().set_modified(old.modified().expect("a time"));
    std::fs::File::options().write(true).open(&other).and_then(|file| file.set_times(times)).expect("ours");
    std::fs::rename(&other, room.mine()).expect("writable");
    let refused = copied(&room, authority).expect_err("it is another one");
    assert_eq!(refused.code, ErrorCode::ApprovalDenied, "{refused}");
    assert!(!room.mine().with_file_name("other").exists());

    let authority = room.authority_of(COPIES);
    std::fs::remove_file(room.mine()).expect("there");
    let nothing = room.authority_of(COPIES);
    assert_eq!(copied(&room, authority).map_err(|e| e.code), Err(ErrorCode::NotFound));
    room.put("somebody's");
    assert_eq!(copied(&room, nothing).map_err(|e| e.code), Err(ErrorCode::ApprovalDenied), "nobody saw it");

    copied(&room, room.authority_of(COPIES)).expect("as it was approved");
    assert_eq!(std::fs::read(room.mine().with_file_name("other")).expect("there"), b"somebody's");
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines that are in the gateway's log after a worker has told it this one again and again.
fn told(line: &str) -> usize {
    let log = Log::default();
    let writer = log.clone();
    let all = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG);
    let subscriber = all.with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let mut authority = Room::new().authority();
        for _ in 0..10_000 {
            authority.log(line);
        }
    });
    String::from_utf8_lossy(&log.bytes()).matches("guest: ").count()
}

/// A worker counts what its guest prints, and a worker that was taken over does not.
#[test]
fn a_call_leaves_a_bounded_log_whatever_its_worker_tells() {
    for line in ["", "x", &"x".repeat(1000)] {
        let lines = told(line);
        let bytes = lines * (line.len() + LINE_OVERHEAD_BYTES);
        assert!(bytes <= OUTPUT_BYTES_MAX + 1024, "{lines} lines of {} bytes", line.len());
        assert!(bytes > OUTPUT_BYTES_MAX / 2, "the log is cut early: {lines} lines of {} bytes", line.len());
    }
}

#[test]
fn a_report_is_one_short_line_whatever_a_guest_says() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut authority = Room::new().authority();
    let see = seen.clone();
    authority.inputs.report = Some(Arc::new(move |said: &str| {
        see.lock().unwrap_or_else(PoisonError::into_inner).push(said.to_owned())
    }));
    let endless = "a\n\u{202e}".repeat(100_000);
    for said in ["halfway", &endless, ""] {
        authority.note(Notification::Report(said));
    }
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!((seen[0].as_str(), seen.len()), ("halfway", 3));
    let length = seen[1].len();
    assert!((REPORT_BYTES_MAX - 10..=REPORT_BYTES_MAX).contains(&length), "{length} bytes");
    assert!(!seen[1].contains(['\n', '\u{202e}']), "{}", seen[1]);
}

#[test]
fn a_refused_request_is_why_a_guest_fails_and_not_why_the_gateway_ends_it() {
    let mut authority = Room::new().authority();
    let access = super::http::WebAccess { web: Arc::new(NoWeb), note: Box::new(|_| Ok(())) };
    let (allowance, stopped) = (Allowance::new(1), Arc::new(|| false));
    let terms = Terms { network: Network::nobody(), allowance, stopped };
    authority.exchanges = Some(Exchanges::new(access, terms));
    let tell = |authority: &Authority, code| authority.tell_denied(ToolError::new(code, "it says"));
    assert_eq!(tell(&authority, ErrorCode::NotFound).code, ErrorCode::NotFound, "nothing was refused");
    let request =
        HttpRequest { method: "GET".into(), url: "https://example.com/".into(), headers: Vec::new() };
    let reply = authority.handle(Request::HttpSend(request)).reply;
    assert!(matches!(reply, Ok(Reply::HttpFailed(_))));
    for code in ErrorCode::ALL {
        let told = tell(&authority, *code);
        let follows = [ErrorCode::Failed, ErrorCode::NotFound, ErrorCode::WriteFailed].contains(code);
        assert_eq!(told.code, if follows { ErrorCode::NetworkDenied } else { *code });
        let said = if follows { "there is no network here (it says)" } else { "it says" };
        assert_eq!(told.message, said, "{code}");
    }
}

/// Takes messages, for anybody who is asked about, unless it says why it does not.
#[derive(Default)]
struct Postbox(Mutex<Vec<String>>, Option<UnsentMessage>);

impl crate::messaging::Messaging for Postbox {
    fn check_served(&self, _: &str) -> Result<(), ToolError> {
        Ok(())
    }

    fn send(
        &self,
        _: &cofferdam_core::audit::CallFacts,
        message: DirectMessage,
        files: Vec<crate::attachments::outgoing::OutgoingFile>,
        _: &dyn Fn() -> Option<ToolError>,
    ) -> Result<SentMessage, UnsentMessage> {
        if let Some(unsent) = &self.1 {
            return Err(unsent.clone());
        }
        let said = format!("{} {} {}", message.to, message.text, files.len());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(said);
        Ok(SentMessage { channel: "paper".into(), channel_id: "1".into(), message_id: "2".into() })
    }

    fn begin(&self, _: &cofferdam_core::audit::CallFacts, _: Option<String>) -> Result<String, ToolError> {
        Ok("turn-1".into())
    }

    fn wait(
        &self,
        _: &cofferdam_core::audit::CallFacts,
        _: &str,
        _: &str,
        _: Option<std::time::Duration>,
    ) -> Result<(), ToolError> {
        Ok(())
    }
}

/// What a call of a tool that may write to `telegram:1`, with `/shared/mine`, comes to.
fn writes(
    room: &Room,
    interfaces: &str,
    postbox: Option<Arc<Postbox>>,
    request: Request<'_>,
) -> Result<Reply, ToolError> {
    writer(room, interfaces, postbox).handle(request).reply
}

/// The authority of such a call.
fn writer(room: &Room, interfaces: &str, postbox: Option<Arc<Postbox>>) -> Authority {
    let profile = format!("{PROFILE}interfaces = [{interfaces}]\n");
    let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\n\
        why = \"a test\"\n[arguments]\nto = \"recipient\"\npath = { path = \"read\" }\n";
    let set = PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", tool)]).expect("sound");
    let policy = set.get("t").expect("there");
    let arguments = serde_json::json!({ "to": "telegram:1", "path": "/shared/mine" });
    let call = JudgedCall { id: TurnId::new("test").call(0), tool: policy.tool.clone(), arguments };
    let Verdict::Permit(permit) = judge(call, policy) else { panic!("no rule asks") };
    let facts = cofferdam_core::audit::CallFacts {
        call: TurnId::new("test").call(0),
        turn: TurnId::new("test"),
        session: None,
        caller: cofferdam_core::id::Caller { channel: "test".into(), sender: "1".into() },
        own_workspace: false,
        tool: "t".into(),
        component_sha256: None,
        policy_sha256: None,
        profile: None,
        arguments: serde_json::Value::Null,
        arguments_sha256: String::new(),
    };
    let inputs = CallInputs {
        printed: None,
        attachments: Attachments::default(),
        reply: None,
        messaging: postbox.map(|postbox| (postbox as Arc<dyn crate::messaging::Messaging>, facts)),
        web: None,
        report: None,
        turn: TurnShare { limit: ByteSize::mib(1), left: 1 << 20 },
        made: Vec::new(),
        cancel: CancellationToken::new(),
        started: Instant::now(),
    };
    Authority::new(permit, inputs, room.workspace.clone())
}

#[test]
fn a_call_that_failed_says_what_it_wrote_unless_that_cannot_go_out() {
    let room = Room::new();
    room.put("mine");
    let told = |may_go_out: Option<bool>, why: &str| {
        let unsent = may_go_out.map(|may_go_out| UnsentMessage { error: ToolError::cancelled(), may_go_out });
        let postbox = Arc::new(Postbox(Mutex::default(), unsent));
        let mut authority = writer(&room, "\"messaging\"", Some(postbox));
        let (to, text) = ("telegram:1".to_owned(), "hi".to_owned());
        let message = DirectMessage { to, text, files: Vec::new(), workflow: None };
        let sent = authority.handle(Request::Send(message)).reply;
        assert_eq!(sent.is_ok(), may_go_out.is_none());
        authority.tell_written(ToolError::new(ErrorCode::Trapped, why)).message
    };
    let stands = ", but what it wrote to telegram:1 is out, or may go out yet";
    for may_go_out in [None, Some(true)] {
        assert_eq!(told(may_go_out, "nothing was changed"), format!("nothing was changed{stands}"));
        let long = told(may_go_out, &"x".repeat(ToolError::MESSAGE_BYTES_MAX));
        assert!(long.ends_with(&format!("x…{stands}")), "{long}");
    }
    assert_eq!(told(Some(false), "nothing was changed"), "nothing was changed");
}

#[test]
fn a_guest_writes_to_whom_the_judge_named_with_what_it_named() {
    let room = Room::new();
    room.put("mine");
    std::fs::write(room.dir.path().join("workspace/shared/other"), "other").expect("writable");
    let postbox = Arc::new(Postbox::default());
    let message = |to: &str, files: &[&str]| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Request::Send(DirectMessage { to: to.into(), text: "hi".into(), files, workflow: None })
    };
    let send = |request| writes(&room, "\"messaging\"", Some(postbox.clone()), request);
    for (request, code) in [
        (message("telegram:2", &[]), ErrorCode::PathDenied),
        (message("", &[]), ErrorCode::PathDenied),
        (message("telegram:1", &["/shared/other"]), ErrorCode::PathDenied),
        (message("telegram:1", &["/vault/key"]), ErrorCode::PathDenied),
        (message("telegram:1", &["/shared/mine"; MESSAGE_FILES_MAX + 1]), ErrorCode::QuotaExceeded),
    ] {
        assert_eq!(send(request).expect_err("refused").code, code);
    }
    assert!(matches!(send(message("telegram:1", &["/shared/mine"])), Ok(Reply::Sent(_))));
    assert_eq!(*postbox.0.lock().unwrap_or_else(PoisonError::into_inner), ["telegram:1 hi 1"]);
    // Without the interface there is nobody, and without a channel neither.
    for request in [message("telegram:1", &[]), Request::BeginWorkflow(None)] {
        let refused = writes(&room, "", Some(postbox.clone()), request).expect_err("refused");
        assert_eq!(refused.code, ErrorCode::PathDenied);
    }
    let unreached = writes(&room, "\"messaging\"", None, message("telegram:1", &[])).expect_err("refused");
    assert_eq!(unreached.code, ErrorCode::ToolUnavailable);
}
