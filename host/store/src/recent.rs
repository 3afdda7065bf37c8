//! Which files a person sent last in a conversation: the channel's own references to them, one row
//! each, never a byte and never a word that was said. They are noted when the turn that answered
//! the message ends, so a later turn of the same conversation finds what came before it and nothing
//! that came after.

use super::tx::Tx;
use super::value::params;
use super::{NewRecent, RecentFiles, Result, Store};

/// Conversations whose last files are remembered, the latest; and none longer than
/// [`DONE_AGE_MAX`](super::DONE_AGE_MAX).
pub const RECENT_ROWS_MAX: u32 = 1000;

/// Which files people sent last.
impl Store {
    /// The files that a sender sent last in a conversation.
    pub async fn recent(
        &self,
        channel: &str,
        conversation: &str,
        sender: &str,
    ) -> Result<Option<RecentFiles>> {
        let found =
            "SELECT album, files FROM recent WHERE channel = ?1 AND conversation = ?2 AND sender = ?3";
        self.query_optional(found, [channel, conversation, sender], |row| {
            Ok(RecentFiles { album: row.get(0)?, files: row.get(1)? })
        })
        .await
    }
}

/// Notes what was sent, in place of what was noted before.
pub(super) fn note(tx: &Tx<'_>, (channel, turn): (&str, &str), new: &NewRecent, now: i64) -> Result<()> {
    tx.run(
        "INSERT INTO recent (channel, conversation, sender, album, files, noted_at, turn)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (channel, conversation, sender)
         DO UPDATE SET album = ?4, files = ?5, noted_at = ?6, turn = ?7",
        params![channel, new.conversation, new.sender, new.recent.album, new.recent.files, now, turn],
    )
}

/// The same for the message that a turn began with, unless the turn has noted later files while it
/// ran.
pub(super) fn note_first(
    tx: &Tx<'_>,
    (channel, turn): (&str, &str),
    new: &NewRecent,
    now: i64,
) -> Result<()> {
    let later = tx.exists(
        "SELECT 1 FROM recent WHERE channel = ?1 AND conversation = ?2 AND sender = ?3 AND turn = ?4",
        params![channel, new.conversation, new.sender, turn],
    )?;
    if later { Ok(()) } else { note(tx, (channel, turn), new, now) }
}
