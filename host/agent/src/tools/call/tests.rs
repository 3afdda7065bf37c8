//! Calls that no thread answers are in the audit all the same.

use super::*;
use crate::open_requests::{CallOrigin, CallScope, Requests};
use crate::tools::{CallThreads, Registry, Sources};
use cofferdam_confine as confine;
use cofferdam_core::audit::AuditEvent;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::message::Address;
use cofferdam_policy::PolicySet;
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::audit::{AuditLog, EntryRange, LogEntry, LogSelection, read_entries};
use cofferdam_warden::calls::{Parts, Warden};
use cofferdam_warden::publish::{self, Workspaces};
use cofferdam_warden::sandbox::{self, Sandbox};
use std::time::Duration;

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\nmounts = []\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"a test\"\n";

/// A toolbox over a real audit, with so many threads.
fn toolbox(dir: &std::path::Path, threads: usize) -> Toolbox {
    let config = publish::Config::shared(dir.join("workspace"), ByteSize::mib(1));
    let workspaces = Arc::new(Workspaces::open(&config).expect("a workspace"));
    let config = sandbox::Config {
        cache_dir: dir.join("cache"),
        isolation: confine::Config { require: false },
        compile_time: sandbox::COMPILE_TIME,
    };
    let sandbox = Arc::new(Sandbox::new(&config).expect("a sandbox"));
    let policies = PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]).expect("sound");
    let sources =
        Sources { builtins: |_| None, policies_dir: None, fetched: Box::new(|_, _| Err(String::new())) };
    let registry = Registry::load(&sandbox, &policies, &sources);
    let audit = Arc::new(AuditLog::open(&dir.join("audit.jsonl")).expect("an audit"));
    let outgoing = Outgoing::open(&dir.join("outgoing"), Default::default()).expect("a folder");
    let warden = Warden::new(
        Parts { sandbox, workspaces, audit, outgoing, web: Arc::new(support::web::NoWeb) },
        ByteSize::mib(1),
    );
    let threads = Arc::new(CallThreads::start(threads).expect("threads"));
    Toolbox::new(registry, warden, Arc::default(), threads)
}

fn request(n: usize) -> CallRequest {
    let turn = TurnId::new("test");
    let caller = Caller { channel: "test".into(), sender: (n / threads::SESSION_QUEUE_MAX).to_string() };
    CallRequest { id: turn.call(n), ..CallRequest::new(turn, caller, "t".into(), Ok("{}".into())) }
}

#[tokio::test]
async fn a_call_that_found_no_room_is_recorded_as_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let toolbox = toolbox(dir.path(), 0);
    let mut waiting = Vec::new();
    for n in 0..threads::QUEUE_MAX {
        let mut call = Box::pin(toolbox.call(request(n)));
        tokio::select! {
            biased;
            _ = &mut call => unreachable!("there is no thread to run it"),
            () = std::future::ready(()) => waiting.push(call),
        }
    }
    let refused = toolbox.call(request(threads::QUEUE_MAX)).await.expect_err("there is no room");
    assert_eq!(refused.code, ErrorCode::ToolUnavailable);
    let entries: Vec<_> =
        read_entries(LogSelection::Log(&dir.path().join("audit.jsonl")), EntryRange::All, None)
            .expect("readable")
            .collect();
    let [Ok(LogEntry::Record { record, .. })] = entries.as_slice() else { panic!("{entries:?}") };
    let AuditEvent::Outcome(outcome) = &record.event else { panic!("{record:?}") };
    assert_eq!(outcome.code, Some(ErrorCode::ToolUnavailable));
    assert_eq!((outcome.verdict, outcome.facts.call.as_str()), (VerdictKind::Deny, "test/1024"));
}

#[tokio::test]
async fn clients_of_one_name_have_shares_of_their_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let toolbox = toolbox(dir.path(), 0);
    let share = threads::SESSION_QUEUE_MAX;
    let (mut begun, mut waiting) = (Vec::new(), Vec::new());
    for client in std::iter::repeat_n("a", share + 1).chain(["b"]) {
        let mut call = Box::pin(toolbox.call(CallRequest { client: Some(client.into()), ..request(0) }));
        let _ = tokio::time::timeout(Duration::ZERO, &mut call).await;
        begun.push(call);
        waiting.push(toolbox.threads.waiting());
    }
    // One too many of the one, and the first of the other.
    assert_eq!(waiting[share - 1..], [share, share, share + 1]);
}

#[test]
fn a_call_without_a_reply_adds_files_to_other_requests_alone() {
    let requests = Arc::new(Requests::new(CallScope::Everyone));
    let (other, caller) = (TurnId::new("other"), Caller { channel: "test".into(), sender: "ann".into() });
    let _open = requests.begin(CallOrigin { request: other.clone(), session: None, caller });
    let found = |has_reply, wanted: Option<&str>| {
        let request = CallRequest { has_reply, ..request(0) };
        let to = Address { session: None, request: wanted.map(Into::into) };
        resolve_request(&request, &requests)(&to)
    };
    assert_eq!(found(true, None), Ok(TurnId::new("test")));
    assert_eq!((found(true, Some("other")), found(false, Some("other"))), (Ok(other.clone()), Ok(other)));
    for own in [None, Some("test")] {
        let refused = found(false, own).expect_err("there is none");
        assert_eq!(refused.code, ErrorCode::PathDenied);
        assert!(refused.message.contains("has no reply"), "{refused}");
    }
}
