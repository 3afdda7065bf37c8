//! One call: registry, schema, judge, sandbox, publisher, audit, in this order and no other.

use super::ledger::Ledger;
use super::threads::{self, CallThreads, Handover};
use super::{Approver, Earlier, Journal, Judged, Registry};
use crate::attachments::outgoing::{Addition, Outgoing, Resolve};
use crate::attachments::{Attachments, RecentAttachments};
use crate::audit::{AuditLog, Durability, PublishingGuard};
use crate::bus::{Origin, Rejected, Requests};
use crate::publish::{Place, Planned, Workspace, Workspaces, told};
use crate::sandbox::{Inputs, Reports, Sandbox};
use cofferdam_core::arguments::BadArguments;
use cofferdam_core::audit::{CallFacts, Effect, Event, Intent, Outcome, VerdictKind, redact, sha256_hex};
use cofferdam_core::capability::Interface;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::limits::{ByteSize, Limits};
use cofferdam_core::message::Delivery;
use cofferdam_core::policy::Safety;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

mod asking;
mod keep;
mod replay;

use asking::{Approved, Asking, Ended};
use replay::{CutOff, Replay};

#[cfg(test)]
mod tests;

pub use keep::Output;

/// A call as somebody asks for it: nothing in it has been checked.
pub struct CallRequest {
    /// The same again when the turn is replayed.
    pub id: CallId,
    /// The turn.
    pub turn: TurnId,
    /// The conversation that it belongs to; none where calls stand alone, as on the command line.
    pub session: Option<SessionId>,
    /// Who asks.
    pub caller: Caller,
    /// The tool's name as given.
    pub tool: String,
    /// The arguments as JSON text, or why what was typed cannot become JSON.
    pub arguments: Result<String, BadArguments>,
    /// The turn's attachments.
    pub attachments: Attachments,
    /// Where a tool that may see them finds the attachments of an earlier message; absent where there is no
    /// earlier message.
    pub recent: Option<Arc<dyn RecentAttachments>>,
    /// Takes what the call says of its progress; must not block.
    pub report: Option<Reports>,
    /// Where replayed turns look first; absent where turns are not durable.
    pub journal: Option<Arc<dyn Journal>>,
    /// Who can be asked to approve it; where nobody can, a call that a policy asks about is refused.
    pub approver: Option<Arc<dyn Approver>>,
    /// Ends the call early.
    pub cancel: CancellationToken,
}

/// Everything a call passes through.
pub struct Toolbox {
    parts: Arc<Parts>,
    threads: Arc<CallThreads>,
    /// Those of the toolbox that is in force now, which may be another one over the same mechanisms.
    in_force: Arc<RwLock<Arc<Parts>>>,
}

struct Parts {
    registry: Registry,
    sandbox: Arc<Sandbox>,
    workspaces: Arc<Workspaces>,
    audit: Arc<AuditLog>,
    outgoing: Outgoing,
    requests: Arc<Requests>,
    ledger: Ledger,
}

/// The mechanisms that calls need. Cheap to clone.
#[derive(Clone)]
pub struct Mechanisms {
    /// Where guests run.
    pub sandbox: Arc<Sandbox>,
    /// The tools' files.
    pub workspaces: Arc<Workspaces>,
    /// What is written down of every call.
    pub audit: Arc<AuditLog>,
    /// What calls add to replies.
    pub outgoing: Outgoing,
    /// The requests whose replies they are.
    pub requests: Arc<Requests>,
}

impl Toolbox {
    /// The tools over the mechanisms they need. The calls of one turn write `turn_bytes` at most.
    pub fn new(
        registry: Registry,
        mechanisms: Mechanisms,
        threads: Arc<CallThreads>,
        turn_bytes: ByteSize,
    ) -> Self {
        let Mechanisms { sandbox, workspaces, audit, outgoing, requests } = mechanisms;
        let ledger = Ledger::new(turn_bytes);
        let parts = Arc::new(Parts { registry, sandbox, workspaces, audit, outgoing, requests, ledger });
        let in_force = Arc::new(RwLock::new(parts.clone()));
        Self { parts, threads, in_force }
    }

