//! When a run has something to do: noted beside it whenever that changes, so that nobody has to
//! look at runs that wait.

use crate::Result;
use crate::tx::Tx;
use crate::value::params;

/// The parts of an album come within so many milliseconds of each other.
pub(super) const ALBUM_MS: i64 = 2_000;

/// The runs of `serve` that have something to do at ?1, or began ?2 milliseconds before it, the
/// oldest first; those alone whose files the node has that ?3 names, if it names one.
pub(super) fn to_go_on(home: Option<&str>) -> String {
    let is_here = match home {
        None => "CAST(?3 AS text) IS NULL",
        Some(_) => "EXISTS (SELECT 1 FROM run WHERE run.run = due.run AND coalesce(node, ?3) = ?3)",
    };
    format!(
        "SELECT run FROM (
            SELECT run, began_at, rowid AS n FROM run WHERE state = 'running' AND owner = 'serve' AND due_at <= ?1
            UNION
            SELECT run, began_at, rowid AS n FROM run WHERE state = 'running' AND owner = 'serve' AND began_at <= ?1 - ?2
        ) AS due WHERE {is_here} ORDER BY began_at, n"
    )
}

/// The runs of `serve` of which a task has begun that waits neither for a reply nor for a decision
/// of its own, which is no call: its call may be under way; those alone whose files the node has
/// that ?1 names, if it names one.
pub(super) fn in_calls(home: Option<&str>) -> String {
    let is_here = home.map_or("CAST(?1 AS text) IS NULL", |_| "coalesce(run.node, ?1) = ?1");
    format!(
        "SELECT DISTINCT run.run FROM run JOIN run_task AS task ON task.run = run.run
         WHERE run.state = 'running' AND run.owner = 'serve' AND task.state = 'running' AND {is_here}
         AND NOT (task.waits_until IS NOT NULL AND (task.waits_of IS NULL OR EXISTS (
             SELECT 1 FROM run_message
             WHERE run_message.run = task.run AND n = task.waits_of AND run_message.state = 'open')))"
    )
}

/// The waits of turns that may be over at ?1; a reply in several parts is settled after ?2
/// milliseconds. SQLite goes from left to right over a cross join, and to a sorted sum by no index.
pub(super) const WAITS: &str =
    "SELECT task.run, task.n, task.waits_for, coalesce(task.patience, 0), message.state,
            message.answer, message.files
     FROM run CROSS JOIN run_task AS task CROSS JOIN run_message AS message
     WHERE task.run = run.run AND message.run = task.run AND message.n = task.waits_of
     AND run.state = 'running' AND run.owner = 'turn' AND run.due_at <= ?1 AND task.state = 'running'
     AND ((message.state = 'replied' AND (message.album IS NULL OR message.replied_at <= ?1 - ?2))
          OR (message.state <> 'replied' AND task.waits_until <= ?1))
     ORDER BY +run.began_at, task.n";

/// Runs of turns in which nothing is waited for, whose turn has ended; and whether they have had
/// their time, which ends ?1.
pub(super) const IDLE: &str = "SELECT run, began_at <= ?1 OR EXISTS (
        SELECT 1 FROM run_task WHERE run_task.run = run.run AND waits_of IS NOT NULL)
    FROM run WHERE owner = 'turn' AND state = 'running' AND due_at = 0
    AND NOT EXISTS (SELECT 1 FROM run_task WHERE run_task.run = run.run AND run_task.state = 'running'
                    AND waits_until IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE done_at IS NULL
                    AND (inbox.turn = run.turn OR inbox.channel || '-' || inbox.update_id = run.turn))";

/// Runs that have ended, whose end is still to be told.
pub(super) const UNANSWERED: &str = "SELECT run FROM run
    WHERE ended_at IS NOT NULL AND answers = 1 AND answered_at IS NULL AND answer_to IS NOT NULL
    ORDER BY ended_at";

/// Runs that ended up to ?1, whose end is still to be noted elsewhere.
pub(super) const UNNOTED: &str = "SELECT run FROM run WHERE unnoted = 1 AND ended_at <= ?1 ORDER BY ended_at";

/// 0 where anything but the reply to a message that is out, or the rest of it, is waited for.
fn due() -> String {
    format!(
        "UPDATE run SET due_at = coalesce((
            SELECT min(CASE WHEN message.state = 'open' THEN task.waits_until
                            WHEN message.state = 'replied' AND message.album IS NOT NULL
                            THEN coalesce(message.replied_at, 0) + {ALBUM_MS}
                            ELSE 0 END)
            FROM run_task AS task
            LEFT JOIN run_message AS message ON message.run = task.run AND message.n = task.waits_of
            WHERE task.run = run.run AND task.state = 'running' AND task.waits_until IS NOT NULL), 0)"
    )
}

/// Notes when a run has something to do.
pub(super) fn note(tx: &Tx<'_>, run: &str) -> Result<()> {
    tx.run(&format!("{} WHERE run = ?1", due()), [run])
}

/// The same for all that are open.
pub(super) fn note_all(tx: &Tx<'_>) -> Result<()> {
    tx.run(&format!("{} WHERE state = 'running' AND due_at <> 0", due()), params![])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    /// However many runs wait, what there is to do is found by an index that leaves them out.
    #[test]
    fn nothing_looks_at_runs_that_wait() {
        let dir = tempfile::tempdir().expect("a folder");
        let connection = schema::open_file(&dir.path().join("db")).expect("a database");
        let to_go_on = to_go_on(None);
        for (query, index) in [
            (to_go_on.as_str(), "SEARCH run USING INDEX run_due (owner=? AND due_at<?)"),
            (&to_go_on, "SEARCH run USING INDEX run_age (owner=? AND began_at<?)"),
            (WAITS, "SEARCH run USING INDEX run_due (owner=? AND due_at<?)"),
            (IDLE, "SEARCH run USING INDEX run_due (owner=? AND due_at=?)"),
            (UNNOTED, "SEARCH run USING INDEX run_unnoted (ended_at<?)"),
            // It has the ends alone that are still to be told.
            (UNANSWERED, "SEARCH run USING INDEX run_unanswered (ended_at>?)"),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).expect(query);
            let values = vec![0i64; statement.parameter_count()];
            let plan = statement
                .query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3))
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .expect(query);
            assert!(plan.iter().any(|line| line == index), "{index}: {plan:#?}");
            assert!(!plan.iter().any(|line| line.starts_with("SCAN run")), "{plan:#?}");
        }
    }
}
