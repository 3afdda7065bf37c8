//! Many runs of workflows in the database of a gateway that has stopped, made from one that waits.

use anyhow::ensure;
use rusqlite::{Connection, params};
use std::path::Path;

/// The columns of a table that a copy of a run has as they are.
fn others(connection: &Connection, table: &str, own: &[&str]) -> anyhow::Result<String> {
    let mut info = connection.prepare(&format!("PRAGMA table_info({table})"))?;
    let names = info.query_map([], |row| row.get::<_, String>(1))?.collect::<Result<Vec<_>, _>>()?;
    let rest: Vec<_> = names.into_iter().filter(|name| !own.contains(&name.as_str())).collect();
    Ok(rest.join(", "))
}

/// Copies the one run that there is, so that so many more wait as it does: each has an id of its
/// own, and its message one of the platform.
///
/// # Errors
/// When there is not one run, or the database refuses.
pub fn multiply(database: &Path, copies: u32) -> anyhow::Result<()> {
    let mut connection = Connection::open(database)?;
    let runs: u32 = connection.query_row("SELECT count(*) FROM run", [], |row| row.get(0))?;
    ensure!(runs == 1, "{runs} runs, where one is copied");
    let run = others(&connection, "run", &["run"])?;
    let task = others(&connection, "run_task", &["run"])?;
    let message = others(&connection, "run_message", &["run", "turn", "messages"])?;
    let tx = connection.transaction()?;
    for n in 0..copies {
        let id = format!("copy-{n:020}");
        tx.execute(
            &format!("INSERT INTO run (run, {run}) SELECT ?1, {run} FROM run WHERE run NOT LIKE 'copy-%'"),
            [&id],
        )?;
        tx.execute(
            &format!("INSERT INTO run_task (run, {task}) SELECT ?1, {task} FROM run_task WHERE run NOT LIKE 'copy-%'"),
            [&id],
        )?;
        tx.execute(
            &format!(
                "INSERT INTO run_message (run, turn, messages, {message})
                 SELECT ?1, ?1 || '/ask', ?2, {message} FROM run_message WHERE run NOT LIKE 'copy-%'"
            ),
            params![id, (9_000_000 + n).to_string()],
        )?;
    }
    tx.commit()?;
    Ok(())
}
