//! What a test makes happen: updates, files, faults, flood limits and gates.

use anyhow::ensure;
use serde_json::{Value, json};

use super::files::StoredFile;
use super::floods::FloodLimits;
use super::incoming::{Incoming, Source};
use super::server::TelegramServer;
use super::state::Inner;

/// What became of a pushed update.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// The id that an offset above it confirms.
    pub update_id: i64,
    /// The chat of the message.
    pub chat_id: i64,
    /// The message's id within the chat.
    pub message_id: i64,
    /// The Message object, for replies to it and for buttons below it.
    pub message: Value,
    /// The complete update as it is delivered.
    pub update: Value,
}

impl TelegramServer {
    /// Queues an update; a poll that waits gets it at once.
    pub fn push(&self, incoming: Incoming) -> Pushed {
        self.state.change(|inner| push(inner, incoming))
    }

    /// Queues several updates in this order, in one step: one answer can carry them all.
    pub fn push_all(&self, incoming: impl IntoIterator<Item = Incoming>) -> Vec<Pushed> {
        let incoming: Vec<_> = incoming.into_iter().collect();
        self.state.change(|inner| incoming.into_iter().map(|one| push(inner, one)).collect())
    }

    /// From now on too many messages are refused with 429.
    pub fn limit_floods(&self, limits: FloodLimits) {
        self.state.change(|inner| inner.floods.limits = Some(limits));
    }

    /// Queues an update as it stands, and returns its id. Where `update_id` is missing from an
    /// object, the next one is put in; anything else stays as it is. A message in it becomes known,
    /// so that it can be replied to.
    pub fn push_raw(&self, mut update: Value) -> i64 {
        self.state.change(|inner| {
            let id = inner.updates.claim_id(update["update_id"].as_i64());
            if let Some(fields) = update.as_object_mut() {
                fields.entry("update_id").or_insert_with(|| id.into());
            }
            inner.chats.remember(&update["message"]);
            inner.updates.push(id, update.to_string());
            id
        })
    }

    /// Queues any text in the place of an update: nested without end, not even JSON. `id` is what
    /// an offset must exceed to confirm it; the text need not mention it.
    pub fn push_text(&self, id: i64, text: &str) {
        self.state.change(|inner| {
            let id = inner.updates.claim_id(Some(id));
            inner.updates.push(id, text);
        });
    }

    /// Delivers an update once more, even though it was confirmed and whatever offset the next poll
    /// has.
    ///
    /// # Errors
    /// If no update of this id was ever pushed.
    pub fn redeliver(&self, update_id: i64) -> anyhow::Result<()> {
        let known = self.state.change(|inner| inner.updates.push_again(update_id));
        ensure!(known, "update {update_id} was never pushed");
        Ok(())
    }

    /// Makes a file available for download, or replaces it.
    pub fn put_file(&self, file_id: &str, file: StoredFile) {
        self.state.change(|inner| inner.files.put(file_id, file, "documents", ""));
    }

    /// Makes a chat known that has written nothing yet; otherwise messages to it are refused with
    /// `chat not found`. Negative ids are groups.
    pub fn open_chat(&self, chat_id: i64) {
        let chat = match chat_id {
            ..0 => json!({ "id": chat_id, "type": "supergroup", "title": "Test group" }),
            0.. => json!({ "id": chat_id, "type": "private", "first_name": "Ann" }),
        };
        self.state.change(|inner| inner.chats.open(chat_id, chat));
    }

    /// Makes a group a supergroup of another id, as a person may: the bot can reach it under the
    /// new one alone. The messages that tell of it come when they are pushed.
    pub fn migrate(&self, from: i64, to: i64) {
        self.open_chat(to);
        self.state.change(|inner| inner.chats.moved.insert(from, to));
    }

    /// Deletes a message of the bot, as a person may: the bot is not told.
    pub fn delete_message(&self, chat_id: i64, message_id: i64) {
        self.state.change(|inner| inner.chats.remove(chat_id, message_id));
    }

    /// Activates a webhook, as another program might: polling then answers 409 until it is deleted.
    pub fn set_webhook(&self, url: &str) {
        self.state.change(|inner| inner.bot.webhook = Some(url.to_owned()));
    }
}

fn push(inner: &mut Inner, incoming: Incoming) -> Pushed {
    for (id, file, folder, extension) in &incoming.files {
        inner.files.put(id, file.clone(), folder, extension);
    }
    let update_id = inner.updates.claim_id(incoming.update_id);
    let chat_id = incoming.chat["id"].as_i64().unwrap_or_default();
    let (name, message, content) = match &incoming.source {
        Source::Callback(message, data) => {
            let id = format!("{update_id}00");
            inner.chats.callbacks.insert(id.clone());
            let content = json!({
                "id": id,
                "from": incoming.from,
                "message": message,
                "chat_instance": "-1",
                "data": data,
            });
            ("callback_query", message.clone(), content)
        }
        source => {
            let name = match source {
                Source::EditedMessage => "edited_message",
                _ => "message",
            };
            inner.chats.open(chat_id, incoming.chat.clone());
            let id = inner.chats.claim_message_id(chat_id, incoming.message_id);
            let message = incoming.message(id);
            inner.chats.remember(&message);
            (name, message.clone(), message)
        }
    };
    let update = json!({ "update_id": update_id, name: content });
    inner.updates.push(update_id, update.to_string());
    let message_id = message["message_id"].as_i64().unwrap_or_default();
    Pushed { update_id, chat_id, message_id, message, update }
}
