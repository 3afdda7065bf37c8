//! The files that a message is about: those that came with it, or those of the message that it replies to.

use super::bot::Bot;
use super::media::Media;
use super::prepare::{Files, Prepared, Replied};
use super::wire;
use crate::store::AlbumPart;
use cofferdam_core::id::TurnId;

/// The files of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Came {
    /// Those that came with it.
    pub(super) own: Vec<Media>,
    /// In place of them, those of the message that it replies to.
    pub(super) replied: Vec<Media>,
    /// The album that it is.
    pub(super) album: Option<String>,
}

impl Came {
    /// Those of a message; `None` once the bot stops.
    pub(super) async fn with(bot: &Bot, prepared: &Prepared) -> Option<Self> {
        let album = prepared.album.clone();
        Some(match &prepared.files {
            Files::Own(own) => Self { own: own.clone(), replied: Vec::new(), album },
            Files::Replied(to) => Self { own: Vec::new(), replied: replied(bot, to).await?, album },
        })
    }

    /// All of them, in order.
    pub(super) fn files(&self) -> Vec<Media> {
        [self.own.as_slice(), &self.replied].concat()
    }
}

/// The files of a message that is replied to; one part of an album means all of them.
async fn replied(bot: &Bot, to: &Replied) -> Option<Vec<Media>> {
    let Replied { media, album, message_id } = to;
    let Some(album) = album else { return Some(vec![media.clone()]) };
    let parts = bot.stored("look up an album", || bot.store.album(&bot.channel, album)).await?;
    Some(listed_with(*message_id, parts).unwrap_or_else(|| vec![media.clone()]))
}

/// The files of the turn that answered a part of an album: a late part was listed on its own, so it is
/// meant on its own. `None` when the part is no longer known.
fn listed_with(message_id: Option<i64>, parts: Vec<AlbumPart>) -> Option<Vec<Media>> {
    let read = |part: AlbumPart| Some((part.turn, wire::Update::read(&part.update.raw)?.message?));
    let mut all: Vec<(Option<TurnId>, wire::Message)> = parts.into_iter().filter_map(read).collect();
    let turn =
        all.iter().find(|(_, message)| message.message_id == message_id).map(|(turn, _)| turn.clone())?;
    all.retain(|(of, _)| *of == turn);
    all.sort_by_key(|(_, message)| message.message_id);
    Some(all.into_iter().filter_map(|(_, message)| message.media).collect())
}
