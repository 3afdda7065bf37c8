//! What runs say to people and wait for: each message under its task, the reply to it, until when
//! it is waited for.
//!
//! A reply is noted in the transaction that keeps its update. Reply, timeout and the end of the run
//! exclude each other by the `WHERE` of one `UPDATE`: of several at once one counts.

use super::{due, rest};
use crate::replies::{keep_reply, keep_telling};
use crate::tx::{Row, Tx};
use crate::value::params;
use crate::{AnswerTo, NewReply, NewTelling, Result, Store, StoredReply, homes, now_ms};
use cofferdam_core::id::TurnId;
use std::collections::BTreeSet;

/// What is waited for longer is never over, in milliseconds; a clock that is set finds room above.
const PATIENCE_MAX: i64 = 1 << 50;

/// A message that a task sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// The run.
    pub run: String,
    /// The task.
    pub task: usize,
    /// What is this channel's in the store.
    pub channel: String,
    /// The channel's immutable id of the one who gets it.
    pub recipient: String,
    /// What its parts say, as [`plain_letters`] has it.
    pub texts: Vec<String>,
    /// Whether a task waits for the reply to it.
    pub is_awaited: bool,
    /// The message.
    pub telling: NewTelling,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendState {
    /// It is not kept, or what is left of it once its run was opened again is not.
    Unknown,
    /// Something of it is still to be sent.
    NotYet,
    /// All of it is out, under these ids of the platform.
    Out(Vec<String>),
    /// Something of it never will be.
    Failed(String),
}

/// Whom a task waits for, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWait {
    /// The run.
    pub run: String,
    /// The task that waits.
    pub task: usize,
    /// The task whose message it waits for the reply to; none: for the decision of a person.
    pub of: Option<usize>,
    /// `CHANNEL:USER`.
    pub from: String,
    /// How long, in milliseconds.
    pub patience: i64,
    /// Whether a later task waits for the reply to the same message, which then stays open.
    pub is_awaited_later: bool,
}

/// How a wait stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitState {
    /// Nobody has replied, or further parts of the reply may come. Whether it has begun just now,
    /// and until when it goes on, in milliseconds since 1970 UTC.
    Open {
        /// Whether this is its beginning.
        begins: bool,
        /// Until when.
        until: i64,
    },
    /// Somebody has, as JSON.
    Replied(String),
    /// Nobody has in time.
    TimedOut,
}

/// The runs that have something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsToGoOn {
    /// Their ids, the oldest first.
    pub runs: Vec<String>,
    /// What [`Store::settled_here`] has at that moment: each of the runs has come with the files of
    /// one of these nodes.
    pub nodes: Option<BTreeSet<String>>,
}

/// The letters and digits of a text: what a platform gives back of it, however it was written
/// there.
pub fn plain_letters(text: &str) -> String {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    if letters.is_empty() { text.split_whitespace().collect() } else { letters }
}

/// What runs say to people and wait for. A task is its place in its run, from 0.
impl Store {
    /// Keeps the message of a task, to be sent, and that a reply to it is waited for; `None` when
    /// it is kept already, or the run has ended. Of one that was refused in part before its run was
    /// opened again what is not out.
    pub async fn keep_message(&self, new: NewMessage) -> Result<Option<StoredReply>> {
        self.write(move |tx| keep(tx, &new)).await
    }

