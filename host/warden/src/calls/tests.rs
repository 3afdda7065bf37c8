//! Long outputs as files: whole, audited, and never too many. Whose the changes of a call are, and
//! what is said of them after a crash.

use super::output::{OUTPUT_AGE_MAX, OUTPUTS_MAX, OUTPUTS_REMOVED_MAX};
use super::publication::Publication;
use super::*;
use crate::attachments::outgoing::{OutgoingBytes, OutgoingFile};
use crate::audit::{EntryRange, LogEntry, LogSelection, read_entries};
use crate::{publish, sandbox};
use cofferdam_confine as confine;
use cofferdam_core::audit::{AuditEvent, CallFacts, Effect, EntryKind, Intent};
use cofferdam_core::host_call::Disposition;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::tool::ErrorCode;

/// A trusted core over a real audit.
fn warden(dir: &std::path::Path) -> Warden {
    let config = publish::Config::shared(dir.join("workspace"), ByteSize::mib(1));
    let workspaces = Arc::new(Workspaces::open(&config).expect("a workspace"));
    let config = sandbox::Config {
        cache_dir: dir.join("cache"),
        isolation: confine::Config { require: false },
        compile_time: sandbox::COMPILE_TIME,
    };
    let sandbox = Arc::new(Sandbox::new(&config).expect("a sandbox"));
    let audit = Arc::new(AuditLog::open(&dir.join("audit.jsonl")).expect("an audit"));
    let outgoing = Outgoing::open(&dir.join("outgoing"), Default::default()).expect("a folder");
    Warden::new(
        Parts { sandbox, workspaces, audit, outgoing, web: Arc::new(support::web::NoWeb) },
        ByteSize::mib(1),
    )
}

fn output(n: usize, text: &str) -> OutputKeeper {
    let turn = TurnId::new("test");
    OutputKeeper {
        call: turn.call(n),
        turn,
        session: None,
        caller: Caller { channel: "test".into(), sender: "1".into() },
        tool: "t".into(),
        text: text.into(),
    }
}

fn keep(warden: &Warden, output: OutputKeeper) -> Result<String, ToolError> {
    warden.keep_output(&output, &|| true)
}

/// What the audit tells of keeping: the paths that were written and removed, by outcome.
fn told(dir: &std::path::Path) -> Vec<(Option<ErrorCode>, usize)> {
    let entries =
        read_entries(LogSelection::Log(&dir.join("audit.jsonl")), EntryRange::All, None).expect("readable");
    let outcome = |entry| match entry {
        Ok(LogEntry::Record { record, .. }) => match record.event {
            AuditEvent::Outcome(outcome) if outcome.facts.tool == "keep_output" => {
                Some((outcome.code, outcome.files.len()))
            }
            _ => None,
        },
        _ => None,
    };
    entries.filter_map(outcome).collect()
}

#[test]
fn an_output_is_a_file_and_the_same_one_again_after_a_crash() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let path = keep(&warden, output(7, "long")).expect("kept");
    assert_eq!(path, "/tmp/outputs/test-7.json");
    assert_eq!(keep(&warden, output(7, "long")).as_ref(), Ok(&path));
    let file = dir.path().join("workspace/tmp/outputs/test-7.json");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "long");
    // The quota of this workspace is 1 MiB.
    let refused = keep(&warden, output(8, &"x".repeat(2 << 20))).expect_err("too much");
    assert_eq!(refused.code, ErrorCode::QuotaExceeded);
    assert_eq!(told(dir.path()), [(None, 1), (None, 1), (Some(ErrorCode::QuotaExceeded), 0)]);
}

