//! Approvals in a chat: a message with two buttons in reply to the question. Who may decide, and
//! what came of it, is the approvals's to know; a press is handed to it by [`super::presses`].

use super::api::REQUEST_MAX;
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::send::{ReplyTarget, is_group, send_message};
use async_trait::async_trait;
use cofferdam_agent::tools::ApprovalRequest;
use cofferdam_chat::approvals::{ApprovalDisplay, Changing, Verb, change_message};
use cofferdam_chat::outbound::{SendError, StyledText};
use cofferdam_chat::people::Served;
use std::future::ready;
use std::sync::Arc;
use teloxide_core::payloads::{EditMessageReplyMarkup, SendMessage};
use teloxide_core::types::{ChatId, InlineKeyboardButton, InlineKeyboardMarkup, MessageId, ReplyMarkup};

/// Where the approvals of one turn are shown: below its question.
pub(super) struct ApprovalTarget {
    pub(super) bot: Arc<TelegramBot>,
    /// The question.
    pub(super) target: ReplyTarget,
    /// Who asked it.
    pub(super) sender: String,
}

#[async_trait]
impl ApprovalDisplay for ApprovalTarget {
    fn chat(&self) -> String {
        self.target.chat.to_string()
    }

    fn approvers(&self, named: Vec<String>) -> Vec<String> {
        // A private chat has the number of the person.
        let alone = (!is_group(self.target.chat)).then(|| self.chat());
        self.bot.base.door.approvers(named, alone.as_deref())
    }

    fn asker_served(&self) -> Served {
        let Ok(sender) = self.sender.parse() else { return Served::No };
        self.bot.rules_of(self.bot.base.people_rules_in_force()).served(sender, self.target.chat)
    }

    /// In a group that has moved since nobody can press any more.
    fn is_shown_as(&self, message: &str) -> bool {
        self.message(message).0 == self.current_chat()
    }

    async fn show(&self, id: &str, approval: &ApprovalRequest) -> Result<String, SendError> {
        loop {
            let chat = self.current_chat();
            let sent = self.send(id, &approval.text).await;
            if let Err(ApiFailure::Migrated(to)) = sent {
                self.bot.moved(chat, to).await;
                // Perhaps an update has told of it meanwhile.
                if self.current_chat() != chat {
                    continue;
                }
            }
            return Ok(sent?);
        }
    }

    fn change(&self, message: &str, question: &str, outcome: &str) -> Changing {
        let (chat, Some(message)) = self.message(message) else { return Box::pin(ready(true)) };
        let text = StyledText::plain(format!("{question}\n\n{outcome}"));
        let (api, text) = (self.bot.api.clone(), Arc::new(text));
        change_message(move || {
            let (api, text) = (api.clone(), text.clone());
            async move { api.pace.reply(chat, api.edit(chat, message, &text)).await.map_err(SendError::from) }
        })
    }
}

/// Takes the buttons of a question away, as the store keeps its chat and number.
pub(super) fn take_choices(bot: &TelegramBot, kept_chat: &str, kept: &str) -> Changing {
    let (chat, id) = kept.split_once('/').unwrap_or((kept_chat, kept));
    let (Ok(chat), Ok(id)) = (chat.parse(), id.parse()) else { return Box::pin(ready(true)) };
    let api = bot.api.clone();
    change_message(move || {
        let (api, edit) = (api.clone(), EditMessageReplyMarkup::new(ChatId(chat), MessageId(id)));
        async move { api.pace.reply(chat, api.call(&edit, REQUEST_MAX)).await.map(drop).map_err(SendError::from) }
    })
}

impl ApprovalTarget {
    /// Where the chat can be reached now.
    fn current_chat(&self) -> i64 {
        self.bot.moves.current_id(self.target.chat)
    }

    /// The chat and the number of a message that shows an approval, as the store keeps them.
    fn message(&self, kept: &str) -> (i64, Option<i64>) {
        let (chat, id) = kept.split_once('/').unwrap_or(("", kept));
        (chat.parse().unwrap_or(self.target.chat), id.parse().ok())
    }

    async fn send(&self, id: &str, text: &str) -> Result<String, ApiFailure> {
        let chat = self.current_chat();
        // The old ids of topic and message mean nothing where a group has moved to.
        let here = if chat == self.target.chat { self.target } else { ReplyTarget::in_chat(chat) };
        let mut message = send_message(here, text);
        let buttons = Verb::ALL.map(|verb| InlineKeyboardButton::callback(verb.label(), verb.data(id)));
        message.reply_markup = Some(ReplyMarkup::InlineKeyboard(InlineKeyboardMarkup::new([buttons])));
        let api = &self.bot.api;
        let ask = async |message: &SendMessage| {
            api.pace.reply(self.target.chat, api.call(message, REQUEST_MAX)).await
        };
        let mut result = ask(&message).await;
        if message.message_thread_id.is_some() && result.as_ref().is_err_and(ApiFailure::topic_is_gone) {
            // As the answer will: to the chat rather than nowhere.
            message.message_thread_id = None;
            result = ask(&message).await;
        }
        let result = result?;
        let sent: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        Ok(format!("{chat}/{}", sent["message_id"].as_i64().unwrap_or_default()))
    }
}
