//! Runs that a turn begins: messages under their calls, waits, and the one statement by which a
//! reply goes on with the request.

use super::people::keep;
use super::{NewMessage, NewRun, columns, due, insert_run};
use crate::tx::Tx;
use crate::value::params;
use crate::{Result, Store, StoredReply, homes, now_ms};
use cofferdam_core::id::{SessionId, TurnId};
use std::ops::ControlFlow;

/// A wait that a turn begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTurnWait {
    /// The run.
    pub run: String,
    /// Names the task: the same call begins one wait.
    pub id: String,
    /// The platform's id of the message.
    pub message: String,
    /// How long, in milliseconds.
    pub patience: i64,
}

/// What became of beginning a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnWaited {
    /// It is waited for.
    Begun,
    /// It was waited for already.
    Again,
    /// The run has ended.
    Ended,
    /// The run has sent no such message.
    NoMessage,
    /// Its reply has gone on with the request already, or nobody has replied in time.
    Over,
}

/// A wait that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueWait {
    /// The run.
    pub run: String,
    /// The task that waits.
    pub task: usize,
    /// Whom it waits for, `CHANNEL:USER`.
    pub from: String,
    /// How long it was to wait, in milliseconds.
    pub patience: i64,
    /// What they have replied, as JSON; none where they have not in time.
    pub reply: Option<String>,
    /// The files of the reply, in their channel's own words.
    pub files: Option<String>,
}

/// A request that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoingOn {
    /// The run.
    pub run: String,
    /// The task whose wait is over.
    pub task: usize,
    /// The reply as [`DueWait::reply`] has it; none where nobody has replied.
    pub reply: Option<String>,
    /// What the task came to, as JSON.
    pub output: String,
    /// What is this channel's in the store: where the request was made.
    pub channel: String,
    /// Its conversation.
    pub session: SessionId,
    /// Who made it.
    pub sender: String,
    /// The message that a turn answers; its id is no platform's.
    pub update_id: i64,
    /// What it says, for anyone who answers.
    pub raw: String,
}

/// Runs that a turn begins. Their tasks come one by one, each under an id that names its call.
impl Store {
    /// Keeps a run that a turn begins, unless so many are open; whether it is there now.
    pub async fn begin_turn_run(&self, new: NewRun, turn: TurnId, open_max: u32) -> Result<bool> {
        self.write(move |tx| {
            if tx.exists("SELECT 1 FROM run WHERE run = ?1", [&new.run])? {
                return Ok(true);
            }
            if !insert_run(tx, &new, open_max)? {
                return Ok(false);
            }
            tx.run("UPDATE run SET turn = ?2 WHERE run = ?1", params![new.run, turn])?;
            Ok(true)
        })
        .await
    }

    /// Keeps the message of a further task, to be sent; `None` when it is kept already, or the run
    /// has ended. The task's place is found here.
    pub async fn keep_turn_message(&self, id: &str, new: NewMessage) -> Result<Option<StoredReply>> {
        let id = id.to_owned();
        self.write(move |tx| {
            if !is_open(tx, &new.run)? || has_task(tx, &new.run, &id)? {
                return Ok(None);
            }
            let task = add_task(tx, &new.run, &id)?;
            keep(tx, &NewMessage { task, ..new.clone() })
        })
        .await
    }

    /// Keeps the result of a task: its output, or the error that it failed with, as JSON.
    pub async fn end_turn_task(&self, run: &str, id: &str, ended: Result<String, String>) -> Result<()> {
        let (run, id) = (run.to_owned(), id.to_owned());
        self.write(move |tx| {
            let (state, output, error) = columns(&ended);
            tx.run(
                "UPDATE run_task SET state = ?3, output = ?4, error = ?5
                 WHERE run = ?1 AND id = ?2 AND state IN ('running', 'cancelled')",
                params![run, id, state, output, error],
            )?;
            due::note(tx, &run)
        })
        .await
    }

    /// Begins to wait for the reply to a message.
    pub async fn wait_in_turn(&self, new: NewTurnWait, now: i64) -> Result<TurnWaited> {
        self.write(move |tx| wait(tx, &new, now)).await
    }

