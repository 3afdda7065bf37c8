//! Where a reply goes, and the one request that sends a part of it.

use super::api::{REQUEST_MAX, TelegramApi};
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::html::html;
use super::upload::send_files;
use super::wire::Message;
use cofferdam_chat::outbound::{PartContent, PlaceholderRef, SendError, SendingPart, StyledText};
use cofferdam_store::{PartKind, ReplyPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide_core::payloads::{DeleteMessage, EditMessageText, SendMessage};
use teloxide_core::types::{ChatId, LinkPreviewOptions, MessageId, ParseMode, ReplyParameters, ThreadId};

/// A message's text holds so many UTF-16 units.
pub(super) const TEXT_UNITS_MAX: usize = 4096;

/// Where a reply goes; the store keeps it as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplyTarget {
    pub(super) chat: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) thread: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply_to: Option<i64>,
    /// What stands there for the reply already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stand_in: Option<PlaceholderRef>,
}

impl ReplyTarget {
    /// Where the answer to a message goes.
    pub(super) fn new(message: &Message) -> Self {
        Self { chat: message.chat.id, thread: message.thread, reply_to: message.message_id, stand_in: None }
    }

    /// A chat, and no message in it.
    pub(super) fn in_chat(chat: i64) -> Self {
        Self { chat, thread: None, reply_to: None, stand_in: None }
    }

    /// As the store keeps it.
    pub(super) fn to_text(self) -> String {
        serde_json::to_string(&self).expect("three numbers")
    }
}

/// Groups have negative numbers; a private chat has that of the person.
pub(super) fn is_group(chat: i64) -> bool {
    chat < 0
}

impl TelegramBot {
    /// Sends a part of a reply.
    pub(super) async fn send_part(
        &self,
        mut target: ReplyTarget,
        SendingPart { part, after, .. }: SendingPart<'_>,
    ) -> Result<String, SendError> {
        if let Some(stand_in) = target.stand_in.filter(|_| part.n == 0)
            && let Some(message) = self.api.take_place(target.chat, stand_in, part).await?
        {
            return Ok(message);
        }
        let content = PartContent::load(part, &self.base.outgoing).await?;
        // Only the first message of a reply points at the question; files that follow, at what they
        // follow.
        target.reply_to = match (part.n, &content.files) {
            (0, _) => target.reply_to,
            (_, Some(_)) => match after {
                Some(ids) => ids.rsplit(',').next().and_then(|id| id.parse().ok()),
                None => target.reply_to,
            },
            (_, None) => None,
        };
        let mut sent = self.send_to(target, &content).await;
        if let Err(ApiFailure::Migrated(chat)) = sent {
            // Before it goes out: what is written there then is known to belong here.
            self.moved(target.chat, chat).await;
            // The old ids of topic and message mean nothing there.
            target = ReplyTarget::in_chat(chat);
            sent = self.send_to(target, &content).await;
        }
        if target.thread.is_some() && sent.as_ref().is_err_and(ApiFailure::topic_is_gone) {
            // A deleted or closed topic: the answer goes to the chat rather than nowhere.
            sent = self.send_to(ReplyTarget { thread: None, ..target }, &content).await;
        }
        Ok(sent?)
    }

    async fn send_to(&self, target: ReplyTarget, content: &PartContent) -> Result<String, ApiFailure> {
        let sending = async {
            match &content.files {
                None => self.api.send(target, &content.words).await,
                Some(bundle) => send_files(&self.api, &self.base.outgoing, target, bundle).await,
            }
        };
        self.api.pace.reply(target.chat, sending).await
    }
}

