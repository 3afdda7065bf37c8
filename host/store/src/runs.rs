//! Runs of workflows: what each began with, and how far it is. A result is here before the next
//! task begins, so a run goes on where it was.
//!
//! A run may be carried out beside the one `serve`, by a process of its own that holds the run's
//! lock: each change here is one statement that says what must hold, and so of many who decide at
//! once one does.

mod due;
mod kept;
mod people;
mod resolve;
mod rest;
mod state;
mod turns;

use super::tx::Tx;
use kept::load_run;
pub use people::{NewMessage, NewWait, RunsToGoOn, SendState, WaitState, plain_letters};
pub(super) use resolve::resolve;
pub use rest::part_letters;
pub(super) use rest::{is_rest_due, note_replacements};
pub use state::{RunOwner, RunState, TaskState};
pub use turns::{DueWait, GoingOn, NewTurnWait, TurnWaited};

use super::value::params;
use super::{Result, Store, homes, now_ms};
use cofferdam_core::id::Caller;

/// Runs that a listing has, the latest first.
pub const RUNS_LISTED_MAX: u32 = 200;

/// Where a run is answered when it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerTo {
    /// What is this channel's in the store.
    pub channel: String,
    /// In the channel's own words.
    pub target: String,
}

/// A run that begins. What is opaque here is the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Its id.
    pub run: String,
    /// The workflow's id.
    pub workflow: String,
    /// Who began it.
    pub by: Caller,
    /// What it runs by: the files as they were, where they lie, what it was given.
    pub began_with: String,
    /// SHA-256 of the workflow's file, lower-case hex.
    pub file_sha256: String,
    /// The ids of its tasks, in order.
    pub tasks: Vec<String>,
    /// Who carries it out.
    pub owner: RunOwner,
    /// Where its end is told, if anywhere.
    pub answer_to: Option<AnswerTo>,
    /// Whether its end is told there in any case, and not only once that was promised.
    pub answers: bool,
}

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRun {
    /// What it began with.
    pub new: NewRun,
    /// When it began, in milliseconds since 1970 UTC.
    pub began_at: i64,
    /// Where it stands.
    pub state: RunState,
    /// What it answered, as JSON; of a run that is done.
    pub output: Option<String>,
    /// Why it failed, as JSON.
    pub error: Option<String>,
    /// Who ended it, where somebody did, `CHANNEL:USER`.
    pub ended_by: Option<String>,
    /// Whether its end is still to be noted elsewhere.
    pub is_unnoted: bool,
    /// Its tasks, in order.
    pub tasks: Vec<KeptTask>,
}

/// A task as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTask {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: TaskState,
    /// Its result, as JSON.
    pub output: Option<String>,
    /// Why it failed, as JSON.
    pub error: Option<String>,
    /// Whom it waits for, and until when, while it does.
    pub waits: Option<WaitsFor>,
}

/// Whom a task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    /// `CHANNEL:USER`.
    pub from: String,
    /// Until when, in milliseconds since 1970 UTC.
    pub until: i64,
}

/// A run in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    /// Its id.
    pub run: String,
    /// The workflow's id.
    pub workflow: String,
    /// Where it stands.
    pub state: RunState,
    /// Who carries it out.
    pub owner: RunOwner,
    /// Whether it waits for a person.
    pub waits: bool,
}

/// Runs of workflows. A task is its place in its run, from 0. A task or a run ends with an output
/// or an error, as JSON.
impl Store {
    /// Keeps a run that begins, its tasks pending; false when `open_max` runs are open.
    pub async fn begin_run(&self, new: NewRun, open_max: u32) -> Result<bool> {
        self.write(move |tx| insert_run(tx, &new, open_max)).await
    }

    /// The run of this id.
    pub async fn load_run(&self, run: &str) -> Result<Option<KeptRun>> {
        let run = run.to_owned();
        self.read(move |tx| load_run(tx, &run)).await
    }

    /// The id of the run that is called so, in letters and digits, behind the id of its workflow.
    pub async fn find_run(&self, name: &str) -> Result<Option<String>> {
        let found = "SELECT run FROM run WHERE run LIKE ?1 LIMIT 1";
        self.query_optional(found, [format!("%-{name}")], |row| row.get(0)).await
    }

