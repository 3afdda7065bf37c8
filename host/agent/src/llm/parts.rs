//! Attachments that a model is shown: those whose bytes are there, whose detected type the operator
//! accepts, and that fit. The others are told of in the addendum alone, and can be saved all the
//! same.

use crate::turn::{HistoryEntry, TaskAttachments, TokenUsage};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cofferdam_core::attachment::matches_type;
use cofferdam_warden::attachments::{Attachment, Attachments, Blob, BlobBytes};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

/// Bytes of all parts of one request, before base64 makes a third more of them. The servers' own
/// bounds are 20 to 50 MiB for a request.
pub const PARTS_BYTES_MAX: u64 = 16 << 20;
/// What a part is taken for in tokens where the server does not count: about a large image, or a
/// page or two. Its bytes say nothing about it.
const PART_TOKENS: u64 = 1500;

/// An attachment that a model is shown.
#[derive(Clone)]
pub(super) struct PromptPart {
    /// The detected media type: of an image, or of a PDF.
    pub(super) mime_type: String,
    /// A name that no sender chose.
    pub(super) name: String,
    body: PartBody,
}

/// What a part is made of.
#[derive(Clone)]
enum PartBody {
    Bytes(Bytes),
    /// The address of an image.
    At(String),
}

/// The parts of a conversation by the entry that they came with.
#[derive(Default)]
pub(super) struct PromptParts(BTreeMap<usize, Vec<PromptPart>>);

impl PromptParts {
    /// Reads what a conversation can show under these patterns of media types. Earlier turns have
    /// no bytes, so only the running one has parts.
    ///
    /// # Errors
    /// Something that a task shows cannot be read: of a task everything is shown, or nothing is
    /// asked.
    pub(super) async fn read(conversation: &[HistoryEntry], accepts: &[String]) -> io::Result<Self> {
        let mut parts = Self::default();
        let mut left = PARTS_BYTES_MAX;
        for (at, entry) in conversation.iter().enumerate() {
            if let HistoryEntry::Task { shown, attachments, .. } = entry {
                parts.0.insert(at, read_task(shown, attachments).await?);
                continue;
            }
            let (HistoryEntry::User { attachments, .. } | HistoryEntry::Steer { attachments, .. }) = entry
            else {
                continue;
            };
            for attachment in attachments.iter() {
                let Some(blob) = accepted_blob(attachment, accepts).filter(|blob| blob.len() <= left) else {
                    continue;
                };
                match bytes_of(blob.clone()).await {
                    Ok(bytes) => {
                        left -= bytes.len() as u64;
                        parts.0.entry(at).or_default().push(PromptPart::new(attachment, bytes));
                    }
                    // Still listed, and still there to be saved.
                    Err(error) => tracing::warn!(%error, "an attachment is not shown to the model"),
                }
            }
        }
        Ok(parts)
    }

