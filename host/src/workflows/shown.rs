//! What an agent is shown of its attachments: bytes taken in, one line for each in order, and the
//! parts in order.

use super::files::LocalFile;
use super::gather::{ByteSource, GatheredAttachment};
use super::types::AttachmentLimits;
use cofferdam_agent::llm::PARTS_BYTES_MAX;
use cofferdam_agent::turn::TaskAttachments;
use cofferdam_core::attachment::matches_type;
use cofferdam_core::audit::WorkflowAttachment;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::attachments::{Attachment, Attachments, BlobStore, Config, DeclaredFile, Intake};
use cofferdam_workflow::attachment::{Kind, Url};
use serde_json::json;
use std::io::{Read, Seek};

/// Bytes of a text that is shown as text; a longer one is listed alone.
pub const TEXT_BYTES_MAX: u64 = 256 << 10;

/// What an agent is shown.
pub(super) struct AgentView {
    /// For its tools.
    pub attachments: Attachments,
    /// One line of JSON for each; none without any.
    pub list: Option<String>,
    /// The parts, in order.
    pub shown: Vec<TaskAttachments>,
    /// For the audit.
    pub audited: Vec<WorkflowAttachment>,
}

/// What decides how attachments are shown.
pub(super) struct AttachmentViewer<'a> {
    /// Where bytes are held.
    pub blobs: &'a BlobStore,
    /// What attachments may be.
    pub limits: &'a AttachmentLimits,
    /// Media types that the model takes.
    pub accepts: &'a [String],
}

impl AttachmentViewer<'_> {
    /// Takes everything in and decides how it is shown.
    ///
    /// # Errors
    /// The first [`ToolError`]: of a task everything is shown, or nothing is asked.
    pub(super) fn view(&self, gathered: &mut [GatheredAttachment]) -> Result<AgentView, ToolError> {
        let max_bytes = ByteSize(self.limits.max_bytes);
        let limits = Config { max_bytes, max_turn_bytes: ByteSize(u64::MAX), max_count: u32::MAX };
        let mut intake = Intake::new(self.blobs, &limits);
        for one in gathered.iter_mut() {
            take(one, &mut intake);
        }
        let attachments = intake.finish();
        let (mut lines, mut shown, mut audited) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = PARTS_BYTES_MAX;
        for (one, attachment) in gathered.iter().zip(attachments.iter()) {
            let kind = match &one.bytes {
                ByteSource::Local(kind, _) | ByteSource::At(kind, _) | ByteSource::Downloaded(kind, ..) => {
                    *kind
                }
                ByteSource::ToDownload(..) | ByteSource::Unknown { .. } => return Err(lost_problem(one)),
            };
            lines.push(line(one, kind, attachment));
            audited.push(audit_record(one, kind, attachment));
            shown.extend(self.part(one, kind, attachment, &mut left)?);
        }
        let list = (!lines.is_empty()).then(|| lines.join("\n"));
        Ok(AgentView { attachments, list, shown, audited })
    }

    /// The part of one attachment; none where the list alone tells of it.
    fn part(
        &self,
        one: &GatheredAttachment,
        kind: Kind,
        attachment: &Attachment,
        left: &mut u64,
    ) -> Result<Option<TaskAttachments>, ToolError> {
        let shown = format!("`{}`", one_line(&one.redacted_source(), 200));
        if let ByteSource::At(_, url) = &one.bytes {
            return match kind {
                Kind::Image if !self.accepts.iter().any(|pattern| pattern.starts_with("image/")) => {
                    Err(self.not_accepted_problem(&shown, "an image"))
                }
                Kind::Image => Ok(Some(TaskAttachments::ImageAt(url.as_written().to_owned()))),
                _ => Ok(None),
            };
        }
        let Some(blob) = &attachment.blob else {
            let why = attachment.info.unavailable.as_deref().unwrap_or("its bytes are not there");
            let code = if why.starts_with("too large") {
                ErrorCode::TooLarge
            } else {
                ErrorCode::AttachmentUnavailable
            };
            return Err(ToolError { code, message: format!("{shown}: {why}") });
        };
        // Who may write to it may have changed it since it was gathered: what counts are the bytes
        // that were taken in.
        if matches!(one.bytes, ByteSource::Local(..)) {
            self.limits.check_type(kind, &attachment.info.mime_type, &shown)?;
        }
        match kind {
            Kind::Image | Kind::Pdf => {
                let mime_type = &attachment.info.mime_type;
                if !self.accepts.iter().any(|pattern| matches_type(pattern, mime_type)) {
                    return Err(self.not_accepted_problem(&shown, mime_type));
                }
                *left = left.checked_sub(blob.len()).ok_or_else(|| ToolError {
                    code: ErrorCode::TooLarge,
                    message: format!(
                        "{shown}: with it the model would be shown more than {PARTS_BYTES_MAX} bytes; show less in one task"
                    ),
                })?;
                Ok(Some(TaskAttachments::Attachment(attachment.info.index)))
            }
            Kind::File if blob.len() <= TEXT_BYTES_MAX => {
                let mut bytes = Vec::new();
                let read = blob.reader().read_to_end(&mut bytes);
                read.map_err(|error| ToolError {
                    code: ErrorCode::AttachmentUnavailable,
                    message: format!("{shown} cannot be read: {error}"),
                })?;
                let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
                let index = attachment.info.index;
                Ok(text
                    .map(|text| TaskAttachments::Text(json!({ "index": index, "text": text }).to_string())))
            }
            Kind::File | Kind::Video | Kind::Audio | Kind::Url => Ok(None),
        }
    }

    fn not_accepted_problem(&self, shown: &str, what: &str) -> ToolError {
        let accepts = if self.accepts.is_empty() { "nothing".to_owned() } else { self.accepts.join(", ") };
        let message = format!(
            "{shown} is {what}, and [provider] accepts names {accepts}; add it there where the model takes it, or attach it \
             as a file"
        );
        ToolError { code: ErrorCode::AttachmentUnavailable, message }
    }
}

