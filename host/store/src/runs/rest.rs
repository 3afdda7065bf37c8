//! Messages of tasks of which a platform refused something, once their run is opened again: what is
//! out stays out, and the rest is sent.
//!
//! From then on until the rest is kept `run_message.messages` is empty. The texts of a message are
//! in the order of its parts, so that each part is known by its words after they are forgotten.

use super::people::NewMessage;
use crate::replies::{insert_parts, keep_telling, numbered, reply};
use crate::tx::Tx;
use crate::value::params;
use crate::{
    NewPart, PartKind, PartsInstead, ReplyPart, Result, StoreError, StoredReply, claims, plain_letters,
};
use serde_json::Value;

/// What a part says, as [`plain_letters`] has it: a plain text, or the words of a bundle.
pub fn part_letters(body: &str) -> String {
    let Ok(Value::Object(bundle)) = serde_json::from_str(body) else { return plain_letters(body) };
    let words = bundle.get("caption").or_else(|| bundle.get("text")).and_then(Value::as_str);
    plain_letters(words.unwrap_or(body))
}

/// Has what a platform refused sent anew: nothing of it is known any more, but what is out. What is
/// still on its way is left alone.
pub(super) fn forget_refused(tx: &Tx<'_>, run: &str) -> Result<()> {
    let refused: Vec<String> = tx.query_rows(
        "SELECT message.turn FROM run_message AS message JOIN reply ON reply.turn = message.turn
             WHERE message.run = ?1 AND reply.finished_at IS NOT NULL
             AND EXISTS (SELECT 1 FROM part WHERE part.turn = message.turn AND part.state = 'failed')",
        [run],
        |row| row.get(0),
    )?;
    for turn in refused {
        if tx.exists("SELECT 1 FROM part WHERE turn = ?1 AND state = 'sent'", [&turn])? {
            tx.run("DELETE FROM part WHERE turn = ?1 AND state = 'failed'", [&turn])?;
            tx.run("UPDATE run_message SET messages = '' WHERE turn = ?1", [&turn])?;
        } else {
            tx.run("DELETE FROM reply WHERE turn = ?1", [&turn])?;
            tx.run("DELETE FROM run_message WHERE turn = ?1", [&turn])?;
        }
    }
    Ok(())
}

/// Whether the rest of a message is still to be kept.
pub(crate) fn is_rest_due(tx: &Tx<'_>, turn: &str) -> Result<bool> {
    tx.exists("SELECT 1 FROM run_message WHERE turn = ?1 AND messages = ''", [turn])
}

/// Notes what is said in place of a part, where it is of a task's message.
pub(crate) fn note_replacements(tx: &Tx<'_>, turn: &str, n: u32, instead: &PartsInstead) -> Result<()> {
    if *instead == PartsInstead::default() {
        return Ok(());
    }
    let kept = "SELECT texts FROM run_message WHERE turn = ?1";
    let Some(texts) = tx.query_optional(kept, [turn], |row| row.get::<String>(0))? else { return Ok(()) };
    let mut texts = read_texts(&texts)?;
    if let Some(next) = &instead.next {
        let behind = usize::try_from(n).map_or(texts.len(), |n| texts.len().min(n + 1));
        texts.insert(behind, part_letters(&next.body));
    }
    texts.extend(instead.last.iter().map(|part| part_letters(&part.body)));
    let note = "UPDATE run_message SET texts = ?2 WHERE turn = ?1";
    tx.run(note, params![turn, Value::from(texts).to_string()])
}

/// Keeps what is not out of the message of a task, to be sent; `None` where nothing of it is due.
pub(super) fn keep_rest(tx: &Tx<'_>, new: &NewMessage) -> Result<Option<StoredReply>> {
    let due = "SELECT message.texts FROM run_message AS message JOIN run ON run.run = message.run
         WHERE message.run = ?1 AND message.n = ?2 AND message.messages = '' AND run.state = 'running'";
    let texts = tx.query_optional(due, params![new.run, new.task], |row| row.get::<String>(0))?;
    let Some(texts) = texts else { return Ok(None) };
    let (turn, whole, mut texts) = (&new.telling.turn, &new.telling.reply, read_texts(&texts)?);
    let mut out = load_out(tx, turn.as_str(), &texts)?;
    let rest: Vec<NewPart> = whole.parts.iter().filter_map(|part| find_rest(part, &mut out)).collect();
    // An earlier release did not note what was said in place of a part.
    let behind = "SELECT coalesce(max(n) + 1, 0) FROM part WHERE turn = ?1";
    let first: usize = tx.query_row(behind, [turn], |row| row.get(0))?;
    texts.resize(texts.len().max(first), UNKNOWN.to_owned());
    let first = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    texts.extend(rest.iter().map(|part| part_letters(&part.body)));
    tx.run(
        "UPDATE run_message SET texts = ?2, messages = NULL WHERE turn = ?1",
        params![turn, Value::from(texts).to_string()],
    )?;
    if rest.is_empty() {
        return reply(tx, turn).map(Some);
    }
    let parts: Vec<ReplyPart> = (first..).zip(&rest).map(|(n, part)| numbered(n, part)).collect();
    insert_parts(tx, turn.as_str(), &parts)?;
    tx.run("UPDATE reply SET target = ?2, finished_at = NULL WHERE turn = ?1", params![turn, whole.target])?;
    claims::claim_reply(tx, turn.as_str())?;
    keep_telling(tx, &new.channel, &new.telling).map(Some)
}

/// In place of words that are not known: nothing that [`plain_letters`] returns has a blank.
const UNKNOWN: &str = " ";

fn read_texts(texts: &str) -> Result<Vec<String>> {
    serde_json::from_str(texts)
        .map_err(|error| StoreError::Corrupt(format!("the texts of a message: {error}")))
}

/// The parts of a message that are out: what they are, and what they say.
fn load_out(tx: &Tx<'_>, turn: &str, texts: &[String]) -> Result<Vec<(PartKind, String)>> {
    let sent = "SELECT n, kind FROM part WHERE turn = ?1 AND state = 'sent' ORDER BY n";
    let sent: Vec<(usize, PartKind)> = tx.query_rows(sent, [turn], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(sent.into_iter().filter_map(|(n, kind)| Some((kind, texts.get(n)?.clone()))).collect())
}

/// What of a part is not out; what is of it is taken from `out`. Where files were refused, their
/// caption may be out by itself.
fn find_rest(part: &NewPart, out: &mut Vec<(PartKind, String)>) -> Option<NewPart> {
    let files = (part.kind == PartKind::Attachment).then_some(PartKind::Attachment);
    if take_out(&part.body, files, out) {
        return None;
    }
    if files.is_none() || !take_out(&part.body, None, out) {
        return Some(part.clone());
    }
    let body = without_caption(&part.body);
    (!take_out(&body, files, out)).then_some(NewPart { kind: part.kind, body })
}

/// Takes from `out` what says the same as this, in a part of this kind or of any; whether there
/// was one.
fn take_out(body: &str, kind: Option<PartKind>, out: &mut Vec<(PartKind, String)>) -> bool {
    let said = part_letters(body);
    let is_same = |one: &(PartKind, String)| one.1 == said && kind.is_none_or(|kind| kind == one.0);
    let found = out.iter().position(is_same);
    found.is_some_and(|found| {
        out.swap_remove(found);
        true
    })
}

/// A bundle of files without its words.
fn without_caption(body: &str) -> String {
    let Ok(Value::Object(mut bundle)) = serde_json::from_str(body) else { return body.to_owned() };
    bundle.remove("caption");
    bundle.remove("caption_spans");
    Value::Object(bundle).to_string()
}
