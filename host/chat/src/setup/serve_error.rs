//! Why a channel ends by itself: what time does not heal.

use cofferdam_agent::server::UnusableKey;
use cofferdam_store::StoreError;

/// Why a channel ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The platform refuses the bot, or what it asks for; with what mends it.
    #[error("{0}")]
    Refused(String),
    /// The section of the configuration is wrong.
    #[error("[{section}] {0}", section = .0.section)]
    Config(#[from] UnusableKey),
    /// The HTTP client does not start.
    #[error("the HTTP client does not start: {0}")]
    Client(String),
    /// The store cannot be read at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
}
