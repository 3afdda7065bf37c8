//! The calls of a step, up to the limit of a turn (`[turns] calls`). Those that change nothing run
//! side by side, those that change something in the order in which they were asked for; each sees
//! what came before it. Results are kept in that order, too.

use super::history::{EntryExtras, not_run_result};
use super::repeats::{RepeatDecision, decide_repeat, is_same};
use super::rounds::{EarlyEnd, Rounds, STEP_CALLS_MAX};
use super::{HistoryEntry, Runner, ToolCall, TurnStep, untrusted, words};
use crate::tools::{CallRequest, OutputKeeper};
use cofferdam_core::id::CallId;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

impl Rounds<'_> {
    /// Runs the calls of the last step that have no result yet; those beyond the limit of the turn
    /// do not run, and it ends.
    pub(super) async fn run_calls(&mut self) -> Result<(), EarlyEnd> {
        let mut pending = self.conversation.pending().to_vec();
        let mut number = self.conversation.calls() - pending.len();
        let most = self.runner.turns.calls;
        let beyond = pending.split_off(pending.len().min(most.saturating_sub(number)));
        for batch in batches(pending, |tool| self.runner.tools.is_read_only(tool)) {
            let calls = batch.len();
            let results = self.batch(&batch, number).await?;
            for (n, (wanted, result)) in batch.into_iter().zip(results).enumerate() {
                let id = self.turn.id.call(number + n);
                let (result, files) = match result {
                    Ok(ToolAnswer { result, attachments, .. }) => (Ok(result), attachments),
                    // Without a result it runs when the turn goes on, or is told as cut off: what it
                    // had sent is out.
                    Err(error) if error.code == ErrorCode::Cancelled && self.is_stopped() => {
                        return Err(self.stop_reason_within(&wanted.tool, &error.message));
                    }
                    Err(error) => (Err(error), Vec::new()),
                };
                let shown = self.show_result(&id, &wanted, &result).await;
                let entry = HistoryEntry::ToolResult { call: wanted.id, tool: wanted.tool, result, shown };
                self.conversation.push(entry, EntryExtras { files, ..EntryExtras::default() }).await?;
            }
            number += calls;
        }
        if beyond.is_empty() {
            return Ok(());
        }
        self.give_up().await?;
        Err(EarlyEnd::Answered(words::too_many_calls(most)))
    }

    /// Runs calls side by side; their results in order.
    async fn batch(
        &mut self,
        batch: &[ToolCall],
        first: usize,
    ) -> Result<Vec<Result<ToolAnswer, ToolError>>, EarlyEnd> {
        let mut requests = Vec::with_capacity(batch.len());
        for (n, wanted) in batch.iter().enumerate() {
            let refused = match decide_repeat(self.conversation.own_entries(), wanted) {
                RepeatDecision::Run => match self.refuse_elsewhere(&wanted.tool) {
                    Some(error) => Some(error),
                    None => self.check_daily_budget(&self.turn.id.call(first + n), wanted).await?,
                },
                RepeatDecision::Refuse(error) => Some(error),
                RepeatDecision::Stop(code) => {
                    self.give_up().await?;
                    return Err(EarlyEnd::Answered(words::going_in_circles(&wanted.tool, code)));
                }
            };
            requests.push((self.request(self.turn.id.call(first + n), wanted), refused));
        }
        let number = self.step_calls() + 1 - self.conversation.pending().len();
        let mut running = Vec::with_capacity(requests.len());
        for (n, (request, refused)) in requests.into_iter().enumerate() {
            let (tools, progress) = (self.runner.tools.clone(), self.progress.clone());
            let (call, tool) = (request.id.clone(), request.tool.clone());
            let of = self.step_calls();
            progress.step(TurnStep::Calling { call: call.clone(), tool, number: number + n, of });
            // Not tasks of their own: the turn goes on where its last call ended (`follow_work`).
            running.push(async move {
                let called = async {
                    match refused {
                        Some(error) => Err(tools.refuse(request, error).await),
                        None => tools.call(request).await,
                    }
                };
                let result = AssertUnwindSafe(called).catch_unwind().await;
                progress.step(TurnStep::Called { call });
                result.unwrap_or_else(|_| {
                    tracing::error!("a call failed; the panic is told above");
                    Err(ToolError::new(ErrorCode::Internal, "the gateway failed; see its log"))
                })
            });
        }
        Ok(join_all(running).await)
    }

    /// Calls of the last step, whether they have run or not.
    fn step_calls(&self) -> usize {
        let calls = |entry: &HistoryEntry| match entry {
            HistoryEntry::Assistant { tool_calls, .. } => Some(tool_calls.len()),
            _ => None,
        };
        self.conversation.entries.iter().rev().find_map(calls).unwrap_or(0)
    }

    fn request(&self, id: CallId, wanted: &ToolCall) -> CallRequest {
        let turn = &self.turn;
        let (tool, arguments) = (wanted.tool.clone(), wanted.arguments.clone());
        let (progress, call) = (self.progress.clone(), id.clone());
        let report = move |message: &str| {
            progress.step(TurnStep::Report { call: call.clone(), message: message.to_owned() });
        };
        CallRequest {
            id,
            session: turn.session.clone(),
            attachments: turn.attachments.clone(),
            recent: turn.recent.clone(),
            report: Some(Arc::new(report)),
            journal: self.journal.clone(),
            messaging: turn.messaging.clone(),
            approver: turn.approver.clone(),
            cancel: self.stop.clone(),
            ..CallRequest::new(turn.id.clone(), turn.caller.clone(), tool, arguments)
        }
    }

    /// Why a tool may not be called by this turn where it runs.
    fn refuse_elsewhere(&self, tool: &str) -> Option<ToolError> {
        let profiles = self.turn.profiles.as_deref()?;
        let refused = || ToolError::new(ErrorCode::ToolUnavailable, words::not_here(tool, profiles));
        (!self.runner.tools.is_among(tool, profiles)).then(refused)
    }

    /// Why a call that may write is refused today. One that a crash cut off when it was charged is
    /// not: it may be what has used up the day.
    async fn check_daily_budget(
        &self,
        call: &CallId,
        wanted: &ToolCall,
    ) -> Result<Option<ToolError>, EarlyEnd> {
        let Runner { tools, history, turns, .. } = self.runner;
        if tools.is_read_only(&wanted.tool) {
            return Ok(None);
        }
        let budget = turns.user_written_bytes_per_day;
        let used = history.load_usage(&self.turn.caller).await?;
        let arguments = wanted.arguments.as_deref().unwrap_or_default();
        if used.written_bytes < budget.0 || history.is_call_recorded(call, arguments).await? {
            return Ok(None);
        }
        Ok(Some(ToolError::new(ErrorCode::QuotaExceeded, words::no_bytes_today(budget))))
    }

    /// Answers all calls that have no result: a conversation never has one without.
    async fn give_up(&mut self) -> Result<(), EarlyEnd> {
        for call in self.conversation.pending().to_vec() {
            self.conversation
                .push(not_run_result(call, "the turn was stopped"), EntryExtras::default())
                .await?;
        }
        Ok(())
    }

    /// What a model is shown of a result; a long one is kept as a file.
    async fn show_result(&self, id: &CallId, wanted: &ToolCall, result: &Result<Value, ToolError>) -> String {
        // Nobody looks at it.
        if !self.is_durable() {
            return String::new();
        }
        let left_out = if self.conversation.pending().len() == 1 { self.conversation.left_out } else { 0 };
        let note = || {
            format!("{left_out} further calls of this step were not run; a step has {STEP_CALLS_MAX} at most")
        };
        let value = match result {
            Err(error) if left_out == 0 => return untrusted::error(&wanted.tool, error),
            Err(error) => {
                let error = ToolError::new(error.code, format!("{}; {}", error.message, note()));
                return untrusted::error(&wanted.tool, &error);
            }
            Ok(value) => value,
        };
        let noted = (left_out > 0).then(|| serde_json::json!({ "note": note(), "result": value }));
        let value = noted.as_ref().unwrap_or(value);
        if let Some(shown) = untrusted::wrap_whole(&wanted.tool, value) {
            return shown;
        }
        let text = serde_json::to_string_pretty(value).expect("a JSON value");
        let turn = &self.turn;
        let output = OutputKeeper {
            call: id.clone(),
            turn: turn.id.clone(),
            session: turn.session.clone(),
            caller: turn.caller.clone(),
            tool: wanted.tool.clone(),
            text: text.clone(),
        };
        let kept = self.runner.tools.keep(output).await;
        untrusted::head(&wanted.tool, &text, kept.as_deref())
    }
}

