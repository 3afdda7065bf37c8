//! Carries a run out: one task after the other, each result kept before the next task begins.

mod asking;
mod calling;
mod ending;
mod kept;
pub(super) mod people;
mod served;

pub(crate) use kept::describe_end;
pub(in crate::workflows) use kept::failed_end;

use super::LocalFile;
use super::began::PreparedRun;
use super::download::download_all;
use super::gather::{Gather, GatheredAttachment};
use super::in_turn::TurnMessaging;
use super::shown::AttachmentViewer;
use super::tools::AgentTools;
use super::types::AttachmentLimits;
use cofferdam_agent::tools::{Approver, Toolbox};
use cofferdam_agent::turn::{self, History, Provider, Runner, TaskFailure, TaskRequest, TurnInput};
use cofferdam_chat::runs::{Runs, Served};
use cofferdam_core::audit::{Workflow, WorkflowState};
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::path::GuestPath;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{KeptRun, RunState, Store, StoreError, TaskState, now_ms};
use cofferdam_warden::attachments::BlobStore;
use cofferdam_warden::calls::Warden;
use cofferdam_warden::messaging::Messaging;
use cofferdam_warden::publish::FileOwner;
use cofferdam_workflow::{AgentWork, PlannedWork, ReadyAttachment};
use kept::{TaskProblem, about, outputs, turn_of, unrendered};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

/// How often a run looks whether somebody has ended it.
const LOOK: Duration = Duration::from_millis(500);

/// What runs are carried out with.
#[derive(Clone)]
pub struct Executor {
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// The trusted core.
    pub warden: Warden,
    /// Where bytes of attachments are held.
    pub blobs: BlobStore,
    /// Who answers agents.
    pub provider: Arc<dyn Provider>,
    /// Media types that it takes.
    pub accepts: Vec<String>,
    /// Limits of one turn.
    pub turns: turn::Config,
    /// Limits on attachments.
    pub limits: AttachmentLimits,
    /// From the beginning of a run to its end.
    pub deadline: TimeSpan,
    /// Runs that are open at once.
    pub max_open: u32,
    /// Where runs are kept.
    pub store: Store,
    /// Asks people about calls that a policy asks about; absent where nobody can be asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// Reaches people; absent where none are reached, and then the one `serve` goes on with what
    /// needs them.
    pub people: Option<Runs>,
    /// Stops what is under way; the run is then taken up later.
    pub stop: CancellationToken,
    /// Cancelled once another configuration is in force, by which the next task is carried out.
    pub replaced: CancellationToken,
}

/// How a task of a run went.
enum TaskResult {
    /// It is done, or the run has ended.
    On,
    /// It has ended the run.
    Failed,
    /// It waits: somebody goes on with the run when there is something to do.
    Waits,
}

/// Why a run can go no further for now.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// It cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be written down.
    #[error("the audit: {0}")]
    Audit(ToolError),
    /// It is no longer kept.
    #[error("the run {0} is no longer kept")]
    Gone(String),
}

impl Executor {
    /// Goes on with a run until it ends, or is stopped, or is to be gone on with by what has
    /// replaced this; how it is kept then.
    ///
    /// # Errors
    /// [`ExecuteError`]: it goes on later from where it is.
    pub async fn run_to_end(&self, run: &PreparedRun) -> Result<KeptRun, ExecuteError> {
        loop {
            let kept = self.load_kept(run).await?;
            let is_stopped = self.stop.is_cancelled() || self.replaced.is_cancelled();
            if kept.state != RunState::Running || is_stopped {
                return Ok(kept);
            }
            let served = self.served(&kept);
            if served == Served::No {
                self.cancel_unserved(run).await?;
                continue;
            }
            if let Some(why) = self.is_late(&kept).or_else(|| self.channel_gone(&kept)) {
                if self.store.end_run(&run.id, Err(failed_end(&why, None))).await? {
                    return self.finish(run, WorkflowState::Failed).await;
                }
                continue;
            }
            if served == Served::Unknown {
                // It stays where it is until the people of its channel can be read again.
                self.stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
                continue;
            }
            let outputs = outputs(&kept);
            let ended = match kept.tasks.iter().position(|task| task.state != TaskState::Done) {
                None => {
                    let (end, state) = match run.plan.output(&outputs) {
                        Ok(output) => (Ok(output.to_string()), WorkflowState::Done),
                        Err(error) => (Err(failed_end(&unrendered(run, error), None)), WorkflowState::Failed),
                    };
                    self.store.end_run(&run.id, end).await?.then_some(state)
                }
                Some(n) if self.is_for_serve(run, &kept, n) => return self.hand_over(run, &kept).await,
                Some(n) => match self.run_task(run, n, &outputs).await? {
                    TaskResult::On => None,
                    TaskResult::Failed => Some(WorkflowState::Failed),
                    TaskResult::Waits => return self.load_kept(run).await,
                },
            };
            if let Some(state) = ended {
                return self.finish(run, state).await;
            }
        }
    }

