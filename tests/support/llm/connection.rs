//! Serves one connection, request by request: record, check, take a turn, answer.

use std::sync::Arc;

use serde_json::Value;

use super::check;
use super::dialect::Dialect;
use super::journal::RequestRecord;
use super::models;
use super::script::{Turn, What};
use super::state::State;
use super::stream;
use super::wire::{self, Next};
use crate::http::{Connection, Request};

/// Serves until the client goes or an answer breaks.
pub(super) async fn serve(state: Arc<State>, mut connection: Connection) {
    let number = state.change(|inner| {
        inner.connections += 1;
        inner.connections
    });
    while let Ok(Some(request)) = connection.next_request().await {
        let _under_way = UnderWay::new(&state);
        match exchange(&state, (&mut connection, number), &request).await {
            Ok(Next::Request) if request.keep_alive => {}
            _ => return,
        }
    }
}

/// Counts a request as under way until dropped, however its connection ends.
struct UnderWay<'s>(&'s State);

impl<'s> UnderWay<'s> {
    fn new(state: &'s State) -> Self {
        state.change(|inner| inner.under_way += 1);
        Self(state)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.change(|inner| inner.under_way -= 1);
    }
}

async fn exchange(
    state: &State,
    (connection, on): (&mut Connection, usize),
    request: &Request,
) -> std::io::Result<Next> {
    let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let dialect = Dialect::at(&request.target);
    let mut record = RequestRecord {
        number: 0,
        connection: on,
        dialect,
        target: request.target.clone(),
        headers: request.headers.clone(),
        bytes: request.body.len(),
        body,
        violation: None,
    };
    if request.verb == "GET" {
        return models::answer(state, connection, &record).await;
    }
    let refused = match dialect {
        None => Some((404, "no such API".to_owned())),
        // It repeats what it was sent: no log may.
        Some(dialect) => match check::key(dialect, &record, &state.key) {
            Err(sent) => Some((401, format!("Incorrect API key provided: {sent}"))),
            Ok(()) => {
                let violation = check::request(dialect, &record).err();
                record.violation.clone_from(&violation);
                violation.map(|violation| (400, violation))
            }
        },
    };
    let dialect = dialect.unwrap_or(Dialect::Chat);
    let turn = state.change(|inner| {
        record.number = inner.forgotten + inner.journal.len();
        let turn = match refused {
            Some(_) => None,
            None => inner.script.pop_front().or_else(|| Some(inner.otherwise.as_ref()?(&record))),
        };
        if turn.is_none() && refused.is_none() {
            record.violation = Some("nothing is scripted for this request".to_owned());
        }
        inner.journal.push(record.clone());
        turn
    });
    match (turn, refused) {
        (Some(turn), _) => answer(connection, dialect, turn, record.number).await,
        (None, refused) => {
            let (status, said) = refused.unwrap_or((400, "nothing is scripted".to_owned()));
            let body = dialect.error(status, &said).to_string();
            wire::plain(connection, status, &[], &body).await
        }
    }
}

async fn answer(
    connection: &mut Connection,
    dialect: Dialect,
    turn: Turn,
    number: usize,
) -> std::io::Result<Next> {
    if let Some(gate) = &turn.gate
        && wire::passes(connection, gate).await == Next::Close
    {
        return Ok(Next::Close);
    }
    match turn.what {
        What::Silence => {
            connection.closed().await;
            Ok(Next::Close)
        }
        What::Plain { status, headers, body } => {
            let body = body.unwrap_or_else(|| dialect.error(status, "as the test wants it").to_string());
            wire::plain(connection, status, &headers, &body).await
        }
        What::Answer(answer) => {
            let events = stream::events(dialect, &answer, number);
            let error = |kind: &str| stream::error(dialect, kind);
            wire::stream(connection, events, &answer, error).await
        }
    }
}