    /// The latest runs, at most [`RUNS_LISTED_MAX`].
    pub async fn list_runs(&self) -> Result<Vec<ListedRun>> {
        let latest = "SELECT run, workflow, state, owner, EXISTS (
                 SELECT 1 FROM run_task WHERE run_task.run = run.run AND run_task.state = 'running'
                 AND waits_until IS NOT NULL)
             FROM run ORDER BY began_at DESC, rowid DESC LIMIT ?1";
        self.query_rows(latest, [RUNS_LISTED_MAX], |row| {
            let (run, workflow, owner) = (row.get(0)?, row.get(1)?, row.get(3)?);
            Ok(ListedRun { run, workflow, state: row.get(2)?, owner, waits: row.get(4)? })
        })
        .await
    }

    /// Notes that a task begins; false when its run has ended, or the task has.
    pub async fn begin_task(&self, run: &str, task: usize) -> Result<bool> {
        let run = run.to_owned();
        let changed = "UPDATE run_task SET state = 'running' WHERE run = ?1 AND n = ?2 AND state IN ('pending', 'running')
             AND EXISTS (SELECT 1 FROM run WHERE run.run = ?1 AND run.state = 'running')";
        self.write(move |tx| Ok(tx.execute(changed, params![run, task])? == 1)).await
    }

    /// Keeps what a task that has begun came to; where it failed, the run has failed with it, and
    /// its end is to be noted elsewhere. False when that is kept.
    pub async fn end_task(&self, run: &str, task: usize, ended: Result<String, String>) -> Result<bool> {
        let run = run.to_owned();
        self.write(move |tx| {
            let (state, output, error) = columns(&ended);
            // Its result is true, also where somebody has ended the run meanwhile.
            let changed = tx.execute(
                "UPDATE run_task SET state = ?3, output = ?4, error = ?5
                 WHERE run = ?1 AND n = ?2 AND state IN ('running', 'cancelled')",
                params![run, task, state, output, error],
            )?;
            due::note(tx, &run)?;
            if let Err(error) = &ended {
                tx.run(
                    "UPDATE run SET state = 'failed', error = ?2, ended_at = ?3, unnoted = 1
                     WHERE run = ?1 AND state = 'running'",
                    params![run, error, now_ms()],
                )?;
            }
            Ok(changed == 1)
        })
        .await
    }

    /// Ends a run that is open; false when it has ended. Where it failed, the task that it is at
    /// has failed with it. Its end is to be noted elsewhere.
    pub async fn end_run(&self, run: &str, ended: Result<String, String>) -> Result<bool> {
        let run = run.to_owned();
        self.write(move |tx| close_run(tx, &run, columns(&ended), None)).await
    }

    /// Ends a run that is open, and the task that it is at; false when it has ended. Its end is to
    /// be noted elsewhere. `by` is the person who wanted it, if one did.
    pub async fn cancel_run(&self, run: &str, by: Option<&Caller>) -> Result<bool> {
        let (run, by) = (run.to_owned(), by.map(Caller::to_string));
        self.write(move |tx| close_run(tx, &run, ("cancelled", None, None), by.as_deref())).await
    }

    /// The runs that ended up to `until` and whose end is to be noted elsewhere, in milliseconds
    /// since 1970 UTC.
    pub async fn load_unnoted_runs(&self, until: i64) -> Result<Vec<String>> {
        self.query_rows(due::UNNOTED, [until], |row| row.get(0)).await
    }

    /// The end of a run is noted.
    pub async fn end_noted(&self, run: &str) -> Result<()> {
        self.run("UPDATE run SET unnoted = 0 WHERE run = ?1", [run]).await
    }

    /// Opens a run that failed or was cut off: its tasks that are not done are pending again, and
    /// what was asked about them in vain is asked anew; false for any other.
    pub async fn reopen_run(&self, run: &str) -> Result<bool> {
        let run = run.to_owned();
        self.write(move |tx| {
            let changed = tx.execute(
                "UPDATE run SET state = 'running', error = NULL, ended_at = NULL, owner = 'cli', answered_at = NULL
                 WHERE run = ?1 AND state IN ('running', 'failed') AND owner <> 'turn'",
                [&run],
            )?;
            if changed == 1 {
                tx.run(
                    "UPDATE run_task SET state = 'pending', error = NULL, waits_for = NULL, waits_until = NULL
                     WHERE run = ?1 AND state <> 'done'",
                    [&run],
                )?;
                // What nobody waits for any more would take a late reply away from its person.
                tx.run(
                    "UPDATE run_message SET state = 'open' WHERE run = ?1 AND state = 'timed_out' AND EXISTS (
                         SELECT 1 FROM run_task WHERE run_task.run = ?1 AND waits_of = run_message.n
                         AND run_task.state <> 'done')",
                    [&run],
                )?;
                rest::forget_refused(tx, &run)?;
                ask_anew(tx, &run)?;
                due::note(tx, &run)?;
            }
            Ok(changed == 1)
        })
        .await
    }
}