    /// Other tools and limits over the same mechanisms and threads. What was begun with these goes on with them,
    /// apart from what waits for a person: that is judged by what is in force when it is approved.
    #[must_use]
    pub fn renewed(&self, registry: Registry, outgoing: Outgoing, turn_bytes: ByteSize) -> Self {
        let Parts { sandbox, workspaces, audit, requests, .. } = &*self.parts;
        let (sandbox, workspaces, audit) = (sandbox.clone(), workspaces.clone(), audit.clone());
        let requests = requests.clone();
        let ledger = Ledger::new(turn_bytes);
        let parts = Arc::new(Parts { registry, sandbox, workspaces, audit, outgoing, requests, ledger });
        Self { parts, threads: self.threads.clone(), in_force: self.in_force.clone() }
    }

    /// From here on this one is in force.
    pub fn enforce(&self) {
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = self.parts.clone();
    }

    /// The parts that are in force.
    fn in_force(&self) -> Arc<Parts> {
        self.in_force.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests that calls may add to.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.parts.requests
    }

    /// The tools there are.
    pub fn registry(&self) -> &Registry {
        &self.parts.registry
    }

    /// Has a worker ready for the first call of a tool, where users share their workspace.
    pub fn start_ahead(&self, tool: &str) {
        let Parts { registry, sandbox, workspaces, .. } = &*self.parts;
        if let Ok(tool) = registry.get(tool)
            && !workspaces.per_user()
        {
            sandbox.start_ahead(&tool.policy.profile, &tool.policy.grants, workspaces.usual());
        }
    }

    /// Runs one call to its audited end.
    ///
    /// # Errors
    /// Every refusal and failure, by code; each is in the audit.
    pub async fn call(&self, mut request: CallRequest) -> Result<Answer, ToolError> {
        request.tool = self.parts.registry.named(&request.tool).into_owned();
        let tool = self.parts.registry.get(&request.tool).ok();
        let limits = tool.map_or(Limits::DEFAULT, |tool| tool.policy.limits);
        let sees_recent = tool.is_some_and(|tool| tool.policy.grants.allows(Interface::RecentAttachments));
        if sees_recent
            && request.attachments.is_empty()
            && let Some(recent) = request.recent.clone()
        {
            tokio::select! {
                found = recent.recent() => request.attachments = found,
                // The call itself then says what became of it.
                () = request.cancel.cancelled() => {}
                () = tokio::time::sleep(limits.deadline.0) => {
                    let said = "fetching the files of the earlier message took longer than the call may take; \
                                nothing was changed";
                    return Err(self.refuse(request, ToolError::new(ErrorCode::TimedOut, said)).await);
                }
            }
        }
        let asked = Asked::of(request);
        self.asking_where_due(asked, limits).await
    }

    /// Writes down that a call was refused before it ran, and returns what to answer.
    pub async fn refuse(&self, request: CallRequest, why: ToolError) -> ToolError {
        self.unanswered(Asked::of(request), why).await
    }

    /// Writes down a call that no thread answered, off the async threads, and returns what to answer.
    async fn unanswered(&self, asked: Arc<Asked>, refused: ToolError) -> ToolError {
        let parts = self.parts.clone();
        let appended = tokio::task::spawn_blocking(move || parts.refused(&asked, refused)).await;
        appended.unwrap_or_else(|_| threads::crashed())
    }
}

/// A request, and whether the audit has its outcome: written once, by whoever answers.
struct Asked {
    request: CallRequest,
    told: AtomicBool,
}

impl Asked {
    fn of(request: CallRequest) -> Arc<Self> {
        Arc::new(Self { request, told: AtomicBool::new(false) })
    }
}

/// What is known of a call while it runs, for its audit records.
struct Progress {
    facts: CallFacts,
    verdict: VerdictKind,
    intent: Option<u64>,
    files: Vec<Effect>,
    /// Held from before the intent until after the outcome, so that an intent without an outcome
    /// can only come from a crash.
    publishing: Option<PublishingGuard>,
}

