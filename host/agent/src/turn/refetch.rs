//! The files of a request that is gone on with, fetched again.

use super::{TurnInput, words};
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_warden::attachments::{Attachment, Attachments, Blob};

/// The files of what was added to a turn before a crash, a list for each message.
pub(super) async fn files_added(turn: &TurnInput) -> Vec<Attachments> {
    match &turn.steering {
        Some(steering) => steering.refetch_files().await,
        None => Vec::new(),
    }
}

/// The files of each message of a request, fetched again: each is the one of the same content, or
/// says that it is gone.
pub(super) async fn refetch_files(turn: &TurnInput, wanted: Vec<Attachments>) -> Vec<Attachments> {
    if wanted.iter().all(|list| list.is_empty()) {
        return wanted;
    }
    let mut found = files_added(turn).await;
    found.push(turn.attachments.clone());
    let mut missing: Vec<_> = wanted.iter().flat_map(Attachments::infos).collect();
    missing.retain(|info| !info.sha256.is_empty() && find_bytes(&found, info).is_none());
    if let Some(recent) = turn.recent.as_ref().filter(|_| !missing.is_empty()) {
        found.push(recent.refetch(&missing).await);
    }
    let one = |mut info: AttachmentInfo| {
        let blob = find_bytes(&found, &info).filter(|_| !info.sha256.is_empty());
        info.unavailable = blob.is_none().then(|| words::FILE_GONE.to_owned());
        Attachment { info, blob }
    };
    let each = |list: &Attachments| list.infos().into_iter().map(one).collect::<Vec<_>>().into();
    wanted.iter().map(each).collect()
}

/// The bytes of an attachment among those that were found, by their content.
fn find_bytes(found: &[Attachments], wanted: &AttachmentInfo) -> Option<Blob> {
    let same = |found: &&Attachment| found.blob.is_some() && found.info.sha256 == wanted.sha256;
    found.iter().flat_map(|list| list.iter()).find(same)?.blob.clone()
}
