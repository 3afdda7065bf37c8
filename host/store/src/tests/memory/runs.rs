//! Runs of workflows.

use super::*;

#[async_trait]
impl RunStore for Memory {
    async fn begin_run(&self, new: NewRun, open_max: u32) -> Result<bool, StoreError> {
        let mut held = self.held();
        let open = held.runs.iter().filter(|(run, _)| run.state == RunState::Running).count();
        if open >= open_max as usize {
            return Ok(false);
        }
        let state = TaskState::Pending;
        let task = |id: &String| KeptTask { id: id.clone(), state, output: None, error: None, waits: None };
        let tasks = new.tasks.iter().map(task).collect();
        let (state, began_at) = (RunState::Running, now_ms());
        let (output, error, ended_by, is_unnoted) = (None, None, None, false);
        held.runs
            .push((KeptRun { new, began_at, state, output, error, ended_by, is_unnoted, tasks }, began_at));
        Ok(true)
    }

    async fn load_run(&self, run: &str) -> Result<Option<KeptRun>, StoreError> {
        let held = self.held();
        Ok(held.runs.iter().map(|(kept, _)| kept).find(|kept| kept.new.run == run).cloned())
    }

    async fn list_runs(&self) -> Result<Vec<ListedRun>, StoreError> {
        let held = self.held();
        let listed = held.runs.iter().rev().map(|(kept, _)| ListedRun {
            run: kept.new.run.clone(),
            workflow: kept.new.workflow.clone(),
            state: kept.state,
            owner: kept.new.owner,
            waits: kept.tasks.iter().any(|task| task.waits.is_some()),
        });
        Ok(listed.take(RUNS_LISTED_MAX as usize).collect())
    }

    async fn begin_task(&self, run: &str, task: usize) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            let open = kept.state == RunState::Running;
            let Some(task) = kept.tasks.get_mut(task) else { return false };
            let may = open && matches!(task.state, TaskState::Pending | TaskState::Running);
            if may {
                task.state = TaskState::Running;
            }
            may
        })
    }

    async fn end_task(&self, run: &str, task: usize, ended: RunEnd) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            if let (RunEnd::Failed(error), RunState::Running) = (&ended, kept.state) {
                kept.state = RunState::Failed;
                kept.error = Some(error.clone());
            }
            let Some(task) = kept.tasks.get_mut(task) else { return false };
            let may = matches!(task.state, TaskState::Running | TaskState::Cancelled);
            if may {
                match ended {
                    RunEnd::Done(output) => (task.state, task.output) = (TaskState::Done, Some(output)),
                    RunEnd::Failed(error) => (task.state, task.error) = (TaskState::Failed, Some(error)),
                }
            }
            may
        })
    }

    async fn end_run(&self, run: &str, ended: RunEnd) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            let may = kept.state == RunState::Running;
            if may {
                match ended {
                    RunEnd::Done(output) => (kept.state, kept.output) = (RunState::Done, Some(output)),
                    RunEnd::Failed(error) => (kept.state, kept.error) = (RunState::Failed, Some(error)),
                }
            }
            may
        })
    }

    async fn load_unnoted_runs(&self, until: i64) -> Result<Vec<String>, StoreError> {
        let held = self.held();
        let ended = held.runs.iter().filter(|(kept, _)| kept.is_unnoted && now_ms() <= until);
        Ok(ended.map(|(kept, _)| kept.new.run.clone()).collect())
    }

    async fn end_noted(&self, run: &str) -> Result<(), StoreError> {
        self.on_run(run, |kept| std::mem::take(&mut kept.is_unnoted)).map(drop)
    }

    async fn cancel_run(&self, run: &str, by: &Caller) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            let may = kept.state == RunState::Running;
            if may {
                (kept.ended_by, kept.is_unnoted) = (Some(format!("{}:{}", by.channel, by.sender)), true);
                kept.state = RunState::Cancelled;
                let running = kept.tasks.iter_mut().filter(|task| task.state == TaskState::Running);
                running.for_each(|task| task.state = TaskState::Cancelled);
            }
            may
        })
    }

    async fn reopen_run(&self, run: &str) -> Result<bool, StoreError> {
        let reopened = self.on_run(run, |kept| {
            let may = matches!(kept.state, RunState::Running | RunState::Failed);
            if may {
                (kept.state, kept.error) = (RunState::Running, None);
                kept.new.owner = RunOwner::Command;
                for task in kept.tasks.iter_mut().filter(|task| task.state != TaskState::Done) {
                    (task.state, task.error, task.waits) = (TaskState::Pending, None, None);
                }
            }
            may
        })?;
        if reopened {
            self.held().say_again(run);
        }
        Ok(reopened)
    }
}

impl Memory {
    pub(super) fn on_run(
        &self,
        run: &str,
        change: impl FnOnce(&mut KeptRun) -> bool,
    ) -> Result<bool, StoreError> {
        let mut held = self.held();
        let found = held.runs.iter_mut().map(|(kept, _)| kept).find(|kept| kept.new.run == run);
        Ok(found.is_some_and(change))
    }
}
