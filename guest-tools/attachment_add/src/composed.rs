//! The one file that a call brings with it. It refuses names that would not be shown as they are
//! given: the one who composed the file has composed the name, too.

use cofferdam_sdk::reply::{CONTENTS_BYTES_MAX, ReplyFile};
use cofferdam_sdk::text::has_deceptive;
use cofferdam_sdk::{ErrorCode, ToolError};

/// What the file holds, as the call gives it.
pub(crate) enum Content {
    Text(String),
    Base64(String),
}

impl Content {
    /// The one that is given, if any.
    ///
    /// # Errors
    /// When both are.
    pub(crate) fn of(text: Option<String>, base64: Option<String>) -> Result<Option<Self>, ToolError> {
        match (text, base64) {
            (Some(_), Some(_)) => Err(bad(
                "\"content\" and \"contentBase64\" are both given; one call brings one file, so give one of them",
            )),
            (Some(text), None) => Ok(Some(Self::Text(text))),
            (None, Some(text)) => Ok(Some(Self::Base64(text))),
            (None, None) => Ok(None),
        }
    }

    fn argument(&self) -> &'static str {
        match self {
            Self::Text(_) => "content",
            Self::Base64(_) => "contentBase64",
        }
    }

    fn bytes(self) -> Result<Vec<u8>, ToolError> {
        let length = match &self {
            Self::Text(text) => text.len(),
            // Before anything is decoded.
            Self::Base64(text) => base64_text::decoded_len(text),
        };
        if length > CONTENTS_BYTES_MAX {
            return Err(too_large(self.argument(), length));
        }
        let argument = self.argument();
        let bytes = match self {
            Self::Text(text) => text.into_bytes(),
            Self::Base64(text) => {
                let mut bytes = Vec::with_capacity(length);
                base64_text::decode(argument, &text, |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })?;
                bytes
            }
        };
        if bytes.is_empty() {
            return Err(bad(format!("\"{argument}\" is empty; there is nothing to send")));
        }
        Ok(bytes)
    }
}

/// The file of this content.
///
/// # Errors
/// `invalid_arguments` and `too_large`, with what to give instead.
pub(crate) fn composed(
    content: Content,
    name: Option<String>,
    mime_type: Option<String>,
) -> Result<ReplyFile, ToolError> {
    let name = name.unwrap_or_default();
    check_name(&name, content.argument())?;
    let file = ReplyFile::of_contents(name, content.bytes()?);
    Ok(ReplyFile { mime_type, ..file })
}

fn check_name(name: &str, argument: &str) -> Result<(), ToolError> {
    let said = if name.trim().is_empty() {
        format!("\"{argument}\" needs a \"filename\", the name that the user sees")
    } else if name.contains(['/', '\\']) {
        "\"filename\" names a folder; give the name alone, without slashes".to_owned()
    } else if has_deceptive(name) {
        "\"filename\" has control or invisible characters; give it without them".to_owned()
    } else {
        return Ok(());
    };
    Err(bad(format!("{said}, for example \"table.csv\"")))
}

fn too_large(argument: &str, length: usize) -> ToolError {
    let decoded = if argument == "content" { "" } else { " decoded" };
    let said = format!(
        "\"{argument}\" is {length} bytes{decoded}; a call brings at most {CONTENTS_BYTES_MAX} (1 MiB). Write it to \
         a file under /tmp, in parts, and send that by its \"path\"."
    );
    ToolError::new(ErrorCode::TooLarge, said)
}

/// A refusal of the arguments.
pub(crate) fn bad(said: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, said)
}

#[cfg(test)]
mod tests;
