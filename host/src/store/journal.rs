//! What side-effecting calls answered, so that a turn replayed after a crash does not run them again.

use super::{Store, StoreError, now_ms};
use cofferdam_core::journal::Journal;
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

/// Blocks on the disk: for the threads of tool calls.
impl Journal for Store {
    fn recorded(&self, call: &str, arguments_sha256: &str) -> Result<Option<Value>, String> {
        self.read_call(call, arguments_sha256).map_err(|error| error.to_string())
    }

    fn record(&self, call: &str, arguments_sha256: &str, result: &Value) -> Result<(), String> {
        self.write_call(call, arguments_sha256, result).map_err(|error| error.to_string())
    }
}

impl Store {
    fn read_call(&self, call: &str, arguments_sha256: &str) -> Result<Option<Value>, StoreError> {
        self.write_here(|tx| {
            let found: Option<String> = tx
                .prepare_cached("SELECT result FROM journal WHERE call_id = ?1 AND arguments_sha256 = ?2")?
                .query_row([call, arguments_sha256], |row| row.get(0))
                .optional()?;
            let parsed = found.map(|text| serde_json::from_str(&text)).transpose();
            parsed.map_err(|_| StoreError::Corrupt(format!("a result of call {call} that is not JSON")))
        })
    }

    /// A call of the same id with other arguments is another call: the later one counts.
    fn write_call(&self, call: &str, arguments_sha256: &str, result: &Value) -> Result<(), StoreError> {
        // A call id is `<turn>/<n>`.
        let turn = call.rsplit_once('/').map_or(call, |(turn, _)| turn);
        self.write_here(|tx| {
            tx.prepare_cached(
                "INSERT OR REPLACE INTO journal (call_id, turn, arguments_sha256, result, recorded_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![call, turn, arguments_sha256, result.to_string(), now_ms()])?;
            Ok(())
        })
    }
}
