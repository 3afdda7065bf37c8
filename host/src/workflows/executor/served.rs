//! Runs of people who were removed meanwhile: nothing more is done for them.

use super::{ExecuteError, Executor, PreparedRun, WorkflowState};
use cofferdam_chat::runs::Served;
use cofferdam_store::KeptRun;

impl Executor {
    /// Whether the one who began a run is served where its end is told. It is asked before each
    /// task, since one that waits for a decision is under way for days. A run that answers nobody,
    /// such as one of the command line, is for nobody who could be removed.
    pub(super) fn served(&self, kept: &KeptRun) -> Served {
        let (Some(to), Some(people)) = (&kept.new.answer_to, &self.people) else { return Served::Yes };
        let by = &kept.new.by;
        // It has waited for its channel before this, which is away again only at a stop.
        let messenger = people.runs.messenger(&by.channel);
        messenger.map_or(Served::Yes, |messenger| messenger.served_at(&to.target, &by.sender))
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
