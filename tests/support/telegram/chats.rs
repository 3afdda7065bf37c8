//! The chats and their messages: sending, editing and deleting by the rules of the Bot API.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::html::{self, Formatted};
use super::params;
use super::sent::{SentFile, SentMessage};
use super::uploads;

/// Longest text of a message, in UTF-16 units after parsing.
const MAX_TEXT_UNITS: usize = 4096;

/// The present time as Telegram states it, in seconds.
pub(super) fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// One chat: its Chat object and every message in it, whoever wrote it. Ids count per chat.
struct Chat {
    object: Value,
    last_message_id: i64,
    messages: BTreeMap<i64, Value>,
}

/// The text that comes with a file.
pub(super) struct Caption {
    pub(super) shown: Formatted,
    pub(super) source: String,
    pub(super) mode: Option<String>,
}

/// All chats that the bot may write to.
#[derive(Default)]
pub(super) struct Chats {
    known: HashMap<i64, Chat>,
    /// The bot's messages in the order of sending.
    pub(super) sent: Vec<SentMessage>,
    /// Groups that became supergroups: the new id of each.
    pub(super) moved: HashMap<i64, i64>,
    /// Callback queries that wait for an answer.
    pub(super) callbacks: HashSet<String>,
}

impl Chats {
    /// Makes a chat known; the first description of it stays.
    pub(super) fn open(&mut self, id: i64, object: Value) {
        let chat = Chat { object, last_message_id: 0, messages: BTreeMap::new() };
        self.known.entry(id).or_insert(chat);
    }

    /// The id for a message in an open chat: the wanted one, or the next.
    pub(super) fn claim_message_id(&mut self, chat_id: i64, wanted: Option<i64>) -> i64 {
        let Some(chat) = self.known.get_mut(&chat_id) else { return wanted.unwrap_or(1) };
        let id = wanted.unwrap_or(chat.last_message_id.saturating_add(1));
        chat.last_message_id = chat.last_message_id.max(id);
        id
    }

    /// Remembers a message, so that it can be replied to; opens its chat.
    pub(super) fn remember(&mut self, message: &Value) {
        let (chat, id) = (&message["chat"], message["message_id"].as_i64());
        if let (Some(chat_id), Some(id)) = (chat["id"].as_i64(), id) {
            self.open(chat_id, chat.clone());
            self.claim_message_id(chat_id, Some(id));
            if let Some(chat) = self.known.get_mut(&chat_id) {
                chat.messages.insert(id, message.clone());
            }
        }
    }

    /// The id of the chat that a request names.
    pub(super) fn chat_id(&self, params: &Map<String, Value>) -> Result<i64, ApiError> {
        if params::string(params, "chat_id").is_none_or(|id| id.is_empty()) {
            return Err(ApiError::bad_request("chat_id is empty"));
        }
        let id = params::integer(params, "chat_id").ok().flatten();
        if let Some(to) = id.and_then(|id| self.moved.get(&id)) {
            let error = ApiError::bad_request("group chat was upgraded to a supergroup chat");
            return Err(error.with_parameter("migrate_to_chat_id", *to));
        }
        let open = id.filter(|id| self.known.contains_key(id));
        open.ok_or_else(|| ApiError::bad_request("chat not found"))
    }

    /// `sendMessage`; the Message comes back.
    pub(super) fn send(&mut self, from: &Value, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let formatted = formatted_text(params, "message is too long")?;
        let mut sent = self.begin(from, params)?;
        set_text(&mut sent.message, &formatted, params)?;
        sent.text = formatted.text;
        sent.source = params::string(params, "text").unwrap_or_default();
        Ok(self.finish(sent))
    }

    /// A file with a caption, which may be empty; the Message comes back.
    pub(super) fn send_file(
        &mut self,
        from: &Value,
        params: &Map<String, Value>,
        caption: Caption,
        file: SentFile,
    ) -> Result<Value, ApiError> {
        let mut sent = self.begin(from, params)?;
        let id = format!("sent-{}", self.sent.len());
        sent.message[file.kind] = uploads::object(&file, &id);
        if !caption.shown.text.is_empty() {
            sent.message["caption"] = caption.shown.text.clone().into();
        }
        if !caption.shown.entities.is_empty() {
            sent.message["caption_entities"] = caption.shown.entities.into();
        }
        if let Some(group) = &file.group {
            sent.message["media_group_id"] = group.clone().into();
        }
        (sent.text, sent.source, sent.file) = (caption.shown.text, caption.source, Some(file));
        sent.parse_mode = caption.mode;
        Ok(self.finish(sent))
    }

