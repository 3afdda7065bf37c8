//! A turn's attachments in order. Cloning costs nothing; the way to the bytes is the index alone.

use super::blob::Blob;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// One attachment: what is known of it, and its bytes unless they could not be had.
#[derive(Clone)]
pub struct Attachment {
    /// What is known.
    pub info: AttachmentInfo,
    /// The bytes; absent exactly when `info.unavailable` says why.
    pub blob: Option<Blob>,
}

/// The attachments of one turn; empty when there are none.
#[derive(Clone, Default)]
pub struct Attachments(Arc<[Attachment]>);

impl Attachments {
    /// What is known of each, in order.
    pub fn infos(&self) -> Vec<AttachmentInfo> {
        self.0.iter().map(|attachment| attachment.info.clone()).collect()
    }

    /// These and then `more`, whose indices go on from here: the whole list, and `more` as they are
    /// in it.
    pub fn extend_with(&self, more: &Self) -> (Self, Self) {
        let first = self.len();
        let moved = more.iter().cloned().enumerate().map(|(n, mut attachment)| {
            attachment.info.index = u32::try_from(first + n).unwrap_or(u32::MAX);
            attachment
        });
        let moved: Vec<_> = moved.collect();
        ([&self[..], &moved[..]].concat().into(), moved.into())
    }

    /// The bytes of attachment `index`.
    ///
    /// # Errors
    /// `no_attachments`, `index_out_of_range` (naming the count), `attachment_unavailable` (saying
    /// why).
    pub fn get(&self, index: u32) -> Result<(&AttachmentInfo, &Blob), ToolError> {
        let count = self.len();
        if count == 0 {
            let message = "this message came without attachments; ask for one to be sent with the message, \
                           or for a reply to the message that has it";
            return Err(ToolError::new(ErrorCode::NoAttachments, message));
        }
        let found = usize::try_from(index).ok().and_then(|i| self.0.get(i));
        let Some(Attachment { info, blob }) = found else {
            let there = match count {
                1 => "1 attachment, index 0".to_owned(),
                _ => format!("{count} attachments, index 0 to {}", count - 1),
            };
            let message = format!("there is no attachment {index}: this message came with {there}");
            return Err(ToolError::new(ErrorCode::IndexOutOfRange, message));
        };
        blob.as_ref().map(|blob| (info, blob)).ok_or_else(|| {
            let reason = info.unavailable.as_deref().unwrap_or("its bytes are not there");
            let message = format!("attachment {index} is unavailable: {reason}");
            ToolError::new(ErrorCode::AttachmentUnavailable, message)
        })
    }
}

/// In order, unavailable ones included.
impl Deref for Attachments {
    type Target = [Attachment];

    fn deref(&self) -> &[Attachment] {
        &self.0
    }
}

impl From<Vec<Attachment>> for Attachments {
    fn from(attachments: Vec<Attachment>) -> Self {
        Self(attachments.into())
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({}, {:?})", self.info.index, self.blob)
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let available = self.0.iter().filter(|a| a.blob.is_some()).count();
        write!(f, "Attachments({}, {available} available)", self.len())
    }
}