    /// What became of a message; once it is out, its ids are kept for as long as its run.
    pub async fn load_send_state(&self, turn: &TurnId) -> Result<SendState> {
        let turn = turn.as_str().to_owned();
        self.write(move |tx| {
            let parts = "SELECT state, outcome FROM part WHERE turn = ?1 ORDER BY n";
            let columns = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?));
            let mut ids = Vec::new();
            for (state, outcome) in tx.query_rows(parts, [&turn], columns)? {
                let outcome = outcome.unwrap_or_default();
                match state.as_str() {
                    "sent" => ids.extend(outcome.split(',').map(str::to_owned)),
                    "failed" => return Ok(SendState::Failed(outcome)),
                    _ => return Ok(SendState::NotYet),
                }
            }
            if ids.is_empty() || rest::is_rest_due(tx, &turn)? {
                return Ok(SendState::Unknown);
            }
            // Replies are forgotten in time; the run is not before it has ended.
            tx.run("UPDATE run_message SET messages = ?2 WHERE turn = ?1", params![turn, ids.join(",")])?;
            Ok(SendState::Out(ids))
        })
        .await
    }

    /// Begins a wait, unless it has begun, and says how it stands. One whose time is over has timed
    /// out, unless somebody has replied before.
    pub async fn wait(&self, new: NewWait, now: i64) -> Result<WaitState> {
        self.write(move |tx| wait(tx, &new, now)).await
    }

    /// The files of the reply to the message of a task, in the words of their channel, which is
    /// named as in the store; none where it has none, or nobody has replied.
    pub async fn files_of_reply(&self, run: &str, task: usize) -> Result<Option<(String, String)>> {
        let found = "SELECT channel, files FROM run_message WHERE run = ?1 AND n = ?2 AND files IS NOT NULL";
        self.query_optional(found, params![run, task], |row| Ok((row.get(0)?, row.get(1)?))).await
    }

    /// The runs of the one `serve` that have something to do now: all that are open, but for those
    /// that wait for a reply and have time left; where nodes have workspaces of their own, those
    /// whose files are here. `deadline` is how long a run may take, in
    /// milliseconds.
    pub async fn runs_to_go_on(&self, now: i64, deadline: i64) -> Result<RunsToGoOn> {
        self.read(move |tx| {
            let due = due::to_go_on(tx.home());
            let runs: Vec<String> =
                tx.query_rows(&due, params![now, deadline, tx.home()], |row| row.get(0))?;
            let nodes = if runs.is_empty() { None } else { homes::load_settled_nodes(tx)? };
            Ok(RunsToGoOn { runs, nodes })
        })
        .await
    }

    /// The runs of the one `serve` that have begun what may be a call, and have not kept its end;
    /// where nodes have workspaces of their own, those whose files are here.
    pub async fn runs_in_calls(&self) -> Result<BTreeSet<String>> {
        let found = |tx: &Tx<'_>| {
            let home = tx.home();
            Ok(tx.query_rows(&due::in_calls(home), params![home], |row| row.get(0))?.into_iter().collect())
        };
        self.read(found).await
    }

    /// Has the one `serve` go on with an open run; false when it has ended.
    pub async fn hand_over_run(&self, run: &str) -> Result<bool> {
        let run = run.to_owned();
        self.write(move |tx| {
            let changed = "UPDATE run SET owner = 'serve' WHERE run = ?1 AND state = 'running'";
            Ok(tx.execute(changed, [&run])? == 1)
        })
        .await
    }

    /// Promises that the end of an open run is told; whether it is promised.
    pub async fn acknowledge_run(&self, run: &str) -> Result<bool> {
        let run = run.to_owned();
        self.write(move |tx| {
            tx.run("UPDATE run SET answers = 1 WHERE run = ?1 AND state = 'running'", [&run])?;
            let answers = "SELECT answers FROM run WHERE run = ?1";
            Ok(tx.query_optional(answers, [&run], |row| row.get(0))?.unwrap_or(false))
        })
        .await
    }

    /// Runs that have ended, and whose end was promised to be told and is not yet.
    pub async fn load_unanswered_runs(&self) -> Result<Vec<String>> {
        self.query_rows(due::UNANSWERED, params![], |row| row.get(0)).await
    }

    /// Tells the end of such a run, once.
    pub async fn answer_run(&self, run: &str, to: AnswerTo, said: NewReply) -> Result<Option<StoredReply>> {
        let run = run.to_owned();
        self.write(move |tx| {
            let now = now_ms();
            if tx.execute(ANSWERED, params![run, now])? == 0 {
                return Ok(None);
            }
            // A run that was opened again is answered again.
            let turn = TurnId::new(format!("{run}/answer-{now}"));
            keep_reply(tx, &to.channel, &turn, &said, now).map(Some)
        })
        .await
    }

    /// Notes that the end of such a run is told to nobody.
    pub async fn leave_unanswered(&self, run: &str) -> Result<()> {
        let run = run.to_owned();
        self.write(move |tx| tx.run(ANSWERED, params![run, now_ms()])).await
    }

    /// Has the waits and deadlines of the one `serve`'s runs follow a clock that was set, and what
    /// people are asked: a press in time counts.
    pub async fn shift_waits(&self, by: i64) -> Result<()> {
        self.write(move |tx| {
            let served =
                "run IN (SELECT run FROM run WHERE state = 'running' AND owner IN ('serve', 'turn'))";
            tx.run(
                &format!(
                    "UPDATE run_task SET waits_until = waits_until + ?1 WHERE state = 'running' AND {served}"
                ),
                [by],
            )?;
            tx.run(&format!("UPDATE run SET began_at = began_at + ?1 WHERE {served}"), [by])?;
            tx.run(&format!("UPDATE run_message SET replied_at = replied_at + ?1 WHERE {served}"), [by])?;
            // Those of turns as well: they wait as long as is configured.
            tx.run("UPDATE approval SET expires_at = expires_at + ?1 WHERE state = 'asked'", [by])?;
            bound_schedules(tx, now_ms())?;
            due::note_all(tx)
        })
        .await
    }

    /// Has no wait last longer from `now` on than it may in all: the clock may have been set back
    /// meanwhile.
    pub async fn bound_waits(&self, now: i64) -> Result<()> {
        self.write(move |tx| {
            tx.run(
                "UPDATE run_task SET waits_until = ?1 + patience
                 WHERE state = 'running' AND waits_until > ?1 + patience",
                [now],
            )?;
            tx.run("UPDATE run SET began_at = ?1 WHERE state = 'running' AND began_at > ?1", [now])?;
            tx.run("UPDATE run_message SET replied_at = ?1 WHERE replied_at > ?1", [now])?;
            bound_schedules(tx, now)?;
            due::note_all(tx)
        })
        .await
    }

    /// Since when the times of a schedule have been looked for; from `now` on where they have not,
    /// or where the file of the workflow has named others until now. `of` are the workflow and the
    /// times, as its file has them.
    pub async fn begin_schedule_check(&self, of: (&str, &str), now: i64) -> Result<i64> {
        const LOOKED_AT: &str = "SELECT looked_at FROM run_schedule WHERE workflow = ?1";
        let (workflow, key) = (of.0.to_owned(), schedule_key(of));
        // Asked twice a second: one that was begun costs no more than a look.
        if let Some(before) = self.query_optional(LOOKED_AT, [&key], |row| row.get(0)).await? {
            return Ok(before);
        }
        self.write(move |tx| {
            let looked_at =
                |key: &str| -> Result<Option<i64>> { tx.query_optional(LOOKED_AT, [key], |row| row.get(0)) };
            if let Some(before) = looked_at(&key)? {
                return Ok(before);
            }
            // Earlier releases have kept the workflow without the times.
            let since = looked_at(&workflow)?.unwrap_or(now);
            tx.run("DELETE FROM run_schedule WHERE workflow = ?1", [&workflow])?;
            let others = schedule_key((&workflow, ""));
            tx.run("DELETE FROM run_schedule WHERE substr(workflow, 1, length(?1)) = ?1", [&others])?;
            tx.run("INSERT INTO run_schedule (workflow, looked_at) VALUES (?1, ?2)", params![key, since])?;
            Ok(since)
        })
        .await
    }

    /// Forgets all schedules but these, each a workflow and its times: those that no file names.
    /// What passes until one names them again is not missed.
    pub async fn forget_schedules_but(&self, named: &[(&str, &str)]) -> Result<()> {
        // Earlier releases have kept the workflow without the times.
        let named: BTreeSet<String> =
            named.iter().flat_map(|of| [schedule_key(*of), of.0.to_owned()]).collect();
        self.write(move |tx| {
            let kept: Vec<String> =
                tx.query_rows("SELECT workflow FROM run_schedule", params![], |row| row.get(0))?;
            for key in kept.iter().filter(|key| !named.contains(*key)) {
                tx.run("DELETE FROM run_schedule WHERE workflow = ?1", [key])?;
            }
            Ok(())
        })
        .await
    }

    /// Notes that the times of a schedule up to this one need no further look.
    pub async fn end_schedule_check(&self, of: (&str, &str), until: i64) -> Result<()> {
        let note = "UPDATE run_schedule SET looked_at = ?2 WHERE workflow = ?1";
        self.run(note, params![schedule_key(of), until]).await
    }
}