    /// The waits that are over by `now`: somebody has replied, or nobody has in time. A reply in
    /// several parts is over once no further one comes.
    pub async fn due_waits(&self, now: i64) -> Result<Vec<DueWait>> {
        self.query_rows(due::WAITS, [now, due::ALBUM_MS], |row| {
            let is_replied = row.get::<String>(4)? == "replied";
            Ok(DueWait {
                run: row.get(0)?,
                task: row.get(1)?,
                from: row.get(2)?,
                patience: row.get(3)?,
                reply: row.get::<Option<String>>(5)?.filter(|_| is_replied),
                files: row.get::<Option<String>>(6)?.filter(|_| is_replied),
            })
        })
        .await
    }

    /// Has the request of a run go on: ends the wait, and keeps the message that a turn answers, in
    /// one step. False when the wait is over otherwise, or more of the reply has come since it was
    /// read.
    pub async fn go_on(&self, going: GoingOn) -> Result<bool> {
        self.write(move |tx| go_on(tx, &going, now_ms())).await
    }

    /// Ends the runs that nobody goes on with: nothing is waited for, and the turn that could wait
    /// has ended. A reply that nobody has waited for yet is waited for instead. The ids of those
    /// that ended.
    pub async fn end_idle_turn_runs(&self, now: i64) -> Result<Vec<String>> {
        // Asked twice a second: that there is none costs no more than a look.
        if self.query_optional(due::IDLE, [now - UNUSED_MS], |_| Ok(())).await?.is_none() {
            return Ok(Vec::new());
        }
        self.write(move |tx| end_idle(tx, now)).await
    }
}

fn is_open(tx: &Tx<'_>, run: &str) -> Result<bool> {
    let open = "SELECT 1 FROM run WHERE run = ?1 AND state = 'running' AND owner = 'turn'";
    tx.exists(open, [run])
}

fn has_task(tx: &Tx<'_>, run: &str, id: &str) -> Result<bool> {
    tx.exists("SELECT 1 FROM run_task WHERE run = ?1 AND id = ?2", [run, id])
}

fn add_task(tx: &Tx<'_>, run: &str, id: &str) -> Result<usize> {
    let n: usize =
        tx.query_row("SELECT coalesce(max(n) + 1, 0) FROM run_task WHERE run = ?1", [run], |row| row.get(0))?;
    tx.run("INSERT INTO run_task (run, n, id, state) VALUES (?1, ?2, ?3, 'running')", params![run, n, id])?;
    Ok(n)
}