impl Progress {
    fn of(request: &CallRequest, workspaces: &Workspaces) -> Self {
        Self {
            facts: CallFacts {
                call: request.id.clone(),
                turn: request.turn.clone(),
                session: request.session.clone(),
                caller: request.caller.clone(),
                own_workspace: workspaces.per_user(),
                tool: one_line(&request.tool, 80),
                component_sha256: None,
                policy_sha256: None,
                profile: None,
                arguments: Value::Null,
                arguments_sha256: sha256_hex(request.arguments.as_deref().unwrap_or_default().as_bytes()),
            },
            verdict: VerdictKind::Deny,
            intent: None,
            files: Vec::new(),
            publishing: None,
        }
    }
}

impl Parts {
    fn call(
        &self,
        asked: &Asked,
        approved: Option<&Approved>,
        handover: &Handover,
    ) -> Result<Ended, ToolError> {
        let started = Instant::now();
        let mut progress = Progress::of(&asked.request, &self.workspaces);
        let text = match &asked.request.arguments {
            Ok(text) => text,
            Err(why) => {
                // Its words are for the sender alone: one of them may be a content without its name.
                let audited = ToolError::new(
                    ErrorCode::InvalidArguments,
                    "what was typed is not key=value, each key once",
                );
                let told = ToolError::new(ErrorCode::InvalidArguments, why.to_string());
                return self.record_outcome(asked, progress, &Err(audited), started).and(Err(told));
            }
        };
        let running = Running { text, started, approved, handover };
        match self.judged(&asked.request, &running, &mut progress) {
            // It has not ended.
            Ok(Ended::Waiting(waiting)) => Ok(Ended::Waiting(waiting)),
            Ok(Ended::With(result)) => {
                let result = Ok(result);
                self.record_outcome(asked, progress, &result, started).and(result).map(Ended::With)
            }
            Err(error) => self.record_outcome(asked, progress, &Err(error.clone()), started).and(Err(error)),
        }
    }

    /// Writes down a call that no thread answered; returns what to answer.
    fn refused(&self, asked: &Asked, refused: ToolError) -> ToolError {
        self.refused_knowing(asked, Progress::of(&asked.request, &self.workspaces), refused)
    }

    fn refused_knowing(&self, asked: &Asked, progress: Progress, refused: ToolError) -> ToolError {
        let result = Err(refused.clone());
        self.record_outcome(asked, progress, &result, Instant::now()).err().unwrap_or(refused)
    }

