//! The files that a person sent last in a chat: what is noted of them when their turn ends, and fetching
//! them again for a tool that asks, or for a turn that goes on with a message that failed. Telegram keeps the bytes;
//! here are only the ids to ask for them by.

use super::bot::Bot;
use super::came::Came;
use super::download::fetch_all;
use super::media::Media;
use super::prepare::Prepared;
use super::send::Target;
use crate::attachments::{Attachments, RecentAttachments};
use crate::store::{NewRecent, Recent};
use crate::turn::Memory;
use async_trait::async_trait;
use cofferdam_core::attachment::AttachmentInfo;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Files of one person in one conversation that are noted; Telegram's albums have 10.
const NOTED_MAX: usize = 100;

/// What is noted, as the store keeps it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Noted {
    /// Those of the most recent message that has any.
    files: Vec<Media>,
    /// Those of messages before it, and those that a message replied to; the latest first. A retry asks for them.
    before: Vec<Media>,
    /// The album that `files` are; the store keeps it beside.
    #[serde(skip)]
    album: Option<String>,
}

/// What is to be noted of a message of this turn's sender; `Some(None)` where that is nothing, `None` once the bot
/// stops. `question` is what the turn began with that takes the message up.
///
/// A late part of an album adds to what was noted of the album: for the person they are one message.
pub(super) async fn to_note(
    bot: &Bot,
    prepared: &Prepared,
    came: &Came,
    question: Option<&Came>,
) -> Option<Option<NewRecent>> {
    // Where nothing is remembered, nothing is retried.
    let is_retried = bot.runner.memory() == Memory::Conversation;
    if came.own.is_empty() && (came.replied.is_empty() || !is_retried) {
        return Some(None);
    }
    let (conversation, sender) = key(bot, prepared);
    let look = || bot.store.recent(&bot.channel, &conversation, &sender);
    let found = match came.album.is_some() || is_retried {
        true => bot.stored("look up earlier files", look).await?,
        false => None,
    };
    let mut noted = found.map(read).unwrap_or_default();
    // It is noted when its turn ends, which may be later.
    if let Some(question) = question.filter(|question| !noted.has(question)) {
        noted = noted.after(question);
    }
    noted = noted.after(came);
    if !is_retried {
        noted.before.clear();
    }
    let files = serde_json::to_string(&noted).expect("plain data");
    Some(Some(NewRecent { conversation, sender, recent: Recent { album: noted.album, files } }))
}

impl Noted {
    /// The same after a message.
    fn after(self, came: &Came) -> Self {
        let Came { own, replied, album } = came;
        let noted = if own.is_empty() {
            Self { before: [replied, self.before.as_slice()].concat(), ..self }
        } else if album.is_some() && self.album == *album {
            Self { files: merged(self.files, own), ..self }
        } else {
            let before = [self.files, self.before].concat();
            Self { files: merged(Vec::new(), own), before, album: album.clone() }
        };
        noted.bounded()
    }

    fn has(&self, came: &Came) -> bool {
        let mut all = came.own.iter().chain(&came.replied);
        all.all(|media| self.files.contains(media) || self.before.contains(media))
    }

    /// Each once, and no more than [`NOTED_MAX`] in all.
    fn bounded(mut self) -> Self {
        let mut once: Vec<Media> = Vec::new();
        for media in self.before {
            if !self.files.contains(&media) && !once.contains(&media) {
                once.push(media);
            }
        }
        once.truncate(NOTED_MAX - self.files.len());
        self.before = once;
        self
    }
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

    async fn noted(&self) -> Noted {
        let bot = &self.bot;
        let look = || bot.store.recent(&bot.channel, &self.conversation, &self.sender);
        let found = bot.stored("look up earlier files", look).await.flatten();
        found.map(read).unwrap_or_default()
    }
}

#[async_trait]
impl RecentAttachments for Earlier {
    async fn recent(&self) -> Attachments {
        fetch_all(&self.bot, self.noted().await.files, &()).await
    }