/// The calls in order, in groups of those that may run side by side. Two that are the same never
/// do: the second may have to be told that the first has failed.
fn batches(calls: Vec<ToolCall>, is_read_only: impl Fn(&str) -> bool) -> Vec<Vec<ToolCall>> {
    let mut batches: Vec<Vec<ToolCall>> = Vec::new();
    for call in calls {
        let joins = |batch: &&mut Vec<ToolCall>| {
            is_read_only(&call.tool)
                && batch.iter().all(|other| is_read_only(&other.tool) && !is_same(other, &call))
        };
        match batches.last_mut().filter(joins) {
            Some(batch) => batch.push(call),
            None => batches.push(vec![call]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(calls: &str, expected: &[&str]) {
        let call = |c: char| ToolCall { id: "1".into(), tool: c.to_string(), arguments: Ok("{}".into()) };
        let found = batches(calls.chars().map(call).collect(), |tool| tool.chars().all(char::is_lowercase));
        let found: Vec<String> =
            found.iter().map(|batch| batch.iter().map(|call| call.tool.as_str()).collect()).collect();
        assert_eq!(found, expected, "{calls}");
    }

    #[test]
    fn only_calls_that_change_nothing_run_side_by_side() {
        check("", &[]);
        check("abc", &["abc"]);
        check("ABC", &["A", "B", "C"]);
        check("abCdeF", &["ab", "C", "de", "F"]);
        check("aba", &["ab", "a"]);
    }
}
