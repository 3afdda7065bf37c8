//! The files of the reply that a run has waited for: the attachments of the calls that come after
//! it, up to the next wait.

use super::{Executor, PreparedRun, TaskProblem};
use cofferdam_core::capability::Interface;
use cofferdam_core::tool::ToolError;
use cofferdam_warden::attachments::Attachments;
use cofferdam_workflow::PlannedWork;
use tokio_util::sync::CancellationToken;

impl Executor {
    /// The attachments of a tool's call in a task. They are fetched for a tool that may see them
    /// alone.
    pub(super) async fn collect_attachments(
        &self,
        run: &PreparedRun,
        n: usize,
        tool: &str,
        cancel: &CancellationToken,
    ) -> Result<Attachments, TaskProblem> {
        let awaited = run.plan.tasks[..n].iter().rev().find_map(|task| match &task.work {
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
        let fetched = async { people.runs.await_messenger(channel).await.fetch(&files).await };
        cancel.run_until_cancelled(fetched).await.ok_or_else(|| ToolError::cancelled().into())
    }
}
