//! The file in a message: which one it is, and what its sender says about it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The one file of a message; the store keeps it as JSON. Name, type and size are the sender's
/// words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageFile {
    /// The message that it is in.
    pub(super) message_id: Option<i64>,
    /// What `getFile` takes; absent where the message does not say.
    pub(super) file_id: Option<String>,
    /// The same for the same file in every message; nothing can be fetched by it.
    pub(super) unique_id: Option<String>,
    pub(super) name: String,
    pub(super) mime_type: Option<String>,
    /// In bytes, as announced.
    pub(super) size: Option<u64>,
}

/// Longer unique ids are none; Telegram's have some 20 characters.
const UNIQUE_ID_BYTES_MAX: usize = 64;

/// The kinds in order of precedence: an animation appears as a document, too, and is one file.
const KINDS: &[(&str, &str, Option<&str>)] = &[
    ("animation", "animation.mp4", Some("video/mp4")),
    ("document", "document", None),
    ("audio", "audio.mp3", Some("audio/mpeg")),
    ("voice", "voice.ogg", Some("audio/ogg")),
    ("video", "video.mp4", Some("video/mp4")),
    ("video_note", "video_note.mp4", Some("video/mp4")),
];

impl MessageFile {
    /// The file of a message, if it has one.
    pub(super) fn read(message: &Value) -> Option<Self> {
        Some(Self { message_id: message["message_id"].as_i64(), ..Self::from_message(message)? })
    }

    /// Where the file comes from, without the secret that its address holds.
    pub(super) fn source(&self) -> Option<String> {
        Some(format!("telegram:file/{}", self.unique_id.as_ref()?))
    }

    fn from_message(message: &Value) -> Option<Self> {
        if let Some(sizes) = message.get("photo").filter(|photo| !photo.is_null()) {
            return Some(Self::new(largest(sizes), "photo.jpg", Some("image/jpeg")));
        }
        let sticker = &message["sticker"];
        if !sticker.is_null() {
            let (name, mime_type) = match (&sticker["is_animated"], &sticker["is_video"]) {
                (Value::Bool(true), _) => ("sticker.tgs", "application/x-tgsticker"),
                (_, Value::Bool(true)) => ("sticker.webm", "video/webm"),
                _ => ("sticker.webp", "image/webp"),
            };
            return Some(Self::new(sticker, name, Some(mime_type)));
        }
        let found = KINDS.iter().find(|(kind, ..)| !message[*kind].is_null());
        found.map(|(kind, name, mime_type)| Self::new(&message[*kind], name, *mime_type))
    }

    fn new(file: &Value, name: &str, mime_type: Option<&str>) -> Self {
        let text = |key: &str| file[key].as_str().map(str::to_owned).filter(|text| !text.is_empty());
        let plain = |id: &String| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            id.len() <= UNIQUE_ID_BYTES_MAX && id.bytes().all(plain)
        };
        Self {
            message_id: None,
            file_id: text("file_id"),
            unique_id: text("file_unique_id").filter(plain),
            name: text("file_name").filter(|name| !name.trim().is_empty()).unwrap_or_else(|| name.to_owned()),
            mime_type: text("mime_type").or_else(|| mime_type.map(str::to_owned)),
            size: file["file_size"].as_u64(),
        }
    }
}

