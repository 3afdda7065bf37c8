//! Files that come with a call: resources in its `_meta`, as the protocol writes them anywhere
//! else. They become the attachments of the call, under the same limits as a channel's.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cofferdam_core::text::one_line;
use cofferdam_warden::attachments::{Attachments, BlobStore, Config, DeclaredFile, Intake};
use rmcp::model::ErrorData;
use serde::Deserialize;
use serde_json::Value;

/// The key in `_meta`: a list of `{"uri", "mimeType"?, "name"?, "blob" | "text"}`.
pub const ATTACHMENTS_META_KEY: &str = "cofferdam/attachments";

/// Files of one call, or those of `[attachments] max_count` where that is more. As many are listed,
/// with a reason each where they are over a limit.
pub const CALL_FILES_MAX: usize = 64;

/// A resource with its bytes, as `resources/read` would answer it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: String,
    name: Option<String>,
    mime_type: Option<String>,
    blob: Option<String>,
    text: Option<String>,
}

/// Takes what the client sent with the call. May block.
///
/// # Errors
/// `-32602` where it is no list of resources, or one of too many; a file over a limit is listed
/// with its reason.
pub(crate) fn take(sent: Value, blobs: &BlobStore, config: &Config) -> Result<Attachments, ErrorData> {
    let most = usize::try_from(config.max_count).unwrap_or(usize::MAX).max(CALL_FILES_MAX);
    let count = sent.as_array().map_or(0, Vec::len);
    if count > most {
        let said = format!("{count} files are too many; a call brings at most {most}");
        return Err(invalid_resource(&said));
    }
    let resources: Vec<Resource> =
        serde_json::from_value(sent).map_err(|e| invalid_resource(&e.to_string()))?;
    let mut intake = Intake::new(blobs, config);
    for resource in resources {
        let Resource { uri, name, mime_type, blob, text } = resource;
        let bytes = match (blob, text) {
            (Some(blob), None) => BASE64_STANDARD
                .decode(blob)
                .map_err(|e| invalid_resource(&format!("{}: blob: {e}", one_line(&uri, 80))))?,
            (None, Some(text)) => text.into_bytes(),
            _ => return Err(invalid_resource(&format!("{}: give either blob or text", one_line(&uri, 80)))),
        };
        let name = name.or_else(|| name_of(&uri));
        let source = name.as_ref().map(|name| format!("mcp:{name}"));
        let declared = DeclaredFile { name, mime_type, size: Some(bytes.len() as u64), source };
        intake.read(declared, &mut bytes.as_slice());
    }
    Ok(intake.finish())
}

fn invalid_resource(said: &str) -> ErrorData {
    // The library repeats values of any length.
    let said = one_line(said, 300);
    let shape = r#"write [{"uri": "file:///a.txt", "mimeType": "text/plain", "blob": "BASE64"}]"#;
    ErrorData::invalid_params(format!("_meta[\"{ATTACHMENTS_META_KEY}\"]: {said}; {shape}"), None)
}

/// The last part of a URI's path.
fn name_of(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next()?;
    let name = path.rsplit('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_of_files_repeats_what_is_long() {
        let said = invalid_resource(&"x".repeat(100_000)).message;
        assert!(said.len() < 500, "{}", said.len());
    }
}