    /// Writes to people for the calls of a task; none where nobody is reached.
    fn messaging(&self) -> Option<Arc<dyn Messaging>> {
        self.people.as_ref()?;
        let (executor, runtime) = (self.clone(), Handle::current());
        Some(Arc::new(TurnMessaging { executor, asking: None, runtime }))
    }

    /// Why a run has had its time, if so.
    pub(super) fn is_late(&self, kept: &KeptRun) -> Option<ToolError> {
        let age = u64::try_from(now_ms().saturating_sub(kept.began_at)).unwrap_or(0);
        (Duration::from_millis(age) >= self.deadline.0).then(|| {
            let said = format!("the run took longer than [workflows] run_deadline = \"{}\"", self.deadline);
            ToolError::new(ErrorCode::TimedOut, said)
        })
    }

    async fn load_kept(&self, run: &PreparedRun) -> Result<KeptRun, ExecuteError> {
        self.store.load_run(&run.id).await?.ok_or_else(|| ExecuteError::Gone(run.id.clone()))
    }

    /// One task, from its beginning to its kept end.
    async fn run_task(
        &self,
        run: &PreparedRun,
        n: usize,
        outputs: &Map<String, Value>,
    ) -> Result<TaskResult, ExecuteError> {
        if !self.store.begin_task(&run.id, n).await? {
            return Ok(TaskResult::On);
        }
        let planned = &run.plan.tasks[n];
        if let PlannedWork::Wait(work) = planned {
            return self.wait(run, n, work, outputs).await;
        }
        let cancel = self.stop.child_token();
        let work = async {
            match planned {
                PlannedWork::Tool { name, with } => self.call(run, n, (name, with), outputs, &cancel).await,
                PlannedWork::Agent(work) => {
                    self.ask(run, n, work, outputs, &cancel).await.map_err(TaskProblem::from)
                }
                PlannedWork::Send(work) => self.send(run, n, work, outputs, &cancel).await,
                PlannedWork::Approve(work) => self.approve(run, n, work, outputs, &cancel).await,
                // It was looked at above.
                PlannedWork::Wait(_) => Err(ToolError::cancelled().into()),
            }
        };
        tokio::pin!(work);
        let mut late = None;
        let ended = loop {
            // Somebody may have ended the run from another process.
            let look = async {
                tokio::time::sleep(LOOK).await;
                self.load_kept(run).await
            };
            tokio::select! {
                ended = &mut work => break ended,
                kept = look => match kept {
                    Ok(kept) => {
                        late = self.is_late(&kept);
                        if late.is_some() || kept.state != RunState::Running {
                            cancel.cancel();
                        }
                    }
                    Err(ExecuteError::Gone(_)) => cancel.cancel(),
                    // What is under way goes on: left alone, it would be done again beside itself.
                    Err(error) => tracing::debug!(run = run.id, %error, "a run cannot be looked up"),
                }
            }
        };
        let ended = match (ended, late) {
            (Ok(output), _) => Ok(output),
            (Err(TaskProblem::Later(error)), _) => return Err(error),
            (Err(TaskProblem::Fails(problem)), Some(late)) if problem.code == ErrorCode::Cancelled => {
                Err(late)
            }
            (Err(TaskProblem::Fails(problem)), _) => Err(problem),
        };
        // What was stopped has come to nothing, and is begun again when the run goes on.
        if ended.as_ref().is_err_and(|problem| problem.code == ErrorCode::Cancelled) && cancel.is_cancelled()
        {
            return Ok(TaskResult::On);
        }
        self.end(run, n, ended).await
    }

    /// Keeps what a task came to.
    async fn end(
        &self,
        run: &PreparedRun,
        n: usize,
        ended: Result<Value, ToolError>,
    ) -> Result<TaskResult, ExecuteError> {
        match ended {
            Ok(output) => {
                self.store.end_task(&run.id, n, Ok(output.to_string())).await?;
                Ok(TaskResult::On)
            }
            Err(problem) => {
                let ended = failed_end(&problem, Some(run.plan.task_id(n)));
                self.store.end_task(&run.id, n, Err(ended)).await?;
                // Somebody may have ended the run before.
                match self.load_kept(run).await?.state {
                    RunState::Failed => Ok(TaskResult::Failed),
                    _ => Ok(TaskResult::On),
                }
            }
        }
    }

