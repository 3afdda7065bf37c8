//! Outputs that are too long to be shown to a model, kept as files where tools can read them: through the
//! publisher and into the audit like everything that changes a file. It refuses what the quotas refuse.

use super::toolbox::{Parts, Toolbox};
use super::unwritten::unaudited;
use crate::tools::threads::Handover;
use cofferdam_core::audit::{CallFacts, Event, Intent, Outcome, VerdictKind, sha256_hex};
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::GuestPath;
use cofferdam_warden::audit::Durability;
use cofferdam_warden::publish::{Budget, Contents, Disposition, Planned, Stop, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Kept outputs of a session, the latest.
pub(super) const OUTPUTS_MAX: usize = 64;
/// An older one goes when the next is kept.
pub(super) const OUTPUT_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Names that are looked at for old ones: tools may put others there.
const NAMES_LISTED_MAX: usize = 4096;
/// How long keeping one may take.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Old ones that go at once.
pub(super) const REMOVED_MAX: usize = 8;
/// Where they are.
const FOLDER: &str = "/tmp/outputs";
/// What the audit calls it: it is the gateway's own doing.
const DOING: &str = "keep_output";

/// What is to be kept.
#[derive(Clone, Debug)]
pub struct Output {
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

impl Toolbox {
    /// Keeps an output as a file under `/tmp/outputs` and returns its path; old ones go. The same again for
    /// the same call.
    ///
    /// # Errors
    /// What the publisher and the audit refuse.
    pub async fn keep_output(&self, output: Output) -> Result<String, ToolError> {
        let (parts, caller) = (self.parts.clone(), output.caller.clone());
        let work = move |handover: Handover| parts.keep(&output, &handover);
        self.threads.run(&caller, TIME_MAX, work).await
    }
}

impl Parts {
    fn keep(&self, output: &Output, handover: &Handover) -> Result<String, ToolError> {
        let started = Instant::now();
        let name = output.call.as_str().replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
        let path = format!("{FOLDER}/{name}.json");
        let facts = facts(output, &path, self.workspaces.per_user());
        let (mut files, mut intent) = (Vec::new(), None);
        let published = (|| {
            let workspace = self.workspace_of(&facts)?;
            let plan = plan(&workspace, &path, output, started)?;
            if !handover.commit() {
                return Err(ToolError::new(ErrorCode::TimedOut, "keeping it took too long"));
            }
            let publishing = self.audit.publishing().map_err(|e| unaudited(&e))?;
            let planned = plan.iter().map(Planned::effect).collect();
            let event = Event::Intent(Intent { facts: facts.clone(), files: planned });
            intent = Some(self.audit.append(event, Durability::Synced).map_err(|e| unaudited(&e))?);
            let published = workspace.publish(plan);
            files = published.as_ref().map_or_else(|failure| failure.landed.clone(), Clone::clone);
            Ok((publishing, published.err().map(ToolError::from)))
        })();
        // Held until the outcome is written, so that an intent without one can only come from a crash.
        let (publishing, error) = match published {
            Ok((publishing, error)) => (Some(publishing), error),
            Err(error) => (None, Some(error)),
        };
        // The file comes first: old ones that stay are no reason to do without it.
        let is_kept = !files.is_empty();
        let outcome = Outcome {
            facts,
            verdict: VerdictKind::Permit,
            reason: error.as_ref().map(|e| one_line(&e.message, 1024)),
            code: error.as_ref().map(|e| e.code),
            files,
            intent,
            reconciled: false,
            duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let appended = self.audit.append(Event::Outcome(outcome), Durability::Buffered);
        drop(publishing);
        match appended {
            // The intent tells already, and the next start settles it.
            Err(error) if intent.is_none() => Err(unaudited(&error)),
            _ => match error.filter(|_| !is_kept) {
                Some(error) => Err(error),
                None => Ok(path),
            },
        }
    }
}

/// The new file, then the removal of old ones.
fn plan(
    workspace: &Workspace,
    path: &str,
    output: &Output,
    started: Instant,
) -> Result<Vec<Planned>, ToolError> {
    let bytes = output.text.as_bytes();
    let late = move || (started.elapsed() > TIME_MAX).then_some(Stop::Deadline);
    let budget = Arc::new(Budget::new(ByteSize(bytes.len() as u64), late));
    let target = GuestPath::parse(path).map_err(|e| ToolError::new(ErrorCode::PathDenied, e.to_string()))?;
    let mut staged = workspace.stage(&target, Disposition::Replace, &budget)?;
    staged.write(bytes)?;
    let mut plan = vec![staged.seal()?.into()];
    for old in old_outputs(workspace, path) {
        let Ok(old) = GuestPath::parse(&old) else { continue };
        // One that is gone, or no file any more, stands in nobody's way.
        if let Ok(planned) = workspace.plan_remove(&old, Contents::Keep, &budget) {
            plan.push(Planned::Remove(planned));
        }
    }
    Ok(plan)
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
    old.take(REMOVED_MAX).collect()
}

fn facts(output: &Output, path: &str, own_workspace: bool) -> CallFacts {
    let arguments: Value = json!({ "call": output.call, "tool": one_line(&output.tool, 80), "path": path });
    CallFacts {
        call: output.call.output(),
        turn: output.turn.clone(),
        session: output.session.clone(),
        own_workspace,
        caller: output.caller.clone(),
        tool: DOING.into(),
        component_sha256: None,
        policy_sha256: None,
        profile: None,
        arguments_sha256: sha256_hex(arguments.to_string().as_bytes()),
        arguments,
    }
}
