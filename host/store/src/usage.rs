//! What each person has used today: tokens of a model, and bytes written. A day is one of UTC.
//!
//! Tokens are charged with the step that they paid for, bytes with the journal's row, each in the
//! same transaction: what runs again after a crash is charged once.

use super::tx::{Ahead, Row, Tx};
use super::value::params;
use super::{Result, Store, now_ms};
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::limits::ByteSize;

pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What somebody has used on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedToday {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Bytes that tool calls have published.
    pub written_bytes: u64,
}

/// A turn, the session that it belongs to, and who pays for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhoseTurn {
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Whose budget it uses.
    pub caller: Caller,
}

/// What each person has used.
impl Store {
    /// What a caller has used on the day (of UTC) of `now`, in milliseconds since 1970 UTC.
    pub async fn load_usage(&self, caller: &Caller, now: i64) -> Result<UsedToday> {
        let of = params![now / DAY_MS, caller.channel, caller.sender];
        Ok(self.query_optional(USED, of, read_usage).await?.unwrap_or_default())
    }
}

const USED: &str = "SELECT tokens, written_bytes FROM usage WHERE day = ?1 AND channel = ?2 AND sender = ?3";

fn read_usage(row: &Row<'_>) -> Result<UsedToday> {
    Ok(UsedToday { tokens: row.get(0)?, written_bytes: row.get(1)? })
}

/// [`Store::load_usage`] with what follows.
pub(super) fn ask_usage(tx: &Tx<'_>, caller: &Caller, now: i64) -> Result<Ahead<UsedToday>> {
    tx.query_ahead(USED, params![now / DAY_MS, caller.channel, caller.sender], read_usage)
}

/// Charges tokens to a caller, today.
pub(super) fn charge_tokens(tx: &Tx<'_>, caller: &Caller, tokens: u64) -> Result<()> {
    if tokens == 0 {
        return Ok(());
    }
    tx.run(CHARGE, params![now_ms() / DAY_MS, caller.channel, caller.sender, tokens, 0i64, 0i64, i64::MAX])
}

/// The person whose turn it is, or who began the run whose task it is, if that is known.
pub(super) fn find_payer(tx: &Tx<'_>, turn: &str) -> Result<Option<Caller>> {
    let caller = |row: &Row<'_>| Ok(Caller { channel: row.get(0)?, sender: row.get(1)? });
    let of_turn = "SELECT channel, sender FROM attempt WHERE turn = ?1";
    let found = tx.query_optional(of_turn, [turn], caller)?;
    // A task's turn is named `<run>/<task>`.
    match turn.split_once('/').filter(|_| found.is_none()) {
        Some((run, _)) => tx.query_optional("SELECT channel, sender FROM run WHERE run = ?1", [run], caller),
        None => Ok(found),
    }
}

/// Charges written bytes to a person; less than 0 gives back. False, and nothing is charged, where
/// they would have written more than `budget` today: of calls that end at once each sees what the
/// others have.
pub(super) fn charge_written(
    tx: &Tx<'_>,
    payer: &Caller,
    bytes: i64,
    budget: Option<ByteSize>,
) -> Result<bool> {
    if bytes == 0 {
        return Ok(true);
    }
    // What is given back is over no budget.
    let budget =
        budget.filter(|_| bytes > 0).map_or(i64::MAX, |most| i64::try_from(most.0).unwrap_or(i64::MAX));
    let day = now_ms() / DAY_MS;
    let charge = params![day, payer.channel, payer.sender, 0i64, bytes.max(0), bytes, budget];
    // The first ones of a day find nothing to be added to.
    Ok(bytes <= budget && tx.execute(CHARGE, charge)? == 1)
}

const CHARGE: &str =
    "INSERT INTO usage (day, channel, sender, tokens, written_bytes) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (day, channel, sender) DO UPDATE SET tokens = usage.tokens + ?4, written_bytes =
     CASE WHEN usage.written_bytes + ?6 < 0 THEN 0 ELSE usage.written_bytes + ?6 END
     WHERE ?6 <= ?7 - usage.written_bytes";
