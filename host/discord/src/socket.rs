//! A WebSocket over a connection that the HTTP client has made: the same TLS, the same proxy of the
//! environment.

use cofferdam_core::text::with_causes;
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{Client, Upgraded, Url};
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// A connection to the gateway.
pub(super) type Socket = WebSocketStream<Upgraded>;

/// Connecting, until the gateway has changed to WebSocket, takes at most so long.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// A larger event is not read: it breaks the connection. The largest guilds stay below.
pub(super) const EVENT_BYTES_MAX: usize = 64 << 20;

/// Connects to an address that was checked.
///
/// # Errors
/// Why not, in words without the address.
pub(super) async fn connect(client: &Client, url: &Url) -> Result<Socket, String> {
    let mut http = url.clone();
    let scheme = if url.scheme() == "wss" { "https" } else { "http" };
    http.set_scheme(scheme).map_err(|()| "the gateway's address cannot be used".to_owned())?;
    let key = generate_key();
    let request = client
        .get(http)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let upgraded = async {
        let response = request.send().await.map_err(|error| with_causes(&error.without_url()))?;
        let accepted = response
            .headers()
            .get(SEC_WEBSOCKET_ACCEPT)
            .is_some_and(|accept| accept.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes());
        if response.status().as_u16() != 101 || !accepted {
            return Err(format!("the gateway answers with HTTP status {}", response.status().as_u16()));
        }
        response.upgrade().await.map_err(|error| with_causes(&error.without_url()))
    };
    let upgraded = timeout(CONNECT_MAX, upgraded).await;
    let upgraded = upgraded
        .map_err(|_| format!("the gateway has not answered within {} s", CONNECT_MAX.as_secs()))??;
    let config = WebSocketConfig::default()
        .max_message_size(Some(EVENT_BYTES_MAX))
        .max_frame_size(Some(EVENT_BYTES_MAX));
    Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await)
}