#[test]
fn of_many_old_outputs_some_go_at_a_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let folder = dir.path().join("workspace/tmp/outputs");
    for n in 0..20 {
        keep(&warden, output(n, "x")).expect("kept");
    }
    let aged = std::time::SystemTime::now() - OUTPUT_AGE_MAX * 2;
    for n in 0..20 {
        let file = std::fs::File::options().write(true).open(folder.join(format!("test-{n}.json")));
        file.and_then(|file| file.set_modified(aged)).expect("aged");
    }
    let count = || std::fs::read_dir(&folder).expect("there").count();
    for (n, left) in
        [(100, 20 - OUTPUTS_REMOVED_MAX + 1), (101, 20 - 2 * OUTPUTS_REMOVED_MAX + 2), (102, 3), (103, 4)]
    {
        keep(&warden, output(n, "x")).expect("kept");
        assert_eq!(count(), left, "{n}");
    }
}

#[test]
fn old_outputs_go() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let count = || std::fs::read_dir(dir.path().join("workspace/tmp/outputs")).expect("there").count();
    for n in 0..OUTPUTS_MAX + 3 {
        keep(&warden, output(n, "x")).expect("kept");
    }
    assert_eq!(count(), OUTPUTS_MAX);
    let file = |n: usize| dir.path().join(format!("workspace/tmp/outputs/test-{n}.json"));
    assert!(file(OUTPUTS_MAX + 2).exists());
    // What is no kept output is left alone, and stands in nobody's way.
    std::fs::create_dir(file(1000)).expect("made");
    let aged = std::time::SystemTime::now() - OUTPUT_AGE_MAX * 2;
    for n in OUTPUTS_MAX..OUTPUTS_MAX + 3 {
        std::fs::File::options()
            .write(true)
            .open(file(n))
            .and_then(|file| file.set_modified(aged))
            .expect("aged");
    }
    keep(&warden, output(2000, "x")).expect("kept");
    assert!((OUTPUTS_MAX..OUTPUTS_MAX + 3).all(|n| !file(n).exists()) && file(1000).is_dir());
    assert!(told(dir.path()).iter().all(|(code, _)| code.is_none()));
}

#[test]
fn an_output_that_nobody_waits_for_is_not_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let refused = warden.keep_output(&output(1, "late"), &|| false).expect_err("too late");
    assert_eq!(refused.code, ErrorCode::TimedOut);
    assert_eq!(std::fs::read_dir(dir.path().join("workspace/tmp/outputs")).map_or(0, Iterator::count), 0);
    assert_eq!(told(dir.path()), [(Some(ErrorCode::TimedOut), 0)]);
}

/// Another node may have taken the turn over, and settled what was begun before.
#[test]
fn a_plan_is_carried_out_or_gone_on_with_only_where_its_turn_is_this_ones_still() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let workspace = warden.workspaces().default_workspace().clone();
    let (path, turn) = (GuestPath::parse("/shared/a").expect("a path"), TurnId::new("test"));
    let caller = Caller { channel: "test".into(), sender: "1".into() };
    let facts = CallFacts::new(turn.call(0), turn, caller, "t", serde_json::json!({}));
    for before in [None, Some(Vec::new())] {
        let budget = Arc::new(publish::CallBudget::new(ByteSize(1), || None));
        let mut staged = workspace.stage(&path, Disposition::Replace, &budget).expect("staged");
        staged.write(b"x").expect("there is room");
        let mut record = CallRecord::begin(facts.clone(), CountedAs::Not, Arc::default());
        let publication = Publication {
            workspace: &workspace,
            before,
            plan: vec![publish::PlannedChange::Write(staged.seal().expect("sealed"))],
            reply: None,
            commit: &|| true,
            keep: &|_| Err(ToolError::new(ErrorCode::Internal, "another node has it")),
            deliver: &|| Ok(()),
        };
        let refused = warden.publish(&mut record, publication).expect_err("refused");
        assert_eq!((refused.message.as_str(), record.intent), ("another node has it", None));
    }
    assert!(!dir.path().join("workspace/shared/a").exists());
}

