//! Tasks that call a tool. What they write counts on the day of the one who began the run, and the
//! files of the reply that a run has waited for are the attachments of the calls that come after
//! it, up to the next wait.

use super::served::unconfigured_problem;
use super::{Executor, PreparedRun, TaskProblem, turn_of, unrendered};
use cofferdam_agent::tools::CallRequest;
use cofferdam_agent::turn::{Tools, words};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::Interface;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{StoreError, now_ms};
use cofferdam_warden::attachments::Attachments;
use cofferdam_workflow::{PlannedArguments, PlannedWork};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Executor {
    /// One call, judged and audited as in a turn. Its id is the same when the run goes on after a
    /// crash.
    pub(super) async fn call(
        &self,
        run: &PreparedRun,
        n: usize,
        (name, with): (&str, &PlannedArguments),
        outputs: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, TaskProblem> {
        let arguments = run.plan.arguments(with, outputs).map_err(|error| unrendered(run, error))?;
        let attachments = self.collect_attachments(run, n, name, cancel).await?;
        let turn = turn_of(run, n);
        let journal = self.store.with_day_budget(self.turns.user_written_bytes_per_day);
        let request = CallRequest {
            session: run.session.clone(),
            attachments,
            has_reply: false,
            journal: Some(Arc::new(journal)),
            messaging: self.messaging(),
            approver: self.approver.clone(),
            cancel: cancel.clone(),
            ..CallRequest::new(turn.clone(), run.by.clone(), name.to_owned(), Ok(arguments.to_string()))
        };
        let answer = match self.over_budget(run, &request).await? {
            Some(why) => Err(self.toolbox.refuse(request, why).await),
            None => self.toolbox.call(request).await,
        };
        self.warden.outgoing().release(&turn);
        Ok(answer?.result)
    }

    /// Why a call that may write is refused today. One that a crash cut off when it was charged is
    /// not: it may be what has used up the day.
    async fn over_budget(
        &self,
        run: &PreparedRun,
        request: &CallRequest,
    ) -> Result<Option<ToolError>, StoreError> {
        if self.toolbox.is_read_only(&request.tool) {
            return Ok(None);
        }
        let budget = self.turns.user_written_bytes_per_day;
        let used = self.store.load_usage(&run.by, now_ms()).await?;
        let sha256 = sha256_hex(request.arguments.as_deref().unwrap_or_default().as_bytes());
        if used.written_bytes < budget.0 || self.store.is_call_recorded(&request.id, &sha256).await? {
            return Ok(None);
        }
        Ok(Some(ToolError::new(ErrorCode::QuotaExceeded, words::no_bytes_today(budget))))
    }

    /// The attachments of a tool's call in a task. They are fetched for a tool that may see them
    /// alone.
    async fn collect_attachments(
        &self,
        run: &PreparedRun,
        n: usize,
        tool: &str,
        cancel: &CancellationToken,
    ) -> Result<Attachments, TaskProblem> {
        let awaited = run.plan.tasks[..n].iter().rev().find_map(|work| match work {
            PlannedWork::Wait(wait) => Some(wait.reply_to),
            _ => None,
        });
        let (Some(of), Some(people)) = (awaited, &self.people) else { return Ok(Attachments::default()) };
        let seen = [Interface::TurnAttachments, Interface::RecentAttachments];
        let sees = |interface: &Interface| {
            self.toolbox.registry().get(tool).is_ok_and(|tool| tool.policy.grants.allows(*interface))
        };
        if !seen.iter().any(sees) {
            return Ok(Attachments::default());
        }
        let Some((channel, files)) = self.store.files_of_reply(&run.id, of).await? else {
            return Ok(Attachments::default());
        };
        // What is a channel's in the store begins with its name.
        let channel = channel.split('-').next().unwrap_or_default();
        let fetched = async {
            match people.find_messenger(channel).await {
                Some(messenger) => Ok(messenger.fetch(&files).await),
                None => Err(unconfigured_problem(channel)),
            }
        };
        let fetched = cancel.run_until_cancelled(fetched).await.ok_or_else(ToolError::cancelled)?;
        fetched.map_err(TaskProblem::from)
    }
}
