//! Builds the updates that users cause: messages of every kind, edits and pressed buttons.

use serde_json::{Map, Value, json};

use super::chats::{unix_now, without_reply};
use super::files::StoredFile;
use super::media::Media;

/// What kind of update comes out.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Message,
    EditedMessage,
    /// A press on a button below this message, with this data.
    Callback(Value, String),
}

/// A file to store when the update is pushed: id, file, folder, extension.
pub(super) type FileToStore = (String, StoredFile, &'static str, String);

/// One update to come. Whatever is not said, the server makes up: ids, date, names.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub(super) source: Source,
    pub(super) update_id: Option<i64>,
    pub(super) message_id: Option<i64>,
    pub(super) chat: Value,
    pub(super) from: Value,
    pub(super) fields: Map<String, Value>,
    pub(super) without: Vec<String>,
    pub(super) files: Vec<FileToStore>,
}

impl Incoming {
    /// A message of a user in the private chat, whose id is the user's.
    pub fn private(user_id: i64) -> Self {
        let chat = json!({ "id": user_id, "type": "private", "first_name": "Ann" });
        Self::new(chat, user_id)
    }

    /// A message of a user in a supergroup; real ids of these are below -1000000000000.
    pub fn group(chat_id: i64, user_id: i64) -> Self {
        let chat = json!({ "id": chat_id, "type": "supergroup", "title": "Test group" });
        Self::new(chat, user_id)
    }

    /// A message of a user in a basic group, which has no topics and may become a supergroup.
    pub fn basic_group(chat_id: i64, user_id: i64) -> Self {
        let chat = json!({ "id": chat_id, "type": "group", "title": "Test group" });
        Self::new(chat, user_id)
    }

    /// A user presses a button below a message; `data` has 1–64 bytes in the real API.
    pub fn callback(user_id: i64, message: &Value, data: &str) -> Self {
        let callback = Self::new(message["chat"].clone(), user_id);
        Self { source: Source::Callback(message.clone(), data.to_owned()), ..callback }
    }

