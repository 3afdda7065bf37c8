//! Records as people read them, literally.

use super::{facts, outcome};
use crate::audit::row;
use cofferdam_core::audit::{
    AuditEvent, CallOutcome, Effect, EntryKind, FileFacts, GENESIS, Intent, Record, Recovered, Reload,
    ReloadState, VerdictKind,
};
use cofferdam_core::tool::ErrorCode;

fn file(path: &str) -> Effect {
    FileFacts { path: path.into(), bytes: 12, sha256: "0123456789abcdef".repeat(4) }.into()
}

fn denied() -> CallOutcome {
    let reason = Some("outside\n\u{202E}the mounts".into());
    CallOutcome { verdict: VerdictKind::Deny, code: Some(ErrorCode::PathDenied), reason, ..outcome() }
}

#[test]
fn a_record_is_one_plain_line() {
    let check = |event: AuditEvent, expected: &str| {
        let time = "2026-01-02T03:04:05.678Z".into();
        let record = Record { v: 1, seq: 12, time, prev: GENESIS.into(), event };
        assert_eq!(row(&record), format!("2026-01-02T03:04:05.678Z     12 {expected}"));
    };
    let who = "telegram:123456789 attachment_save";
    let file_text = "/shared/a.txt 12 bytes sha256 0123456789ab";
    let files = vec![file("/shared/a.txt")];
    check(
        AuditEvent::Intent(Intent { facts: facts(0), files: files.clone() }),
        &format!("intent   {who} {file_text}"),
    );
    check(AuditEvent::Outcome(outcome()), &format!("outcome  {who} done 850 µs"));
    let settled = CallOutcome { files, intent: Some(11), duration_us: 1_250, ..outcome() };
    check(
        AuditEvent::Outcome(settled.clone()),
        &format!("outcome  {who} done (intent 11) {file_text} 1.2 ms"),
    );
    let reconciled = CallOutcome { reconciled: true, duration_us: 2_500_000, ..settled };
    check(
        AuditEvent::Outcome(reconciled),
        &format!("outcome  {who} done (intent 11, reconciled) {file_text} 2.5 s"),
    );
    check(
        AuditEvent::Outcome(denied()),
        &format!("outcome  {who} denied path_denied \"outside  the mounts\" 850 µs"),
    );
    let failed = CallOutcome { code: Some(ErrorCode::TimedOut), ..outcome() };
    check(AuditEvent::Outcome(failed), &format!("outcome  {who} failed timed_out 850 µs"));
    let moved = Effect::Moved {
        path: "/shared/b".into(),
        moved_from: "/tmp/a".into(),
        kind: EntryKind::File,
        inode: 7,
    };
    let removed = |removed, entries| Effect::Removed { path: "/shared/c".into(), removed, entries };
    let changed = vec![
        moved,
        removed(EntryKind::Directory, 12),
        removed(EntryKind::Directory, 1),
        removed(EntryKind::File, 1),
    ];
    check(
        AuditEvent::Intent(Intent { facts: facts(0), files: changed }),
        &format!(
            "intent   {who} moved /tmp/a to /shared/b removed /shared/c, 12 entries removed /shared/c, 1 entry \
             removed /shared/c"
        ),
    );
    check(
        AuditEvent::Recovered(Recovered { torn_bytes: 57, torn_sha256: "ab".repeat(32) }),
        "recovered after a torn line of 57 bytes, sha256 abababababab",
    );
    let sha256 = |digits: &str| Some(digits.repeat(32));
    let reload = Reload {
        reload: ReloadState::Applied,
        config_sha256: sha256("ab"),
        policies_sha256: sha256("cd"),
        reason: None,
    };
    let refused = Reload {
        reload: ReloadState::Refused,
        policies_sha256: None,
        reason: Some("line\n7".into()),
        ..reload.clone()
    };
    check(
        AuditEvent::Reload(reload),
        "reload   applied configuration sha256 abababababab policies sha256 cdcdcdcdcdcd",
    );
    check(AuditEvent::Reload(refused), "reload   refused configuration sha256 abababababab \"line 7\"");
}
