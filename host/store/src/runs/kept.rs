//! A run as its rows have it.

use super::{AnswerTo, KeptRun, KeptTask, NewRun, TaskState, WaitsFor};
use crate::Result;
use crate::tx::{Row, Tx};
use cofferdam_core::id::Caller;

pub(super) fn load_run(tx: &Tx<'_>, run: &str) -> Result<Option<KeptRun>> {
    let read = |row: &Row<'_>| -> Result<KeptRun> {
        let by = Caller { channel: row.get(1)?, sender: row.get(2)? };
        let answer_channel: Option<String> = row.get(10)?;
        let new = NewRun {
            run: run.to_owned(),
            workflow: row.get(0)?,
            by,
            began_with: row.get(3)?,
            file_sha256: row.get(4)?,
            tasks: Vec::new(),
            owner: row.get(9)?,
            answer_to: answer_channel.zip(row.get(11)?).map(|(channel, target)| AnswerTo { channel, target }),
            answers: row.get(12)?,
        };
        Ok(KeptRun {
            new,
            state: row.get(5)?,
            output: row.get(6)?,
            error: row.get(7)?,
            began_at: row.get(8)?,
            ended_by: row.get(13)?,
            is_unnoted: row.get(14)?,
            tasks: Vec::new(),
        })
    };
    let found = tx.query_optional(
        "SELECT workflow, channel, sender, began_with, file_sha256, state, output, error, began_at, owner,
                    answer_channel, answer_to, answers, ended_by, unnoted
             FROM run WHERE run = ?1",
        [run],
        read,
    )?;
    let Some(mut kept) = found else { return Ok(None) };
    let of_run =
        "SELECT id, state, output, error, waits_for, waits_until FROM run_task WHERE run = ?1 ORDER BY n";
    kept.tasks = tx.query_rows(of_run, [run], |row| {
        let state: TaskState = row.get(1)?;
        let waits = row.get::<Option<String>>(4)?.zip(row.get::<Option<i64>>(5)?);
        let waits = waits.filter(|_| state == TaskState::Running);
        let waits = waits.map(|(from, until)| WaitsFor { from, until });
        Ok(KeptTask { id: row.get(0)?, state, output: row.get(2)?, error: row.get(3)?, waits })
    })?;
    kept.new.tasks = kept.tasks.iter().map(|task| task.id.clone()).collect();
    Ok(Some(kept))
}
