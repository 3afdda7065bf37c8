//! Serves one connection, request by request: record, fault, gate, effect, gate, answer.

use std::sync::Arc;

use super::Exchanges;
use super::fault::{Effect, Fault, Wire};
use super::gate::{Hold, Passage};
use super::journal::{RequestRecord, UnderWay};
use super::target::Call;
use super::wire::{Answer, Delivery, Next};
use crate::http::{Connection, Request, Unreadable};

/// A request with its meaning, and its refusal if it must be refused before any fault or effect.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) call: Call,
    /// The method as the client wrote it, for the journal.
    pub(crate) name: String,
    pub(crate) refusal: Option<Answer>,
}

/// What a server says for itself.
pub(crate) trait Api: Send + Sync + 'static {
    /// What a request asks for.
    fn route(&self, request: &Request) -> Routed;

    /// Lets a call take effect and makes its answer.
    fn perform(&self, call: &Call) -> impl Future<Output = Answer> + Send;

    /// The answer to a request that cannot be read.
    fn refuse(&self, unreadable: Unreadable) -> Answer;

    /// Changes what is kept of requests, and wakes everybody who waits for a change.
    fn note<R>(&self, act: impl FnOnce(&mut Exchanges) -> R) -> R;

    /// Goes on with a connection after the answer 101.
    fn switch(self: Arc<Self>, connection: Connection, call: Call) -> impl Future<Output = ()> + Send {
        drop((connection, call));
        std::future::ready(())
    }
}

/// Serves until the client or a fault closes the connection.
pub(crate) async fn serve<A: Api>(api: Arc<A>, mut connection: Connection) {
    loop {
        match connection.next_request().await {
            Ok(Some(request)) => match exchange(&api, &mut connection, request).await {
                Ok((Next::Request, _)) => {}
                Ok((Next::Switched, call)) => return api.switch(connection, call).await,
                Ok((Next::Close, _)) | Err(_) => return,
            },
            Ok(None) => return,
            Err(unreadable) => {
                let delivery = Delivery::plain(api.refuse(unreadable), false);
                // The client may have gone; there is nobody left to tell.
                let _ = delivery.send(&mut connection).await;
                connection.close_gently().await;
                return;
            }
        }
    }
}

async fn exchange<A: Api>(
    api: &Arc<A>,
    connection: &mut Connection,
    request: Request,
) -> std::io::Result<(Next, Call)> {
    let keep_alive = request.keep_alive;
    let routed = api.route(&request);
    let (record, away) = api.note(|known| (known.journal.enter(&request, &routed), known.away));
    let Routed { call, refusal, .. } = routed;
    let _under_way = UnderWay::new(Arc::clone(api), &record);
    drop(request);
    if away {
        return Ok((Next::Close, call));
    }
    if let Some(answer) = refusal {
        let next = deliver(&**api, connection, &record, Delivery::plain(answer, keep_alive)).await?;
        return Ok((next, call));
    }
    let fault = api.note(|known| {
        let fault = known.faults.take(&call)?;
        known.journal.befalls(record.number, fault.effect);
        Some(fault)
    });
    if hold(&**api, &call, &record, Hold::BeforeEffect).await == Passage::Abandon {
        return Ok((Next::Close, call));
    }
    let Some((answer, wire)) = perform(&**api, connection, &call, fault).await else {
        return Ok((Next::Close, call));
    };
    if hold(&**api, &call, &record, Hold::BeforeAnswer).await == Passage::Abandon {
        return Ok((Next::Close, call));
    }
    let gate = api.note(|known| known.gates.take(&call, |at| matches!(at, Hold::InBody(_))));
    let gate = match &gate {
        Some((Hold::InBody(bytes), slot)) => Some((*bytes, &**slot, &record)),
        _ => None,
    };
    let delivery = Delivery { answer, wire, keep_alive, gate };
    let next = deliver(&**api, connection, &record, delivery).await?;
    Ok((next, call))
}

/// The answer and how it goes out; `None` once the client gave up waiting for it.
async fn perform<A: Api>(
    api: &A,
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
            answer = api.perform(call) => Some(answer),
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

async fn deliver<A: Api>(
    api: &A,
    connection: &mut Connection,
    record: &RequestRecord,
    delivery: Delivery<'_>,
) -> std::io::Result<Next> {
    let silent = matches!(delivery.wire, Wire::Closed | Wire::ClosedInHead | Wire::Stalled(None));
    if !silent {
        let status = delivery.answer.status;
        api.note(|known| known.journal.answered(record.number, status));
    }
    delivery.send(connection).await
}

async fn hold<A: Api>(api: &A, call: &Call, record: &RequestRecord, point: Hold) -> Passage {
    match api.note(|known| known.gates.take(call, |at| at == point)) {
        Some((_, slot)) => slot.hold(record).await,
        None => Passage::Continue,
    }
}
