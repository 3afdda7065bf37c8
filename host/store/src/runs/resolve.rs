//! Whether an update is the reply that a run waits for: by the id of the message that it replies
//! to, and by its words where that id could not be noted.

use super::{due, plain_letters};
use crate::tx::Tx;
use crate::value::params;
use crate::{Result, WaitReply, now_ms};
use serde_json::Value;
use std::ops::ControlFlow;

/// Whether an update is the reply that a run waits for; then it is noted, and answered by nobody.
pub(crate) fn resolve(
    tx: &Tx<'_>,
    (channel, sender): (&str, &str),
    answers: &WaitReply,
    album: Option<&str>,
) -> Result<bool> {
    if let Some(album) = album {
        // A further part of the reply. Who goes on with what there is of it lets go of the album.
        let found: Option<(i64, String, Option<String>, Option<String>)> = tx.query_optional(
            "SELECT rowid, run, answer, files FROM run_message AS message
             WHERE channel = ?1 AND recipient = ?2 AND album = ?3
             AND EXISTS (SELECT 1 FROM run WHERE run.run = message.run AND run.state = 'running')",
            params![channel, sender, album],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        if let Some((row, run, answer, files)) = found {
            let answer = answer.map(|answer| join_replies(&answer, &answers.reply));
            let files = join_files(files.as_deref(), answers.files.as_deref());
            tx.run(
                "UPDATE run_message SET answer = ?2, files = ?3, replied_at = ?4 WHERE rowid = ?1",
                params![row, answer, files, now_ms()],
            )?;
            due::note(tx, &run)?;
            return Ok(true);
        }
    }
    let latest_first = "SELECT message.run, message.n, message.turn, message.texts, message.messages,
                message.state = 'open' AND run.state = 'running'
         FROM run_message AS message JOIN run ON run.run = message.run
         WHERE message.channel = ?1 AND message.recipient = ?2 ORDER BY message.rowid DESC";
    let sent = "SELECT coalesce(outcome, '') FROM part WHERE turn = ?1 AND state = 'sent' ORDER BY n";
    let (mut by_id, mut by_text, said) = (None, None, plain_letters(&answers.text));
    tx.for_each(latest_first, params![channel, sender], |row| {
        let (run, n): (String, i64) = (row.get(0)?, row.get(1)?);
        let (turn, texts): (String, String) = (row.get(2)?, row.get(3)?);
        let (messages, is_open): (Option<String>, bool) = (row.get(4)?, row.get(5)?);
        let ids = match messages.filter(|ids| !ids.is_empty()) {
            Some(ids) => ids,
            None => tx.query_rows(sent, [&turn], |row| row.get::<String>(0))?.join(","),
        };
        if ids.split(',').any(|id| id == answers.message) {
            by_id = Some((run, n, is_open));
            return Ok(ControlFlow::Break(()));
        }
        let texts: Vec<String> = serde_json::from_str(&texts).unwrap_or_default();
        if is_open && by_text.is_none() && texts.contains(&said) {
            by_text = Some((run, n, turn));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some((run, n, is_open)) = by_id {
        return if is_open { note(tx, (&run, n), answers, album) } else { Ok(false) };
    }
    match by_text {
        // A copy that went out while nobody could note its id, unless something else has that id.
        Some((run, n, turn)) if !is_noted(tx, &turn, &answers.message)? => {
            note(tx, (&run, n), answers, album)
        }
        _ => Ok(false),
    }
}

/// Whether a message of another reply to the same place has this id. What is kept of a target
/// begins with the place.
fn is_noted(tx: &Tx<'_>, turn: &str, message: &str) -> Result<bool> {
    tx.exists(
        "SELECT 1 FROM reply AS mine JOIN reply AS other ON other.channel = mine.channel
             JOIN part ON part.turn = other.turn
             WHERE mine.turn = ?1 AND other.turn <> ?1 AND part.state = 'sent' AND part.outcome = ?2
             AND (other.target = mine.target
                  OR substr(other.target, 1, length(mine.target))
                     = substr(mine.target, 1, length(mine.target) - 1) || ',')",
        params![turn, message],
    )
}

/// The one statement by which a reply counts.
fn note(tx: &Tx<'_>, (run, n): (&str, i64), answers: &WaitReply, album: Option<&str>) -> Result<bool> {
    let changed = tx.execute(
        "UPDATE run_message SET state = 'replied', answer = ?3, album = ?4, files = ?5, replied_at = ?6
         WHERE run = ?1 AND n = ?2 AND state = 'open'
         AND EXISTS (SELECT 1 FROM run WHERE run.run = ?1 AND run.state = 'running')",
        params![run, n, answers.reply, album, answers.files, now_ms()],
    )?;
    due::note(tx, run)?;
    Ok(changed == 1)
}

/// A reply and a further part of it as one: the files of both, and the words of the first that has
/// some.
fn join_replies(before: &str, more: &str) -> String {
    let read = |reply: &str| serde_json::from_str::<Value>(reply).unwrap_or_default();
    let (mut all, mut more) = (read(before), read(more));
    let files = |reply: &mut Value| reply.get_mut("files").and_then(Value::as_array_mut).map(std::mem::take);
    let joined: Vec<Value> = [files(&mut all), files(&mut more)].into_iter().flatten().flatten().collect();
    if let Some(files) = all.get_mut("files") {
        *files = joined.into();
    }
    if all["text"] == "" && more["text"].is_string() {
        all["text"] = more["text"].take();
    }
    all.to_string()
}

/// Two lists of files as one.
fn join_files(before: Option<&str>, more: Option<&str>) -> Option<String> {
    let read = |files: &str| serde_json::from_str::<Vec<Value>>(files).unwrap_or_default();
    let all: Vec<Value> = [before, more].into_iter().flatten().flat_map(read).collect();
    (!all.is_empty()).then(|| Value::from(all).to_string())
}