    /// A message without anything in it yet.
    fn begin(&mut self, from: &Value, params: &Map<String, Value>) -> Result<SentMessage, ApiError> {
        let chat_id = self.chat_id(params)?;
        let reply_to = self.reply_target(chat_id, params)?;
        let thread_id = params::integer(params, "message_thread_id")?;
        // The topic General of a group has no id that can be sent to.
        if thread_id == Some(1) && chat_id < 0 {
            return Err(ApiError::bad_request("message thread not found"));
        }
        let message_id = self.claim_message_id(chat_id, None);
        let chat = self.known.get_mut(&chat_id).expect("chat_id() returns open chats only");
        let mut message = json!({
            "message_id": message_id,
            "from": from,
            "chat": chat.object,
            "date": unix_now(),
        });
        if let Some(thread) = thread_id {
            message["message_thread_id"] = thread.into();
            message["is_topic_message"] = true.into();
        }
        if let Some(target) = reply_to.and_then(|id| chat.messages.get(&id)) {
            message["reply_to_message"] = without_reply(target);
        }
        Ok(SentMessage {
            chat_id,
            message_id,
            text: String::new(),
            source: String::new(),
            parse_mode: params::string(params, "parse_mode"),
            reply_to,
            thread_id,
            earlier_texts: Vec::new(),
            deleted: false,
            file: None,
            message,
        })
    }

    fn finish(&mut self, sent: SentMessage) -> Value {
        let message = sent.message.clone();
        if let Some(chat) = self.known.get_mut(&sent.chat_id) {
            chat.messages.insert(sent.message_id, message.clone());
        }
        self.sent.push(sent);
        message
    }

    /// `editMessageText`; the changed Message comes back.
    pub(super) fn edit(&mut self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let formatted = formatted_text(params, "MESSAGE_TOO_LONG")?;
        let (chat_id, message_id) = self.existing(params, "edit")?;
        let chat = self.known.get_mut(&chat_id).expect("existing() returns open chats only");
        let own = self.sent.iter_mut().find(|m| (m.chat_id, m.message_id) == (chat_id, message_id));
        let Some(own) = own else {
            return Err(ApiError::bad_request("message can't be edited"));
        };
        let mut message = own.message.clone();
        set_text(&mut message, &formatted, params)?;
        if message == own.message {
            return Err(ApiError::bad_request(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            ));
        }
        message["edit_date"] = unix_now().into();
        chat.messages.insert(message_id, message.clone());
        own.earlier_texts.push(std::mem::replace(&mut own.text, formatted.text));
        own.source = params::string(params, "text").unwrap_or_default();
        own.parse_mode = params::string(params, "parse_mode");
        own.message = message.clone();
        Ok(message)
    }

    /// `editMessageReplyMarkup`; the changed Message comes back.
    pub(super) fn edit_markup(&mut self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let (chat_id, message_id) = self.existing(params, "edit")?;
        let own = self.sent.iter_mut().find(|m| (m.chat_id, m.message_id) == (chat_id, message_id));
        let Some(own) = own else {
            return Err(ApiError::bad_request("message can't be edited"));
        };
        let markup = params.get("reply_markup").cloned().unwrap_or_default();
        if own.message["reply_markup"] == markup {
            return Err(ApiError::bad_request("message is not modified"));
        }
        let message = own.message.as_object_mut().expect("a message is an object");
        match markup.is_null() {
            true => message.remove("reply_markup"),
            false => message.insert("reply_markup".to_owned(), markup),
        };
        let message = own.message.clone();
        if let Some(chat) = self.known.get_mut(&chat_id) {
            chat.messages.insert(message_id, message.clone());
        }
        Ok(message)
    }

    /// `deleteMessage`.
    pub(super) fn delete(&mut self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let (chat_id, message_id) = self.existing(params, "delete")?;
        self.remove(chat_id, message_id);
        Ok(Value::Bool(true))
    }

