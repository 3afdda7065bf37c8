//! Runs a turn: provider, tool calls, provider again, until there is an answer.

use super::{Conversation, Delta, Deltas, Entry, Progress, Provider, Request, Step, ToolSpec};
use crate::attachments::{Attachments, RecentAttachments};
use crate::tools::{Approver, CallRequest, Journal, Toolbox};
use cofferdam_core::attachment::{AttachmentInfo, addendum};
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One user message (or album), ready to be answered.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The same again when the turn is replayed after a crash.
    pub id: TurnId,
    /// The conversation that it belongs to; none where turns stand alone.
    pub session: Option<SessionId>,
    /// Who asks.
    pub caller: Caller,
    /// Text or caption; empty when there is none, or when it must not run (an album's straggler).
    pub text: String,
    /// What came with it, in order.
    pub attachments: Attachments,
    /// Brings the files of an earlier message, for the tools that may ask for them.
    pub recent: Option<Arc<dyn RecentAttachments>>,
    /// Asks people about calls that a policy asks about; absent where nobody can be asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// Lines that the user must read with the answer, besides those on unavailable attachments.
    pub notices: Vec<String>,
}

/// Runs turns.
pub struct Runner {
    provider: Arc<dyn Provider>,
    toolbox: Arc<Toolbox>,
    journal: Option<Arc<dyn Journal>>,
    specs: Vec<ToolSpec>,
}

/// A provider that asks for more rounds than this is stopped.
const ROUNDS_MAX: usize = 16;
/// More tool calls than this in one turn are refused.
const CALLS_MAX: usize = 64;

impl Runner {
    /// A runner over a provider and the tools; with a journal where turns are replayed after a crash.
    pub fn new(
        provider: Arc<dyn Provider>,
        toolbox: Arc<Toolbox>,
        journal: Option<Arc<dyn Journal>>,
    ) -> Self {
        let specs = toolbox
            .registry()
            .iter()
            .filter_map(|(name, tool)| {
                let description = &tool.as_ref().ok()?.description;
                Some(ToolSpec {
                    name: name.to_owned(),
                    summary: description.summary.clone(),
                    arguments: description.arguments.clone(),
                })
            })
            .collect();
        Self { provider, toolbox, journal, specs }
    }

    /// Answers a turn. Never fails: what went wrong is part of the answer.
    ///
    /// Cancelling stops the provider and the tool; the answer then says so.
    pub async fn run(
        &self,
        turn: Turn,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> OutgoingResponse {
        let infos = turn.attachments.infos();
        if !infos.is_empty() {
            progress.step(Step::Attachments(infos.clone()));
        }
        let mut lines = turn.notices.clone();
        lines.extend(infos.iter().filter_map(AttachmentInfo::notice));
        let mut conversation = Conversation::default();
        conversation.entries.push(Entry::User {
            text: turn.text.clone(),
            addendum: addendum(&infos),
            attachments: turn.attachments.clone(),
        });
        let answer = self.rounds(&turn, &mut conversation, progress, cancel).await;
        lines.extend(Some(answer).filter(|text| !text.is_empty()));
        OutgoingResponse::text(lines.join("\n"))
    }

    async fn rounds(
        &self,
        turn: &Turn,
        conversation: &mut Conversation,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> String {
        let mut calls = 0;
        for _ in 0..ROUNDS_MAX {
            let request = Request { instructions: "", conversation, tools: &self.specs };
            let mut deltas = Ignore;
            let reply = tokio::select! {
                reply = self.provider.respond(request, &mut deltas) => reply,
                () = cancel.cancelled() => return "cancelled: the turn was stopped".into(),
            };
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => return error.to_string(),
            };
            if reply.tool_calls.is_empty() {
                return reply.text.unwrap_or_default();
            }
            conversation
                .entries
                .push(Entry::Assistant { text: reply.text, tool_calls: reply.tool_calls.clone() });
            for wanted in reply.tool_calls {
                if calls == CALLS_MAX {
                    return format!("The turn asked for more than {CALLS_MAX} tool calls and was stopped.");
                }
                let id = turn.id.call(calls);
                calls += 1;
                progress.step(Step::Calling { call: id.clone(), tool: wanted.tool.clone() });
                let report = reporting(progress.clone(), id.clone());
                let result = self
                    .toolbox
                    .call(CallRequest {
                        id,
                        turn: turn.id.clone(),
                        session: turn.session.clone(),
                        caller: turn.caller.clone(),
                        tool: wanted.tool.clone(),
                        arguments: wanted.arguments,
                        attachments: turn.attachments.clone(),
                        recent: turn.recent.clone(),
                        report: Some(report),
                        journal: self.journal.clone(),
                        approver: turn.approver.clone(),
                        cancel: cancel.clone(),
                    })
                    .await;
                let shown = match &result {
                    Ok(value) => value.to_string(),
                    Err(error) => error.to_json().to_string(),
                };
                conversation.entries.push(Entry::ToolResult {
                    call: wanted.id,
                    tool: wanted.tool,
                    result,
                    shown,
                });
            }
        }
        format!("The turn took more than {ROUNDS_MAX} rounds and was stopped.")
    }
}

/// Takes what a call reports while it runs.
fn reporting(progress: Arc<dyn Progress>, call: CallId) -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(move |message| {
        progress.step(Step::Report { call: call.clone(), message: message.to_owned() });
    })
}

/// No channel shows partial answers yet.
struct Ignore;

impl Deltas for Ignore {
    fn take(&mut self, _: Delta) {}
}
