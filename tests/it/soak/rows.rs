//! The database of a gateway that has stopped: nothing waits in it, what has ended is forgotten
//! where it is to be, and of what is kept there is no more than is to be kept.

use super::people::PEOPLE;
use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Days that a run can have, by clocks that jump.
const DAYS: usize = 6;
/// What is left of a conversation once the rest is shortened.
const LINES: usize = 200;
/// Of the file, for each update that is remembered.
const BYTES_PER_UPDATE: u64 = 4 << 10;

/// What waits or has ended: none of it is there.
const NONE: [&str; 10] = [
    "inbox WHERE done_at IS NULL",
    "reply WHERE finished_at IS NULL",
    "part WHERE state = 'pending'",
    "placeholder",
    "attempt",
    "approval WHERE state = 'asked'",
    "outgoing",
    "delivery",
    "stranger",
    "moved",
];

/// Counts the rows of a copy of the database after so many turns and deletions of messages; what
/// there is, for a person who reads the end of a run.
///
/// # Errors
/// When there is more than there may be.
pub(super) fn hold(file: &Path, turns: usize, deletions: usize) -> Result<String> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let count = |of: &str| -> Result<usize> {
        let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0))?;
        Ok(usize::try_from(rows)?)
    };
    for of in NONE {
        let rows = count(of).with_context(|| of.to_owned())?;
        ensure!(rows == 0, "{rows} rows of {of}");
    }
    let mut told = Vec::new();
    for (of, most) in [
        ("inbox", turns + deletions),
        ("reply", turns),
        ("part", turns),
        // One call a turn, where it changes something.
        ("journal", turns),
        ("line", PEOPLE * LINES),
        ("recent", PEOPLE),
        ("usage", PEOPLE * DAYS),
    ] {
        let rows = count(of)?;
        ensure!(rows <= most, "{rows} rows of {of}, where {most} are the most");
        told.push(format!("{rows} of {of}"));
    }
    let bytes = std::fs::metadata(file)?.len();
    let most = (turns as u64 + 1000) * BYTES_PER_UPDATE;
    ensure!(bytes <= most, "the database has {bytes} bytes, where {most} are the most");
    Ok(format!("{}; {} KiB", told.join(", "), bytes >> 10))
}
