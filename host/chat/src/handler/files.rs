//! The files that a message is about: those that came with it, or those of the message that it
//! replies to.

use super::{Channel, ChannelTurn};
use cofferdam_agent::turn::{StepListener, TurnStep};
use cofferdam_core::id::TurnId;
use cofferdam_store::AlbumPart;
use cofferdam_warden::attachments::{self, Attachments, Intake, SentFile, fetch_all};
use std::sync::Arc;

/// Has a message that replies to one part of an album mean all of it; `None` once the program
/// stops.
pub(super) async fn complete_files<C: Channel>(channel: &C, asked: &mut ChannelTurn<C>) -> Option<()> {
    let files = &mut asked.files;
    let (Some(album), Some(part)) = (&files.replied_album, files.replied.first()) else { return Some(()) };
    let base = channel.base();
    let parts = base.store_until_done("look up an album", || base.store.album(&base.channel, album)).await?;
    let read = |part: AlbumPart| Some((part.turn, channel.file_of(&part.update)?));
    if let Some(all) = files_of_turn(part, parts.into_iter().filter_map(read).collect()) {
        files.replied = all;
    }
    Some(())
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

/// The files of the turn that answered a part of an album: a late part was listed on its own, so it
/// is meant on its own. `None` when the part is no longer known.
fn files_of_turn<F: SentFile>(part: &F, mut all: Vec<(Option<TurnId>, F)>) -> Option<Vec<F>> {
    let turn = all.iter().find(|(_, file)| file.place() == part.place()).map(|(turn, _)| turn.clone())?;
    all.retain(|(of, _)| *of == turn);
    all.sort_by_key(|(_, file)| file.place());
    Some(all.into_iter().map(|(_, file)| file).collect())
}