    async fn ask(
        &self,
        run: &PreparedRun,
        n: usize,
        work: &AgentWork,
        outputs: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, ToolError> {
        let workflow = run.plan.workflow();
        let agent = &workflow.agents[work.agent];
        let action = &agent.actions[work.action];
        let ready = run.plan.ready(work, outputs).map_err(|error| unrendered(run, error))?;
        let tools = AgentTools::new(self.toolbox.clone(), &agent.tools)?;
        // Files may lie on a slow disk: nobody else waits for them.
        let mut gathered = block_in_place(|| self.gather(run, &ready.attachments))?;
        let downloading = download_all(&mut gathered, &self.limits, &self.blobs);
        cancel.run_until_cancelled(downloading).await.ok_or_else(ToolError::cancelled)??;
        let viewer = AttachmentViewer { blobs: &self.blobs, limits: &self.limits, accepts: &self.accepts };
        let view = block_in_place(move || viewer.view(&mut gathered))?;
        let task = Some(run.plan.task_id(n).to_owned());
        let event = Workflow { task, attachments: Some(view.audited), ..about(run) };
        self.warden.note_workflow(event)?;
        let turn = TurnInput {
            id: turn_of(run, n),
            session: run.session.clone(),
            caller: run.by.clone(),
            text: String::new(),
            about: None,
            profiles: None,
            attachments: view.attachments,
            recent: None,
            messaging: self.messaging(),
            approver: self.approver.clone(),
            steering: None,
            notices: Vec::new(),
        };
        let (instructions, prompt) = (ready.instructions, ready.prompt);
        let request = TaskRequest { instructions, prompt, list: view.list, shown: view.shown };
        let history = History::durable(self.store.clone());
        let runner = Runner::new(self.provider.clone(), Arc::new(tools), history, self.turns, String::new());
        let read = |text: &str| action.read_answer(text);
        let id = turn.id.clone();
        let answered = runner.answer_task(turn, request, &read, cancel).await;
        self.warden.outgoing().release(&id);
        answered.map_err(|failure| match failure {
            TaskFailure::Cancelled => ToolError::cancelled(),
            TaskFailure::Invalid(why) => ToolError {
                code: ErrorCode::InvalidOutput,
                message: format!(
                    "the agent {} did not answer as its action {} wants: {why}",
                    agent.id, action.id
                ),
            },
            TaskFailure::Unanswered(message) => ToolError { code: ErrorCode::Internal, message },
            TaskFailure::NoModel => ToolError::new(ErrorCode::Internal, NO_MODEL),
        })
    }

    /// The attachments of a task; blocks while files are looked at.
    fn gather(
        &self,
        run: &PreparedRun,
        attachments: &[ReadyAttachment],
    ) -> Result<Vec<GatheredAttachment>, ToolError> {
        let place = self.place(run);
        let workspace = |path: &GuestPath| Some(self.open_workspace(&place, path));
        let folder = run.folder.as_ref().map_err(|why| {
            tracing::warn!(run = run.id, why, "a workflow has no files here");
            ToolError::new(ErrorCode::PathDenied, NO_FOLDER)
        })?;
        let mut gather = Gather::new(folder, &self.limits, &workspace);
        attachments.iter().for_each(|one| gather.gather(one));
        let (gathered, problems) = gather.into_gathered();
        problems.into_iter().next().map_or(Ok(gathered), Err)
    }

    /// Where its files are.
    fn place(&self, run: &PreparedRun) -> FileOwner {
        let own = self.warden.workspaces().is_per_user().then(|| run.by.clone());
        FileOwner::new(own, run.session.clone())
    }

    fn open_workspace(&self, owner: &FileOwner, path: &GuestPath) -> Result<LocalFile, ToolError> {
        let (file, bytes) = self.warden.open_file(owner, path)?;
        let real = cofferdam_warden::files::real_path(&file).unwrap_or_else(|_| path.as_str().into());
        Ok(LocalFile { file, bytes, real })
    }
}

/// Said of files that a run cannot get at; where they are is said in the log alone.
const NO_FOLDER: &str = "the folder of its file cannot be opened here; keep workflows in [workflows] dir";

/// Said of agents where nobody can be asked.
pub const NO_MODEL: &str = "its agents need a model, and [provider] kind is \"commands\"; configure one: kind = \"openai-chat\", \
     \"openai-responses\" or \"anthropic\"";
