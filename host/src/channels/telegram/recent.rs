//! The files that a person sent last in a chat: what is noted of them when their turn ends, and fetching
//! them again for a tool that asks. Telegram keeps the bytes; here are only the ids to ask for them by.

use super::bot::Bot;
use super::download::fetch_all;
use super::media::Media;
use super::prepare::{Files, Prepared};
use super::send::Target;
use crate::attachments::{Attachments, RecentAttachments};
use crate::store::{NewRecent, Recent};
use async_trait::async_trait;
use std::sync::Arc;

/// Files of one message that are noted; Telegram's albums have 10.
const NOTED_MAX: usize = 100;

/// What is to be noted of a turn's own files; `Some(None)` for a turn without any, `None` once the bot stops.
///
/// A late part of an album adds to what was noted of the album: for the person they are one message.
pub(super) async fn to_note(bot: &Bot, prepared: &Prepared) -> Option<Option<NewRecent>> {
    let Files::Own(own) = &prepared.files else { return Some(None) };
    if own.is_empty() {
        return Some(None);
    }
    let (conversation, sender) = key(bot, prepared);
    let look = || bot.store.recent(&bot.channel, &conversation, &sender);
    let before = match prepared.album {
        Some(_) => bot.stored("look up earlier files", look).await?,
        None => None,
    };
    let earlier = before.filter(|before| before.album == prepared.album);
    let files = merged(earlier.as_ref().map(|earlier| read(&earlier.files)).unwrap_or_default(), own);
    let files = serde_json::to_string(&files).expect("plain data");
    let recent = Recent { album: prepared.album.clone(), files };
    Some(Some(NewRecent { conversation, sender, recent }))
}

/// Brings the files that the sender of a turn sent last in its chat and topic, before this turn.
pub(super) struct Earlier {
    bot: Arc<Bot>,
    conversation: String,
    sender: String,
}

impl Earlier {
    /// For a turn that is about to run.
    pub(super) fn of(bot: Arc<Bot>, prepared: &Prepared) -> Self {
        let (conversation, sender) = key(&bot, prepared);
        Self { bot, conversation, sender }
    }
}

#[async_trait]
impl RecentAttachments for Earlier {
    async fn recent(&self) -> Attachments {
        let bot = &self.bot;
        let look = || bot.store.recent(&bot.channel, &self.conversation, &self.sender);
        let found = bot.stored("look up earlier files", look).await.flatten();
        fetch_all(bot, found.map(|found| read(&found.files)).unwrap_or_default(), &()).await
    }
}

/// The conversation and the sender, as the store knows them. A conversation is a lane: what was sent before
/// has been noted by the time that a turn runs, and nothing that was sent after.
fn key(bot: &Bot, prepared: &Prepared) -> (String, String) {
    let Target { chat, thread, .. } = prepared.target;
    let chat = bot.door.moves.home(chat);
    (format!("{chat}/{}", thread.unwrap_or_default()), prepared.sender.to_string())
}

fn read(files: &str) -> Vec<Media> {
    serde_json::from_str(files).unwrap_or_else(|error| {
        tracing::error!(%error, "what was noted of earlier files is unreadable");
        Vec::new()
    })
}

/// In the order of their messages, each once.
fn merged(mut files: Vec<Media>, own: &[Media]) -> Vec<Media> {
    for media in own {
        if !files.contains(media) {
            files.push(media.clone());
        }
    }
    files.sort_by_key(|media| media.message_id);
    if files.len() > NOTED_MAX {
        tracing::warn!(files = files.len(), "a message with too many files; the first {NOTED_MAX} are noted");
        files.truncate(NOTED_MAX);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn media(message_id: i64) -> Media {
        let file = json!({ "file_id": "f", "file_unique_id": "u", "file_name": "a.txt", "file_size": 3 });
        Media::read(&json!({ "message_id": message_id, "document": file, "caption": "secret" }))
            .expect("a file")
    }

    #[test]
    fn what_is_noted_comes_back_and_holds_no_word_of_the_message() {
        let files = vec![media(3), media(4)];
        let text = serde_json::to_string(&files).expect("plain data");
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(read(&text), files);
        assert_eq!((read("[]"), read("{"), read("[{}]")), (vec![], vec![], vec![]));
    }

    #[test]
    fn late_parts_come_in_their_place_and_once() {
        let ids = |files: Vec<Media>| files.iter().filter_map(|file| file.message_id).collect::<Vec<_>>();
        assert_eq!(ids(merged(vec![media(11), media(14)], &[media(13), media(11)])), [11, 13, 14]);
        let many: Vec<Media> = (0..200).map(media).collect();
        assert_eq!(merged(Vec::new(), &many).len(), NOTED_MAX);
    }
}
