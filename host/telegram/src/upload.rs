//! Files of a reply on their way to Telegram: streamed from their blobs, a group as one message.
//!
//! It reads no path: a file is named by the SHA-256 of its blob alone.

use super::api::TelegramApi;
use super::failure::ApiFailure;
use super::send::{ReplyTarget, WireText, is_markup_refused, sent_id};
use cofferdam_chat::outbound::{BundledFile, ChannelLimits, FileBundle, MediaKind, units};
use cofferdam_warden::attachments::outgoing::Outgoing;
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::time::timeout;

/// What messages of the Bot API carry: <https://core.telegram.org/bots/api#sending-files>.
/// Megabytes are taken as millions, which is on the safe side.
pub(super) const CHANNEL_LIMITS: ChannelLimits = ChannelLimits {
    text_units_max: super::send::TEXT_UNITS_MAX,
    caption_units_max: 1024,
    first_text_carries_files: false,
    group_max: 10,
    file_bytes_max: 50_000_000,
    photo_bytes_max: 10_000_000,
    message_bytes_max: 50_000_000,
    shown: &[
        ("image/jpeg", MediaKind::Photo),
        ("image/png", MediaKind::Photo),
        ("image/webp", MediaKind::Photo),
        ("image/gif", MediaKind::Animation),
        ("video/mp4", MediaKind::Video),
        ("audio/mpeg", MediaKind::Audio),
        ("audio/mp4", MediaKind::Audio),
        ("audio/ogg", MediaKind::Voice),
    ],
    length: units,
};

/// Sends the files of a bundle; returns the ids of all its messages.
///
/// What Telegram does not take as a picture, a film or a voice it gets as a document.
pub(super) async fn send_files(
    api: &TelegramApi,
    outgoing: &Outgoing,
    target: ReplyTarget,
    bundle: &FileBundle,
) -> Result<String, ApiFailure> {
    let words = bundle.words().unwrap_or_default();
    match send_as(api, outgoing, target, bundle).await {
        Err(failure) if is_markup_refused(&failure, &words) => {
            let plain = FileBundle { caption_spans: Vec::new(), ..bundle.clone() };
            Box::pin(send_files(api, outgoing, target, &plain)).await
        }
        Err(failure @ ApiFailure::Refused { code: 400, .. })
            if !failure.chat_is_gone()
                && !failure.topic_is_gone()
                && bundle.files.iter().any(|shown| shown.media != MediaKind::Document) =>
        {
            let document =
                |shown: &BundledFile| BundledFile { media: MediaKind::Document, file: shown.file.clone() };
            let files = bundle.files.iter().map(document).collect();
            tracing::info!(%failure, "sending files as documents instead");
            send_as(api, outgoing, target, &FileBundle { files, ..bundle.clone() }).await
        }
        sent => sent,
    }
}

async fn send_as(
    api: &TelegramApi,
    outgoing: &Outgoing,
    target: ReplyTarget,
    bundle: &FileBundle,
) -> Result<String, ApiFailure> {
    let caption = bundle.words().map(|words| WireText::from_rich(&words));
    let (method, form) = match &bundle.files[..] {
        [] => return Err(refusal("a message without files")),
        [one] => single_file(outgoing, one, caption)?,
        many => group(outgoing, many, caption)?,
    };
    let patience = bundle.upload_timeout();
    let result = timeout(patience, api.upload(method, add_target(form, target))).await;
    let result = result.map_err(|_| ApiFailure::TooSlow(patience))??;
    // The message is out; the rest of the answer does not matter.
    let sent: Value = serde_json::from_str(result.get()).unwrap_or_default();
    Ok(match sent.as_array() {
        Some(messages) => messages.iter().map(sent_id).collect::<Vec<_>>().join(","),
        None => sent_id(&sent),
    })
}

