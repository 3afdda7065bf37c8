//! The files that a message is about: those that came with it, or those of the message that it
//! replies to.

use super::{Channel, ChannelTurn, RequestFiles};
use cofferdam_agent::turn::{StepListener, TurnStep};
use cofferdam_core::id::TurnId;
use cofferdam_store::AlbumPart;
use cofferdam_warden::attachments::{self, Attachments, Intake, SentFile, fetch_all};
use std::sync::Arc;

/// The files of one message.
#[derive(Clone, Debug)]
pub(super) struct ReceivedFiles<F> {
    /// Those that came with it.
    pub(super) own: Vec<F>,
    /// In place of them, those of the message that it replies to.
    pub(super) replied: Vec<F>,
    /// The album that it is.
    pub(super) album: Option<String>,
}

impl<F: SentFile> ReceivedFiles<F> {
    /// All of them, in order.
    pub(super) fn files(&self) -> Vec<F> {
        [self.own.as_slice(), &self.replied].concat()
    }
}

/// The files that a message means; `None` once the program stops.
pub(super) async fn find_files<C: Channel>(
    channel: &C,
    asked: &ChannelTurn<C>,
) -> Option<ReceivedFiles<C::File>> {
    let album = asked.album.clone();
    Some(match &asked.files {
        RequestFiles::Own(own) => ReceivedFiles { own: own.clone(), replied: Vec::new(), album },
        RequestFiles::Replied { files, album: of } => ReceivedFiles {
            own: Vec::new(),
            replied: replied_files(channel, files, of.as_deref()).await?,
            album,
        },
    })
}

/// Fetches files within limits, and tells how far it is. Dropping the future ends every download.
pub(crate) async fn fetch_files<C: Channel>(
    channel: &Arc<C>,
    files: Vec<C::File>,
    limits: &attachments::Config,
    progress: &dyn StepListener,
) -> Attachments {
    let intake = Intake::new(&channel.base().blobs, limits);
    let fetch = |file, download| {
        let channel = channel.clone();
        async move { channel.fetch(file, download).await }
    };
    fetch_all(files, intake, fetch, |done, of| progress.step(TurnStep::Fetching { done, of })).await
}

/// The files of a message that is replied to; one part of an album means all of them.
async fn replied_files<C: Channel>(channel: &C, to: &[C::File], album: Option<&str>) -> Option<Vec<C::File>> {
    let (Some(album), Some(part)) = (album, to.first()) else { return Some(to.to_vec()) };
    let base = channel.base();
    let parts = base.store_until_done("look up an album", || base.store.album(&base.channel, album)).await?;
    let read = |part: AlbumPart| Some((part.turn, channel.file_of(&part.update)?));
    Some(files_of_turn(part, parts.into_iter().filter_map(read).collect()).unwrap_or_else(|| to.to_vec()))
}

/// The files of the turn that answered a part of an album: a late part was listed on its own, so it
/// is meant on its own. `None` when the part is no longer known.
fn files_of_turn<F: SentFile>(part: &F, mut all: Vec<(Option<TurnId>, F)>) -> Option<Vec<F>> {
    let turn = all.iter().find(|(_, file)| file.place() == part.place()).map(|(turn, _)| turn.clone())?;
    all.retain(|(of, _)| *of == turn);
    all.sort_by_key(|(_, file)| file.place());
    Some(all.into_iter().map(|(_, file)| file).collect())
}
