//! Sessions of the older era, bounded in number and age. Their ids are random and of 122 bits; the
//! newer era has none.

use super::{Answer, BODY_BYTES_MAX, ClientBounds, refuse, text_response, with_header};
use crate::requests::{taken_id, too_many};
use crate::server::ClientKey;
use bytes::Bytes;
use cofferdam_core::lock::lock;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use rmcp::ServerHandler;
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Sessions at once; who begins another one is told to come again.
pub const SESSIONS_MAX: usize = 256;
/// A session that nobody uses for so long ends.
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// The longest that a session lasts.
pub const SESSION_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Requests that may be under way in all sessions; one more is refused. A request goes on when its
/// connection ends, so connections do not bound them.
pub const SESSION_REQUESTS_MAX: usize = 1024;
const ID: &str = "mcp-session-id";

pub(super) struct Sessions<S> {
    service: StreamableHttpService<S, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    /// When each has begun, and its place, which is free for another one when that is dropped.
    /// Never held while anything is waited for: a session that is stuck holds up no other.
    begun: Mutex<HashMap<Arc<str>, (Instant, OwnedSemaphorePermit)>>,
    /// Those that no session has, nor one that is about to begin.
    places: Arc<Semaphore>,
    requests: OpenRequests,
    bounds: ClientBounds,
}

/// The ids of requests that are under way, by session. None of the sets is empty.
type OpenRequests = Arc<Mutex<HashMap<Arc<str>, HashSet<RequestId>>>>;

/// A request of a session: no other one of the session has its id until this is dropped.
struct SessionRequest {
    open: OpenRequests,
    session: Arc<str>,
    id: RequestId,
}

impl SessionRequest {
    /// A request that begins.
    ///
    /// # Errors
    /// What to answer to one whose id is taken, or that is too much.
    fn begin(
        open: &OpenRequests,
        (session, id): (Arc<str>, RequestId),
        bounds: &ClientBounds,
    ) -> Result<Arc<Self>, ErrorData> {
        let mut table = lock(open);
        let in_all: usize = table.values().map(HashSet::len).sum();
        let own = table.get(&session);
        if own.is_some_and(|own| own.contains(&id)) {
            return Err(taken_id());
        }
        if own.map_or(0, HashSet::len) >= bounds.requests {
            return Err(too_many(bounds.requests));
        }
        if in_all >= bounds.session_requests {
            return Err(too_many(bounds.session_requests));
        }
        table.entry(session.clone()).or_default().insert(id.clone());
        drop(table);
        Ok(Arc::new(Self { open: open.clone(), session, id }))
    }
}

impl Drop for SessionRequest {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        if let Some(own) = open.get_mut(&self.session) {
            own.remove(&self.id);
            if own.is_empty() {
                open.remove(&self.session);
            }
        }
    }
}

/// The session that a request belongs to, as the library reads it.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(ID)?.to_str().ok()
}

impl<S: ServerHandler + Clone> Sessions<S> {
    pub(super) fn new(server: S, bounds: ClientBounds, stop: CancellationToken) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(bounds.session_idle);
        let manager = Arc::new(manager);
        let config = StreamableHttpServerConfig::default()
            // Both are looked at before a request gets here, for every path.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(BODY_BYTES_MAX)
            .with_cancellation_token(stop);
        let service = StreamableHttpService::new(move || Ok(server.clone()), manager.clone(), config);
        let places = Arc::new(Semaphore::new(bounds.sessions));
        Self { service, manager, begun: Mutex::default(), places, requests: OpenRequests::default(), bounds }
    }

    /// Answers a request that begins no session. `id` is that of its message, if it asks something.
    pub(super) async fn answer(&self, mut request: Request<Full<Bytes>>, id: Option<RequestId>) -> Answer {
        let Some(session) = session_id(request.headers()).map(Arc::<str>::from) else {
            return self.service.handle(request).await;
        };
        self.end_if_old(&session).await;
        let is_open = self.manager.sessions.read().await.contains_key(&session);
        let Some(id) = id.filter(|_| is_open) else {
            return self.service.handle(request).await;
        };
        let taken = match SessionRequest::begin(&self.requests, (session, id.clone()), &self.bounds) {
            Ok(taken) => taken,
            Err(error) => return refuse(&JsonRpcError::new(Some(id), error)),
        };
        // Its worker has it too: in a session that goes on when the client is gone, and
        // the answer to another request with this id would be this one's.
        request.extensions_mut().insert(taken.clone());
        request.extensions_mut().insert(ClientKey(taken.session.clone()));
        let answer = self.service.handle(request).await;
        if answer.body().size_hint().exact().is_some() {
            return answer;
        }
        // It may still be on its way to the client when the work is done.
        answer.map(|body| {
            let until_told = move |frame| {
                let _taken = &taken;
                frame
            };
            body.map_frame(until_told).boxed()
        })
    }

    /// Answers a request that begins a session, unless there are too many.
    pub(super) async fn begin(&self, request: Request<Full<Bytes>>) -> Answer {
        let at = Instant::now();
        for id in self.old(at) {
            self.end(&id).await;
        }
        let Some(place) = self.place().await else {
            let said = "too many sessions; end one with DELETE";
            let answer = text_response(StatusCode::SERVICE_UNAVAILABLE, said);
            return with_header(answer, header::RETRY_AFTER, "60");
        };
        let answer = self.service.handle(request).await;
        if let Some(id) = session_id(answer.headers()) {
            lock(&self.begun).insert(id.into(), (at, place));
        }
        answer
    }

    /// A place for one more session, if there is one.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let open = self.manager.sessions.read().await;
        lock(&self.begun).retain(|id, _| open.contains_key(id));
        // One whose client left while it began has no place until it ends, and counts all the same.
        if open.len() >= self.bounds.sessions {
            return None;
        }
        self.places.clone().try_acquire_owned().ok()
    }

    fn old(&self, now: Instant) -> Vec<Arc<str>> {
        let begun = lock(&self.begun);
        begun.iter().filter(|(_, (at, _))| self.is_old(now, *at)).map(|(id, _)| id.clone()).collect()
    }

    async fn end_if_old(&self, id: &str) {
        let now = Instant::now();
        let is_old = lock(&self.begun).get(id).is_some_and(|(at, _)| self.is_old(now, *at));
        if is_old {
            self.end(id).await;
        }
    }

    /// Ends a session. It is gone at once, and nobody waits for what serves it: that may be stuck.
    async fn end(&self, id: &str) {
        let ended = self.manager.sessions.write().await.remove(id);
        lock(&self.begun).remove(id);
        if let Some(session) = ended {
            tokio::spawn(async move {
                if let Err(error) = session.close().await {
                    tracing::debug!(%error, "a session that was too old did not end by itself");
                }
            });
        }
    }

    fn is_old(&self, now: Instant, began: Instant) -> bool {
        now.duration_since(began) >= self.bounds.session_age
    }
}
