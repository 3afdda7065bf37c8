//! A Telegram Bot API server on loopback, for tests and the demo: it speaks the real protocol, and
//! misbehaves exactly as told.
//!
//! What it is not: a model of all of Telegram. It knows the methods that the gateway uses, answers
//! 404 to the others, and never leaves 127.0.0.1.
//!
//! How a request passes, where it is recorded, held and distorted: `exchange`.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use support::telegram::{Fault, Incoming, Media, TelegramServer};
//! # async fn example() -> anyhow::Result<()> {
//! let telegram = TelegramServer::start().await?;
//! telegram.fault("sendMessage", 1, Fault::too_many_requests(1));
//! telegram.push(
//!     Incoming::private(7)
//!         .caption("/attachment_save path=/shared/a.txt")
//!         .document(Media::with_content("file-1", "hello").name("a.txt")),
//! );
//! let reply = telegram.wait_for_message(Duration::from_secs(10), |m| m.chat_id == 7).await?;
//! assert!(reply.text.contains("/shared/a.txt"));
//! # Ok(())
//! # }
//! ```
//!
//! Waiting uses notifications, never sleeps. Time is the real clock: a paused tokio clock does not
//! go together with sockets.

mod bot;
mod chats;
mod error;
mod fault;
mod files;
mod floods;
mod html;
mod incoming;
mod inject;
mod media;
mod methods;
mod newest;
mod observe;
mod params;
mod route;
mod sent;
mod server;
mod state;
mod updates;
mod uploads;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;

pub use crate::exchange::{Effect, Fault, Gate, Hold, RedirectSink, RequestRecord, Target};
pub use files::StoredFile;
pub use floods::{FloodLimits, Rate};
pub use incoming::Incoming;
pub use inject::Pushed;
pub use media::Media;
pub use sent::{SentFile, SentMessage};
pub use server::TelegramServer;
