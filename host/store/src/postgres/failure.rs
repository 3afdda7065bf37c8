//! What the server's errors mean: whether its connection is lost, whether another transaction was
//! in the way, and what keeps it from taking changes. By the codes of PostgreSQL's documentation,
//! appendix A.

use crate::{Result, StoreError};
use cofferdam_core::text::one_line;
use deadpool_postgres::Object;
use tokio_postgres::error::{Error, Severity, SqlState};

/// What it is, and what mends it.
const READ_ONLY: (&str, &str) =
    ("it is read-only", "it may be a standby: name all servers in the URL (host=a,b), and promote one");

pub(super) fn engine_error(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Engine(Box::new(error))
}

/// Whether nothing more can be said over its connection, or nobody there knows what came of what
/// was said last: what was to be committed may be so.
pub(super) fn ends_connection(error: &Error) -> bool {
    let Some(said) = error.as_db_error() else { return true };
    let is_over = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    // 08: who stands between has lost the server. 57P: the server is shut down, or starts.
    let classes = ["08", "57P"];
    let codes = [SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN];
    is_over
        || classes.iter().any(|class| said.code().code().starts_with(class))
        || codes.contains(said.code())
}

/// Why a server that answers takes no changes, where time or its operator heals it: what it says,
/// and what to do.
pub(super) fn describe_hindrance(error: &Error) -> Option<String> {
    let said = error.as_db_error()?;
    let hindrance = match said.code().code() {
        "25006" => READ_ONLY,
        "53100" => ("its disk is full", "make room on it"),
        "53200" => ("it is out of memory", "give it more, or fewer clients"),
        "55P03" => (
            "a table is locked",
            "another client has it, such as a dump, or a program that brings the tables to its version; try again once that has ended",
        ),
        "57014" => ("it is slow", "it did not end a statement in time; look what keeps it busy"),
        "58030" => ("its disk fails", "look into its log"),
        _ => return None,
    };
    Some(describe(hindrance, said.message()))
}

/// The same where a transaction does not even begin: a standby knows no serializable ones. It says
/// so by a code that means much else of other statements.
pub(super) fn describe_refused_beginning(error: &StoreError) -> Option<String> {
    let StoreError::Engine(cause) = error else { return None };
    let said = cause.downcast_ref::<Error>()?.as_db_error()?;
    (*said.code() == SqlState::FEATURE_NOT_SUPPORTED).then(|| describe(READ_ONLY, said.message()))
}

/// Why a standby takes no changes, where it was only looked at.
pub(super) fn describe_standby() -> String {
    describe(READ_ONLY, "in_hot_standby is on")
}

fn describe((what, mend): (&str, &str), said: &str) -> String {
    format!("{what} ({}); {mend}", one_line(said, 200))
}

/// Whether nothing is known of the connection any more.
pub(super) fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::Lost { .. } | StoreError::Unknown { .. })
}

/// Nobody else is handed a connection of which nothing is known, nor one whose server takes no
/// changes: where that has ended, such as by a failover, the old connection may not know of it.
pub(super) fn end_if_unfit<T>(client: Object, ended: Result<T>) -> Result<T> {
    let is_unfit = |error: &StoreError| is_lost(error) || matches!(error, StoreError::Hindered { .. });
    if ended.as_ref().is_err_and(is_unfit) {
        drop(Object::take(client));
    }
    ended
}

/// What the server says of a statement that it refuses.
pub(crate) fn refusal(error: &StoreError) -> Option<&SqlState> {
    let StoreError::Engine(cause) = error else { return None };
    cause.downcast_ref::<Error>().and_then(Error::code)
}

/// Whether another transaction was in the way, and a further try may pass.
pub(super) fn is_conflict(error: &StoreError) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        // How the same is told where two make the same row, or the same tables.
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
    ];
    refusal(error).is_some_and(|code| conflicts.contains(code))
}