fn single_file(
    outgoing: &Outgoing,
    shown: &BundledFile,
    caption: Option<WireText>,
) -> Result<(&'static str, Form), ApiFailure> {
    let (method, field) = match shown.media {
        MediaKind::Photo => ("sendPhoto", "photo"),
        MediaKind::Video => ("sendVideo", "video"),
        MediaKind::Animation => ("sendAnimation", "animation"),
        MediaKind::Audio => ("sendAudio", "audio"),
        MediaKind::Voice => ("sendVoice", "voice"),
        MediaKind::Document => ("sendDocument", "document"),
    };
    let mut form = Form::new().part(field, body(outgoing, shown)?);
    if let Some(WireText { text, mode }) = caption {
        form = form.text("caption", text);
        if mode.is_some() {
            form = form.text("parse_mode", "HTML");
        }
    }
    if shown.media == MediaKind::Document {
        // A page or a picture that is to be a document stays one.
        form = form.text("disable_content_type_detection", "true");
    }
    Ok((method, form))
}

fn group(
    outgoing: &Outgoing,
    files: &[BundledFile],
    caption: Option<WireText>,
) -> Result<(&'static str, Form), ApiFailure> {
    // People see the caption of an album's first picture, and that of the last document, as that of
    // all.
    let documents = files.iter().all(|shown| !matches!(shown.media, MediaKind::Photo | MediaKind::Video));
    let captioned = if documents { files.len() - 1 } else { 0 };
    let (mut form, mut media) = (Form::new(), Vec::new());
    for (n, shown) in files.iter().enumerate() {
        let name = format!("file{n}");
        let kind = match shown.media {
            MediaKind::Photo => "photo",
            MediaKind::Video => "video",
            MediaKind::Audio => "audio",
            MediaKind::Animation | MediaKind::Voice | MediaKind::Document => "document",
        };
        let mut item = json!({ "type": kind, "media": format!("attach://{name}") });
        if kind == "document" {
            item["disable_content_type_detection"] = true.into();
        }
        if let Some(WireText { text, mode }) = caption.as_ref().filter(|_| n == captioned) {
            item["caption"] = text.as_str().into();
            if mode.is_some() {
                item["parse_mode"] = "HTML".into();
            }
        }
        media.push(item);
        form = form.part(name, body(outgoing, shown)?);
    }
    Ok(("sendMediaGroup", form.text("media", Value::Array(media).to_string())))
}

/// The blob as a part of the request, read as it goes out.
fn body(outgoing: &Outgoing, shown: &BundledFile) -> Result<Part, ApiFailure> {
    let held = |error: std::io::Error| refusal(&format!("the file is not held any more ({error})"));
    let file = outgoing.file(&shown.file.sha256).map_err(held)?;
    let len = file.metadata().map_err(held)?.len();
    let part = Part::stream_with_length(Body::from(tokio::fs::File::from_std(file)), len)
        .file_name(shown.file.name.clone());
    part.mime_str(&shown.file.mime_type).map_err(|_| refusal("the file's type is unreadable"))
}

fn add_target(mut form: Form, target: ReplyTarget) -> Form {
    form = form.text("chat_id", target.chat.to_string());
    if let Some(thread) = target.thread {
        form = form.text("message_thread_id", thread.to_string());
    }
    if let Some(message) = target.reply_to {
        let reply = json!({ "message_id": message, "allow_sending_without_reply": true });
        form = form.text("reply_parameters", reply.to_string());
    }
    form
}

fn refusal(description: &str) -> ApiFailure {
    ApiFailure::Refused { code: 400, description: description.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::message::OutgoingAttachment;

    #[test]
    fn an_upload_may_take_what_its_length_takes() {
        let shown = |bytes| {
            let (sha256, name, mime_type) = ("ab".into(), "a".into(), "text/plain".into());
            BundledFile {
                media: MediaKind::Document,
                file: OutgoingAttachment { sha256, name, mime_type, bytes },
            }
        };
        let seconds = |sizes: &[u64]| {
            let files = sizes.iter().map(|bytes| shown(*bytes)).collect();
            FileBundle { caption: None, caption_spans: Vec::new(), files, refused: None }
                .upload_timeout()
                .as_secs()
        };
        assert_eq!((seconds(&[]), seconds(&[32 << 10]), seconds(&[1 << 20, 1 << 20])), (60, 61, 124));
        assert_eq!(seconds(&[CHANNEL_LIMITS.message_bytes_max]), 60 + 1525);
    }
}
