//! A run as its rows have it.

use super::{AnswerTo, KeptRun, KeptTask, NewRun, RunOwner, RunState, TaskState, WaitsFor};
use crate::StoreError;
use crate::tx::{Row, Tx};
use cofferdam_core::id::Caller;

/// The columns of a run before their words are read.
type Columns = (NewRun, String, Option<String>, Option<String>, i64, Option<String>, bool);
/// Those of a task.
type TaskColumns = (String, String, Option<String>, Option<String>, Option<(String, i64)>);

pub(super) fn load_run(tx: &Tx<'_>, run: &str) -> Result<Option<KeptRun>, StoreError> {
    let read = |row: &Row<'_>| -> Result<Columns, StoreError> {
        let by = Caller { channel: row.get(1)?, sender: row.get(2)? };
        let new = NewRun {
            run: run.to_owned(),
            workflow: row.get(0)?,
            by,
            began_with: row.get(3)?,
            file_sha256: row.get(4)?,
            tasks: Vec::new(),
            owner: RunOwner::read(&row.get::<String>(9)?),
            answer_to: answer_to(row)?,
            answers: row.get(12)?,
        };
        Ok((new, row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?, row.get(13)?, row.get(14)?))
    };
    let found = tx.query_optional(
        "SELECT workflow, channel, sender, began_with, file_sha256, state, output, error, began_at, owner,
                    answer_channel, answer_to, answers, ended_by, unnoted
             FROM run WHERE run = ?1",
        [run],
        read,
    )?;
    let Some((mut new, state, output, error, began_at, ended_by, is_unnoted)) = found else {
        return Ok(None);
    };
    let of_run =
        "SELECT id, state, output, error, waits_for, waits_until FROM run_task WHERE run = ?1 ORDER BY n";
    let rows = tx.query_rows(of_run, [run], |row| {
        let waits = row.get::<Option<String>>(4)?.zip(row.get::<Option<i64>>(5)?);
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, waits))
    })?;
    let mut tasks = Vec::new();
    for row in rows {
        let (id, state, output, error, waits): TaskColumns = row;
        let state = TaskState::read(&state)?;
        let waits = waits.filter(|_| state == TaskState::Running);
        let waits = waits.map(|(from, until)| WaitsFor { from, until });
        tasks.push(KeptTask { id, state, output, error, waits });
    }
    new.tasks = tasks.iter().map(|task| task.id.clone()).collect();
    let state = RunState::read(&state)?;
    Ok(Some(KeptRun { new, began_at, state, output, error, ended_by, is_unnoted, tasks }))
}

fn answer_to(row: &Row<'_>) -> Result<Option<AnswerTo>, StoreError> {
    let (channel, target): (Option<String>, Option<String>) = (row.get(10)?, row.get(11)?);
    Ok(channel.zip(target).map(|(channel, target)| AnswerTo { channel, target }))
}