fn wait(tx: &Tx<'_>, new: &NewTurnWait, now: i64) -> Result<TurnWaited> {
    if has_task(tx, &new.run, &new.id)? {
        return Ok(TurnWaited::Again);
    }
    if !is_open(tx, &new.run)? {
        return Ok(TurnWaited::Ended);
    }
    let mut found = None;
    let sent =
        "SELECT n, channel, recipient, messages FROM run_message WHERE run = ?1 AND messages IS NOT NULL";
    tx.for_each(sent, [&new.run], |row| {
        if row.get::<String>(3)?.split(',').any(|id| id == new.message) {
            found = Some((row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<String>(2)?));
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let Some((of, channel, recipient)) = found else { return Ok(TurnWaited::NoMessage) };
    let earlier: Option<String> = tx.query_optional(
        "SELECT state FROM run_task WHERE run = ?1 AND waits_of = ?2",
        params![new.run, of],
        |row| row.get(0),
    )?;
    match earlier.as_deref() {
        None => {}
        Some("running") => return Ok(TurnWaited::Again),
        Some(_) => return Ok(TurnWaited::Over),
    }
    begin_wait(tx, (&new.run, &new.id), (of, &channel, &recipient), (now, new.patience))?;
    Ok(TurnWaited::Begun)
}

/// Begins a task that waits for the reply to a message `of` this run.
fn begin_wait(
    tx: &Tx<'_>,
    (run, id): (&str, &str),
    (of, channel, recipient): (i64, &str, &str),
    (now, patience): (i64, i64),
) -> Result<()> {
    // The channel of a message is the store's name of it: `telegram-1` is of `telegram`.
    let platform = channel.split_once('-').map_or(channel, |(platform, _)| platform);
    let (n, from) = (add_task(tx, run, id)?, format!("{platform}:{recipient}"));
    let until = now.saturating_add(patience);
    tx.run(
        "UPDATE run_task SET waits_for = ?3, waits_of = ?4, waits_until = ?5, patience = ?6 WHERE run = ?1 AND n = ?2",
        params![run, n, from, of, until, patience],
    )?;
    // The one who ends the run by hand ends what was promised, and says so there.
    tx.run("UPDATE run SET answers = 1 WHERE run = ?1", [run])?;
    due::note(tx, run)
}

fn go_on(tx: &Tx<'_>, going: &GoingOn, now: i64) -> Result<bool> {
    let task = going.task;
    let settled = match &going.reply {
        None => tx.execute(
            "UPDATE run_message SET state = 'timed_out' WHERE run = ?1 AND state IN ('open', 'timed_out')
             AND n = (SELECT waits_of FROM run_task WHERE run = ?1 AND n = ?2)",
            params![going.run, task],
        )?,
        // From here on no part of an album is of it.
        Some(reply) => tx.execute(
            "UPDATE run_message SET album = NULL WHERE run = ?1 AND answer = ?3
             AND n = (SELECT waits_of FROM run_task WHERE run = ?1 AND n = ?2)",
            params![going.run, task, reply],
        )?,
    };
    if settled == 0 {
        return Ok(false);
    }
    let ended = tx.execute(
        "UPDATE run_task SET state = 'done', output = ?3 WHERE run = ?1 AND n = ?2 AND state = 'running'
         AND EXISTS (SELECT 1 FROM run WHERE run.run = ?1 AND run.state = 'running')",
        params![going.run, task, going.output],
    )?;
    if ended == 0 {
        return Ok(false);
    }
    homes::give_home(tx, &going.channel, &going.sender)?;
    tx.run(
        "INSERT INTO inbox (channel, update_id, received_at, raw, session, sender)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        params![going.channel, going.update_id, now, going.raw, going.session, going.sender],
    )?;
    // From here on the run is that turn's.
    tx.run(
        "UPDATE run SET turn = ?2, answers = CASE WHEN EXISTS (
             SELECT 1 FROM run_task WHERE run = ?1 AND state = 'running' AND waits_until IS NOT NULL)
             THEN 1 ELSE 0 END
         WHERE run = ?1",
        params![going.run, format!("{}-{}", going.channel, going.update_id)],
    )?;
    due::note(tx, &going.run)?;
    Ok(true)
}

/// A run in which nothing was ever waited for ends after this, in milliseconds: where there is no
/// model, a person types each step.
const UNUSED_MS: i64 = 60 * 60 * 1000;

fn end_idle(tx: &Tx<'_>, now: i64) -> Result<Vec<String>> {
    let idle: Vec<(String, bool)> =
        tx.query_rows(due::IDLE, [now - UNUSED_MS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut ended = Vec::new();
    for (run, has_had_its_time) in idle {
        // Somebody has replied before anybody waited, and nobody came to wait.
        let unheard: Option<(i64, String, String)> = tx.query_optional(
            "SELECT n, channel, recipient FROM run_message AS message WHERE run = ?1 AND state = 'replied'
                 AND NOT EXISTS (SELECT 1 FROM run_task WHERE run = ?1 AND waits_of = message.n) LIMIT 1",
            [&run],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        if let Some((of, channel, recipient)) = unheard {
            begin_wait(tx, (&run, &format!("unheard-{of}")), (of, &channel, &recipient), (now, 0))?;
            continue;
        }
        if !has_had_its_time {
            continue;
        }
        let done = "UPDATE run SET state = 'done', ended_at = ?2, answers = 0, unnoted = 1 WHERE run = ?1 AND state = 'running'";
        tx.run(done, params![run, now])?;
        ended.push(run);
    }
    Ok(ended)
}
