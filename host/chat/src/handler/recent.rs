//! The files that a person sent last in a conversation: what is noted of them when their turn ends,
//! and fetching them again for a tool that asks, or for a turn that goes on with a message that
//! failed. The platform keeps the bytes; here is only what to ask for them by.

use super::files::fetch_files;
use super::{Channel, ChannelTurn, RequestFiles};
use async_trait::async_trait;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_store::{NewRecent, RecentFiles};
use cofferdam_warden::attachments::{Attachments, RecentAttachments, SentFile};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Files of one person in one conversation that are noted.
pub(super) const NOTED_MAX: usize = 100;

/// What is noted, as the store keeps it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct NotedFiles<F> {
    /// Those of the most recent message that has any.
    pub(super) files: Vec<F>,
    /// Those of messages before it, and those that a message replied to; the latest first. A retry
    /// asks for them.
    pub(super) before: Vec<F>,
    /// The album that `files` are; the store keeps it beside.
    #[serde(skip)]
    pub(super) album: Option<String>,
}

impl<F> Default for NotedFiles<F> {
    fn default() -> Self {
        Self { files: Vec::new(), before: Vec::new(), album: None }
    }
}

/// What is to be noted of a message of this turn's sender; `Some(None)` where that is nothing,
/// `None` once the program stops. `question` is what the turn began with that takes the message up.
///
/// A late part of an album adds to what was noted of the album: for the person they are one
/// message.
pub(super) async fn to_note<C: Channel>(
    channel: &C,
    asked: &ChannelTurn<C>,
    question: Option<&RequestFiles<C::File>>,
) -> Option<Option<NewRecent>> {
    let (base, came) = (channel.base(), &asked.files);
    // Where nothing is remembered, nothing is retried.
    let is_retried = base.runner.has_memory();
    if came.own.is_empty() && (came.replied.is_empty() || !is_retried) {
        return Some(None);
    }
    let (conversation, sender) = (channel.conversation(&asked.target), asked.sender.clone());
    let look = || base.store.recent(&base.channel, &conversation, &sender);
    let found = match came.album.is_some() || is_retried {
        true => base.store_until_done("look up earlier files", look).await?,
        false => None,
    };
    let mut noted = found.map(read).unwrap_or_default();
    // It is noted when its turn ends, which may be later.
    if let Some(question) = question.filter(|question| !noted.has(question)) {
        noted = noted.add_message(question);
    }
    noted = noted.add_message(came);
    if !is_retried {
        noted.before.clear();
    }
    let files = serde_json::to_string(&noted).expect("plain data");
    Some(Some(NewRecent { conversation, sender, recent: RecentFiles { album: noted.album, files } }))
}

impl<F: SentFile> NotedFiles<F> {
    /// The same after a message.
    pub(super) fn add_message(self, came: &RequestFiles<F>) -> Self {
        let RequestFiles { own, replied, album, .. } = came;
        let noted = if own.is_empty() {
            Self { before: [replied, self.before.as_slice()].concat(), ..self }
        } else if album.is_some() && self.album == *album {
            Self { files: merge_files(self.files, own), ..self }
        } else {
            let before = [self.files, self.before].concat();
            Self { files: merge_files(Vec::new(), own), before, album: album.clone() }
        };
        noted.truncate()
    }

    pub(super) fn has(&self, came: &RequestFiles<F>) -> bool {
        let mut all = came.own.iter().chain(&came.replied);
        all.all(|file| self.files.contains(file) || self.before.contains(file))
    }

    /// Each once, and no more than [`NOTED_MAX`] in all.
    fn truncate(mut self) -> Self {
        let mut once: Vec<F> = Vec::new();
        for file in self.before {
            if !self.files.contains(&file) && !once.contains(&file) {
                once.push(file);
            }
        }
        once.truncate(NOTED_MAX - self.files.len());
        self.before = once;
        self
    }
}

/// Brings the files that the sender of a turn sent last in its conversation, before this turn:
/// turns of a conversation run one after the other, so what was sent before has been noted by the
/// time that one runs, and nothing that was sent after.
pub(super) struct EarlierFiles<C> {
    channel: Arc<C>,
    conversation: String,
    sender: String,
}

impl<C: Channel> EarlierFiles<C> {
    /// For a turn that is about to run.
    pub(super) fn new(channel: Arc<C>, asked: &ChannelTurn<C>) -> Self {
        let (conversation, sender) = (channel.conversation(&asked.target), asked.sender.clone());
        Self { channel, conversation, sender }
    }

    async fn to_note(&self) -> NotedFiles<C::File> {
        let base = self.channel.base();
        let look = || base.store.recent(&base.channel, &self.conversation, &self.sender);
        let found = base.store_until_done("look up earlier files", look).await.flatten();
        found.map(read).unwrap_or_default()
    }

    async fn fetch_noted(&self, files: Vec<C::File>) -> Attachments {
        fetch_files(&self.channel, files, &self.channel.base().limits, &()).await
    }
}

#[async_trait]
impl<C: Channel> RecentAttachments for EarlierFiles<C> {
    async fn recent(&self) -> Attachments {
        self.fetch_noted(self.to_note().await.files).await
    }

    async fn refetch(&self, wanted: &[AttachmentInfo]) -> Attachments {
        let NotedFiles { files, before, .. } = self.to_note().await;
        let mut found: Vec<C::File> = Vec::new();
        for file in files.into_iter().chain(before) {
            let source = file.declaration().source;
            let is_wanted = wanted.iter().any(|info| info.source == source);
            // The same file in two messages is fetched once.
            if is_wanted
                && !found.iter().any(|found| source.is_some() && found.declaration().source == source)
            {
                found.push(file);
            }
        }
        self.fetch_noted(found).await
    }
}

pub(super) fn read<F: SentFile>(found: RecentFiles) -> NotedFiles<F> {
    // Earlier releases have noted the files of one message alone.
    let of_one =
        serde_json::from_str(&found.files).map(|files| NotedFiles { files, ..NotedFiles::default() });
    let noted = of_one.or_else(|_| serde_json::from_str(&found.files)).unwrap_or_else(|error| {
        tracing::error!(%error, "what was noted of earlier files is unreadable");
        NotedFiles::default()
    });
    NotedFiles { album: found.album, ..noted }
}

/// In the order of their messages, each once.
fn merge_files<F: SentFile>(mut files: Vec<F>, own: &[F]) -> Vec<F> {
    for file in own {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files.sort_by_key(SentFile::place);
    if files.len() > NOTED_MAX {
        tracing::warn!(files = files.len(), "a message with too many files; the first {NOTED_MAX} are noted");
        files.truncate(NOTED_MAX);
    }
    files
}
