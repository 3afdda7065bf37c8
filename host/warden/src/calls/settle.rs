//! Intents that a crash left without an outcome: what became of them, from what lies on disk.

use crate::attachments::outgoing::Outgoing;
use crate::audit::{AuditError, AuditLog};
use crate::publish::{FileOwner, OpenError, Workspaces};
use cofferdam_core::audit::{CallOutcome, Effect, VerdictKind};
use cofferdam_core::tool::ErrorCode;
use std::time::Duration;

/// Publishing that is under way elsewhere is waited for so long.
pub const SETTLE_WAIT: Duration = Duration::from_secs(30);
/// The same for anyone who looks again, and waits again.
pub const SETTLE_LOOK: Duration = Duration::from_secs(2);

/// Said where some of the paths cannot be looked at: nobody may rely on what is not known.
const UNSEEN: &str =
    "while publishing; the changes listed happened, and of the others some cannot be looked at";

/// Said where a power loss may still undo what is found.
const UNSYNCED: &str = "while publishing; the changes listed happened, but the disk did not confirm them";

/// Why open intents cannot be settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The audit cannot be read or written, or is busy.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The folders of an intent cannot be opened.
    #[error(transparent)]
    Workspace(#[from] OpenError),
}

/// Writes the missing outcome of every intent in this chain that a crash cut off; `by` is the node
/// that does it, where the chain is another one's.
///
/// Publishing that is under way in another process is waited for, as long as `wait`.
///
/// # Errors
/// [`SettleError`]; [`AuditError::Busy`] where somebody publishes for longer.
pub(super) fn settle(
    audit: &AuditLog,
    by: Option<&str>,
    (workspaces, outgoing): (&Workspaces, &Outgoing),
    wait: Duration,
) -> Result<(), SettleError> {
    let mut reconcile = audit.open_intents(wait)?;
    // One at a time: each may name thousands of files.
    loop {
        let oldest = reconcile.intents().next().map(|(seq, intent)| (seq, intent.clone()));
        let Some((seq, intent)) = oldest else { break };
        // The paths are those of the call's own session and user.
        let workspace = workspaces.open_for(&FileOwner::from_facts(&intent.facts))?;
        let mut is_all_seen = true;
        let happened = |effect: &Effect| match effect {
            Effect::Attached { sha256, .. } => outgoing.holds(sha256).then(|| effect.clone()),
            _ => workspace.find_effect(effect).unwrap_or_else(|error| {
                tracing::warn!(%error, "what became of a change cannot be looked at");
                is_all_seen = false;
                None
            }),
        };
        let files: Vec<_> = intent.files.iter().filter_map(happened).collect();
        let synced = workspace.sync_effects(&files).inspect_err(|error| {
            tracing::warn!(%error, "what a crash left half done may not be durable");
        });
        let failed = match files.len() {
            _ if !is_all_seen => Some((ErrorCode::WriteFailed, UNSEEN)),
            _ if synced.is_err() => Some((ErrorCode::DurabilityUnknown, UNSYNCED)),
            n if n == intent.files.len() => None,
            0 => Some((ErrorCode::Cancelled, "before publishing; nothing was changed")),
            _ => Some((ErrorCode::WriteFailed, "while publishing; the changes listed happened")),
        };
        tracing::warn!(call = %intent.facts.call, landed = files.len(), of = intent.files.len(), "settled after a crash");
        let outcome = CallOutcome {
            facts: intent.facts,
            verdict: VerdictKind::Permit,
            reason: failed.map(|(_, when)| format!("the gateway stopped {when}")),
            code: failed.map(|(code, _)| code),
            files,
            intent: Some(seq),
            reconciled: true,
            settled_by: by.map(str::to_owned),
            duration_us: 0,
        };
        reconcile.settle(seq, outcome)?;
    }
    if let Err(error) = reconcile.finish() {
        // The next start reads more of the log; nothing else depends on it.
        tracing::warn!(error = &error as &dyn std::error::Error, "cannot note how far the audit is settled");
    }
    Ok(())
}
