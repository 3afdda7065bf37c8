//! What side-effecting calls answered and wrote, so that a turn replayed after a crash does not run them
//! again and writes no more than one turn may.

use super::{Store, StoreError, now_ms, outgoing, usage};
use cofferdam_core::journal::{Earlier, Journal};
use cofferdam_core::tool::Answer;
use rusqlite::{OptionalExtension, params};
use serde_json::json;

/// Blocks on the disk: for the threads of tool calls.
impl Journal for Store {
    fn earlier(&self, call: &str, arguments_sha256: &str) -> Result<Earlier, String> {
        self.read_call(call, arguments_sha256).map_err(|error| error.to_string())
    }

    fn record(
        &self,
        call: &str,
        arguments_sha256: &str,
        answer: &Answer,
        written_bytes: u64,
    ) -> Result<(), String> {
        self.write_call(call, arguments_sha256, answer, written_bytes).map_err(|error| error.to_string())
    }
}

/// The turn of a call, whose id is `<turn>/<n>`.
fn turn_of(call: &str) -> &str {
    call.rsplit_once('/').map_or(call, |(turn, _)| turn)
}

fn read_answer(result: &str, attachments: &str) -> serde_json::Result<Answer> {
    Ok(Answer { result: serde_json::from_str(result)?, attachments: serde_json::from_str(attachments)? })
}

impl Store {
    fn read_call(&self, call: &str, arguments_sha256: &str) -> Result<Earlier, StoreError> {
        self.write_here(|tx| {
            let found: Option<(String, String)> = tx
                .prepare_cached(
                    "SELECT result, attachments FROM journal WHERE call_id = ?1 AND arguments_sha256 = ?2",
                )?
                .query_row([call, arguments_sha256], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let parsed = found.map(|(result, files)| read_answer(&result, &files)).transpose();
            let answer = parsed
                .map_err(|_| StoreError::Corrupt(format!("an answer of call {call} that is not JSON")))?;
            let written: i64 = tx
                .prepare_cached(
                    "SELECT coalesce(sum(written_bytes), 0) FROM journal WHERE turn = ?1 AND call_id <> ?2",
                )?
                .query_row([turn_of(call), call], |row| row.get(0))?;
            Ok(Earlier { answer, written_bytes: u64::try_from(written).unwrap_or(0) })
        })
    }

    /// A call of the same id with other arguments is another call: the later one counts.
    fn write_call(
        &self,
        call: &str,
        arguments_sha256: &str,
        answer: &Answer,
        written_bytes: u64,
    ) -> Result<(), StoreError> {
        let written = i64::try_from(written_bytes).unwrap_or(i64::MAX);
        self.write_here(|tx| {
            let before: Option<i64> = tx
                .prepare_cached("SELECT written_bytes FROM journal WHERE call_id = ?1")?
                .query_row([call], |row| row.get(0))
                .optional()?;
            // A call that runs again after a crash is charged once.
            usage::charge_written(tx, turn_of(call), written.saturating_sub(before.unwrap_or(0)))?;
            outgoing::hold(tx, turn_of(call), &answer.attachments)?;
            tx.prepare_cached(
                "INSERT OR REPLACE INTO journal
                 (call_id, turn, arguments_sha256, result, attachments, written_bytes, recorded_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                call,
                turn_of(call),
                arguments_sha256,
                answer.result.to_string(),
                json!(answer.attachments).to_string(),
                written,
                now_ms()
            ])?;
            Ok(())
        })
    }
}