/// Notes that the end of a run needs no telling any more, where it was promised.
const ANSWERED: &str = "UPDATE run SET answered_at = ?2
     WHERE run = ?1 AND ended_at IS NOT NULL AND answers = 1 AND answered_at IS NULL";

/// Has no schedule rest until a clock that was set back shows the same time again. A time that has
/// begun a run begins no second one: it would have the same id.
fn bound_schedules(tx: &Tx<'_>, now: i64) -> Result<()> {
    tx.run("UPDATE run_schedule SET looked_at = ?1 WHERE looked_at > ?1", [now])
}

/// Names a schedule: the workflow and its times, since times that its file names later have not
/// been missed before. No workflow's id has a line break.
fn schedule_key((workflow, times): (&str, &str)) -> String {
    format!("{workflow}\n{times}")
}

/// Keeps the message of a task, or the rest of it.
pub(super) fn keep(tx: &Tx<'_>, new: &NewMessage) -> Result<Option<StoredReply>> {
    let texts = serde_json::to_string(&new.texts).unwrap_or_default();
    let kept = tx.execute(
        "INSERT INTO run_message (run, n, channel, recipient, turn, texts, state)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM run WHERE run.run = ?1 AND run.state = 'running'
         ON CONFLICT DO NOTHING",
        params![
            new.run,
            new.task,
            new.channel,
            new.recipient,
            new.telling.turn,
            texts,
            if new.is_awaited { "open" } else { "unawaited" }
        ],
    )?;
    if kept == 0 {
        return rest::keep_rest(tx, new);
    }
    keep_telling(tx, &new.channel, &new.telling).map(Some)
}

