//! Serves one connection, request by request: record, fault, gate, effect, gate, answer.

use std::sync::Arc;

use super::error::ApiError;
use super::fault::{Effect, Fault, Wire};
use super::gate::{Hold, Passage};
use super::journal::{RequestRecord, UnderWay};
use super::methods;
use super::route::{Routed, route};
use super::state::State;
use super::target::Call;
use super::wire::{Answer, Delivery, Next};
use crate::http::{Connection, Request};

/// Serves until the client or a fault closes the connection.
pub(super) async fn serve(state: Arc<State>, mut connection: Connection) {
    loop {
        match connection.next_request().await {
            Ok(Some(request)) => match exchange(&state, &mut connection, request).await {
                Ok(Next::Request) => {}
                Ok(Next::Close) | Err(_) => return,
            },
            Ok(None) => return,
            Err(unreadable) => {
                let refusal = ApiError::new(unreadable.status(), format!("{unreadable:?}"));
                let answer = refusal.to_answer();
                let delivery = Delivery { answer, wire: Wire::Plain, keep_alive: false, gate: None };
                // The client may have gone; there is nobody left to tell.
                let _ = delivery.send(&mut connection).await;
                connection.close_gently().await;
                return;
            }
        }
    }
}

async fn exchange(
    state: &Arc<State>,
    connection: &mut Connection,
    request: Request,
) -> std::io::Result<Next> {
    let keep_alive = request.keep_alive;
    let mut routed = route(&state.token, &request);
    let record = state.change(|inner| {
        inner.files.name_download(&mut routed.call);
        inner.journal.enter(&request, &routed)
    });
    let Routed { call, refusal, .. } = routed;
    let _under_way = UnderWay::new(Arc::clone(state), &record);
    drop(request);
    if let Some(refusal) = refusal {
        let answer = refusal.to_answer();
        let delivery = Delivery { answer, wire: Wire::Plain, keep_alive, gate: None };
        return deliver(state, connection, &record, delivery).await;
    }
    let fault = state.change(|inner| {
        let fault = inner.faults.take(&call)?;
        inner.journal.befalls(record.number, fault.effect);
        Some(fault)
    });
    if hold(state, &call, &record, Hold::BeforeEffect).await == Passage::Abandon {
        return Ok(Next::Close);
    }
    let Some((answer, wire)) = perform(state, connection, &call, fault).await else {
        return Ok(Next::Close);
    };
    if hold(state, &call, &record, Hold::BeforeAnswer).await == Passage::Abandon {
        return Ok(Next::Close);
    }
    let gate = state.change(|inner| inner.gates.take(&call, |at| matches!(at, Hold::InBody(_))));
    let gate = match &gate {
        Some((Hold::InBody(bytes), slot)) => Some((*bytes, &**slot, &record)),
        _ => None,
    };
    deliver(state, connection, &record, Delivery { answer, wire, keep_alive, gate }).await
}

/// The answer and how it goes out; `None` once the client gave up waiting for it.
async fn perform(
    state: &State,
    connection: &Connection,
    call: &Call,
    fault: Option<Fault>,
) -> Option<(Answer, Wire)> {
    let (effect, wire) = fault.map_or((Effect::Taken, Wire::Plain), |fault| (fault.effect, fault.wire));
    let real = match effect {
        Effect::Skipped => None,
        Effect::Taken => tokio::select! {
            // In this order: what takes effect at once must not be lost to a client that is gone.
            biased;
            answer = methods::perform(state, call) => Some(answer),
            () = connection.closed() => return None,
        },
    };
    Some(match (wire, real) {
        (Wire::Replaced(answer), _) => (answer, Wire::Plain),
        (wire, Some(answer)) => (answer, wire),
        // Without an effect there is no answer, and the remaining faults send none.
        (wire, None) => (Answer::json(200, ""), wire),
    })
}

async fn deliver(
    state: &State,
    connection: &mut Connection,
    record: &RequestRecord,
    delivery: Delivery<'_>,
) -> std::io::Result<Next> {
    let silent = matches!(delivery.wire, Wire::Closed | Wire::ClosedInHead | Wire::Stalled(None));
    if !silent {
        let status = delivery.answer.status;
        state.change(|inner| inner.journal.answered(record.number, status));
    }
    delivery.send(connection).await
}

async fn hold(state: &State, call: &Call, record: &RequestRecord, point: Hold) -> Passage {
    match state.change(|inner| inner.gates.take(call, |at| at == point)) {
        Some((_, slot)) => slot.hold(record).await,
        None => Passage::Continue,
    }
}