fn take(one: &mut GatheredAttachment, intake: &mut Intake) {
    let source = Some(one.redacted_source());
    let mut declared = DeclaredFile { name: one.name.clone(), mime_type: None, size: None, source };
    match &mut one.bytes {
        ByteSource::Local(_, LocalFile { file, bytes, .. }) => {
            let file_name = one.shown.rsplit('/').next().map(str::to_owned);
            declared.name = declared.name.or(file_name.clone());
            declared.source = file_name.map(|name| format!("file:{name}"));
            declared.size = Some(*bytes);
            // Telling its type has read some of it.
            match file.rewind() {
                Ok(()) => intake.read(declared, file),
                Err(error) => intake.refuse(declared, &format!("it could not be read ({error})")),
            }
        }
        ByteSource::Downloaded(_, _, blob) => {
            declared.size = Some(blob.len());
            intake.read(declared, &mut blob.reader());
        }
        ByteSource::At(..) | ByteSource::ToDownload(..) | ByteSource::Unknown { .. } => {
            intake.refuse(declared, "it is known by its address alone");
        }
    }
}

/// What is known of one, for the model.
fn line(one: &GatheredAttachment, kind: Kind, attachment: &Attachment) -> String {
    let info = &attachment.info;
    let mut line = json!({ "index": info.index, "type": kind.name() });
    if let Some(name) = &one.name {
        line["name"] = name.clone().into();
    }
    if attachment.blob.is_some() {
        line["mime_type"] = info.mime_type.clone().into();
        line["bytes"] = info.size.into();
    }
    if let Some(url) = one.bytes.url() {
        line["url"] = url.as_written().into();
    }
    if let Some(meta) = &one.meta {
        line["meta"] = meta.clone().into();
    }
    line.to_string()
}

fn audit_record(one: &GatheredAttachment, kind: Kind, attachment: &Attachment) -> WorkflowAttachment {
    let info = &attachment.info;
    let has_bytes = attachment.blob.is_some();
    WorkflowAttachment {
        r#type: kind.name().to_owned(),
        path: one.bytes.url().is_none().then(|| one_line(&one.shown, 400)),
        url: one.bytes.url().map(|url| one_line(&url.redacted(), 400)),
        mime_type: has_bytes.then(|| info.mime_type.clone()),
        bytes: has_bytes.then_some(info.size),
        sha256: has_bytes.then(|| info.sha256.clone()),
    }
}

fn lost_problem(one: &GatheredAttachment) -> ToolError {
    let message = format!("`{}` is not there", one_line(&one.shown, 200));
    ToolError { code: ErrorCode::AttachmentUnavailable, message }
}

impl GatheredAttachment {
    /// Its path, or its address without user and query.
    pub fn redacted_source(&self) -> String {
        self.bytes.url().map_or_else(|| self.shown.clone(), Url::redacted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_workflow::attachment::DeclaringScope;
    use std::fs::{self, File};

    #[test]
    fn a_local_file_that_has_become_another_type_is_not_shown() {
        let dir = tempfile::tempdir().expect("a folder");
        let blobs = BlobStore::open(&dir.path().join("blobs")).expect("it opens");
        let (path, limits) = (dir.path().join("a.pdf"), AttachmentLimits::default());
        // The model takes both, so that is not why.
        let accepts = ["application/pdf".to_owned(), "text/*".to_owned()];
        let viewer = AttachmentViewer { blobs: &blobs, limits: &limits, accepts: &accepts };
        let pdf: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
        let words = "just words ".repeat(8);
        let view = |kind: Kind, becomes: &[u8]| {
            fs::write(&path, pdf).expect("writable");
            let file = File::open(&path).expect("readable");
            fs::write(&path, becomes).expect("writable");
            let local = LocalFile { file, bytes: pdf.len() as u64, real: path.clone() };
            let one = GatheredAttachment {
                kind: kind.name().to_owned(),
                bytes: ByteSource::Local(kind, local),
                shown: "a.pdf".to_owned(),
                name: None,
                meta: None,
                mime_type: Some("application/pdf".to_owned()),
                scopes: vec![DeclaringScope::Task],
            };
            viewer.view(&mut [one]).map(|view| view.audited.len())
        };
        assert_eq!(view(Kind::Pdf, pdf), Ok(1));
        assert_eq!(view(Kind::File, words.as_bytes()), Ok(1), "a file may be anything");
        let refused = view(Kind::Pdf, words.as_bytes()).expect_err("another type");
        assert_eq!(refused.code, ErrorCode::AttachmentUnavailable);
        assert!(
            refused.message.starts_with("`a.pdf` is text/plain, and an attachment of type pdf"),
            "{refused}"
        );
    }
}
