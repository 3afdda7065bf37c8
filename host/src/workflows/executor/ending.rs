//! The end of a run: what it came to is kept, and from then on no failure of the store makes
//! another end of it.

use super::kept::about;
use super::{ExecuteError, Executor, LOOK, PreparedRun};
use cofferdam_core::audit::{Workflow, WorkflowState};
use cofferdam_core::id::Caller;
use cofferdam_store::KeptRun;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A store that is away when a run has just ended is waited for so long, to say what it came to.
const AWAY_MAX: Duration = Duration::from_secs(10);

impl Executor {
    /// Writes down what a run came to; `by` is who decided it.
    ///
    /// # Errors
    /// [`ExecuteError::Audit`].
    pub fn note(
        &self,
        run: &PreparedRun,
        state: WorkflowState,
        by: Option<&Caller>,
    ) -> Result<(), ExecuteError> {
        let event = Workflow { state: Some(state), by: by.map(Caller::to_string), ..about(run) };
        self.warden.note_workflow(event).map_err(ExecuteError::Audit)
    }

    /// Writes down the end that a run has come to, which is owed until then; how it is kept.
    pub(super) async fn finish(
        &self,
        run: &PreparedRun,
        state: WorkflowState,
    ) -> Result<KeptRun, ExecuteError> {
        self.note(run, state, None)?;
        // The audit has it: where that is not kept, `serve` only writes it down once more.
        if let Err(error) = self.store.end_noted(&run.id).await {
            tracing::warn!(run = run.id, %error, "the end of a run comes to be in the audit twice");
        }
        let began = Instant::now();
        loop {
            match self.load_kept(run).await {
                Err(ExecuteError::Store(error)) if began.elapsed() < AWAY_MAX => {
                    tracing::debug!(run = run.id, %error, "a run that has ended cannot be looked up");
                    sleep(LOOK).await;
                }
                kept => return kept,
            }
        }
    }
}
