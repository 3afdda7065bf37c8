//! The bytes that came with a message: held once, outside every conversation, for as long as a turn
//! needs them.
//!
//! A turn owns an ordered list of them; each has its index, also without its bytes. An intake
//! builds the list under limits, a store holds the bytes, and sniffing says what they are. What
//! goes out with replies is held beside. Nothing here knows where bytes come from or trusts what
//! was said about them.

mod blob;
mod fetch;
mod intake;
mod list;
pub mod outgoing;
mod sniff;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod turn_bytes;

pub use blob::{Blob, BlobBytes, BlobReader};
pub use fetch::{RecentAttachments, SentFile, fetch_all};
pub use intake::{DeclaredFile, Download, Intake};
pub use list::{Attachment, Attachments};
pub use sniff::{UNKNOWN_TYPE, sniff};
pub use store::{BlobError, BlobStore, BlobWriter};

use cofferdam_core::limits::ByteSize;

/// What a message may bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// One attachment. Telegram's public server delivers no more than the default.
    pub max_bytes: ByteSize,
    /// All attachments of a turn together.
    pub max_turn_bytes: ByteSize,
    /// Attachments of a turn whose bytes are fetched.
    pub max_count: u32,
}

impl Config {
    /// What a message may bring to a turn that has these already.
    pub fn with_room_beside(&self, held: &Attachments) -> Self {
        let bytes: u64 = held.iter().filter(|held| held.blob.is_some()).map(|held| held.info.size).sum();
        Self {
            max_bytes: self.max_bytes,
            max_turn_bytes: ByteSize(self.max_turn_bytes.0.saturating_sub(bytes)),
            max_count: self.max_count.saturating_sub(u32::try_from(held.len()).unwrap_or(u32::MAX)),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { max_bytes: ByteSize::mib(20), max_turn_bytes: ByteSize::mib(40), max_count: 10 }
    }
}