/// The other request sends what it was handed in every case; the call's own reply has nothing of a
/// call that failed.
#[test]
fn a_call_whose_changes_fail_says_what_another_request_has_of_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let workspace = warden.workspaces().default_workspace().clone();
    let turn = TurnId::new("test");
    let caller = Caller { channel: "test".into(), sender: "1".into() };
    let facts = CallFacts::new(turn.call(0), turn, caller, "t", serde_json::json!({}));
    for (to, handed) in [("other", 1), ("test", 0)] {
        let path = GuestPath::parse(&format!("/shared/{to}")).expect("a path");
        let budget = Arc::new(publish::CallBudget::new(ByteSize(1), || None));
        let mut staged = workspace.stage(&path, Disposition::Replace, &budget).expect("staged");
        staged.write(b"x").expect("there is room");
        let plan = vec![publish::PlannedChange::Write(staged.seal().expect("sealed"))];
        // No file replaces a folder.
        std::fs::create_dir_all(dir.path().join("workspace/shared").join(to)).expect("made");
        let mut reply = warden.outgoing().addition(&TurnId::new(to));
        let body = OutgoingBytes::Contents(b"a,b".to_vec());
        let file = OutgoingFile { body, name: Some("table.csv".into()), mime_type: None };
        reply.take(vec![file], &|| Ok(())).expect("taken");
        let mut record = CallRecord::begin(facts.clone(), CountedAs::Not, Arc::default());
        let publication = Publication {
            workspace: &workspace,
            before: None,
            plan,
            reply: Some(reply),
            commit: &|| true,
            keep: &|_| Ok(()),
            deliver: &|| Ok(()),
        };
        let failed = warden.publish(&mut record, publication).expect_err("a folder is there");
        let is_attached = |effect: &Effect| matches!(effect, Effect::Attached { .. });
        assert!(record.files.len() == handed && record.files.iter().all(is_attached), "{record:?}");
        assert_eq!(
            failed.message.contains("(done before that: attached table.csv)"),
            handed == 1,
            "{failed}"
        );
    }
}

#[test]
fn what_cannot_be_looked_at_after_a_crash_is_not_said_to_be_unchanged() {
    let dir = tempfile::tempdir().expect("a folder");
    let warden = warden(dir.path());
    let shared = dir.path().join("workspace/shared");
    std::fs::write(shared.join("there"), "x").expect("writable");
    // Nobody knows any more where the way to it led.
    std::os::unix::fs::symlink("elsewhere", shared.join("way")).expect("made");
    let (turn, caller) = (TurnId::new("test"), Caller { channel: "test".into(), sender: "1".into() });
    for (n, path) in ["/shared/there", "/shared/way/x"].into_iter().enumerate() {
        let facts = CallFacts::new(turn.call(n), turn.clone(), caller.clone(), "t", serde_json::json!({}));
        let removed = Effect::Removed { path: path.into(), removed: EntryKind::File, entries: 1 };
        let intent = AuditEvent::Intent(Intent { facts, files: vec![removed] });
        warden.audit().append(intent, Durability::Synced).expect("written");
    }
    warden.settle(&|_| false, Duration::ZERO).expect("settled");
    let log = dir.path().join("audit.jsonl");
    let entries = read_entries(LogSelection::Log(&log), EntryRange::All, None).expect("readable");
    let settled = |entry| match entry {
        Ok(LogEntry::Record { record, .. }) => match record.event {
            AuditEvent::Outcome(outcome) => Some((outcome.code, outcome.reason.unwrap_or_default())),
            _ => None,
        },
        _ => None,
    };
    let settled: Vec<_> = entries.filter_map(settled).collect();
    let [(unchanged, said), (unknown, unsaid)] = &settled[..] else { panic!("{settled:?}") };
    assert_eq!((*unchanged, *unknown), (Some(ErrorCode::Cancelled), Some(ErrorCode::WriteFailed)));
    assert!(said.ends_with("nothing was changed"), "{said}");
    assert!(unsaid.ends_with("some cannot be looked at"), "{unsaid}");
}
