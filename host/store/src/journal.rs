//! What side-effecting calls answered and wrote, so that a turn replayed after a crash does not run
//! them again and writes no more than one turn may.

use super::tx::{Ahead, Tx};
use super::value::params;
use super::{Result, Store, StoreError, now_ms, outgoing, usage};
use cofferdam_core::id::{CallId, TurnId};
use cofferdam_core::journal::{Journal, JournalError, JournalState};
use cofferdam_core::message::{Delivery, OutgoingAttachment};
use cofferdam_core::tool::ToolAnswer;
use rusqlite::ffi;
use serde_json::json;
use std::io;

/// Blocks on the disk: for the threads of tool calls.
impl Journal for Store {
    fn load_earlier(&self, call: &str, arguments_sha256: &str) -> Result<JournalState, JournalError> {
        // What led to a call that may change something is on the disk before it does.
        self.settle_here()?;
        Ok(self.read_here(|tx| {
            let found: Option<(String, String, Option<String>)> = tx.query_optional(
                "SELECT result, attachments, delivery FROM journal
                     WHERE call_id = ?1 AND arguments_sha256 = ?2",
                [call, arguments_sha256],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
            let parsed =
                found.map(|(result, files, to)| read_answer(&result, &files, to.as_deref())).transpose();
            let answer = parsed
                .map_err(|_| StoreError::Corrupt(format!("an answer of call {call} that is not JSON")))?;
            let written_bytes = tx.query_row(
                "SELECT CAST(coalesce(sum(written_bytes), 0) AS bigint) FROM journal WHERE turn = ?1 AND call_id <> ?2",
                [turn_of(call), call],
                |row| row.get(0),
            )?;
            Ok(JournalState { answer, written_bytes })
        })?)
    }

    /// A call of the same id with other arguments is another call: the later one counts.
    fn record(
        &self,
        call: &str,
        arguments_sha256: &str,
        answer: &ToolAnswer,
        written_bytes: u64,
    ) -> Result<(), JournalError> {
        let written = i64::try_from(written_bytes).unwrap_or(i64::MAX);
        let exceeded = self.write_here(|tx| {
            let before = "SELECT written_bytes FROM journal WHERE call_id = ?1";
            let before = tx.query_ahead(before, [call], |row| row.get::<i64>(0))?;
            let payer = usage::find_payer(tx, turn_of(call))?;
            // A call that runs again after a crash is charged once.
            let more = written.saturating_sub(before.into_first()?.unwrap_or(0));
            if let Some(payer) = payer
                && !usage::charge_written(tx, &payer, more, self.day_bytes_max)?
            {
                return Ok(self.day_bytes_max);
            }
            outgoing::hold(tx, turn_of(call), &answer.attachments)?;
            let delivery = answer.delivery.as_ref();
            // Until they are handed over.
            outgoing::hold(tx, turn_of(call), delivery.map_or(&[], |delivery| &delivery.attachments))?;
            tx.run(
                "INSERT INTO journal
                 (call_id, turn, arguments_sha256, result, attachments, written_bytes, recorded_at, delivery)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT (call_id) DO UPDATE SET turn = ?2, arguments_sha256 = ?3, result = ?4,
                 attachments = ?5, written_bytes = ?6, recorded_at = ?7, delivery = ?8",
                params![
                    call,
                    turn_of(call),
                    arguments_sha256,
                    answer.result.to_string(),
                    json!(answer.attachments).to_string(),
                    written,
                    now_ms(),
                    delivery.map(|delivery| json!(delivery).to_string()),
                ],
            )?;
            Ok(None)
        })?;
        exceeded.map_or(Ok(()), |budget| Err(JournalError::OverDayBudget(budget)))
    }

    fn ensure_own(&self) -> Result<(), JournalError> {
        Ok(self.settle_here()?)
    }

    fn deliver(&self, call: &str, delivery: &Delivery) -> Result<(), JournalError> {
        let request = delivery.request.as_str();
        Ok(self.write_here(|tx| {
            tx.run(
                "INSERT INTO delivery (call_id, request, files, delivered_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
                params![call, request, json!(delivery.attachments).to_string(), now_ms()],
            )?;
            outgoing::hold(tx, request, &delivery.attachments)
        })?)
    }

    fn is_delivered(&self, call: &str) -> Result<bool, JournalError> {
        Ok(self.read_here(|tx| tx.exists("SELECT 1 FROM delivery WHERE call_id = ?1", [call]))?)
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { .. } => Self::Unknown(error.for_people()),
            error if is_no_space(&error) => Self::NoSpace,
            error => Self::Failed(error.for_people()),
        }
    }
}