    /// Takes a message away, whoever asks.
    pub(super) fn remove(&mut self, chat_id: i64, message_id: i64) {
        if let Some(chat) = self.known.get_mut(&chat_id) {
            chat.messages.remove(&message_id);
        }
        for own in &mut self.sent {
            own.deleted |= (own.chat_id, own.message_id) == (chat_id, message_id);
        }
    }

    fn existing(&self, params: &Map<String, Value>, to: &str) -> Result<(i64, i64), ApiError> {
        let chat_id = self.chat_id(params)?;
        let message_id = params::integer(params, "message_id")?
            .ok_or_else(|| ApiError::bad_request("message identifier is not specified"))?;
        let chat = self.known.get(&chat_id);
        if chat.is_some_and(|chat| chat.messages.contains_key(&message_id)) {
            return Ok((chat_id, message_id));
        }
        Err(ApiError::bad_request(format!("message to {to} not found")))
    }

    /// The message to reply to; one that is gone is an error, unless the request allows it.
    fn reply_target(&self, chat_id: i64, params: &Map<String, Value>) -> Result<Option<i64>, ApiError> {
        let reply = params::structured(params, "reply_parameters")?;
        let (id, allow) = match &reply {
            Some(reply) => (
                reply["message_id"].as_i64(),
                reply["allow_sending_without_reply"].as_bool().unwrap_or(false),
            ),
            None => (
                params::integer(params, "reply_to_message_id")?,
                params::flag(params, "allow_sending_without_reply"),
            ),
        };
        let Some(id) = id else { return Ok(None) };
        let chat = self.known.get(&chat_id);
        match chat.is_some_and(|chat| chat.messages.contains_key(&id)) {
            true => Ok(Some(id)),
            false if allow => Ok(None),
            false => Err(ApiError::bad_request("message to be replied not found")),
        }
    }
}

/// A message as it appears inside another one: the real API nests replies one deep only.
pub(super) fn without_reply(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(fields) = message.as_object_mut() {
        fields.remove("reply_to_message");
    }
    message
}

fn formatted_text(params: &Map<String, Value>, too_long: &str) -> Result<Formatted, ApiError> {
    let text = params::string(params, "text").unwrap_or_default();
    let mode = params::string(params, "parse_mode");
    let formatted = html::format(&text, mode.as_deref())?;
    if formatted.text.trim().is_empty() {
        return Err(ApiError::bad_request("message text is empty"));
    }
    if formatted.text.encode_utf16().count() > MAX_TEXT_UNITS {
        return Err(ApiError::bad_request(too_long));
    }
    Ok(formatted)
}

/// Rows of buttons, each with a text and 1 to 64 bytes of data: the one kind that is used here.
fn check_buttons(markup: &Value) -> Result<(), ApiError> {
    if markup.is_null() {
        return Ok(());
    }
    let rows = markup["inline_keyboard"].as_array();
    let rows = rows.ok_or_else(|| ApiError::bad_request("object expected as reply markup"))?;
    for button in rows.iter().flat_map(|row| row.as_array().into_iter().flatten()) {
        if button["text"].as_str().is_none_or(str::is_empty) {
            return Err(ApiError::bad_request(
                "can't parse inline keyboard button: Text buttons are unallowed",
            ));
        }
        if !button["callback_data"].as_str().is_some_and(|data| (1..=64).contains(&data.len())) {
            return Err(ApiError::bad_request("BUTTON_DATA_INVALID"));
        }
    }
    Ok(())
}

fn set_text(message: &mut Value, formatted: &Formatted, params: &Map<String, Value>) -> Result<(), ApiError> {
    message["text"] = formatted.text.clone().into();
    let given = params::structured(params, "entities")?;
    let entities = given.unwrap_or_else(|| Value::Array(formatted.entities.clone()));
    let markup = params::structured(params, "reply_markup")?.unwrap_or(Value::Null);
    check_buttons(&markup)?;
    let fields = message.as_object_mut().expect("messages are objects");
    for (name, value) in [("entities", entities), ("reply_markup", markup)] {
        if value.is_null() || value.as_array().is_some_and(Vec::is_empty) {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), value);
        }
    }
    Ok(())
}
