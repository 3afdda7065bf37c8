//! Providers: who decides what a turn does. `commands` needs no model and no key; the others put
//! the turn to a model over HTTP.
//!
//! A request passes through these files, in this order; what speaks to a server is shared, and each
//! dialect is pure:
//!
//! ```text
//! conversation ─► messages ─► chat | anthropic | responses ─► http ─► events ─► dialect ─► reply
//! of the turn     + parts     the body of the request         retries  bounds    hear
//! ```
//!
//! Nothing of a wire format leaves this room, and neither does an address, a key or a server's
//! words: users are told in plain words, and the operator's log has the rest.

mod answer;
mod anthropic;
mod chat;
pub mod commands;
mod config;
mod dialect;
mod events;
mod failure;
mod http;
mod messages;
mod model;
mod parts;
mod probe;
mod responses;
mod splitter;
#[cfg(test)]
mod tests;
mod timeouts;

pub use config::{Config, ProviderKind};
pub use parts::PARTS_BYTES_MAX;
pub use probe::{KeyStanding, ModelStanding, ProbeError, Probed, ServerFacts, probe};
pub use timeouts::RequestTimeouts;

use crate::server::UnusableKey;
use crate::turn::words::HELP_CHARS_MAX;
use crate::turn::{Provider, WallClock};
use commands::Commands;
use std::sync::Arc;

/// A provider that is ready to answer.
pub struct Answering {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// What answers commands: the same without a model.
    pub commands: Arc<dyn Provider>,
    /// What the operator tells it of its task; empty when that is nothing.
    pub instructions: String,
    /// What tells it the time.
    pub clock: WallClock,
}

/// The configured provider. Reads the key, the instructions and the time zone, which a confined
/// process may no longer do, and contacts nobody.
///
/// # Errors
/// [`UnusableKey`] when the key or the instructions are not there.
pub fn open(config: &Config) -> Result<Answering, UnusableKey> {
    let instructions = config.instructions()?;
    let spare = config.spare_help_chars;
    let (provider, commands): (Arc<dyn Provider>, Arc<dyn Provider>) = match config.kind {
        ProviderKind::Commands => {
            let commands = Arc::new(Commands::with_reserved(spare));
            (commands.clone(), commands)
        }
        ProviderKind::OpenaiChat | ProviderKind::OpenaiResponses | ProviderKind::Anthropic => (
            Arc::new(model::ModelProvider::open(config)?),
            // Its own words come before the listing of `/help`.
            Arc::new(Commands::with_reserved(HELP_CHARS_MAX + spare)),
        ),
    };
    Ok(Answering { provider, commands, instructions, clock: WallClock::system() })
}
