//! The files that came with the user's message, in order. What is unavailable keeps its index and
//! says why; earlier messages' files are not here.

use std::io::{self, Read};

use crate::bindings::cofferdam::tool::turn_attachments::{self, Attachment};
use crate::bindings::wasi::io::streams::InputStream;
use crate::{ErrorCode, ToolError, stream};

pub use crate::bindings::cofferdam::tool::turn_attachments::{AttachmentInfo, list};

/// What is known of attachment `index`, whose bytes are there.
///
/// # Errors
/// `no_attachments`, `index_out_of_range` (names the count), `attachment_unavailable` (says why).
pub fn require(index: u64) -> Result<AttachmentInfo, ToolError> {
    pick(list(), index)
}

/// The bytes of attachment `index`, from the beginning.
///
/// # Errors
/// Those of [`require`].
pub fn open(index: u32) -> Result<AttachmentReader, ToolError> {
    let attachment = turn_attachments::open(index)?;
    Ok(AttachmentReader { body: attachment.body(), _attachment: attachment })
}

/// Reads an attachment; each `read` crosses to the host, so give it a buffer of some KiB.
#[derive(Debug)]
pub struct AttachmentReader {
    // Before the attachment, and so dropped first.
    body: InputStream,
    _attachment: Attachment,
}

impl Read for AttachmentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        stream::read(&self.body, buffer)
    }
}

fn pick(mut list: Vec<AttachmentInfo>, index: u64) -> Result<AttachmentInfo, ToolError> {
    let count = list.len();
    let Some(last) = count.checked_sub(1) else {
        return Err(ToolError::new(
            ErrorCode::NoAttachments,
            "No attachments came with this message, and those of earlier ones are not here. \
             attachment_download places those of the last message that had any; otherwise ask the user to \
             send the file again.",
        ));
    };
    let Some(position) = usize::try_from(index).ok().filter(|&position| position <= last) else {
        let came = match count {
            1 => "1 attachment came with this message: index 0".to_owned(),
            _ => format!("{count} attachments came with this message: index 0 to {last}"),
        };
        return Err(ToolError::new(
            ErrorCode::IndexOutOfRange,
            format!("There is no attachment {index}; {came}."),
        ));
    };
    let info = list.swap_remove(position);
    match &info.unavailable {
        Some(why) => Err(ToolError::new(
            ErrorCode::AttachmentUnavailable,
            format!("Attachment {index} is not available: {why}"),
        )),
        None => Ok(info),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(index: u32, unavailable: Option<&str>) -> AttachmentInfo {
        AttachmentInfo {
            index,
            name: None,
            mime_type: "image/jpeg".into(),
            size: 3,
            sha256: String::new(),
            unavailable: unavailable.map(Into::into),
        }
    }

    #[test]
    fn an_index_picks_one_or_says_what_to_do() {
        let check = |count: u32, index: u64, expected: Result<u32, (ErrorCode, &str)>| {
            let list = (0..count).map(|at| info(at, (at == 1).then_some("larger than 20 MiB"))).collect();
            match (pick(list, index), expected) {
                (Ok(got), Ok(wanted)) => assert_eq!(got.index, wanted),
                (Err(got), Err((code, part))) => {
                    assert_eq!(got.code, code);
                    assert!(got.message.contains(part), "{}", got.message);
                }
                (got, _) => panic!("attachment {index} of {count}: {got:?}"),
            }
        };
        check(3, 0, Ok(0));
        check(3, 2, Ok(2));
        check(3, 1, Err((ErrorCode::AttachmentUnavailable, "larger than 20 MiB")));
        check(3, 3, Err((ErrorCode::IndexOutOfRange, "3 attachments came with this message: index 0 to 2")));
        check(
            1,
            u64::MAX,
            Err((ErrorCode::IndexOutOfRange, "1 attachment came with this message: index 0.")),
        );
        check(0, 0, Err((ErrorCode::NoAttachments, "send the file again")));
        check(0, 0, Err((ErrorCode::NoAttachments, "attachment_download places")));
    }
}
