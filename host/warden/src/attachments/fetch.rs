//! Fetches the files of a message from where its channel keeps them: in order, a few at once, under
//! every limit. A file that cannot be had keeps its place and says why.
//!
//! What a channel keeps for bringing back the files of an earlier message, and for how long, is its
//! own affair; this room keeps nothing.

use super::{Attachment, Attachments, DeclaredFile, Download, Intake};
use async_trait::async_trait;
use cofferdam_core::attachment::AttachmentInfo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

/// Files of one message that are fetched at once.
const AT_ONCE_MAX: usize = 3;

/// A file of a message, as its channel knows it: what can be kept in place of its bytes, as JSON.
pub trait SentFile: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What its message says of it.
    fn declaration(&self) -> DeclaredFile;

    /// Where its message stands among those of its conversation; `None` where the channel does not
    /// say.
    fn place(&self) -> Option<i64>;

    /// Why it cannot be asked for, in words for its sender; `None` where it can.
    fn missing_reason(&self) -> Option<String>;
}

/// Brings the files of a user's earlier messages.
#[async_trait]
pub trait RecentAttachments: Send + Sync {
    /// The attachments of the most recent message of the user in this conversation that has any;
    /// empty when there is none. One that cannot be had any more keeps its place and says why.
    /// Fetching may take long: dropping the future ends it.
    async fn recent(&self) -> Attachments;

    /// Those of these attachments of earlier messages that can be had again, in any order; they are
    /// told by their source, so the caller compares the bytes. Dropping the future ends it.
    async fn refetch(&self, wanted: &[AttachmentInfo]) -> Attachments;
}

/// Fetches all files. `fetch` fetches one and ends its download: it is there, or says why not.
/// `tell` hears how many are in, or cannot be had, and how many are fetched. Dropping the future
/// ends every download.
pub async fn fetch_all<F: SentFile, R>(
    files: Vec<F>,
    mut intake: Intake,
    fetch: impl Fn(F, Download) -> R,
    tell: impl Fn(usize, usize),
) -> Attachments
where
    R: Future<Output = Attachment> + Send + 'static,
{
    let mut admitted = Vec::new();
    for file in files {
        match file.missing_reason() {
            None => admitted.extend(intake.admit(file.declaration()).map(|download| (file, download))),
            Some(reason) => intake.refuse(file.declaration(), &reason),
        }
    }
    let (mut done, of) = (0, admitted.len());
    let mut admitted = admitted.into_iter();
    let mut tasks = JoinSet::new();
    loop {
        tell(done, of);
        let free = AT_ONCE_MAX - tasks.len();
        for (file, download) in admitted.by_ref().take(free) {
            tasks.spawn(fetch(file, download));
        }
        match tasks.join_next().await {
            Some(Ok(settled)) => intake.settle(settled),
            // It stays listed as a download that did not finish.
            Some(Err(error)) => tracing::error!(%error, "a download failed"),
            None => return intake.finish(),
        }
        done += 1;
    }
}
