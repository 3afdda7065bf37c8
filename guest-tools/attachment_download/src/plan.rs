//! Which file goes where: pure. All attachments or none, equal ones once, and no two under one
//! name.

use crate::name::extension;
use cofferdam_sdk::recent::RecentAttachment;
use cofferdam_sdk::{ErrorCode, ToolError};

/// A file and the path that its content gives it.
#[derive(Debug)]
pub(crate) struct Placing {
    pub(crate) path: String,
    pub(crate) sha10: String,
    pub(crate) source: RecentAttachment,
}

/// Where each file of the message goes, in order.
///
/// # Errors
/// `no_attachments`; `attachment_unavailable`, naming the first one whose bytes are not there;
/// `already_exists` when two contents share their first ten digits.
pub(crate) fn plan(dir: &str, attachments: Vec<RecentAttachment>) -> Result<Vec<Placing>, ToolError> {
    if attachments.is_empty() {
        return Err(ToolError::new(
            ErrorCode::NoAttachments,
            "No message of the user in this conversation has attachments. Ask for the file to be sent.",
        ));
    }
    if let Some((info, why)) = attachments.iter().find_map(|a| Some((&a.info, a.info.unavailable.as_ref()?)))
    {
        let name = info.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        return Err(ToolError::new(
            ErrorCode::AttachmentUnavailable,
            format!("Attachment {}{name} is not available, so nothing was written: {why}", info.index),
        ));
    }
    let mut placings: Vec<Placing> = Vec::new();
    for source in attachments {
        let info = &source.info;
        let sha10 = info.sha256.get(..10).unwrap_or(&info.sha256).to_owned();
        if let Some(earlier) = placings.iter().find(|placing| placing.sha10 == sha10) {
            if earlier.source.info.sha256 == info.sha256 {
                continue;
            }
            return Err(ToolError::new(
                ErrorCode::AlreadyExists,
                format!(
                    "Attachments {} and {} differ, but their SHA-256 begin alike ({sha10}), so they would share \
                     a name; nothing was written. Save them one by one with attachment_save.",
                    earlier.source.info.index, info.index
                ),
            ));
        }
        let extension = extension(&info.mime_type, info.name.as_deref(), &source.source_url);
        let path = match extension {
            Some(extension) => format!("{dir}/{sha10}.{extension}"),
            None => format!("{dir}/{sha10}"),
        };
        placings.push(Placing { path, sha10, source });
    }
    Ok(placings)
}

#[cfg(test)]
mod tests;