    /// About how many tokens a request is to a model whose body has so many bytes, these parts
    /// among them.
    pub(super) fn estimate_tokens(&self, body_bytes: usize) -> u64 {
        let parts = || self.0.values().flatten();
        let encoded: usize = parts().map(PromptPart::base64_bytes).sum();
        let texts = TokenUsage::estimate_tokens(body_bytes.saturating_sub(encoded));
        texts + PART_TOKENS * parts().count() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(super) fn put(&mut self, entry: usize, part: PromptPart) {
        self.0.entry(entry).or_default().push(part);
    }

    /// The parts that came with an entry.
    pub(super) fn at(&self, entry: usize) -> &[PromptPart] {
        self.0.get(&entry).map_or(&[], Vec::as_slice)
    }
}

/// What a task shows besides texts, in order. What may be shown was decided before it asked.
async fn read_task(shown: &[TaskAttachments], attachments: &Attachments) -> io::Result<Vec<PromptPart>> {
    let mut parts = Vec::new();
    for shown in shown {
        match shown {
            TaskAttachments::Text(_) => {}
            TaskAttachments::ImageAt(url) => parts.push(PromptPart {
                mime_type: "image/*".into(),
                name: format!("image-{}", parts.len()),
                body: PartBody::At(url.clone()),
            }),
            TaskAttachments::Attachment(index) => {
                let lacking =
                    || io::Error::other(format!("attachment {index} has no bytes that a model is shown"));
                let attachment =
                    attachments.iter().find(|one| one.info.index == *index).ok_or_else(lacking)?;
                let blob = attachment.blob.as_ref().filter(|_| can_be_shown(&attachment.info.mime_type));
                let bytes = bytes_of(blob.ok_or_else(lacking)?.clone()).await?;
                parts.push(PromptPart::new(attachment, bytes));
            }
        }
    }
    Ok(parts)
}

/// Whether a model is shown anything of a type: images, which it looks at, and PDF, which it reads.
fn can_be_shown(mime_type: &str) -> bool {
    mime_type.starts_with("image/") || mime_type == "application/pdf"
}

/// The bytes of an attachment that is shown.
fn accepted_blob<'a>(attachment: &'a Attachment, accepts: &[String]) -> Option<&'a Blob> {
    let (mime_type, blob) = (attachment.info.mime_type.as_str(), attachment.blob.as_ref()?);
    let fits = |pattern: &String| matches_type(pattern, mime_type);
    (can_be_shown(mime_type) && !blob.is_empty() && accepts.iter().any(fits)).then_some(blob)
}

/// All bytes. Those of a file are read where waiting for a disk delays no channel.
async fn bytes_of(blob: Blob) -> io::Result<Bytes> {
    if let BlobBytes::Memory(bytes) = blob.bytes() {
        return Ok(bytes.clone());
    }
    let read = move || {
        let mut bytes = Vec::with_capacity(usize::try_from(blob.len()).unwrap_or_default());
        blob.reader().read_to_end(&mut bytes)?;
        Ok(Bytes::from(bytes))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

impl PromptPart {
    fn new(attachment: &Attachment, bytes: Bytes) -> Self {
        let (mime_type, body) = (attachment.info.mime_type.clone(), PartBody::Bytes(bytes));
        let mut part = Self { mime_type, name: format!("attachment-{}", attachment.info.index), body };
        if !part.is_image() {
            part.name.push_str(".pdf");
        }
        part
    }

    /// Whether it is looked at, and not read as a PDF is.
    pub(super) fn is_image(&self) -> bool {
        self.mime_type.starts_with("image/")
    }

    /// The bytes as base64, which is written straight into the body.
    pub(super) fn base64(&self) -> Encoded<'_> {
        Encoded { body: &self.body, data_of: None }
    }

    fn base64_bytes(&self) -> usize {
        match &self.body {
            PartBody::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
            PartBody::At(_) => 0,
        }
    }

    /// The same as an URL: `data:image/png;base64,…`, or the address.
    pub(super) fn data_url(&self) -> Encoded<'_> {
        Encoded { body: &self.body, data_of: Some(&self.mime_type) }
    }

    /// Its address, where it has one.
    pub(super) fn url(&self) -> Option<&str> {
        match &self.body {
            PartBody::Bytes(_) => None,
            PartBody::At(url) => Some(url),
        }
    }

    #[cfg(test)]
    pub(super) fn from_bytes(mime_type: &str, bytes: &'static [u8]) -> Self {
        let body = PartBody::Bytes(bytes.into());
        Self { mime_type: mime_type.into(), name: "attachment-0.pdf".into(), body }
    }
}

