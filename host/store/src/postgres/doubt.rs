//! A commit of which the answer was lost: the server knows what came of it.

use super::{Postgres, end_if_unfit, refusal};
use crate::{Store, StoreError};
use deadpool_postgres::Object;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// Between two questions.
const ASKED_AGAIN: Duration = Duration::from_millis(100);
/// How long a server that answers, and cannot say, is asked. The time in which it is away does not
/// count: only when it is back it may know.
pub const DOUBT_MAX: Duration = Duration::from_secs(120);
/// How long a server is asked at all: many times longer than a failover takes.
const AWAY_MAX: Duration = Duration::from_secs(60 * 60);

/// What a server answers that may not know yet what it has.
const STANDBY: &str = "standby";

/// What came of asking once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoubtAnswer {
    /// Whether it was committed; none where the server does not know, and never will.
    Final(Option<bool>),
    /// The server is there, and does not know yet.
    NotYet,
    /// There is none that takes changes.
    Away,
}

impl Store {
    /// The process ends: who asks what came of a commit while the server is away asks no more.
    pub fn stop_asking(&self) {
        if let Some(postgres) = self.postgres() {
            postgres.asks_no_more.store(true, Ordering::Relaxed);
        }
    }
}

impl Postgres {
    /// Whether a transaction was committed of which the answer was lost, as soon as the server is
    /// back; none where it cannot say. To run it again blindly would find its own work done by
    /// somebody, and leave that to him. (PostgreSQL's documentation, 9.27, `pg_xact_status`.)
    pub(super) fn was_committed(&self, number: &str) -> Option<bool> {
        let ends = || self.asks_no_more.load(Ordering::Relaxed);
        ask_until_final((DOUBT_MAX, AWAY_MAX), || (!ends()).then(|| self.ask_whether_committed(number)))
    }

    fn ask_whether_committed(&self, number: &str) -> DoubtAnswer {
        let told = self.client(&self.pool).and_then(|client| {
            // A standby may not have read yet what it has, until it is promoted.
            let ask = "SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
                 ELSE pg_xact_status(CAST($1 AS text)::xid8) END";
            let told = self.server.wait(client.query_typed(ask, &[(&number, Type::TEXT)]));
            if told.as_ref().is_ok_and(|rows| read_fate(rows) == Some(STANDBY)) {
                // Another server may be found under its name by now.
                drop(Object::take(client));
                return told;
            }
            end_if_unfit(client, told)
        });
        match told {
            Ok(rows) => match read_fate(&rows) {
                Some("committed") => DoubtAnswer::Final(Some(true)),
                Some("aborted") => DoubtAnswer::Final(Some(false)),
                Some(STANDBY) => DoubtAnswer::Away,
                // Its process has not found yet that nobody listens.
                Some(_) => DoubtAnswer::NotYet,
                None => DoubtAnswer::Final(None),
            },
            // It was a standby, and has not come so far.
            Err(error) if refusal(&error) == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                DoubtAnswer::Final(Some(false))
            }
            Err(StoreError::Engine(_)) => DoubtAnswer::Final(None),
            Err(StoreError::Hindered { .. }) => DoubtAnswer::NotYet,
            Err(_) => DoubtAnswer::Away,
        }
    }
}

fn read_fate(rows: &[Row]) -> Option<&str> {
    rows.first()?.get(0)
}

/// Asks until there is a final answer; none where nobody asks any more, or a server that is there
/// was asked for the first of two times, or any for the second.
fn ask_until_final(
    (there_max, all_max): (Duration, Duration),
    mut ask: impl FnMut() -> Option<DoubtAnswer>,
) -> Option<bool> {
    let (began, mut there) = (Instant::now(), Duration::ZERO);
    while there < there_max && began.elapsed() < all_max {
        let asked = Instant::now();
        let answer = ask()?;
        if let DoubtAnswer::Final(committed) = answer {
            return committed;
        }
        std::thread::sleep(ASKED_AGAIN);
        if answer == DoubtAnswer::NotYet {
            there += asked.elapsed();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// What comes of asking a server that answers so, for so long while it is there; and how often
    /// it was asked.
    fn ask(answers: &[DoubtAnswer], there_max: Duration) -> (Option<bool>, usize) {
        let mut times = 0;
        let ended = ask_until_final((there_max, MINUTE), || {
            times += 1;
            answers.get(times - 1).copied()
        });
        (ended, times)
    }

    #[test]
    fn the_time_in_which_the_server_is_away_does_not_count() {
        use DoubtAnswer::{Away, Final, NotYet};
        let moment = Duration::from_millis(1);
        assert_eq!(ask(&[Away, Away, Away, Final(Some(true))], moment), (Some(true), 4));
        assert_eq!(ask(&[NotYet, Away, Final(Some(false))], MINUTE), (Some(false), 3));
        assert_eq!(
            ask(&[Away, NotYet, Final(Some(true))], moment),
            (None, 2),
            "it was there for long enough"
        );
        assert_eq!(ask(&[Away, Final(None)], moment), (None, 2));
        assert_eq!(ask(&[Away], moment), (None, 2), "the process ends");
        assert_eq!(ask_until_final((MINUTE, moment), || Some(Away)), None, "nor is it waited for for ever");
    }
}
