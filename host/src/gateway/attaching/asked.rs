//! What is asked over the socket, and what is answered: one line of JSON each. The words of a
//! message and the contents of the files follow what is asked.

use cofferdam_core::limits::TimeSpan;
use cofferdam_core::message::SentMessage;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::attachments::outgoing::{OutgoingBytes, OutgoingFile};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, Read};
use std::time::Duration;

/// Bytes of what is asked, without words and files, and of what is answered.
pub const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Files of one command.
pub const FILES_MAX: usize = 100;
/// Bytes of the words of one message.
pub const SAY_TEXT_BYTES_MAX: u64 = 64 << 10;
/// The longest that a command waits until its message is out.
pub const SAY_PATIENCE_MAX: Duration = Duration::from_secs(3600);
/// Bytes of the key that names a message.
const KEY_BYTES_MAX: usize = 200;

/// What is asked: the contents of the files follow it, one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachRequest {
    /// The session whose request is meant.
    pub session: Option<String>,
    /// The request that is meant.
    pub request: Option<String>,
    /// The message that is to be sent, whose words come before the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<SayRequest>,
    /// The files, in order.
    pub files: Vec<AttachFile>,
}

/// A message of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SayRequest {
    /// `CHANNEL:USER`.
    pub to: String,
    /// The length of its words.
    pub text_bytes: u64,
    /// Names it: sent again under the same key to the same person it is the same message.
    pub key: Option<String>,
    /// How long it may take until it is out.
    pub patience_ms: u64,
}

/// One of the files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachFile {
    /// What the person sees.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

impl AttachFile {
    /// As it goes out, with its contents in this file.
    pub fn with_contents(self, file: File) -> OutgoingFile {
        let path = one_line(&self.name, 200);
        let body = OutgoingBytes::File { path, file, len: self.bytes };
        OutgoingFile { body, name: Some(self.name), mime_type: None }
    }
}

/// What is answered, on one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttachAnswer {
    /// All of them will go out with the reply.
    Added {
        /// As they will be sent: for each a `filename`, a `mimeType` and its `bytes`.
        attachments: Vec<Value>,
    },
    /// The message is out.
    Said(SentMessage),
    /// Nothing of it will happen, or it is not known yet.
    Refused {
        /// Why.
        error: ToolError,
    },
}

fn malformed(why: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, format!("what is asked: {why}"))
}

/// Reads what is asked, without what follows it.
///
/// # Errors
/// `invalid_arguments`.
pub(super) fn read_head(reader: &mut impl BufRead) -> Result<AttachRequest, ToolError> {
    let mut line = String::new();
    let read = reader.by_ref().take(HEAD_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| malformed(error.to_string()))?;
    let asked: AttachRequest = serde_json::from_str(&line).map_err(|error| malformed(error.to_string()))?;
    let aims =
        [asked.session.is_some(), asked.request.is_some(), asked.say.is_some()].into_iter().filter(|is| *is);
    if aims.count() != 1 {
        return Err(malformed("name a session, a request or a person".to_owned()));
    }
    match &asked.say {
        Some(say) => say.check(asked.files.len())?,
        None if asked.files.is_empty() => return Err(malformed(format!("name 1 to {FILES_MAX} files"))),
        None => {}
    }
    if asked.files.len() > FILES_MAX {
        return Err(malformed(format!("name at most {FILES_MAX} files")));
    }
    Ok(asked)
}

impl SayRequest {
    /// Whether such a message can be sent at all.
    ///
    /// # Errors
    /// `invalid_arguments`, or `too_large` for its words.
    pub fn check(&self, files: usize) -> Result<(), ToolError> {
        let invalid = |why: String| Err(ToolError::new(ErrorCode::InvalidArguments, why));
        if self.text_bytes == 0 && files == 0 {
            return invalid("a message needs words or files; give some".to_owned());
        }
        if self.text_bytes > SAY_TEXT_BYTES_MAX {
            let said = format!(
                "the words have {} bytes, and a message has at most {SAY_TEXT_BYTES_MAX}; send them as a file",
                self.text_bytes
            );
            return Err(ToolError::new(ErrorCode::TooLarge, said));
        }
        if self.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
            return invalid(format!("a key has 1 to {KEY_BYTES_MAX} bytes; give another one"));
        }
        if Duration::from_millis(self.patience_ms) > SAY_PATIENCE_MAX {
            return invalid(format!(
                "a message may take at most {}; give a shorter time",
                TimeSpan(SAY_PATIENCE_MAX)
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_bounded_and_names_one_place() {
        let file = r#"{"name":"a","bytes":1}"#;
        let many = vec![file; FILES_MAX + 1].join(",");
        let long = "x".repeat(usize::try_from(HEAD_BYTES_MAX).expect("small"));
        for (head, sound) in [
            (format!(r#"{{"session":"s","request":null,"files":[{file}]}}"#), true),
            (format!(r#"{{"session":null,"request":"r","files":[{file}]}}"#), true),
            (format!(r#"{{"session":"s","request":"r","files":[{file}]}}"#), false),
            (format!(r#"{{"session":null,"request":null,"files":[{file}]}}"#), false),
            (r#"{"session":"s","request":null,"files":[]}"#.to_owned(), false),
            (format!(r#"{{"session":"s","request":null,"files":[{many}]}}"#), false),
            (format!(r#"{{"session":"{long}","request":null,"files":[{file}]}}"#), false),
            (format!(r#"{{"session":"s","request":null,"files":[{file}],"more":1}}"#), false),
            (String::new(), false),
        ] {
            let read = read_head(&mut (head + "\nrest").as_bytes());
            assert_eq!(read.is_ok(), sound, "{read:?}");
        }
    }

    #[test]
    fn a_message_is_bounded() {
        let patience = u64::try_from(SAY_PATIENCE_MAX.as_millis()).expect("small");
        let sound = SayRequest { to: "telegram:1".into(), text_bytes: 1, key: None, patience_ms: patience };
        let code = |say: &SayRequest, files: usize| say.check(files).err().map(|error| error.code);
        assert_eq!(code(&sound, 0), None);
        assert_eq!(code(&SayRequest { text_bytes: 0, ..sound.clone() }, 1), None);
        let bad = Some(ErrorCode::InvalidArguments);
        assert_eq!(code(&SayRequest { text_bytes: 0, ..sound.clone() }, 0), bad);
        assert_eq!(
            code(&SayRequest { text_bytes: SAY_TEXT_BYTES_MAX + 1, ..sound.clone() }, 0),
            Some(ErrorCode::TooLarge)
        );
        assert_eq!(code(&SayRequest { patience_ms: patience + 1, ..sound.clone() }, 0), bad);
        assert_eq!(code(&SayRequest { key: Some("k".repeat(KEY_BYTES_MAX + 1)), ..sound.clone() }, 0), bad);
        assert_eq!(code(&SayRequest { key: Some(String::new()), ..sound.clone() }, 0), bad);
        let late = SayRequest { patience_ms: patience + 1, ..sound }.check(0).expect_err("refused");
        assert_eq!(late.message, "a message may take at most 1h; give a shorter time");
    }
}