    /// Writes the outcome down. Without it there is no answer, except where the intent already tells.
    fn record_outcome(
        &self,
        asked: &Asked,
        progress: Progress,
        result: &Result<Answer, ToolError>,
        started: Instant,
    ) -> Result<(), ToolError> {
        // The watchdog may have answered meanwhile, and said so.
        if asked.told.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let settles_intent = progress.intent.is_some();
        let error = result.as_ref().err();
        let outcome = Outcome {
            facts: progress.facts,
            verdict: progress.verdict,
            reason: error.map(|e| one_line(&e.message, 1024)),
            code: error.map(|e| e.code),
            files: progress.files,
            intent: progress.intent,
            reconciled: false,
            duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let known = self.registry.get(&asked.request.tool).is_ok().then_some(&*asked.request.tool);
        COUNTS.calls.ended(known, outcome.code, outcome.duration_us);
        let appended = self.audit.append(Event::Outcome(outcome), Durability::Buffered);
        drop(progress.publishing);
        match appended {
            Ok(_) => Ok(()),
            Err(error) if settles_intent => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the outcome is not in the audit; the next start settles its intent"
                );
                Ok(())
            }
            Err(error) => Err(unaudited(&error)),
        }
    }

    fn judged(
        &self,
        request: &CallRequest,
        running: &Running<'_>,
        progress: &mut Progress,
    ) -> Result<Ended, ToolError> {
        let text = running.text;
        let tool = self.registry.get(&request.tool).cloned().inspect_err(|_| {
            // Nothing classifies them, so they are audited by length and hash.
            progress.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        progress.facts.component_sha256 = Some(tool.component.sha256().to_owned());
        progress.facts.policy_sha256 = Some(tool.policy.sha256.clone());
        progress.facts.profile = Some(tool.policy.profile.clone());
        let arguments = tool.read(text).inspect_err(|_| {
            progress.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        progress.facts.arguments = redact(&arguments, Some(&tool.policy));
        let judged = tool.judge(request.id.clone(), arguments)?;
        if matches!(judged, Judged::Permit(_)) {
            progress.verdict = VerdictKind::Permit;
        }
        let earlier = earlier(request, tool.policy.safety, &progress.facts.arguments_sha256)?;
        // What happened is not asked about again.
        let cut = match self.replayed(request, earlier.as_ref(), progress)? {
            Replay::Fresh => None,
            Replay::CutOff(cut) => Some(cut),
            Replay::Answered(answer) => {
                progress.verdict = VerdictKind::Permit;
                return Ok(Ended::With(answer));
            }
        };
        if let (Some(cut), Judged::Ask(_)) = (&cut, &judged) {
            // What a person agreed to was the whole.
            return Err(cut.unfinished("its rest needs an approval"));
        }
        let permit = match judged {
            Judged::Permit(permit) => permit,
            Judged::Ask(ask) => match self.asking(request, &tool, ask, running.approved, progress)? {
                Asking::Permit(permit) => *permit,
                Asking::Wait(waiting) => return Ok(Ended::Waiting(waiting)),
            },
        };
        progress.verdict = VerdictKind::Permit;
        // Not before: what is refused makes no folder.
        let workspace = self.workspace_of(&progress.facts)?;
        let inputs = Inputs {
            attachments: request.attachments.clone(),
            reply: Some(self.outgoing.addition(&request.turn).reaching(self.reaching(request))),
            report: request.report.clone(),
            turn: self.ledger.share(&request.turn, earlier.as_ref()),
            made: cut.as_ref().map(CutOff::made).unwrap_or_default(),
            cancel: request.cancel.clone(),
            started: running.started,
        };
        let read = permit.found().to_vec();
        let finished = self.sandbox.run(permit, &tool.component, &workspace, inputs);
        Self::still_found(&workspace, &read)?;
        let attachments = finished.reply.as_ref().map(Addition::attachments).unwrap_or_default();
        let elsewhere = finished.reply.as_ref().map(Addition::request).filter(|to| **to != request.turn);
        let result = match &cut {
            None => finished.result?,
            Some(cut) => finished.result.map_err(|error| cut.unfinished(&error.message))?,
        };
        let mut answer = match elsewhere.cloned() {
            None => Answer { result, attachments, delivery: None },
            Some(to) => {
                let delivery = Some(Delivery { request: to, attachments });
                Answer { result, attachments: Vec::new(), delivery }
            }
        };
        let (mut plan, mut before) = (finished.plan, None);
        if let Some(cut) = cut {
            plan = cut.rest_of(&answer, plan)?;
            before = Some(cut.done().to_vec());
            answer = cut.into_answer();
        }
        if !plan.is_empty() || finished.reply.is_some() {
            let added = finished.reply.as_ref().map(Addition::effects).unwrap_or_default();
            let written_bytes = finished.written_bytes;
            let publishing =
                Publishing { workspace: &workspace, answer: &answer, added, written_bytes, before };
            self.publish(request, publishing, plan, progress, running.handover)?;
        }
        // Not before: what fails until here adds nothing.
        if let Some(reply) = finished.reply {
            reply.keep();
        }
        Ok(Ended::With(answer))
    }

    /// The workspace that a call is in: its session's `/tmp`, its user's files where users have their own.
    fn workspace_of(&self, facts: &CallFacts) -> Result<Arc<Workspace>, ToolError> {
        self.workspaces.at(&Place::of(facts)).map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a folder of the workspace cannot be opened"
            );
            let code = if error.is_no_space() { ErrorCode::NoSpace } else { ErrorCode::Internal };
            let said = "the folders of this conversation cannot be opened; the operator finds why in the log";
            ToolError::new(code, said)
        })
    }

    fn publish(
        &self,
        request: &CallRequest,
        publishing: Publishing<'_>,
        plan: Vec<Planned>,
        progress: &mut Progress,
        handover: &Handover,
    ) -> Result<(), ToolError> {
        if !handover.commit() {
            let said = match &publishing.before {
                None => "the deadline passed before publishing; nothing was changed".to_owned(),
                Some(done) => format!("the deadline passed; done before the gateway stopped: {}", told(done)),
            };
            return Err(ToolError::new(ErrorCode::TimedOut, said));
        }
        progress.publishing = Some(self.audit.publishing().map_err(|e| unaudited(&e))?);
        let Publishing { workspace, answer, added, written_bytes, before } = publishing;
        match &request.journal {
            // By the run that was cut off.
            _ if before.is_some() => {}
            Some(journal) => journal
                .record(request.id.as_str(), &progress.facts.arguments_sha256, answer, written_bytes)
                .map_err(|e| {
                    let said = format!("the journal cannot be written, so nothing was changed: {e}");
                    ToolError::new(ErrorCode::Internal, said)
                })?,
            None => self.ledger.enter(&request.turn, written_bytes),
        }
        // The whole plan, also where its first steps happened in an earlier run: a crash now is settled as a whole.
        let before = before.unwrap_or_default();
        let planned = before.iter().cloned().chain(plan.iter().map(Planned::effect));
        let files = planned.chain(added.iter().cloned()).collect();
        let intent = Event::Intent(Intent { facts: progress.facts.clone(), files });
        progress.intent = Some(self.audit.append(intent, Durability::Synced).map_err(|e| unaudited(&e))?);
        self.deliver(request, answer)?;
        match workspace.publish(plan) {
            Ok(files) => {
                progress.files = [before, files, added].concat();
                Ok(())
            }
            Err(mut failure) => {
                failure.landed.splice(..0, before);
                progress.files = failure.landed.clone();
                Err(failure.into())
            }
        }
    }
}

