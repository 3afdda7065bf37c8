//! Runs in `serve`: those that commands and schedules begin, and those that `run` has handed over.
//! What each waits for is in the database alone, so a restart finds all of it.

mod schedules;

use super::began::{new_run, take_up};
use super::catalog::{Catalog, OfferedWorkflow};
use super::clock::SteadyClock;
use super::download::check_addresses;
use super::duty::{self, UnsettledRuns};
use super::executor::{Executor, describe_end, failed_end};
use super::in_turn::event;
use super::lock::RunLock;
use super::noting::OWN_TIME_MS;
use cofferdam_chat::runs::{Runs, Served};
use cofferdam_core::audit::WorkflowState;
use cofferdam_core::id::Caller;
use cofferdam_core::message::OutgoingResponse;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{
    AnswerTo, KeptRun, NewReply, NewRun, Presence, RunOwner, RunState, Store, StoreError, now_ms,
};
use cofferdam_warden::calls::Warden;
use cofferdam_workflow::{Context, RunPlan};
use schedules::ScheduleNotes;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// How often it is looked whether a run has something to do.
const LOOK: Duration = Duration::from_millis(500);
/// A run that could not be gone on with is tried again after this.
const AGAIN: Duration = Duration::from_secs(5);
/// What is under way at a stop gets so long to notice.
const GRACE: Duration = Duration::from_secs(5);

/// The runs of the one `serve`. Clones share them.
#[derive(Clone)]
pub struct WorkflowService(pub(super) Arc<ServingState>);

