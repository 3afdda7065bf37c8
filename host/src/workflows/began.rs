//! What a run began with, as it is kept: the files as they were, where they lie, what it was given.
//! A run goes on by this, so a file that changed since does not change it.

use super::files::AttachableFolder;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::{Caller, SessionId};
use cofferdam_store::{KeptRun, NewRun, RunOwner};
use cofferdam_workflow::attachment::FolderPath;
use cofferdam_workflow::{Context, FileProblem, RunPlan, SourceFile, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// A run, ready to be carried out.
pub struct PreparedRun {
    /// Its id.
    pub id: String,
    /// What it does.
    pub plan: RunPlan,
    /// The folder of its workflow's file, or why it cannot be opened: for the log.
    pub folder: Result<AttachableFolder, String>,
    /// Who began it, and for whom each call is judged.
    pub by: Caller,
    /// The session that it was begun in, if in one: its `/tmp` is the run's.
    pub session: Option<SessionId>,
    /// SHA-256 of the workflow's file.
    pub file_sha256: String,
}

/// Why a run that is kept cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TakeUpError {
    /// What was kept is nothing that any release writes.
    #[error("what was kept of the run is unreadable: {0}")]
    Unreadable(String),
    /// Its files are no workflow to this release.
    #[error("its file is no workflow to this release: {0}")]
    File(#[source] FileProblem),
    /// Its templates cannot be rendered by this release.
    #[error(transparent)]
    Plan(FileProblem),
}

impl TakeUpError {
    /// What people are told: not where its files are.
    pub fn for_people(&self) -> String {
        match self {
            Self::Unreadable(_) => self.to_string(),
            Self::File(problem) => format!("its file is no workflow to this release: {}", problem.problem),
            Self::Plan(problem) => problem.problem.clone(),
        }
    }
}

/// The kept form.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct BegunRun {
    pub(super) dir: PathBuf,
    pub(super) files: Vec<BegunFile>,
    pub(super) input: Value,
    pub(super) env: Map<String, Value>,
    pub(super) trigger: Value,
    pub(super) tools: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct BegunFile {
    name: String,
    path: String,
    text: String,
}

/// A run that begins, as it is kept.
pub fn new_run(plan: &RunPlan, context: &Context, dir: PathBuf, by: &Caller) -> NewRun {
    let workflow = plan.workflow();
    let file = |source: &SourceFile| BegunFile {
        name: source.name.clone(),
        path: source.path.to_string(),
        text: source.text.clone(),
    };
    let began = BegunRun {
        dir,
        files: workflow.sources.iter().map(file).collect(),
        input: context.input.clone(),
        env: context.env.clone(),
        trigger: context.trigger.clone(),
        tools: context.tools.clone(),
    };
    NewRun {
        run: context.run.clone(),
        workflow: workflow.id.clone(),
        by: by.clone(),
        began_with: serde_json::to_string(&began).expect("plain data"),
        file_sha256: sha256_hex(workflow.sources[0].text.as_bytes()),
        tasks: workflow.tasks.iter().map(|task| task.id.clone()).collect(),
        owner: RunOwner::Command,
        answer_to: None,
        answers: false,
    }
}

/// A kept run, ready to go on.
///
/// # Errors
/// [`TakeUpError`].
pub fn take_up(kept: &KeptRun) -> Result<PreparedRun, TakeUpError> {
    let BegunRun { dir, files, input, env, trigger, tools } = read(kept)?;
    let (own, others) = files.split_first().ok_or_else(|| TakeUpError::Unreadable("no file".into()))?;
    let mut read = |path: &FolderPath| {
        let path = path.to_string();
        let found = others.iter().find(|file| file.path == path);
        found.map(|file| file.text.clone()).ok_or_else(|| "it was not kept".to_owned())
    };
    let workflow = Workflow::load(&own.name, &own.text, &mut read).map_err(TakeUpError::File)?;
    let workflow = Arc::new(workflow);
    let session = trigger["session"].as_str().map(SessionId::new);
    let context = Context { run: kept.new.run.clone(), input, env, trigger, tools };
    let folder = AttachableFolder::open(&dir)
        .map_err(|cause| format!("the folder {} cannot be opened here: {cause}", dir.display()));
    Ok(PreparedRun {
        id: kept.new.run.clone(),
        plan: RunPlan::begin(workflow, &context).map_err(TakeUpError::Plan)?,
        folder,
        by: kept.new.by.clone(),
        session,
        file_sha256: kept.new.file_sha256.clone(),
    })
}

fn read(kept: &KeptRun) -> Result<BegunRun, TakeUpError> {
    serde_json::from_str(&kept.new.began_with).map_err(|error| TakeUpError::Unreadable(error.to_string()))
}

/// What began a kept run, as templates see it.
pub fn trigger_of(kept: &KeptRun) -> Value {
    read(kept).map(|began| began.trigger).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_store::RunState;

    fn kept(text: &str) -> KeptRun {
        let (name, path) = ("/etc/flows/w.yaml".to_owned(), "w.yaml".to_owned());
        let file = BegunFile { name, path, text: text.to_owned() };
        let began = BegunRun { files: vec![file], ..BegunRun::default() };
        KeptRun {
            new: NewRun {
                run: "w-1".to_owned(),
                workflow: "w".to_owned(),
                by: Caller { channel: "telegram".to_owned(), sender: "1".to_owned() },
                began_with: serde_json::to_string(&began).expect("plain data"),
                file_sha256: String::new(),
                tasks: Vec::new(),
                owner: RunOwner::Serve,
                answer_to: None,
                answers: true,
            },
            began_at: 0,
            state: RunState::Running,
            output: None,
            error: None,
            ended_by: None,
            is_unnoted: false,
            tasks: Vec::new(),
        }
    }

    #[test]
    fn people_are_not_told_where_a_file_lies() {
        for text in
            ["workflow: w\n", "workflow: w\ntasks: [{ id: a, tool: x, with: { a: \"{{ input.none }}\" } }]\n"]
        {
            let Err(error) = take_up(&kept(text)) else { panic!("it is no workflow: {text}") };
            assert!(error.to_string().contains("/etc/flows/w.yaml:"), "the log has it: {error}");
            assert!(!error.for_people().contains("/etc"), "{}", error.for_people());
        }
    }
}