impl TelegramApi {
    /// Puts the first part of a reply in the place of what stood for it; `None` when it must be
    /// sent anew, and then nothing stands there any more, as far as Telegram lets a bot clear it
    /// away.
    async fn take_place(
        &self,
        chat: i64,
        stand_in: PlaceholderRef,
        part: &ReplyPart,
    ) -> Result<Option<String>, SendError> {
        let id = match stand_in {
            PlaceholderRef::Edit(id) if matches!(part.kind, PartKind::Text | PartKind::Rich) => {
                let text = PartContent::from_part(part)?.words;
                match self.pace.reply(chat, self.edit(chat, id, &text)).await {
                    Ok(()) => return Ok(Some(id.to_string())),
                    // Somebody has deleted it, or it is too old.
                    Err(ApiFailure::Refused { .. } | ApiFailure::Migrated(_)) => id,
                    Err(failure) => return Err(failure.into()),
                }
            }
            PlaceholderRef::Edit(id) | PlaceholderRef::Delete(id) => id,
        };
        match self.delete(chat, id).await {
            Ok(()) | Err(ApiFailure::Refused { .. } | ApiFailure::Migrated(_)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Gives a message of the bot another text. The text that it has already is fine.
    pub(super) async fn edit(&self, chat: i64, message: i64, text: &StyledText) -> Result<(), ApiFailure> {
        match self.edit_as(chat, message, WireText::from_rich(text)).await {
            Err(failure) if is_markup_refused(&failure, text) => {
                self.edit_as(chat, message, WireText::plain(text)).await
            }
            edited => edited,
        }
    }

    async fn edit_as(&self, chat: i64, message: i64, written: WireText) -> Result<(), ApiFailure> {
        let mut edit = EditMessageText::new(ChatId(chat), message_id(message)?, written.text);
        edit.parse_mode = written.mode;
        edit.link_preview_options = Some(NO_PREVIEW);
        match self.call(&edit, REQUEST_MAX).await {
            Err(failure) if failure.has_words("message is not modified") => Ok(()),
            edited => edited.map(|_| ()),
        }
    }

    async fn delete(&self, chat: i64, message: i64) -> Result<(), ApiFailure> {
        let delete = DeleteMessage::new(ChatId(chat), message_id(message)?);
        self.call(&delete, REQUEST_MAX).await.map(|_| ())
    }

    /// Sends text and returns the message's id.
    pub(super) async fn send(&self, target: ReplyTarget, text: &StyledText) -> Result<String, ApiFailure> {
        match self.send_as(target, WireText::from_rich(text)).await {
            Err(failure) if is_markup_refused(&failure, text) => {
                self.send_as(target, WireText::plain(text)).await
            }
            sent => sent,
        }
    }

    async fn send_as(&self, target: ReplyTarget, written: WireText) -> Result<String, ApiFailure> {
        let mut message = send_message(target, written.text);
        message.parse_mode = written.mode;
        let result = self.call(&message, REQUEST_MAX).await?;
        // The message is out; the rest of the answer does not matter.
        Ok(sent_id(&serde_json::from_str(result.get()).unwrap_or_default()))
    }
}

/// A message.
///
/// No link preview: Telegram would fetch an address that a file or a model has written.
pub(super) fn send_message(target: ReplyTarget, text: impl Into<String>) -> SendMessage {
    // Ids beyond 31 bits do not exist yet; without them the message still arrives.
    let id = |id: Option<i64>| id.and_then(|id| i32::try_from(id).ok()).map(MessageId);
    let mut message = SendMessage::new(ChatId(target.chat), text);
    message.message_thread_id = id(target.thread).map(ThreadId);
    message.reply_parameters =
        id(target.reply_to).map(|id| ReplyParameters::new(id).allow_sending_without_reply());
    message.link_preview_options = Some(NO_PREVIEW);
    message
}

/// A text as a request carries it.
pub(super) struct WireText {
    pub(super) text: String,
    pub(super) mode: Option<ParseMode>,
}

impl WireText {
    /// With its styles as HTML. Plain text goes without a parse mode: nothing in it can be taken
    /// for markup.
    pub(super) fn from_rich(text: &StyledText) -> Self {
        match text.spans.is_empty() {
            true => Self::plain(text),
            false => Self { text: html(text), mode: Some(ParseMode::Html) },
        }
    }

    fn plain(text: &StyledText) -> Self {
        Self { text: text.text.clone(), mode: None }
    }
}

/// Whether it was the markup of this text that Telegram refused; then nothing was sent, and its
/// words can be.
pub(super) fn is_markup_refused(failure: &ApiFailure, text: &StyledText) -> bool {
    let refused = !text.spans.is_empty() && failure.has_words("can't parse entities");
    if refused {
        tracing::warn!(%failure, "sending a text without its styles");
    }
    refused
}

/// The id in a message that Telegram has taken.
pub(super) fn sent_id(message: &Value) -> String {
    message["message_id"].as_i64().map_or_else(|| "unknown".to_owned(), |id| id.to_string())
}

const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

/// Ids beyond 31 bits do not exist yet.
fn message_id(id: i64) -> Result<MessageId, ApiFailure> {
    let unknown = |_| ApiFailure::Refused { code: 400, description: format!("{id} is no message's id") };
    i32::try_from(id).map(MessageId).map_err(unknown)
}

impl From<ApiFailure> for SendError {
    fn from(failure: ApiFailure) -> Self {
        if failure.chat_is_gone() {
            return Self::Gone(failure.to_string());
        }
        match failure {
            ApiFailure::TooMany(pause) => Self::Later(pause),
            ApiFailure::TooSlow(_) => Self::TooSlow(failure.to_string()),
            ApiFailure::Refused { .. } | ApiFailure::Migrated(_) => Self::Refused(failure.to_string()),
            // Without its token the bot cannot send now; the poller ends the program, and the next
            // start, with a token that is accepted, sends it. An answer that cannot be read says
            // nothing.
            ApiFailure::Unauthorized(_)
            | ApiFailure::Conflict(_)
            | ApiFailure::Unreachable(_)
            | ApiFailure::Unreadable(_) => Self::Unreachable(failure.to_string()),
        }
    }
}
