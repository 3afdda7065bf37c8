//! An entry of the log as one line: as it is, or for people: time, seq, event, sender, tool, what
//! came of it, duration.

use super::{name, outcome_word};
use cofferdam_core::audit::{
    ApprovalRecord, AuditEvent, CallFacts, CallOutcome, Effect, EntryKind, FileFacts, Intent, MessageRecord,
    NetworkRequest, Record, Recovered, Reload, Workflow,
};
use cofferdam_core::text::one_line;
use cofferdam_policy::spell_word;
use cofferdam_warden::audit::LogEntry;
use serde_json::json;
use std::fmt::Write as _;

/// An entry on one line.
pub fn entry_text(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Record { record, .. } => row(record),
        LogEntry::Unreadable { file, offset, bytes, why } => {
            let (file, why) = (name(file), one_line(why, 200));
            format!("unreadable: {bytes} bytes at offset {offset} of {file}: {why}")
        }
    }
}

/// An entry as one line of JSON: a record byte for byte as it is in the file.
pub fn entry_json(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Record { line, .. } => line.clone(),
        LogEntry::Unreadable { file, offset, bytes, why } => {
            let file = name(file);
            json!({ "unreadable": { "file": file, "offset": offset, "bytes": bytes, "why": why } })
                .to_string()
        }
    }
}

/// One record on one line: time, seq, event, sender, tool, what came of it, files, duration.
pub fn row(record: &Record) -> String {
    let told = match &record.event {
        AuditEvent::Intent(Intent { facts, files }) => {
            format!("intent   {}{}", describe_caller(facts), all(files))
        }
        AuditEvent::Outcome(outcome) => {
            format!("outcome  {} {}", describe_caller(&outcome.facts), end(outcome))
        }
        AuditEvent::Approval(approval) => {
            format!("approval {} {}", describe_caller(&approval.facts), describe_decision(approval))
        }
        AuditEvent::Message(MessageRecord { facts, to, files, .. }) => {
            format!("message  {} to {}{}", describe_caller(facts), one_line(to, 80), all(files))
        }
        AuditEvent::Access { person, access, by } => {
            let who = one_line(&person.to_string(), 200);
            format!("access   {who} {} by {}", spell_word(access), one_line(by, 80))
        }
        AuditEvent::Workflow(workflow) => workflow_row(workflow),
        AuditEvent::Network(request) => network_row(request),
        AuditEvent::Reload(reload) => format!("reload   {}", describe_reload(reload)),
        AuditEvent::Heads { heads } => {
            let told = heads.iter().map(|(node, head)| {
                let (seq, sha256) = head.split_once(':').unwrap_or((head, ""));
                format!(" {} {} sha256 {}", one_line(node, 64), one_line(seq, 20), short(sha256))
            });
            format!("heads   {}", told.collect::<String>())
        }
        AuditEvent::Recovered(Recovered { torn_bytes, torn_sha256 }) => {
            format!("recovered after a torn line of {torn_bytes} bytes, sha256 {}", short(torn_sha256))
        }
    };
    format!("{} {:>6} {told}", one_line(&record.time, 40), record.seq)
}

fn workflow_row(workflow: &Workflow) -> String {
    let what = match (workflow.state, &workflow.task) {
        (Some(state), _) => spell_word(&state),
        (None, task) if workflow.to.is_some() => {
            let to = one_line(workflow.to.as_deref().unwrap_or("?"), 80);
            format!("sends in {} to {to}", one_line(task.as_deref().unwrap_or("?"), 80))
        }
        (None, task) => {
            let shown = workflow.attachments.as_ref().map_or(0, Vec::len);
            format!("asks in {} with {shown} attachments", one_line(task.as_deref().unwrap_or("?"), 80))
        }
    };
    format!("workflow {} {what}{}", one_line(&workflow.run, 120), name_decider(&workflow.by))
}