/// What they share.
pub(super) struct ServingState {
    /// Carries runs out, as it is configured now.
    executors: watch::Receiver<Executor>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) runs: Runs,
    pub(super) store: Store,
    /// What every run begins with, but for what is its own.
    context: Context,
    /// Where it is noted which runs wait until the audit is settled.
    presence: Arc<Presence>,
    pub(super) state_dir: PathBuf,
    /// There may be something to do.
    pub(super) nudged: Notify,
    /// Something went on.
    pub(super) went_on: watch::Sender<()>,
}

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartRefusal {
    /// It may not; for who asked for it.
    #[error("{0}")]
    Refused(String),
    /// It cannot be kept for now.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be written down for now.
    #[error(transparent)]
    Unrecorded(#[from] ToolError),
}

impl WorkflowService {
    /// The runs of a store, carried out by what `executors` brings. All begin with `context`, but
    /// for what is their own.
    pub fn new(
        executors: watch::Receiver<Executor>,
        (catalog, runs): (Arc<Catalog>, Runs),
        (context, presence): (Context, Arc<Presence>),
        state_dir: PathBuf,
    ) -> Self {
        let store = executors.borrow().store.clone();
        let (nudged, went_on) = (Notify::new(), watch::Sender::new(()));
        Self(Arc::new(ServingState {
            executors,
            catalog,
            runs,
            store,
            context,
            presence,
            state_dir,
            nudged,
            went_on,
        }))
    }

    /// The trusted core, as it is configured now.
    pub(super) fn warden(&self) -> Warden {
        self.0.executors.borrow().warden.clone()
    }

    /// What carries runs out now.
    pub(super) fn current_executor(&self) -> Executor {
        self.0.executors.borrow().clone()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.executors.borrow().stop.is_cancelled()
    }

    /// Goes on with runs until the program stops, and looks after them for all nodes while that is
    /// this one's duty. Where each node has a workspace of its own, each goes on with those whose
    /// files it has.
    pub async fn run(self) {
        let stop = self.0.executors.borrow().stop.clone();
        let mut begin = pin!(self.begin_to_look_after());
        let mut looks_after = false;
        if !self.0.store.has_homes() {
            looks_after = stop.run_until_cancelled(&mut begin).await.is_some();
        }
        let (mut carried, mut tasks) = (BTreeSet::new(), JoinSet::new());
        let (mut clock, mut unsettled) = (SteadyClock::now(), UnsettledRuns::default());
        let mut schedules = ScheduleNotes::default();
        while !stop.is_cancelled() {
            let looked = async {
                if looks_after {
                    self.look_after(&mut clock, &mut schedules).await?;
                }
                // Runs may have come with the files of another node.
                let presence = &self.0.presence;
                let settling = unsettled.settle(&self.0.store, self.warden(), &carried, presence);
                let Some(settled) = stop.run_until_cancelled(settling).await else { return Ok(()) };
                settled?;
                self.go_on_with_runs(&unsettled, &mut carried, &mut tasks).await
            };
            if let Err(error) = looked.await {
                tracing::error!(%error, "runs of workflows cannot be looked up; trying again");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.0.nudged.notified() => {}
                () = &mut begin, if !looks_after => {
                    (looks_after, clock) = (true, SteadyClock::now());
                }
                Some(ended) = tasks.join_next() => {
                    let ended: Result<String, _> = ended;
                    match ended {
                        Ok(id) => _ = carried.remove(&id),
                        Err(error) => {
                            tracing::error!(%error, "a run of a workflow was cut off");
                            // Nobody knows whose it was: those that go on are found again by their
                            // locks.
                            carried.clear();
                        }
                    }
                    self.0.went_on.send_replace(());
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
    }

    /// Returns once this node looks after the runs of all.
    async fn begin_to_look_after(&self) {
        duty::take(&self.0.store).await;
        if let Err(error) = self.note_ends_before_a_crash().await {
            tracing::error!(%error, "what became of runs before a crash is not in the audit");
        }
        if let Err(error) = self.0.store.bound_waits(now_ms()).await {
            tracing::error!(%error, "the times of waiting runs are not looked at");
        }
        if let Err(error) = self.forget_removed_schedules().await {
            tracing::error!(%error, "schedules of files that are not there any more are kept");
        }
    }

    /// Begins what is due, ends waits that are over, and tells what has ended.
    async fn look_after(
        &self,
        clock: &mut SteadyClock,
        schedules: &mut ScheduleNotes,
    ) -> Result<(), StoreError> {
        // No wait ends before it follows.
        let by = clock.detect_jump();
        if by != 0 {
            let shifted = self.0.store.shift_waits(by).await;
            // What may be kept is not done twice, and while the store is away nothing is said.
            if matches!(shifted, Ok(()) | Err(StoreError::Unknown { .. })) {
                tracing::warn!(by_ms = by, "the clock was set; what runs of workflows wait for follows it");
                clock.settle();
            }
            shifted?;
        }
        self.look_at_schedules(schedules).await?;
        self.look_at_turns().await?;
        // Those of others, which they may still note themselves for a while.
        self.note_unnoted(now_ms() - OWN_TIME_MS).await?;
        for id in self.0.store.load_unanswered_runs().await? {
            if let Some(kept) = self.0.store.load_run(&id).await? {
                self.answer(&kept).await?;
            }
        }
        Ok(())
    }

    async fn go_on_with_runs(
        &self,
        unsettled: &UnsettledRuns,
        carried: &mut BTreeSet<String>,
        tasks: &mut JoinSet<String>,
    ) -> Result<(), StoreError> {
        let deadline = self.0.executors.borrow().deadline.0.as_millis();
        let deadline = i64::try_from(deadline).unwrap_or(i64::MAX);
        let due = self.0.store.runs_to_go_on(now_ms(), deadline).await?;
        for id in unsettled.settled(due) {
            if carried.insert(id.clone()) {
                let this = self.clone();
                tasks.spawn(async move {
                    this.carry(&id).await;
                    id
                });
            }
        }
        Ok(())
    }

    /// Tells the end of a run where it was begun, once its channel is up.
    async fn answer(&self, kept: &KeptRun) -> Result<(), StoreError> {
        let (Some(to), Some(messenger)) =
            (kept.new.answer_to.clone(), self.0.runs.messenger(&kept.new.by.channel))
        else {
            return Ok(());
        };
        if messenger.channel() != to.channel {
            return Ok(());
        }
        match messenger.served_at(&to.target, &kept.new.by.sender) {
            Served::Yes => {}
            Served::No => {
                // What came of it is for somebody who was removed meanwhile.
                tracing::info!(
                    run = kept.new.run,
                    "an end is not told: who began the run is not served any more"
                );
                return self.0.store.leave_unanswered(&kept.new.run).await;
            }
            // The next look knows more.
            Served::Unknown => return Ok(()),
        }
        let parts = messenger.parts(OutgoingResponse::text(describe_end(kept)));
        let said = NewReply { target: to.target.clone(), parts };
        if let Some(reply) = self.0.store.answer_run(&kept.new.run, to, said).await? {
            messenger.answer(reply).await;
        }
        Ok(())
    }

    /// Goes on with one run until it ends, waits, or the program stops.
    async fn carry(&self, id: &str) {
        if let Err(why) = self.run_carried(id).await {
            tracing::error!(run = id, why, "a run of a workflow cannot go on; trying again");
            let stop = self.0.executors.borrow().stop.clone();
            stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
        }
    }

    async fn run_carried(&self, id: &str) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let (dir, name) = (self.0.state_dir.clone(), id.to_owned());
        let taken = tokio::task::spawn_blocking(move || RunLock::take(&dir, &name)).await;
        let lock = taken.map_err(|error| text(&error))?.map_err(|error| text(&error))?;
        let Some(lock) = lock else {
            // A command that hands it over is about to let it go.
            tokio::time::sleep(LOOK).await;
            return Ok(());
        };
        let kept = self.0.store.load_run(id).await.map_err(|error| text(&error))?;
        let Some(kept) = kept.filter(|kept| kept.state == RunState::Running) else {
            // Somebody ended it, and its lock, before it was taken here.
            lock.end(&self.0.state_dir, id);
            return Ok(());
        };
        let run = match take_up(&kept) {
            Ok(run) => run,
            Err(error) => {
                tracing::error!(run = id, %error, "a run of a workflow is given up");
                self.give_up(&kept, &error.for_people()).await.map_err(|error| text(&error))?;
                lock.end(&self.0.state_dir, id);
                return Ok(());
            }
        };
        let mut executor = self.0.executors.borrow().clone();
        // One that is gone is not waited for: the run then ends.
        if let (Some(to), None) = (&kept.new.answer_to, executor.channel_gone(&kept)) {
            let by = &kept.new.by;
            let up = executor.await_channel(&run, (&self.0.runs, &by.channel)).await;
            let messenger = up.map_err(|error| text(&error))?;
            if executor.stop.is_cancelled() {
                return Ok(());
            }
            // Without it the run has had its time, or somebody has ended it.
            executor.approver =
                messenger.and_then(|messenger| messenger.approver_below(&to.target, &by.sender));
        }
        let kept = executor.run_to_end(&run).await.map_err(|error| text(&error))?;
        if kept.state != RunState::Running {
            lock.end(&self.0.state_dir, id);
        }
        Ok(())
    }

    /// Ends a run that no release after this one will go on with by itself.
    async fn give_up(&self, kept: &KeptRun, why: &str) -> Result<(), StoreError> {
        let error = ToolError::new(ErrorCode::Internal, one_line(why, 500));
        if self.0.store.end_run(&kept.new.run, Err(failed_end(&error, None))).await? {
            self.note_ends(vec![kept.new.run.clone()]).await?;
        }
        Ok(())
    }

    /// What templates of a run see.
    pub(super) fn new_context(&self, run: String, input: Value, trigger: Value) -> Context {
        Context { run, input, trigger, ..self.0.context.clone() }
    }

    /// Begins a run, which is then gone on with. `answers` says whether its end is told in any
    /// case.
    pub(super) async fn begin(
        &self,
        of: &OfferedWorkflow,
        context: Context,
        by: &Caller,
        (answer_to, answers): (AnswerTo, bool),
    ) -> Result<(), StartRefusal> {
        let max_open = self.0.executors.borrow().max_open;
        let plan = RunPlan::begin(of.workflow.clone(), &context)
            .map_err(|error| StartRefusal::Refused(format!("{}: {}", error.code, error.problem)))?;
        check_addresses(&plan, &self.0.executors.borrow().limits)
            .map_err(|error| StartRefusal::Refused(error.to_string()))?;
        let new = new_run(&plan, &context, of.dir.clone(), by);
        let new = NewRun { owner: RunOwner::Serve, answer_to: Some(answer_to), answers, ..new };
        let warden = self.warden();
        warden.note_workflow(event(&new, WorkflowState::Started, Some(by)))?;
        if !self.0.store.begin_run(new.clone(), max_open).await? {
            warden.note_workflow(event(&new, WorkflowState::Failed, None))?;
            return Err(StartRefusal::Refused(format!(
                "{}: {max_open} runs of workflows are open ([workflows] max_open); try again when one has ended",
                ErrorCode::QuotaExceeded
            )));
        }
        self.0.nudged.notify_one();
        Ok(())
    }
}
