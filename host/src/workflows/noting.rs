//! What became of runs, in the audit: also where the one who ended one was killed before it had
//! written that down.

use super::in_turn::event;
use super::lock::RunLock;
use super::serving::WorkflowService;
use cofferdam_core::audit::{Workflow, WorkflowState};
use cofferdam_core::id::Caller;
use cofferdam_store::{KeptRun, RunState, StoreError, now_ms};

/// Anyone who has ended a run writes that down within so many milliseconds, or never.
pub(super) const OWN_TIME_MS: i64 = 10_000;

/// What the audit has of the end of a run; none while it goes on.
pub fn end_of(kept: &KeptRun) -> Option<Workflow> {
    let state = match kept.state {
        RunState::Running => return None,
        RunState::Done => WorkflowState::Done,
        RunState::Failed => WorkflowState::Failed,
        RunState::Cancelled => WorkflowState::Cancelled,
    };
    Some(Workflow { by: kept.ended_by.clone(), ..event(&kept.new, state, None) })
}

impl WorkflowService {
    /// Writes down what became of a kept run; that it did is so whether or not it can be written.
    pub(super) fn note(&self, kept: &KeptRun, state: WorkflowState, by: Option<&Caller>) {
        if let Err(error) = self.warden().note_workflow(event(&kept.new, state, by)) {
            tracing::error!(%error, run = kept.new.run, "what became of a run is not in the audit");
        }
    }

    /// Writes down the end of a run, which is owed until it is written. Where a kill comes in
    /// between, it is written down twice.
    pub(super) async fn note_end(&self, kept: &KeptRun) -> Result<(), StoreError> {
        let Some(ended) = end_of(kept) else { return Ok(()) };
        match self.warden().note_workflow(ended) {
            Ok(()) if kept.is_unnoted => self.0.store.end_noted(&kept.new.run).await,
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(%error, run = kept.new.run, "the end of a run is not in the audit");
                Ok(())
            }
        }
    }

    /// Writes down the ends of runs whose process was killed before it had, and removes what lies
    /// about of their locks.
    pub(super) async fn note_ends_before_a_crash(&self) -> Result<(), StoreError> {
        self.note_unnoted(now_ms()).await?;
        let dir = self.0.state_dir.clone();
        let left = tokio::task::spawn_blocking(move || RunLock::find_left(&dir)).await.unwrap_or_default();
        for (id, lock) in left {
            lock.end(&self.0.state_dir, &id);
        }
        Ok(())
    }

    /// Writes down the ends of runs that had ended until then and whose process has not.
    pub(super) async fn note_unnoted(&self, until: i64) -> Result<(), StoreError> {
        let ended = self.0.store.load_unnoted_runs(until).await?;
        self.note_ends(ended).await
    }

    /// Writes down the ends of these runs.
    pub(super) async fn note_ends(&self, runs: Vec<String>) -> Result<(), StoreError> {
        for id in runs {
            if let Some(kept) = self.0.store.load_run(&id).await? {
                self.note_end(&kept).await?;
            }
        }
        Ok(())
    }

    /// Ends a run that somebody does not want any more, or that nobody can go on with.
    pub(super) async fn cancel(&self, kept: &KeptRun, by: Option<&Caller>) -> Result<(), StoreError> {
        let run = &kept.new.run;
        if self.0.store.cancel_run(run, by).await?
            && let Some(kept) = self.0.store.load_run(run).await?
        {
            self.note_end(&kept).await?;
        }
        Ok(())
    }
}