    async fn again(&self, wanted: &[AttachmentInfo]) -> Attachments {
        let Noted { files, before, .. } = self.noted().await;
        let mut found: Vec<Media> = Vec::new();
        for media in files.into_iter().chain(before) {
            let source = media.source();
            let is_wanted = wanted.iter().any(|info| info.source == source);
            // The same file in two messages is fetched once.
            if is_wanted && !found.iter().any(|found| source.is_some() && found.source() == source) {
                found.push(media);
            }
        }
        fetch_all(&self.bot, found, &()).await
    }
}

/// The conversation and the sender, as the store knows them. A conversation is a lane: what was sent before
/// has been noted by the time that a turn runs, and nothing that was sent after.
fn key(bot: &Bot, prepared: &Prepared) -> (String, String) {
    let Target { chat, thread, .. } = prepared.target;
    let chat = bot.door.moves.home(chat);
    (format!("{chat}/{}", thread.unwrap_or_default()), prepared.sender.to_string())
}

fn read(found: Recent) -> Noted {
    // Earlier releases have noted the files of one message alone.
    let of_one = serde_json::from_str(&found.files).map(|files| Noted { files, ..Noted::default() });
    let noted = of_one.or_else(|_| serde_json::from_str(&found.files)).unwrap_or_else(|error| {
        tracing::error!(%error, "what was noted of earlier files is unreadable");
        Noted::default()
    });
    Noted { album: found.album, ..noted }
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

    fn ids(files: &[Media]) -> Vec<i64> {
        files.iter().filter_map(|file| file.message_id).collect()
    }

    fn all(ids: &[i64]) -> Vec<Media> {
        ids.iter().copied().map(media).collect()
    }

    fn own(ids: &[i64], album: Option<&str>) -> Came {
        Came { own: all(ids), album: album.map(str::to_owned), ..Came::default() }
    }

    #[test]
    fn what_is_noted_comes_back_and_holds_no_word_of_the_message() {
        let noted = Noted { files: all(&[3, 4]), before: all(&[2]), album: Some("a".into()) };
        let files = serde_json::to_string(&noted).expect("plain data");
        assert!(!files.contains("secret"), "{files}");
        let found = |files: &str| read(Recent { album: Some("a".into()), files: files.to_owned() });
        assert_eq!(found(&files), noted);
        let of_one = serde_json::to_string(&noted.files).expect("plain data");
        assert_eq!(found(&of_one), Noted { before: vec![], ..noted }, "as earlier releases have noted them");
        for nothing in ["[]", "{", "[{}]", "{}"] {
            assert_eq!(found(nothing), Noted { album: Some("a".into()), ..Noted::default() }, "{nothing}");
        }
    }

    #[test]
    fn files_of_earlier_messages_are_noted_behind_the_latest_each_once() {
        let check = |noted: &Noted, files: &[i64], before: &[i64]| {
            assert_eq!((ids(&noted.files).as_slice(), ids(&noted.before).as_slice()), (files, before));
        };
        let noted = Noted::default().after(&own(&[1], None));
        check(&noted, &[1], &[]);
        let noted = noted.after(&own(&[14, 11], Some("a")));
        check(&noted, &[11, 14], &[1]);
        assert!(noted.has(&own(&[1, 14], None)) && noted.has(&Came::default()));
        assert!(!noted.has(&own(&[1, 13], None)));
        // Late parts of an album come in their place.
        let noted = noted.after(&own(&[13, 11], Some("a")));
        check(&noted, &[11, 13, 14], &[1]);
        let noted = noted.after(&own(&[21], Some("b")));
        check(&noted, &[21], &[11, 13, 14, 1]);
        let noted = noted.after(&Came { replied: all(&[9, 13]), ..Came::default() });
        check(&noted, &[21], &[9, 13, 11, 14, 1]);
        assert_eq!(noted.album.as_deref(), Some("b"));
        let many = (100..300).fold(noted, |noted, n| noted.after(&own(&[n], None)));
        assert_eq!((ids(&many.files), many.before.len()), (vec![299], NOTED_MAX - 1));
        assert_eq!(ids(&many.before)[0], 298);
        let numbers: Vec<i64> = (0..200).collect();
        assert_eq!(many.after(&own(&numbers, None)).files.len(), NOTED_MAX);
    }
}
