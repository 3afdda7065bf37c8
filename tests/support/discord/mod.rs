//! Discord on loopback, for tests: REST, gateway and CDN. It speaks the real protocol, and
//! misbehaves exactly as told.
//!
//! What it is not: a model of all of Discord. It knows the routes that the gateway and the clients
//! of the tests use (`route`), answers 404 to the others, and never leaves 127.0.0.1. How a request
//! passes, where it is recorded, held and distorted: `exchange`. Targets name routes as the table
//! in `route` does: `create_message`, `typing`, `create_response`, …, `gateway` for the handshake;
//! `Target::download()` is the CDN.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use support::discord::{DiscordServer, Fault, Incoming, Media};
//! # async fn example() -> anyhow::Result<()> {
//! let discord = DiscordServer::start().await?;
//! discord.fault("create_message", 1, Fault::server_error(502));
//! // … the bot starts with `api_url`, `cdn_url` and `token` …
//! discord.wait_until_connected(Duration::from_secs(10)).await?;
//! let message = Incoming::private(7).text("/attachment_save path=/shared/a.txt");
//! discord.push(message.attachment(Media::new("a.txt", "hello")));
//! let reply = discord.wait_for_message(Duration::from_secs(10), |m| m.reply_to.is_some()).await?;
//! assert!(reply.content.contains("/shared/a.txt"));
//! # Ok(())
//! # }
//! ```
//!
//! Waiting uses notifications, never sleeps. The server's clock is the machine's, and can be moved
//! on or be set back.

mod bot;
mod cdn;
mod clock;
mod control;
mod draft;
mod error;
mod fault;
mod gateway;
mod incoming;
mod inject;
mod interactions;
mod invoke;
mod limits;
mod media;
mod message;
mod messages;
mod methods;
mod newest;
mod observe;
mod params;
mod pings;
mod route;
mod sent;
mod server;
mod state;
mod tell;
mod uploads;
mod world;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;

pub use crate::exchange::{Effect, Fault, Gate, Hold, RedirectSink, RequestRecord, Target};
pub use bot::BOT_ID;
pub use control::Refusal;
pub use gateway::{Closed, GatewayConnection, Heartbeat};
pub use incoming::{Command, Incoming, Press};
pub use inject::Pushed;
pub use interactions::Interaction;
pub use limits::{Rate, Scope};
pub use media::Media;
pub use sent::{SentButton, SentFile, SentMessage};
pub use server::DiscordServer;
pub use world::GUILD_ID;
