//! A Telegram Bot API server on loopback, for tests and the demo: it speaks the real protocol, and
//! misbehaves exactly as told.
//!
//! What it is not: a model of all of Telegram. It knows the methods that the gateway uses, answers 404
//! to the others, and never leaves 127.0.0.1.
//!
//! A request passes through these rooms, in this order:
//!
//! ```text
//! http ─► route ─► journal ─► fault? ─► gate ─► methods ─► gate ─► wire
//! bytes   token,   recorded   planned   before  updates,   before  bytes, distorted
//!         call                          effect  chats,     answer  if a fault says so
//!                                               files
//! ```
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
mod connection;
mod error;
mod fault;
mod files;
mod floods;
mod gate;
mod html;
mod incoming;
mod inject;
mod journal;
mod media;
mod methods;
mod multipart;
mod newest;
mod observe;
mod params;
mod route;
mod sent;
mod server;
mod sink;
mod state;
mod target;
mod updates;
mod uploads;
mod wire;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;

pub use fault::{Effect, Fault};
pub use files::StoredFile;
pub use floods::{FloodLimits, Rate};
pub use gate::{Gate, Hold};
pub use incoming::Incoming;
pub use inject::Pushed;
pub use journal::RequestRecord;
pub use media::Media;
pub use sent::{SentFile, SentMessage};
pub use server::TelegramServer;
pub use sink::RedirectSink;
pub use target::Target;
