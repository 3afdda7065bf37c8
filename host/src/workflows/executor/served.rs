//! Runs of people who were removed meanwhile: nothing more is done for them.

use super::{ExecuteError, Executor, PreparedRun, WorkflowState};
use cofferdam_store::KeptRun;

impl Executor {
    /// Ends a run if the one who began it is not served any more where its end is told; whether
    /// that is so. It is asked before each task, since one that waits for a decision is under way
    /// for days. A run that answers nobody, such as one of the command line, is for nobody who
    /// could be removed.
    pub(super) async fn cancel_unserved(
        &self,
        run: &PreparedRun,
        kept: &KeptRun,
    ) -> Result<bool, ExecuteError> {
        let (Some(to), Some(people)) = (&kept.new.answer_to, &self.people) else { return Ok(false) };
        let by = &kept.new.by;
        // It has waited for its channel before this, which is away again only at a stop.
        let messenger = people.runs.messenger(&by.channel);
        if messenger.is_none_or(|messenger| messenger.is_served_at(&to.target, &by.sender)) {
            return Ok(false);
        }
        if self.store.cancel_run(&run.id, by).await? {
            self.note(run, WorkflowState::Cancelled, Some(by))?;
            self.store.end_noted(&run.id).await?;
        }
        Ok(true)
    }
}