fn network_row(request: &NetworkRequest) -> String {
    let NetworkRequest { caller, tool, method, host, path, status, bytes, sending, code, reason, .. } =
        request;
    let who = one_line(&format!("{}:{} {tool}", caller.channel, caller.sender), 200);
    let asked = one_line(&format!("{method} {host}{path}"), 400);
    let what = match (sending, code, status) {
        (true, ..) => "sending".to_owned(),
        (false, Some(code), _) => format!("failed {code}"),
        (false, None, Some(status)) => format!("{status}, {bytes} bytes"),
        (false, None, None) => format!("{bytes} bytes"),
    };
    format!("network  {who} {asked} {what}{}", quote_reason(reason))
}

fn describe_caller(facts: &CallFacts) -> String {
    let (channel, sender) = (&facts.caller.channel, &facts.caller.sender);
    one_line(&format!("{channel}:{sender} {}", facts.tool), 200)
}

fn end(outcome: &CallOutcome) -> String {
    let mut text = outcome_word(outcome);
    if let Some(seq) = outcome.intent {
        let _ = write!(text, " (intent {seq}{}", if outcome.reconciled { ", reconciled" } else { "" });
        if let Some(node) = &outcome.settled_by {
            let _ = write!(text, " by node {}", one_line(node, 64));
        }
        text.push(')');
    }
    text + &all(&outcome.files) + &quote_reason(&outcome.reason) + " " + &duration(outcome.duration_us)
}

fn describe_decision(approval: &ApprovalRecord) -> String {
    let state = spell_word(&approval.approval);
    let (by, why) = (name_decider(&approval.by), quote_reason(&approval.reason));
    format!("{state}{by} call sha256 {}{why}", short(&approval.call_sha256))
}

fn describe_reload(reload: &Reload) -> String {
    let mut text = spell_word(&reload.reload);
    for (what, sha256) in [("configuration", &reload.config_sha256), ("policies", &reload.policies_sha256)] {
        if let Some(sha256) = sha256 {
            let _ = write!(text, " {what} sha256 {}", short(sha256));
        }
    }
    text + &quote_reason(&reload.reason)
}

fn name_decider(by: &Option<String>) -> String {
    by.as_ref().map_or_else(String::new, |by| format!(" by {}", one_line(by, 80)))
}

fn quote_reason(reason: &Option<String>) -> String {
    reason.as_ref().map_or_else(String::new, |why| format!(" {:?}", one_line(why, 200)))
}

/// Changes that a row names; the record has them all.
const EFFECTS_MAX: usize = 64;

fn all(effects: &[Effect]) -> String {
    let first: String =
        effects.iter().take(EFFECTS_MAX).map(|effect| format!(" {}", describe_effect(effect))).collect();
    match effects.len().saturating_sub(EFFECTS_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn describe_effect(effect: &Effect) -> String {
    let shown = |path: &str| one_line(path, 4096);
    match effect {
        Effect::Written(FileFacts { path, bytes, sha256 }) => {
            format!("{} {bytes} bytes sha256 {}", shown(path), short(sha256))
        }
        Effect::Moved { path, moved_from, .. } => {
            format!("moved {} to {}", shown(moved_from), shown(path))
        }
        Effect::Removed { path, removed: EntryKind::Directory, entries } => {
            let plural = if *entries == 1 { "entry" } else { "entries" };
            format!("removed {}, {entries} {plural}", shown(path))
        }
        Effect::Removed { path, .. } => format!("removed {}", shown(path)),
        Effect::Attached { path, attached, bytes, sha256 } => {
            let what = match path {
                Some(path) => shown(path),
                None => format!("{:?} of the call", one_line(attached, 120)),
            };
            format!("attached {what} {bytes} bytes sha256 {}", short(sha256))
        }
    }
}

/// The first 12 digits; the log has them all.
fn short(sha256: &str) -> String {
    one_line(sha256, 64).chars().take(12).collect()
}

fn duration(us: u64) -> String {
    match us {
        0..=999 => format!("{us} µs"),
        1_000..=999_999 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}
