//! Runs that go on in `serve` alone, and those of people who were removed meanwhile, for whom
//! nothing more is done.

use super::{ExecuteError, Executor, LOOK, PreparedRun, WorkflowState};
use cofferdam_chat::runs::{Messenger, Runs, Served};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{KeptRun, RunState};
use std::sync::Arc;
use tokio::time::sleep;

impl Executor {
    /// Whether `serve` alone can carry out this task: people are not reached here, and the run has
    /// come to where it reaches them. What comes after that needs them as well, such as the files
    /// of a reply; and so may each task of a run that a chat or a schedule has begun, whose
    /// questions and end are shown there.
    pub(super) fn is_for_serve(&self, run: &PreparedRun, kept: &KeptRun, n: usize) -> bool {
        let reaches = run.plan.tasks[..=n].iter().any(|work| work.needs_people());
        self.people.is_none() && (reaches || kept.new.answer_to.is_some())
    }

    /// Has `serve` go on with a run; how it is kept then. Where it is answered, its end is
    /// promised: this process is not there to tell it.
    pub(super) async fn hand_over(&self, run: &PreparedRun, kept: &KeptRun) -> Result<KeptRun, ExecuteError> {
        if kept.new.answer_to.is_some() {
            self.store.acknowledge_run(&run.id).await?;
        }
        self.store.hand_over_run(&run.id).await?;
        self.load_kept(run).await
    }

    /// Whether the one who began a run is served where its end is told. It is asked before each
    /// task, since one that waits for a decision is under way for days. A run that answers nobody,
    /// such as one of the command line, is for nobody who could be removed.
    pub(super) fn served(&self, kept: &KeptRun) -> Served {
        let (Some(to), Some(people)) = (&kept.new.answer_to, &self.people) else { return Served::Yes };
        let by = &kept.new.by;
        // It has waited for its channel before this, which is away again only at a stop, unless it
        // is gone, or has not come up in the time of the run.
        let messenger = people.messenger(&by.channel);
        messenger.map_or(Served::Yes, |messenger| messenger.served_at(&to.target, &by.sender))
    }

    /// Who reaches the people of a run's channel, once it is up; none where the run has had its
    /// time or has ended before, or the program stops.
    pub(in crate::workflows) async fn await_channel(
        &self,
        run: &PreparedRun,
        (runs, channel): (&Runs, &str),
    ) -> Result<Option<Arc<dyn Messenger>>, ExecuteError> {
        let up = runs.await_messenger(channel);
        tokio::pin!(up);
        loop {
            tokio::select! {
                messenger = &mut up => return Ok(Some(messenger)),
                () = self.stop.cancelled() => return Ok(None),
                () = sleep(LOOK) => {
                    let kept = self.load_kept(run).await?;
                    if kept.state != RunState::Running || self.is_late(&kept).is_some() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Why a run goes no further whose channel the operator has taken out of the configuration: it
    /// would wait for it for ever. It fails, so that it can be resumed once the channel is back.
    pub(in crate::workflows) fn channel_gone(&self, kept: &KeptRun) -> Option<ToolError> {
        let (Some(_), Some(people)) = (&kept.new.answer_to, &self.people) else { return None };
        let by = &kept.new.by;
        if people.may_come_up(&by.channel) {
            return None;
        }
        Some(unconfigured_problem(&by.channel))
    }

    /// Ends a run whose person is not served any more. Nobody has wanted that, so it is recorded as
    /// nobody's.
    pub(super) async fn cancel_unserved(&self, run: &PreparedRun) -> Result<(), ExecuteError> {
        if self.store.cancel_run(&run.id, None).await? {
            tracing::info!(run = run.id, "a run is cancelled: who began it is not served any more");
            self.finish(run, WorkflowState::Cancelled).await?;
        }
        Ok(())
    }
}

/// Why a run goes no further that needs a channel which is not configured any more.
pub(super) fn unconfigured_problem(channel: &str) -> ToolError {
    let channel = one_line(channel, 80);
    let said = format!("[channels.{channel}] is not configured any more; configure it, then resume the run");
    ToolError::new(ErrorCode::RecipientDenied, said)
}
