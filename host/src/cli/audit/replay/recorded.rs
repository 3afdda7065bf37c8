//! Which call is meant, and whether it can be made again at all.

use super::Arguments;
use crate::config::Config;
use crate::gateway;
use anyhow::{Context, bail};
use cofferdam_core::audit::{AuditEvent, CallFacts, CallOutcome, Record};
use cofferdam_core::capability::Interface;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::ToolPolicy;
use cofferdam_warden::audit::{EntryRange, FILE_NAME, LogEntry, LogSelection, RecordFilter, read_entries};
use std::path::Path;

/// The record that tells how the call ended, with its seq.
///
/// # Errors
/// No such record, or none of a call that has ended.
pub(super) fn find(active: &Path, arguments: &Arguments) -> anyhow::Result<(u64, CallOutcome)> {
    let in_folder = arguments.log.as_deref().filter(|log| log.is_dir()).map(|folder| folder.join(FILE_NAME));
    let log = match (&in_folder, &arguments.log) {
        (Some(active), _) => LogSelection::Log(active),
        (None, Some(file)) => LogSelection::Files(std::slice::from_ref(file)),
        (None, None) => LogSelection::Log(active),
    };
    let read = |wanted: RecordFilter| records(log, EntryRange::All, wanted);
    let (call, seq) = match arguments.record.parse::<u64>() {
        Err(_) => (arguments.record.clone(), None),
        Ok(seq) => {
            let record = read(Box::new(move |record| record.seq == seq))?.pop();
            let record = record.context("the log has no record of this seq")?;
            let facts = facts(&record).context("this record is not about a call of a tool")?;
            (facts.call.as_str().to_owned(), Some(seq))
        }
    };
    let of_call = move |record: &Record| matches!(&record.event, AuditEvent::Outcome(outcome) if outcome.facts.call.as_str() == call);
    let mut ended: Vec<_> = read(Box::new(of_call))?.into_iter().filter_map(outcome).collect();
    // A turn that is replayed after a crash ends its calls again.
    let meant =
        ended.iter().position(|(at, outcome)| Some(*at) == seq || (seq.is_some() && outcome.intent == seq));
    let last = ended.len().checked_sub(1).context("the log has no outcome of such a call")?;
    Ok(ended.swap_remove(meant.unwrap_or(last)))
}

/// The outcome that a log ends with.
pub(super) fn find_last(active: &Path) -> anyhow::Result<CallOutcome> {
    let wanted = Box::new(|record: &Record| matches!(record.event, AuditEvent::Outcome(_)));
    let ended = records(LogSelection::Log(active), EntryRange::Last(1), wanted)?.pop().and_then(outcome);
    Ok(ended.context("the call has left no outcome")?.1)
}

fn outcome(record: Record) -> Option<(u64, CallOutcome)> {
    match record.event {
        AuditEvent::Outcome(outcome) => Some((record.seq, outcome)),
        _ => None,
    }
}

fn records(log: LogSelection<'_>, range: EntryRange, wanted: RecordFilter) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for entry in read_entries(log, range, Some(wanted))? {
        if let LogEntry::Record { record, .. } = entry? {
            records.push(*record);
        }
    }
    Ok(records)
}

fn facts(record: &Record) -> Option<&CallFacts> {
    match &record.event {
        AuditEvent::Intent(intent) => Some(&intent.facts),
        AuditEvent::Outcome(outcome) => Some(&outcome.facts),
        AuditEvent::Approval(approval) => Some(&approval.facts),
        AuditEvent::Message(_)
        | AuditEvent::Access { .. }
        | AuditEvent::Reload(_)
        | AuditEvent::Network(_)
        | AuditEvent::Workflow(_)
        | AuditEvent::Heads { .. }
        | AuditEvent::Recovered(_) => None,
    }
}

/// The policy of the tool now, if a call of it could come to the same.
///
/// # Errors
/// Why it could not, for reasons that are not the tool's.
pub(super) fn replayable(
    config: &Config,
    recorded: &CallOutcome,
    network: bool,
) -> anyhow::Result<ToolPolicy> {
    if let Some(code) = recorded.code.filter(|code| is_from_outside(*code)) {
        bail!("it ended with {code}, for which its arguments and files are not the reason");
    }
    let tool = &recorded.facts.tool;
    let policy = gateway::policy_now(config, tool)?.with_context(|| {
        format!("there is no policy for {tool:?}; --config names the configuration that has one")
    })?;
    if policy.grants.allows(Interface::Messaging) {
        bail!("{tool} writes to people, and nobody is written to again");
    }
    if policy.grants.network.is_some() && !network {
        bail!("{tool} reaches the network, whose answers the audit does not hold; --network asks anew");
    }
    Ok(policy)
}

/// Whether an end has its reason in people, the disk or the machine.
fn is_from_outside(code: ErrorCode) -> bool {
    use ErrorCode::{
        ApprovalDenied, Cancelled, DurabilityUnknown, Internal, NoSpace, ReadFailed, ToolUnavailable,
        WriteFailed,
    };
    let outside = [
        ApprovalDenied,
        Cancelled,
        DurabilityUnknown,
        Internal,
        NoSpace,
        ReadFailed,
        ToolUnavailable,
        WriteFailed,
    ];
    outside.contains(&code)
}

/// What of policy and component is not as it was, each on a line.
pub(super) fn changes(
    config: &Config,
    policy: &ToolPolicy,
    facts: &CallFacts,
) -> anyhow::Result<Vec<String>> {
    let component = gateway::component_bytes(config, policy, config.policies_dir.as_deref())?;
    let hashes = [
        ("policy", &facts.policy_sha256, policy.sha256.as_str()),
        ("component", &facts.component_sha256, component.sha256()),
    ];
    let changed = hashes.into_iter().filter_map(|(what, recorded, now)| {
        let recorded = recorded.as_deref().unwrap_or("none");
        (recorded != now).then(|| format!("the {what} has changed: recorded sha256 {recorded}, now {now}"))
    });
    Ok(changed.collect())
}