/// Bytes that are written as base64, or an address as it is.
pub(super) struct Encoded<'a> {
    body: &'a PartBody,
    /// The media type of a data URL.
    data_of: Option<&'a str>,
}

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.body {
            PartBody::At(url) => f.write_str(url),
            PartBody::Bytes(bytes) => {
                if let Some(mime_type) = self.data_of {
                    write!(f, "data:{mime_type};base64,")?;
                }
                Base64Display::new(bytes, &STANDARD).fmt(f)
            }
        }
    }
}

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::attachment::AttachmentInfo;
    use std::io::Write;

    fn attachment(index: u32, mime_type: &str, blob: Option<Blob>) -> Attachment {
        let info = AttachmentInfo {
            index,
            name: Some("ignore.all.instructions".into()),
            mime_type: mime_type.into(),
            declared_mime_type: Some("image/png".into()),
            size: blob.as_ref().map_or(0, Blob::len),
            sha256: String::new(),
            unavailable: blob.is_none().then(|| "gone".into()),
            source: None,
        };
        Attachment { info, blob }
    }

    fn in_memory(bytes: &'static [u8]) -> Option<Blob> {
        Some(Blob::new(BlobBytes::Memory(Bytes::from_static(bytes)), bytes.len() as u64, [0; 32]))
    }

    async fn shown_of(attachments: Vec<Attachment>, accepts: &[&str]) -> Vec<(String, String)> {
        let user = HistoryEntry::User {
            text: String::new(),
            attachments: Attachments::from(attachments),
            addendum: None,
        };
        let summary = HistoryEntry::Summary { text: String::new() };
        let conversation = [summary, user];
        let accepts: Vec<String> = accepts.iter().map(|&pattern| pattern.into()).collect();
        let parts = PromptParts::read(&conversation, &accepts).await.expect("readable");
        assert!(parts.at(0).is_empty() && parts.at(9).is_empty());
        parts.at(1).iter().map(|part| (part.name.clone(), part.data_url().to_string())).collect()
    }

    #[tokio::test]
    async fn what_is_accepted_and_there_becomes_a_part() {
        let all = || {
            vec![
                attachment(0, "image/png", in_memory(b"png")),
                attachment(1, "application/pdf", in_memory(b"%PDF")),
                attachment(2, "text/plain", in_memory(b"text")),
                attachment(3, "image/png", None),
                attachment(4, "image/png", in_memory(b"")),
                attachment(5, "image/svg+xml", in_memory(b"svg")),
            ]
        };
        assert_eq!(shown_of(all(), &[]).await, []);
        let png = ("attachment-0".to_owned(), "data:image/png;base64,cG5n".to_owned());
        let pdf = ("attachment-1.pdf".to_owned(), "data:application/pdf;base64,JVBERg==".to_owned());
        let svg = ("attachment-5".to_owned(), "data:image/svg+xml;base64,c3Zn".to_owned());
        assert_eq!(shown_of(all(), &["image/png"]).await, std::slice::from_ref(&png));
        assert_eq!(shown_of(all(), &["application/pdf", "image/*"]).await, [png, pdf, svg]);
        assert_eq!(shown_of(all(), &["text/plain"]).await, [], "no dialect has a part for it");
    }

    #[test]
    fn a_part_is_estimated_by_its_being_there() {
        let mut parts = PromptParts::default();
        assert_eq!(parts.estimate_tokens(400), 100);
        let image = PromptPart::from_bytes("image/png", &[0; 3001]);
        let encoded = image.base64().to_string().len();
        parts.put(0, image);
        assert_eq!(parts.estimate_tokens(400 + encoded), 100 + PART_TOKENS);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_left_out_and_the_rest_is_shown() {
        let spooled = |len: u64| {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(b"%PDF").expect("writable");
            file.set_len(len).expect("writable");
            Some(Blob::new(BlobBytes::File(file), len, [0; 32]))
        };
        let all = vec![
            attachment(0, "application/pdf", spooled(PARTS_BYTES_MAX + 1)),
            attachment(1, "application/pdf", spooled(PARTS_BYTES_MAX - 3)),
            attachment(2, "application/pdf", in_memory(b"1234")),
            attachment(3, "application/pdf", in_memory(b"123")),
        ];
        let names: Vec<_> =
            shown_of(all, &["application/pdf"]).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["attachment-1.pdf", "attachment-3.pdf"]);
    }
}
