//! What was said in each session, line by line, in the order of saying. A line is opaque here:
//! anyone who adds it makes sure that it holds no attachment's bytes.

use super::tx::Tx;
use super::value::params;
use super::{AttemptRow, Result, Store, UsedToday, WhoseTurn, attempts, journal, now_ms, outgoing, usage};
use cofferdam_core::id::{SessionId, TurnId};
use std::ops::ControlFlow;

/// Lines that are kept of all sessions together, the latest; and none longer than
/// [`DONE_AGE_MAX`](super::DONE_AGE_MAX). Those of open turns are kept besides.
pub const LINES_MAX: u32 = 100_000;
/// Of the lines of earlier turns so many bytes are loaded at most, the latest.
pub const LOADED_BYTES_MAX: usize = 4 << 20;

/// One thing said or done, in the words of the one who said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// As it was added.
    pub body: String,
}

/// What a turn begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnBeginning {
    /// The [lines](Store::lines) of its session.
    pub lines: Vec<HistoryLine>,
    /// What it has [behind it](Store::load_attempt) besides.
    pub begun: Option<AttemptRow>,
    /// What its caller [has used](Store::load_usage) today.
    pub used: UsedToday,
    /// Whether files [were handed over](Store::files_handed_over) to it before.
    pub was_given_files: bool,
}

/// What was said in each session.
impl Store {
    /// The latest lines of a session, oldest first; all of those of `turn`.
    pub async fn lines(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<HistoryLine>> {
        let (session, turn) = (session.clone(), turn.clone());
        self.read(move |tx| read_lines(tx, &session, &turn)).await
    }

    /// What a turn begins with, in one exchange.
    pub async fn load_turn_beginning(&self, whose: &WhoseTurn) -> Result<TurnBeginning> {
        let whose = whose.clone();
        self.read(move |tx| {
            let begun = attempts::ask_attempt(tx, &whose.turn)?;
            let used = usage::ask_usage(tx, &whose.caller, now_ms())?;
            let given = journal::ask_handed_over(tx, &whose.turn)?;
            let lines = read_lines(tx, &whose.session, &whose.turn)?;
            let (begun, used) = (begun.into_first()?, used.into_first()?.unwrap_or_default());
            Ok(TurnBeginning { lines, begun, used, was_given_files: given.into_first()?.is_some() })
        })
        .await
    }

    /// Adds line `n` of a turn and charges for it; a line that is there stays, and costs nothing.
    /// Rides.
    pub async fn add_line(&self, whose: &WhoseTurn, n: usize, body: String, tokens: u64) -> Result<()> {
        let whose = whose.clone();
        self.commit_along(move |tx| add(tx, &whose, n, &body, tokens)).await
    }

    /// The same for the line that answers the last request of its session: with it, blobs that were
    /// held for a retry are held no more.
    pub async fn add_answer(&self, whose: &WhoseTurn, n: usize, body: String, tokens: u64) -> Result<()> {
        let whose = whose.clone();
        self.commit_along(move |tx| {
            add(tx, &whose, n, &body, tokens)?;
            outgoing::forget(tx, &outgoing::retry_key(whose.session.as_str()))
        })
        .await
    }

    /// Puts one line in the place of all before the first one of `kept_from`, and charges for it;
    /// without a line of that nothing changes.
    pub async fn replace_lines(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        body: String,
        tokens: u64,
    ) -> Result<()> {
        let (whose, kept_from) = (whose.clone(), kept_from.clone());
        self.write(move |tx| {
            let session = whose.session.as_str();
            let last: Option<i64> = tx.query_row(
                "SELECT max(seq) FROM line WHERE session = ?1
                     AND seq < (SELECT min(seq) FROM line WHERE session = ?1 AND turn = ?2)",
                [session, kept_from.as_str()],
                |row| row.get(0),
            )?;
            let Some(last) = last else { return Ok(()) };
            tx.run("DELETE FROM line WHERE session = ?1 AND seq <= ?2", params![session, last])?;
            // Its place is that of what it stands for; a turn of its own keeps it apart from
            // theirs.
            tx.run(
                "INSERT INTO line (seq, session, turn, n, body, said_at) VALUES (?1, ?2, ?3, 0, ?4, ?5)",
                params![last, session, format!("{session}#{last}"), body, now_ms()],
            )?;
            usage::charge_tokens(tx, &whose.caller, tokens)
        })
        .await
    }

    /// Forgets everything that was said in a session.
    pub async fn forget_lines(&self, session: &SessionId) -> Result<()> {
        let session = session.clone();
        self.write(move |tx| {
            tx.run("DELETE FROM line WHERE session = ?1", [session.as_str()])?;
            outgoing::forget(tx, &outgoing::retry_key(session.as_str()))
        })
        .await
    }
}

fn read_lines(tx: &Tx<'_>, session: &SessionId, turn: &TurnId) -> Result<Vec<HistoryLine>> {
    let latest_first = "SELECT turn, body FROM line WHERE session = ?1 ORDER BY seq DESC";
    let (mut lines, mut loaded) = (Vec::new(), 0);
    tx.for_each(latest_first, [session.as_str()], |row| {
        let line = HistoryLine { turn: TurnId::new(row.get::<String>(0)?), body: row.get(1)? };
        if line.turn != *turn {
            loaded += line.body.len();
            if loaded > LOADED_BYTES_MAX {
                return Ok(ControlFlow::Break(()));
            }
        }
        lines.push(line);
        Ok(ControlFlow::Continue(()))
    })?;
    lines.reverse();
    Ok(lines)
}

/// Adds line `n` of a turn and charges for it, unless it is there.
pub(super) fn add(tx: &Tx<'_>, whose: &WhoseTurn, n: usize, body: &str, tokens: u64) -> Result<()> {
    let insert = "INSERT INTO line (session, turn, n, body, said_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let is_new = tx.insert_if_new(insert, params![whose.session, whose.turn, n, body, now_ms()])?;
    if is_new { usage::charge_tokens(tx, &whose.caller, tokens) } else { Ok(()) }
}
