//! Sends each part of a reply as its channel does, and shows meanwhile that it is on its way. A
//! part that is to be heard is spoken first, once.

use super::{Channel, begin_activity};
use crate::Activity;
use crate::outbound::{BundledFile, FileBundle, MediaKind, Router, SendError, SendingPart, SpeakableText};
use async_trait::async_trait;
use cofferdam_store::{PartKind, ReplyPart};
use cofferdam_warden::attachments::outgoing::{Addition, OutgoingBytes, OutgoingFile};
use std::sync::Arc;
use tokio::sync::Mutex;

/// Sends parts as the channel does, and speaks those that are to be heard, when their turn has
/// come.
pub(super) struct ReplySender<'a, C> {
    channel: &'a Arc<C>,
    /// A part that was spoken, while it is tried to be sent: its bytes are held for so long.
    recorded: Mutex<Option<(ReplyPart, Addition)>>,
}

impl<'a, C: Channel> ReplySender<'a, C> {
    pub(super) fn on(channel: &'a Arc<C>) -> Self {
        Self { channel, recorded: Mutex::new(None) }
    }

    /// Sends a part, and shows that it is on its way.
    async fn send_shown(&self, sending: SendingPart<'_>) -> Result<String, SendError> {
        let activity = match sending.part.kind {
            PartKind::Attachment => Activity::Uploading,
            _ => Activity::Typing,
        };
        let Some(target) = C::target(sending.target) else {
            return Err(SendError::Refused("the stored target is unreadable".to_owned()));
        };
        let shown = begin_activity(self.channel, &target, (activity, None));
        let sent = self.channel.send(target, sending).await;
        shown.end().await;
        sent
    }

    /// The part as a file.
    async fn record(&self, sending: SendingPart<'_>) -> Result<(ReplyPart, Addition), SendError> {
        let base = self.channel.base();
        let speech = base.voice.speech.as_ref();
        let speech = speech.ok_or_else(|| SendError::Refused("nobody speaks here any more".to_owned()))?;
        let spoken = speech.speak(&SpeakableText::read(&sending.part.body).text).await;
        let bytes = spoken.map_err(|error| SendError::Refused(error.to_string()))?;
        let mut held = base.outgoing.addition(sending.turn);
        let recorded = tokio::task::spawn_blocking(move || {
            let source = OutgoingFile {
                body: OutgoingBytes::Contents(bytes),
                name: Some("voice.ogg".into()),
                mime_type: None,
            };
            let file = held.take(vec![source], &|| Ok(())).map_err(|error| error.message)?;
            Ok::<_, String>((file, held))
        });
        let recorded = recorded.await.map_err(|error| SendError::Refused(error.to_string()))?;
        let (files, held) = recorded.map_err(SendError::Refused)?;
        let shown = |file| BundledFile { media: MediaKind::Voice, file };
        let bundle = FileBundle::from_files(files.into_iter().map(shown).collect());
        let part = ReplyPart { n: sending.part.n, kind: PartKind::Attachment, body: bundle.part().body };
        Ok((part, held))
    }
}

#[async_trait]
impl<C: Channel> Router for ReplySender<'_, C> {
    async fn send(&self, sending: SendingPart<'_>) -> Result<String, SendError> {
        if sending.part.kind != PartKind::Voice {
            return self.send_shown(sending).await;
        }
        let mut recorded = self.recorded.lock().await;
        if recorded.as_ref().is_none_or(|(part, _)| part.n != sending.part.n) {
            *recorded = Some(self.record(sending).await?);
        }
        let Some((part, _)) = &*recorded else {
            return Err(SendError::Refused("nothing was spoken".to_owned()));
        };
        self.send_shown(SendingPart { part, ..sending }).await
    }

    async fn answers(&self) -> bool {
        self.channel.answers().await
    }
}