/// The size with the most pixels, then bytes, among those that can be downloaded.
fn largest(sizes: &Value) -> &Value {
    let sizes = sizes.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let number = |size: &Value, key: &str| size[key].as_u64().unwrap_or_default();
    let usable = sizes.iter().filter(|size| size["file_id"].is_string());
    let by = |size: &&Value| {
        (number(size, "width").saturating_mul(number(size, "height")), number(size, "file_size"))
    };
    usable.max_by_key(by).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(message: Value, file_id: Option<&str>, name: &str, mime_type: Option<&str>) {
        let media = MessageFile::read(&message).unwrap_or_else(|| panic!("no media in {message}"));
        assert_eq!(
            (media.file_id.as_deref(), media.name.as_str(), media.mime_type.as_deref()),
            (file_id, name, mime_type)
        );
    }

    #[test]
    fn every_kind_is_one_file() {
        let sizes = json!([
            { "file_id": "s", "width": 90, "height": 67 },
            { "file_id": "l", "width": 1280, "height": 960 },
            { "file_id": "m", "width": 320, "height": 240 },
            { "width": 9999, "height": 9999 },
        ]);
        check(json!({ "photo": sizes }), Some("l"), "photo.jpg", Some("image/jpeg"));
        check(
            json!({ "document": { "file_id": "d", "file_name": "a.pdf", "mime_type": "application/pdf" } }),
            Some("d"),
            "a.pdf",
            Some("application/pdf"),
        );
        let twin = json!({ "file_id": "x", "file_name": "x.mp4" });
        check(json!({ "animation": twin, "document": twin }), Some("x"), "x.mp4", Some("video/mp4"));
        check(json!({ "audio": { "file_id": "a" } }), Some("a"), "audio.mp3", Some("audio/mpeg"));
        check(json!({ "voice": { "file_id": "v" } }), Some("v"), "voice.ogg", Some("audio/ogg"));
        check(json!({ "video": { "file_id": "v" } }), Some("v"), "video.mp4", Some("video/mp4"));
        check(json!({ "video_note": { "file_id": "v" } }), Some("v"), "video_note.mp4", Some("video/mp4"));
        check(
            json!({ "sticker": { "file_id": "s", "is_video": true } }),
            Some("s"),
            "sticker.webm",
            Some("video/webm"),
        );
        check(
            json!({ "sticker": { "file_id": "s", "is_animated": true } }),
            Some("s"),
            "sticker.tgs",
            Some("application/x-tgsticker"),
        );
        assert_eq!(MessageFile::read(&json!({ "text": "x", "photo": null })), None);
    }

    /// In the form that earlier releases have noted files in.
    #[test]
    fn what_is_kept_of_a_file_holds_no_word_of_its_message() {
        let file = json!({ "file_id": "f", "file_unique_id": "u", "file_name": "a.txt", "file_size": 3 });
        let media = MessageFile::read(&json!({ "message_id": 4, "document": file, "caption": "secret" }));
        let kept = json!({ "message_id": 4, "file_id": "f", "unique_id": "u", "name": "a.txt",
            "mime_type": null, "size": 3 });
        assert_eq!(serde_json::to_value(&media).expect("plain data"), kept);
        assert_eq!(serde_json::from_value::<MessageFile>(kept).ok(), media);
    }

    #[test]
    fn nonsense_in_a_field_costs_that_field_only() {
        let media = |file: Value| MessageFile::read(&json!({ "document": file })).expect("media");
        let odd = media(
            json!({ "file_id": "d", "file_name": 7, "mime_type": "///", "file_size": 5_000_000_000_u64 }),
        );
        assert_eq!(
            (odd.name.as_str(), odd.mime_type.as_deref(), odd.size),
            ("document", Some("///"), Some(5_000_000_000))
        );
        for size in [json!(-1), json!("9"), json!(1.5), Value::Null] {
            assert_eq!(media(json!({ "file_id": "d", "file_size": size })).size, None);
        }
        for (id, source) in [("AQAD-_9", Some("telegram:file/AQAD-_9")), ("a/b\n", None), ("", None)] {
            let found = media(json!({ "file_id": "d", "file_unique_id": id })).source();
            assert_eq!(found.as_deref(), source, "{id}");
        }
        check(json!({ "photo": [] }), None, "photo.jpg", Some("image/jpeg"));
        check(json!({ "photo": "x" }), None, "photo.jpg", Some("image/jpeg"));
        check(json!({ "voice": 5 }), None, "voice.ogg", Some("audio/ogg"));
    }
}
