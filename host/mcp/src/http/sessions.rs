//! Sessions of the older era, bounded in number and age. Their ids are random and of 122 bits; the
//! newer era has none.

use super::{Answer, BODY_BYTES_MAX, ClientBounds, text_response};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Sessions at once; who begins another one is told to come again.
pub const SESSIONS_MAX: usize = 256;
/// A session that nobody uses for so long ends.
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// The longest that a session lasts.
pub const SESSION_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const ID: &str = "mcp-session-id";

pub(super) struct Sessions<S> {
    service: StreamableHttpService<S, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    /// When each began. Held while one begins, so that they are counted one after the other.
    began: Mutex<HashMap<Arc<str>, Instant>>,
    bounds: ClientBounds,
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
        Self { service, manager, began: Mutex::default(), bounds }
    }

    /// Answers a request that begins no session.
    pub(super) async fn answer(&self, request: Request<Full<Bytes>>) -> Answer {
        if let Some(id) = request.headers().get(ID).and_then(|id| id.to_str().ok()) {
            self.end_if_old(id).await;
        }
        self.service.handle(request).await
    }

    /// Answers a request that begins a session, unless there are too many.
    pub(super) async fn begin(&self, request: Request<Full<Bytes>>) -> Answer {
        let mut began = self.began.lock().await;
        let now = Instant::now();
        let old: Vec<_> =
            began.iter().filter(|(_, at)| self.is_old(now, **at)).map(|(id, _)| id.clone()).collect();
        for id in old {
            self.end(&id).await;
        }
        {
            let open = self.manager.sessions.read().await;
            began.retain(|id, _| open.contains_key(id));
            if open.len() >= self.bounds.sessions {
                let mut answer =
                    text_response(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; end one with DELETE");
                answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
                return answer;
            }
        }
        let answer = self.service.handle(request).await;
        if let Some(id) = answer.headers().get(ID).and_then(|id| id.to_str().ok()) {
            began.insert(id.into(), now);
        }
        answer
    }

    async fn end_if_old(&self, id: &str) {
        let mut began = self.began.lock().await;
        if began.get(id).is_some_and(|at| self.is_old(Instant::now(), *at)) {
            began.remove(id);
            self.end(&id.into()).await;
        }
    }

    async fn end(&self, id: &Arc<str>) {
        if let Err(error) = self.manager.close_session(id).await {
            tracing::debug!(%error, "a session that was too old did not end by itself");
        }
    }

    fn is_old(&self, now: Instant, began: Instant) -> bool {
        now.duration_since(began) >= self.bounds.session_age
    }
}