/// Whether the disk is full: for the engine, its shared memory, or the log when it is synchronized.
fn is_no_space(error: &StoreError) -> bool {
    let StoreError::Engine(cause) = error else { return false };
    let engine = cause.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error);
    let system = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    engine.is_some_and(|error| [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE].contains(&error.extended_code))
        || matches!(system, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// The turn of a call, whose id is `<turn>/<n>`.
fn turn_of(call: &str) -> &str {
    call.rsplit_once('/').map_or(call, |(turn, _)| turn)
}

fn read_answer(result: &str, attachments: &str, delivery: Option<&str>) -> serde_json::Result<ToolAnswer> {
    Ok(ToolAnswer {
        result: serde_json::from_str(result)?,
        attachments: serde_json::from_str(attachments)?,
        delivery: delivery.map(serde_json::from_str).transpose()?,
    })
}

/// What calls have recorded, and those of one request have handed to another.
impl Store {
    /// Whether an earlier run of this very call has recorded its answer, with these arguments (by
    /// their SHA-256). What it writes is then charged, and it is to be answered, or finished.
    pub async fn is_call_recorded(&self, call: &CallId, arguments_sha256: &str) -> Result<bool> {
        let recorded = "SELECT 1 FROM journal WHERE call_id = ?1 AND arguments_sha256 = ?2";
        Ok(self.query_optional(recorded, [call.as_str(), arguments_sha256], |_| Ok(())).await?.is_some())
    }

    /// The files that calls of other requests have handed to this one, in order.
    pub async fn files_handed_over(&self, request: &TurnId) -> Result<Vec<OutgoingAttachment>> {
        let request = request.clone();
        self.read(move |tx| {
            let lists = "SELECT files FROM delivery WHERE request = ?1 ORDER BY rowid";
            let lists = tx.query_rows(lists, [request.as_str()], |row| row.get::<String>(0))?;
            let mut files = Vec::new();
            for list in lists {
                let unreadable = |_| StoreError::Corrupt(format!("files for {request} that are not JSON"));
                files.extend(serde_json::from_str::<Vec<OutgoingAttachment>>(&list).map_err(unreadable)?);
            }
            Ok(files)
        })
        .await
    }
}

/// Whether calls of other requests have handed files to this one, with what follows.
pub(super) fn ask_handed_over(tx: &Tx<'_>, request: &TurnId) -> Result<Ahead<()>> {
    tx.query_ahead("SELECT 1 FROM delivery WHERE request = ?1 LIMIT 1", [request], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_failures() {
        let small = rusqlite::Connection::open_in_memory().expect("opens");
        small.execute_batch("CREATE TABLE t (x); PRAGMA max_page_count = 2").expect("fits");
        let full = small.execute("INSERT INTO t VALUES (zeroblob(9999))", []).expect_err("no room");
        let refused = small.execute("INSERT INTO nothing VALUES (1)", []).expect_err("no table");
        let system = |kind: io::ErrorKind| StoreError::Engine(Box::new(io::Error::from(kind)));
        assert_eq!(JournalError::from(StoreError::from(full)), JournalError::NoSpace);
        assert_eq!(JournalError::from(system(io::ErrorKind::StorageFull)), JournalError::NoSpace);
        assert_eq!(JournalError::from(system(io::ErrorKind::QuotaExceeded)), JournalError::NoSpace);
        for other in [refused.into(), system(io::ErrorKind::Other), StoreError::Unsettled] {
            let said = other.to_string();
            assert_eq!(JournalError::from(other), JournalError::Failed(said));
        }
    }

    #[test]
    fn what_may_have_been_committed_is_told_from_what_was_not() {
        let failed = |error: fn(String, String) -> StoreError| error("db".to_owned(), "reset".to_owned());
        assert!(matches!(JournalError::from(failed(StoreError::Unknown)), JournalError::Unknown(_)));
        assert!(matches!(JournalError::from(failed(StoreError::Lost)), JournalError::Failed(_)));
    }
}
