//! Outputs that are too long to be shown to a model, kept as files where tools can read them:
//! through the publisher and into the audit like everything that changes a file. It refuses what
//! the quotas refuse.

use super::Warden;
use super::publication::Publication;
use super::record::{CallRecord, CountedAs};
use crate::publish::{CallBudget, PlannedChange, Workspace};
use crate::stop::StopReason;
use cofferdam_core::audit::{CallFacts, VerdictKind};
use cofferdam_core::host_call::{Contents, Disposition};
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::GuestPath;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Kept outputs of a session, the latest.
pub(super) const OUTPUTS_MAX: usize = 64;
/// An older one goes when the next is kept.
pub(super) const OUTPUT_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Names that are looked at for old ones: tools may put others there.
const NAMES_LISTED_MAX: usize = 4096;
/// How long keeping one may take.
pub const KEEPING_TIME_MAX: Duration = Duration::from_secs(30);
/// Old ones that go at once.
pub(super) const OUTPUTS_REMOVED_MAX: usize = 8;
/// Where they are.
const FOLDER: &str = "/tmp/outputs";
/// What the audit calls it: it is the gateway's own doing.
const DOING: &str = "keep_output";

/// What is to be kept.
#[derive(Clone, Debug)]
pub struct OutputKeeper {
    /// The call whose output it is.
    pub call: CallId,
    /// The turn.
    pub turn: TurnId,
    /// The conversation that it belongs to.
    pub session: Option<SessionId>,
    /// Who asked.
    pub caller: Caller,
    /// The tool as it was asked for.
    pub tool: String,
    /// The text.
    pub text: String,
}

impl Warden {
    /// Keeps an output as a file under `/tmp/outputs` and returns its path; old ones go. The same
    /// again for the same call. `commit` says whether the caller still waits. Blocks.
    ///
    /// # Errors
    /// What the publisher and the audit refuse.
    pub fn keep_output(&self, output: &OutputKeeper, commit: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let name = output.call.as_str().replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
        let path = format!("{FOLDER}/{name}.json");
        let facts = facts(output, &path, self.parts.workspaces.is_per_user());
        let mut record = CallRecord::begin(facts, CountedAs::Not, Arc::default());
        record.verdict = VerdictKind::Permit;
        let published = self.publish_output(output, &path, &mut record, commit);
        // The file comes first: old ones that stay are no reason to do without it.
        let is_kept = !record.files.is_empty();
        self.write_outcome(record, published.as_ref().err())?;
        published.or_else(|error| if is_kept { Ok(()) } else { Err(error) }).map(|()| path)
    }

    /// Publishes the new file, then removes old ones.
    fn publish_output(
        &self,
        output: &OutputKeeper,
        path: &str,
        record: &mut CallRecord,
        commit: &dyn Fn() -> bool,
    ) -> Result<(), ToolError> {
        let workspace = self.workspace_of(&record.facts)?;
        let (bytes, started) = (output.text.as_bytes(), record.started);
        let late = move || (started.elapsed() > KEEPING_TIME_MAX).then_some(StopReason::Deadline);
        let budget = Arc::new(CallBudget::new(ByteSize(bytes.len() as u64), late));
        let target =
            GuestPath::parse(path).map_err(|e| ToolError::new(ErrorCode::PathDenied, e.to_string()))?;
        let mut staged = workspace.stage(&target, Disposition::Replace, &budget)?;
        staged.write(bytes)?;
        let mut plan = vec![PlannedChange::Write(staged.seal()?)];
        for old in old_outputs(&workspace, path) {
            let Ok(old) = GuestPath::parse(&old) else { continue };
            // One that is gone, or no file any more, stands in nobody's way.
            if let Ok(planned) = workspace.plan_remove(&old, Contents::Keep, &budget) {
                plan.push(PlannedChange::Remove(planned));
            }
        }
        let publication = Publication {
            workspace: &workspace,
            before: None,
            plan,
            reply: None,
            commit,
            keep: &|_| Ok(()),
            deliver: &|| Ok(()),
        };
        self.publish(record, publication)
    }
}

/// Kept outputs that are too old or too many, but for the one that is to be written.
fn old_outputs(workspace: &Workspace, spared: &str) -> Vec<String> {
    let folder = workspace.mount("/tmp").and_then(|tmp| tmp.open_dir("outputs").ok());
    let Some(entries) = folder.and_then(|folder| folder.entries().ok()) else { return Vec::new() };
    let known = |entry: std::io::Result<cap_std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let meta = entry.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
        let path = format!("{FOLDER}/{}", entry.file_name().to_str()?);
        let written = meta.modified().ok()?.into_std();
        (path != spared).then_some((written, path))
    };
    let mut found: Vec<(SystemTime, String)> = entries.take(NAMES_LISTED_MAX).filter_map(known).collect();
    found.sort();
    let too_many = (found.len() + 1).saturating_sub(OUTPUTS_MAX);
    let too_old = SystemTime::now() - OUTPUT_AGE_MAX;
    let goes = |(n, (written, _)): &(usize, (SystemTime, String))| *n < too_many || *written < too_old;
    let old = found.into_iter().enumerate().filter(goes).map(|(_, (_, path))| path);
    old.take(OUTPUTS_REMOVED_MAX).collect()
}

fn facts(output: &OutputKeeper, path: &str, own_workspace: bool) -> CallFacts {
    let arguments: Value = json!({ "call": output.call, "tool": one_line(&output.tool, 80), "path": path });
    let (call, turn, caller) = (output.call.output(), output.turn.clone(), output.caller.clone());
    let facts = CallFacts::new(call, turn, caller, DOING, arguments);
    CallFacts { session: output.session.clone(), own_workspace, ..facts }
}