    fn new(chat: Value, user_id: i64) -> Self {
        let from = json!({
            "id": user_id,
            "is_bot": false,
            "first_name": "Ann",
            "username": format!("user_{user_id}"),
            "language_code": "en",
        });
        Self {
            source: Source::Message,
            update_id: None,
            message_id: None,
            chat,
            from,
            fields: Map::new(),
            without: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The sender's username, without `@`.
    #[must_use]
    pub fn username(mut self, username: &str) -> Self {
        self.from["username"] = username.into();
        self
    }

    /// The sender is a bot.
    #[must_use]
    pub fn from_bot(mut self) -> Self {
        self.from["is_bot"] = true.into();
        self
    }

    /// The message's text; a command at its start becomes an entity.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.with_command(text, "entities").field("text", text)
    }

    /// The caption below the media; a command at its start becomes an entity.
    #[must_use]
    pub fn caption(self, caption: &str) -> Self {
        self.with_command(caption, "caption_entities").field("caption", caption)
    }

    /// A photo: three sizes, smallest first. The media is the largest; the smaller ones have
    /// `file_id`s of their own, ending in `-s` and `-m`, and other bytes.
    #[must_use]
    pub fn photo(mut self, media: Media) -> Self {
        let mut sizes = Vec::new();
        for (suffix, width, height) in [("-s", 90, 67), ("-m", 320, 240)] {
            let id = format!("{}{suffix}", media.file_id);
            let small = Media::with_content(&id, format!("a thumbnail, {width} by {height}"));
            sizes.push(small.object(json!({ "width": width, "height": height })));
            self.store(small, "photos", ".jpg");
        }
        sizes.push(media.object(json!({ "width": 1280, "height": 960 })));
        self.store(media, "photos", ".jpg");
        self.field("photo", sizes)
    }

    /// A document: sent as a file, never recompressed.
    #[must_use]
    pub fn document(self, media: Media) -> Self {
        self.media("document", media, json!({}), "documents")
    }

    /// A piece of music.
    #[must_use]
    pub fn audio(self, media: Media) -> Self {
        let defaults = json!({ "duration": 61, "mime_type": "audio/mpeg" });
        self.media("audio", media, defaults, "music")
    }

    /// A voice note: no file name, no caption in the clients.
    #[must_use]
    pub fn voice(self, media: Media) -> Self {
        let defaults = json!({ "duration": 3, "mime_type": "audio/ogg" });
        self.media("voice", media, defaults, "voice")
    }

    /// A video.
    #[must_use]
    pub fn video(self, media: Media) -> Self {
        let defaults = json!({ "width": 640, "height": 480, "duration": 9, "mime_type": "video/mp4" });
        self.media("video", media, defaults, "videos")
    }

    /// A round video note: neither name nor MIME type.
    #[must_use]
    pub fn video_note(self, media: Media) -> Self {
        self.media("video_note", media, json!({ "length": 240, "duration": 5 }), "video_notes")
    }

    /// An animation. As in the real API the same file appears as `document`, too.
    #[must_use]
    pub fn animation(self, media: Media) -> Self {
        let twin = media.object(json!({ "mime_type": "video/mp4" }));
        let defaults = json!({ "width": 320, "height": 240, "duration": 2, "mime_type": "video/mp4" });
        self.media("animation", media, defaults, "animations").field("document", twin)
    }

    /// A sticker.
    #[must_use]
    pub fn sticker(self, media: Media) -> Self {
        let defaults = json!({
            "type": "regular", "width": 512, "height": 512,
            "is_animated": false, "is_video": false, "emoji": "🙂",
        });
        self.media("sticker", media, defaults, "stickers")
    }

    /// `media_group_id`: one part of an album. The parts are pushed one by one.
    #[must_use]
    pub fn media_group(self, id: &str) -> Self {
        self.field("media_group_id", id)
    }

    /// A reply to a message, which is included in full, without the message that it replies to.
    #[must_use]
    pub fn reply_to(self, message: &Value) -> Self {
        self.field("reply_to_message", without_reply(message))
    }

    /// Sent on: somebody of this name, and of no account that may be known, wrote it.
    #[must_use]
    pub fn forwarded_from(self, name: &str) -> Self {
        let origin = json!({ "type": "hidden_user", "sender_user_name": name, "date": unix_now() });
        self.field("forward_origin", origin)
    }

    /// In a topic, of a group or of a private chat.
    #[must_use]
    pub fn thread(self, id: i64) -> Self {
        self.field("message_thread_id", id).field("is_topic_message", true)
    }

    /// An `edited_message`; give it the id of the message that it edits.
    #[must_use]
    pub fn edited(mut self) -> Self {
        self.source = Source::EditedMessage;
        self.field("edit_date", unix_now())
    }

    /// An explicit `update_id`: gaps, repetitions and a wrong order are possible.
    #[must_use]
    pub fn update_id(mut self, id: i64) -> Self {
        self.update_id = Some(id);
        self
    }

    /// An explicit `message_id`; otherwise they count per chat.
    #[must_use]
    pub fn message_id(mut self, id: i64) -> Self {
        self.message_id = Some(id);
        self
    }

    /// Any field of the message, in place of what it would be.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves a field of the message out, even one that is always there, such as `from` or `chat`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// The Message object under these ids.
    pub(super) fn message(&self, message_id: i64) -> Value {
        let mut message = Map::new();
        message.insert("message_id".to_owned(), message_id.into());
        message.insert("from".to_owned(), self.from.clone());
        message.insert("chat".to_owned(), self.chat.clone());
        message.insert("date".to_owned(), unix_now().into());
        message.extend(self.fields.clone());
        message.retain(|name, _| !self.without.contains(name));
        Value::Object(message)
    }

    fn media(mut self, kind: &str, media: Media, defaults: Value, folder: &'static str) -> Self {
        let object = media.object(defaults);
        let extension = media.extension();
        self.store(media, folder, &extension);
        self.field(kind, object)
    }

    fn store(&mut self, media: Media, folder: &'static str, extension: &str) {
        if let Some(file) = media.stored {
            self.files.push((media.file_id, file, folder, extension.to_owned()));
        }
    }

    fn with_command(self, text: &str, entities: &str) -> Self {
        if !text.starts_with('/') {
            return self;
        }
        let command = text.split_whitespace().next().unwrap_or_default();
        let length = command.encode_utf16().count();
        self.field(entities, json!([{ "type": "bot_command", "offset": 0, "length": length }]))
    }
}