fn wait(tx: &Tx<'_>, new: &NewWait, now: i64) -> Result<WaitState> {
    let (run, task, patience) = (&new.run, new.task, new.patience.min(PATIENCE_MAX));
    let begins = tx.execute(
        "UPDATE run_task SET waits_for = ?3, waits_of = ?4, waits_until = ?5, patience = ?6
         WHERE run = ?1 AND n = ?2 AND state = 'running' AND waits_until IS NULL",
        params![run, task, new.from, new.of, now + patience, patience],
    )? == 1;
    let until = tx
        .query_row("SELECT waits_until FROM run_task WHERE run = ?1 AND n = ?2", params![run, task], |row| {
            row.get::<Option<i64>>(0)
        })?
        .unwrap_or(now);
    let Some(of) = new.of else { return Ok(WaitState::Open { begins, until }) };
    if until <= now && !new.is_awaited_later {
        tx.run(
            "UPDATE run_message SET state = 'timed_out' WHERE run = ?1 AND n = ?2 AND state = 'open'",
            params![run, of],
        )?;
    }
    due::note(tx, run)?;
    // Of an album when its last part came.
    let found = tx.query_optional(
        "SELECT state, answer, CASE WHEN album IS NULL THEN NULL ELSE replied_at END
         FROM run_message WHERE run = ?1 AND n = ?2",
        params![run, of],
        |row| Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?, row.get::<Option<i64>>(2)?)),
    )?;
    let may_go_on = |last: Option<i64>| last.is_some_and(|last| last > now - due::ALBUM_MS);
    Ok(match found {
        Some((state, _, last)) if state == "replied" && may_go_on(last) => WaitState::Open { begins, until },
        Some((state, Some(answer), last)) if state == "replied" => {
            if last.is_some() {
                // The run goes on with what there is: a part that comes now is not of its reply.
                let whole = "UPDATE run_message SET album = NULL WHERE run = ?1 AND n = ?2";
                tx.run(whole, params![run, of])?;
            }
            WaitState::Replied(answer)
        }
        Some((state, ..)) if state == "open" && until > now => WaitState::Open { begins, until },
        _ => WaitState::TimedOut,
    })
}