/// Keeps a run, unless so many are open.
fn insert_run(tx: &Tx<'_>, new: &NewRun, open_max: u32) -> Result<bool> {
    let open: u32 =
        tx.query_row("SELECT count(*) FROM run WHERE state = 'running'", params![], |row| row.get(0))?;
    if open >= open_max {
        return Ok(false);
    }
    let NewRun { run, workflow, by, began_with, file_sha256, tasks, .. } = new;
    tx.run(
        "INSERT INTO run (run, workflow, channel, sender, began_with, file_sha256, state, began_at, owner,
                          answer_channel, answer_to, answers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, ?8, ?9, ?10, ?11)",
        params![
            run,
            workflow,
            by.channel,
            by.sender,
            began_with,
            file_sha256,
            now_ms(),
            new.owner,
            new.answer_to.as_ref().map(|to| &to.channel),
            new.answer_to.as_ref().map(|to| &to.target),
            new.answers
        ],
    )?;
    if let Some(own) = tx.home() {
        let node = match new.owner {
            RunOwner::Command => own.to_owned(),
            RunOwner::Serve | RunOwner::Turn => homes::home_of_caller(tx, by)?,
        };
        tx.run("UPDATE run SET node = ?2 WHERE run = ?1", [run, &node])?;
    }
    for (n, id) in tasks.iter().enumerate() {
        tx.run(
            "INSERT INTO run_task (run, n, id, state) VALUES (?1, ?2, ?3, 'pending')",
            params![run, n, id],
        )?;
    }
    Ok(true)
}

/// Ends a run that is open, and what it was at unless it is done; false when it has ended.
fn close_run(
    tx: &Tx<'_>,
    run: &str,
    (state, output, error): (&str, Option<&str>, Option<&str>),
    by: Option<&str>,
) -> Result<bool> {
    let changed = tx.execute(
        "UPDATE run SET state = ?2, output = ?3, error = ?4, ended_at = ?5, ended_by = ?6, unnoted = 1
         WHERE run = ?1 AND state = 'running'",
        params![run, state, output, error, now_ms(), by],
    )?;
    if changed == 1 && state != "done" {
        stop_tasks(tx, run, (state, error))?;
    }
    Ok(changed == 1)
}

/// Ends what a run that has ended was at. What it asks people is withdrawn, so that nobody is told
/// that they have approved what is not done.
fn stop_tasks(tx: &Tx<'_>, run: &str, (state, error): (&str, Option<&str>)) -> Result<()> {
    tx.run(
        "UPDATE run_task SET state = ?2, error = ?3 WHERE run = ?1 AND state = 'running'",
        params![run, state, error],
    )?;
    let calls = format!("{run}/");
    tx.run(
        "UPDATE approval SET state = 'withdrawn'
         WHERE state = 'asked' AND substr(call_id, 1, length(?1)) = ?1",
        [&calls],
    )
}

/// What a person denied, or did not decide in time, is asked anew: its row names another call from
/// here on, and so is no answer to this one. It stays, since its message may show choices still.
/// What was approved, and what is asked, are left alone.
fn ask_anew(tx: &Tx<'_>, run: &str) -> Result<()> {
    tx.run(
        "UPDATE approval SET call_id = call_id || '/' || id
         WHERE state IN ('denied', 'expired', 'withdrawn') AND call_id IN (
             SELECT task.run || '/' || task.id || '/0' FROM run_task AS task
             WHERE task.run = ?1 AND task.state <> 'done')",
        [run],
    )
}

fn columns(ended: &Result<String, String>) -> (&'static str, Option<&str>, Option<&str>) {
    match ended {
        Ok(output) => ("done", Some(output), None),
        Err(error) => ("failed", None, Some(error)),
    }
}