impl Parts {
    /// Finds the request that the call means.
    fn reaching(&self, request: &CallRequest) -> Resolve {
        let (requests, from) = (
            self.requests.clone(),
            Origin {
                request: request.turn.clone(),
                session: request.session.clone(),
                caller: request.caller.clone(),
            },
        );
        Arc::new(move |to| Ok(requests.resolve(&from, to)?))
    }

    /// Hands the files of a call to the other request that it named, once, while that is being answered.
    fn deliver(&self, request: &CallRequest, answer: &Answer) -> Result<(), ToolError> {
        let Some(delivery) = &answer.delivery else { return Ok(()) };
        let unwritten = |e: String| {
            let said = format!("the files cannot be handed over, so nothing was sent: {e}");
            ToolError::new(ErrorCode::Internal, said)
        };
        let journal = request.journal.as_ref().ok_or_else(|| unwritten("no turn is kept here".into()))?;
        let call = request.id.as_str();
        if journal.delivered(call).map_err(unwritten)? {
            return Ok(());
        }
        let handed = self.requests.while_open(&delivery.request, || journal.deliver(call, delivery));
        handed.ok_or_else(|| Rejected::NothingOpen(delivery.request.to_string()))?.map_err(unwritten)
    }
}

/// A call on its thread.
struct Running<'a> {
    text: &'a str,
    started: Instant,
    approved: Option<&'a Approved>,
    handover: &'a Handover,
}

/// What is published, besides the plan itself.
struct Publishing<'a> {
    workspace: &'a Workspace,
    answer: &'a Answer,
    /// What the call adds to the reply.
    added: Vec<Effect>,
    written_bytes: u64,
    /// What an earlier run of the call, which a crash cut off, has done of the plan.
    before: Option<Vec<Effect>>,
}

/// What the journal of a durable turn says, for a call that may change something.
fn earlier(
    request: &CallRequest,
    safety: Safety,
    arguments_sha256: &str,
) -> Result<Option<Earlier>, ToolError> {
    let Some(journal) = request.journal.as_ref().filter(|_| safety != Safety::ReadOnly) else {
        return Ok(None);
    };
    let unreadable = |e| ToolError::new(ErrorCode::Internal, format!("the journal cannot be read: {e}"));
    journal.earlier(request.id.as_str(), arguments_sha256).map(Some).map_err(unreadable)
}

fn unaudited(error: &crate::audit::AuditError) -> ToolError {
    tracing::error!(error = error as &dyn std::error::Error, "the audit failed");
    ToolError::new(
        ErrorCode::Internal,
        "the audit cannot be written, so the call was refused; the operator finds why in the log",
    )
}
