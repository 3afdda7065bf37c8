//! What the handler asks of a channel, for Telegram: reading its updates, and where answers are
//! said and shown.

use super::approvals::{ApprovalTarget, take_choices};
use super::bot::{BotUser, TelegramBot};
use super::config::Config;
use super::download::download;
use super::failure::ApiFailure;
use super::media::MessageFile;
use super::menu::set_menus;
use super::people::{CHANNEL, configured_people};
use super::placeholder::Draft;
use super::prepare::prepare;
use super::send::ReplyTarget;
use super::upload::CHANNEL_LIMITS;
use super::wire;
use cofferdam_chat::approvals::{ApprovalDisplay, Changing};
use cofferdam_chat::handler::{Channel, ChannelServices, MessageAction, PlatformChannel};
use cofferdam_chat::outbound::{ChannelLimits, PlaceholderRef, SendError, SendingPart};
use cofferdam_chat::setup::{ChannelSettings, MenuEntry};
use cofferdam_chat::{AGAIN, Activity};
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, AlbumStanding, StoreError, Update};
use cofferdam_warden::attachments::{Attachment, Download};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId, ThreadId};

/// Telegram shows an action for so long.
const SHOWN: Duration = Duration::from_secs(5);
const _: () = assert!(AGAIN.as_millis() < SHOWN.as_millis(), "nobody sees silence");

impl Channel for TelegramBot {
    const NAME: &'static str = CHANNEL;
    const CHANNEL_LIMITS: &'static ChannelLimits = &CHANNEL_LIMITS;

    type Target = ReplyTarget;
    type File = MessageFile;
    type Draft = Draft;

    fn base(&self) -> &ChannelServices {
        &self.base
    }

    fn read(&self, updates: &[Update], standing: AlbumStanding) -> MessageAction<ReplyTarget, MessageFile> {
        let messages: Vec<_> = updates.iter().filter_map(message).collect();
        for message in &messages {
            if let Some(from) = message.from {
                self.base.approvals.names.insert(from.id, &message.besides.name);
            }
        }
        prepare(messages, standing, &self.rules())
    }

    fn target_of(&self, update: &Update) -> Option<ReplyTarget> {
        message(update).map(|message| ReplyTarget::new(&message))
    }

    fn file_of(&self, update: &Update) -> Option<MessageFile> {
        message(update)?.media
    }

    async fn fetch(&self, file: MessageFile, item: Download) -> Attachment {
        download(self, file, item).await
    }

    /// A chat and topic of this bot. A group that moved keeps its conversation.
    fn conversation(&self, target: &ReplyTarget) -> String {
        let home = self.moves.home(target.chat);
        format!("{home}/{}", target.thread.unwrap_or_default())
    }

    async fn follow_moves(&self) -> Result<(), StoreError> {
        self.learn_moves().await
    }

    fn profiles(&self, target: &ReplyTarget) -> Option<BTreeSet<String>> {
        self.rules().chat(target.chat).profiles.clone()
    }

    async fn send(&self, target: ReplyTarget, sending: SendingPart<'_>) -> Result<String, SendError> {
        self.send_part(target, sending).await
    }

    async fn answers(&self) -> bool {
        BotUser::ask(&self.api).await.is_ok()
    }

    fn reply_address(target: &ReplyTarget, stand_in: Option<PlaceholderRef>) -> String {
        ReplyTarget { stand_in, ..*target }.to_text()
    }

    async fn show_activity(&self, target: &ReplyTarget, activity: Activity) -> Duration {
        let what = match activity {
            Activity::Typing => ChatAction::Typing,
            Activity::Uploading => ChatAction::UploadDocument,
        };
        let mut action = SendChatAction::new(ChatId(target.chat), what);
        action.message_thread_id =
            target.thread.and_then(|id| i32::try_from(id).ok()).map(|id| ThreadId(MessageId(id)));
        self.api.pace.sign(target.chat).await;
        match self.api.call(&action, AGAIN).await {
            Err(ApiFailure::TooMany(pause)) => pause,
            _ => Duration::ZERO,
        }
    }

    fn draft(self: &Arc<Self>, _: &TurnId, target: &ReplyTarget) -> Draft {
        Draft { bot: self.clone(), target: *target }
    }

    fn take_choices(&self, chat: &str, message: &str) -> Changing {
        take_choices(self, chat, message)
    }

    fn board(self: &Arc<Self>, target: &ReplyTarget, asker: &str) -> impl ApprovalDisplay {
        ApprovalTarget { bot: self.clone(), target: *target, sender: asker.to_owned() }
    }
}

impl PlatformChannel for TelegramBot {
    type Config = Config;

    /// A private chat has the number of its person.
    fn private(person: i64) -> String {
        ReplyTarget::in_chat(person).to_text()
    }

    async fn open_private(&self, person: i64) -> Result<(ReplyTarget, Option<store::ReplyPlace>), SendError> {
        Ok((ReplyTarget::in_chat(person), None))
    }

    fn renew(&self, config: &Config, renewed: &ChannelSettings) -> Self {
        Self { base: self.base.renew(renewed, configured_people(config)), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_menus(&self, &menu).await;
    }
}

fn message(update: &Update) -> Option<wire::Message> {
    wire::Update::read(&update.raw)?.message
}
