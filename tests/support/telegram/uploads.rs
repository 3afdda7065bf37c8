//! Methods that send files, alone and as albums, by the rules of the Bot API.

use serde_json::{Map, Value, json};

use super::chats::{Caption, Chats};
use super::error::ApiError;
use super::files::{StoredFile, unique_id};
use super::html;
use super::params;
use super::sent::{SentFile, SentMessage};
use crate::exchange::Call;
use crate::exchange::multipart::Upload;

/// Longest caption, in UTF-16 units.
const MAX_CAPTION_UNITS: usize = 1024;
/// Largest file, in bytes.
const MAX_FILE_BYTES: usize = 50 << 20;
/// Largest picture, in bytes.
const MAX_PHOTO_BYTES: usize = 10 << 20;
/// Items of an album.
const ALBUM: std::ops::RangeInclusive<usize> = 2..=10;

/// The field of a message that a method sends, and of its request.
pub(super) fn field_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "sendphoto" => "photo",
        "senddocument" => "document",
        "sendvideo" => "video",
        "sendanimation" => "animation",
        "sendaudio" => "audio",
        "sendvoice" => "voice",
        _ => return None,
    })
}

/// One file; the Message comes back.
pub(super) fn send_one(
    chats: &mut Chats,
    from: &Value,
    field: &'static str,
    call: &Call,
) -> Result<Value, ApiError> {
    let caption = caption(&call.params)?;
    // Either as the field itself, or as another part that the field names.
    let named = params::string(&call.params, field);
    let part = named.as_deref().and_then(|named| named.strip_prefix("attach://")).unwrap_or(field);
    let upload = call
        .uploads
        .get(part)
        .ok_or_else(|| ApiError::bad_request(format!("there is no {field} in the request")))?;
    let file = file(field, upload, None)?;
    chats.send_file(from, &call.params, caption, file)
}

/// An album; its Messages come back.
pub(super) fn send_album(chats: &mut Chats, from: &Value, call: &Call) -> Result<Value, ApiError> {
    let media = params::structured(&call.params, "media")?.unwrap_or_default();
    let items = media.as_array().cloned().unwrap_or_default();
    if items.len() > *ALBUM.end() {
        return Err(ApiError::bad_request("too many messages to send as an album"));
    }
    if items.len() < *ALBUM.start() {
        return Err(ApiError::bad_request("there are not enough messages to send as an album"));
    }
    let group = format!("1{:016}", chats.sent.len());
    let files = items.iter().map(|item| album_file(item, call, &group)).collect::<Result<Vec<_>, _>>()?;
    for (kind, what) in [("document", "Document"), ("audio", "Audio")] {
        let of_kind = files.iter().filter(|(_, file)| file.kind == kind).count();
        if of_kind > 0 && of_kind < files.len() {
            return Err(ApiError::bad_request(format!("{what} can't be mixed with other media types")));
        }
    }
    // Looked at before anything is sent: an album is sent as a whole.
    chats.chat_id(&call.params)?;
    let sent = files.into_iter().map(|(caption, file)| chats.send_file(from, &call.params, caption, file));
    Ok(Value::Array(sent.collect::<Result<_, _>>()?))
}

fn album_file(item: &Value, call: &Call, group: &str) -> Result<(Caption, SentFile), ApiError> {
    let bad = |what: &str| ApiError::bad_request(format!("can't parse InputMedia: {what}"));
    let kinds = ["photo", "video", "audio", "document"];
    let kind = kinds.into_iter().find(|kind| item["type"] == *kind).ok_or_else(|| bad("type is invalid"))?;
    let name = item["media"].as_str().and_then(|media| media.strip_prefix("attach://"));
    let upload = name.and_then(|name| call.uploads.get(name)).ok_or_else(|| bad("media not found"))?;
    let own = item.as_object().cloned().unwrap_or_default();
    Ok((caption(&own)?, file(kind, upload, Some(group.to_owned()))?))
}

fn caption(params: &Map<String, Value>) -> Result<Caption, ApiError> {
    let source = params::string(params, "caption").unwrap_or_default();
    let mode = params::string(params, "parse_mode");
    let shown = html::format(&source, mode.as_deref())?;
    match shown.text.encode_utf16().count() > MAX_CAPTION_UNITS {
        true => Err(ApiError::bad_request("message caption is too long")),
        false => Ok(Caption { shown, source, mode }),
    }
}

fn file(kind: &'static str, upload: &Upload, group: Option<String>) -> Result<SentFile, ApiError> {
    let len = upload.bytes.len();
    if len == 0 {
        return Err(ApiError::bad_request("file must be non-empty"));
    }
    if len > MAX_FILE_BYTES {
        return Err(ApiError::new(413, "Request Entity Too Large"));
    }
    if kind == "photo" {
        if len > MAX_PHOTO_BYTES {
            let what = format!(
                "file of size {len} bytes is too big for a photo; the maximum size is {MAX_PHOTO_BYTES} bytes"
            );
            return Err(ApiError::bad_request(what));
        }
        let webp = upload.bytes.get(8..12) == Some(&b"WEBP"[..]);
        if !upload.bytes.starts_with(b"\xff\xd8\xff") && !upload.bytes.starts_with(b"\x89PNG") && !webp {
            return Err(ApiError::bad_request("IMAGE_PROCESS_FAILED"));
        }
    }
    Ok(SentFile {
        kind,
        name: upload.filename.clone(),
        mime: upload.content_type.clone(),
        bytes: upload.bytes.clone(),
        group,
    })
}

/// The object of a file in its message, with what its kind always has.
pub(super) fn object(file: &SentFile, id: &str) -> Value {
    let mut object = json!({
        "file_id": id,
        "file_unique_id": unique_id(id),
        "file_size": file.bytes.len(),
    });
    let mut add = |name: &str, value: Value| object[name] = value;
    if matches!(file.kind, "photo" | "video" | "animation") {
        add("width", 90.into());
        add("height", 90.into());
    }
    if matches!(file.kind, "audio" | "voice" | "video" | "animation") {
        add("duration", 1.into());
    }
    if !matches!(file.kind, "photo") {
        add("mime_type", file.mime.clone().into());
    }
    if !matches!(file.kind, "photo" | "voice") {
        add("file_name", file.name.clone().into());
    }
    if file.kind == "photo" { json!([object]) } else { object }
}

/// The file of a message of the bot as it is stored, and its id.
pub(super) fn stored(sent: &SentMessage) -> Option<(StoredFile, String)> {
    let file = sent.file.as_ref()?;
    let object = &sent.message[file.kind];
    let object = if file.kind == "photo" { &object[0] } else { object };
    Some((StoredFile::new(file.bytes.clone()), object["file_id"].as_str()?.to_owned()))
}
