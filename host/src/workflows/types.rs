//! What attachments of workflows may be: by type, as their bytes tell, and how large.

use cofferdam_core::text::one_line;
use cofferdam_workflow::attachment::Kind;
use serde::Deserialize;

/// Bytes of one attachment when the configuration says nothing.
const BYTES_DEFAULT: u64 = 10_000_000;
/// No larger limit is taken.
const BYTES_CEILING: u64 = 1 << 30;

/// Limits on attachments of workflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one, local files included.
    pub max_bytes: u64,
    /// What each type may be.
    pub allowed: AllowedTypes,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: BYTES_DEFAULT, allowed: AllowedTypes::default() }
    }
}

/// Patterns of media types, by type of attachment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AllowedTypes {
    /// Of images.
    pub image: Vec<String>,
    /// Of sounds.
    pub audio: Vec<String>,
    /// Of films.
    pub video: Vec<String>,
    /// Of PDF files.
    pub pdf: Vec<String>,
    /// Of any files.
    pub file: Vec<String>,
}

impl Default for AllowedTypes {
    fn default() -> Self {
        let one = |pattern: &str| vec![pattern.to_owned()];
        Self {
            image: one("image/*"),
            audio: one("audio/*"),
            video: one("video/*"),
            pdf: one("application/pdf"),
            file: one("*/*"),
        }
    }
}

/// A pattern or limit that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

impl AllowedTypes {
    /// Each list with its key.
    pub fn lists(&self) -> [(&'static str, &[String]); 5] {
        [
            ("image", &self.image),
            ("audio", &self.audio),
            ("video", &self.video),
            ("pdf", &self.pdf),
            ("file", &self.file),
        ]
    }

    /// Refuses what is no pattern.
    ///
    /// # Errors
    /// The key, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, BadPattern)> {
        for (key, patterns) in self.lists() {
            for pattern in patterns {
                let is_any = key == "file" && pattern == "*/*";
                if !is_any && !is_pattern(pattern) {
                    let any = if key == "file" { " or \"*/*\"" } else { "" };
                    let said = format!(
                        "{:?} is no media type; write \"a/b\", \"a/*\"{any}, in small letters",
                        one_line(pattern, 80)
                    );
                    return Err((key, BadPattern(said)));
                }
            }
        }
        Ok(())
    }

    /// The patterns of a type.
    pub fn of(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::Image => &self.image,
            Kind::Audio => &self.audio,
            Kind::Video => &self.video,
            Kind::Pdf => &self.pdf,
            Kind::File | Kind::Url => &self.file,
        }
    }

    /// Whether a file of this detected type may be attached as this.
    pub fn allows(&self, kind: Kind, mime_type: &str) -> bool {
        self.of(kind).iter().any(|pattern| match pattern.strip_suffix('*') {
            Some("*/") => true,
            Some(prefix) => mime_type.starts_with(prefix),
            None => pattern == mime_type,
        })
    }
}

impl Limits {
    /// Refuses a size that is no limit.
    ///
    /// # Errors
    /// What to write.
    pub fn check_bytes(bytes: u64) -> Result<(), BadPattern> {
        match bytes {
            1..=BYTES_CEILING => Ok(()),
            _ => {
                Err(BadPattern(format!("max_download_size_bytes = {bytes} is not from 1 to {BYTES_CEILING}")))
            }
        }
    }
}

fn is_pattern(text: &str) -> bool {
    let plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'_');
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(plain);
    text.split_once('/').is_some_and(|(family, kind)| is_word(family) && (kind == "*" || is_word(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_refused_with_what_to_write() {
        for (key, pattern) in [
            ("image", "*/*"),
            ("image", "*"),
            ("pdf", "PDF"),
            ("file", "*/x"),
            ("audio", "audio/"),
            ("video", "a/b/c"),
        ] {
            let mut allowed = AllowedTypes::default();
            let list = match key {
                "image" => &mut allowed.image,
                "audio" => &mut allowed.audio,
                "video" => &mut allowed.video,
                "pdf" => &mut allowed.pdf,
                _ => &mut allowed.file,
            };
            *list = vec![pattern.to_owned()];
            let (found, error) = allowed.check().expect_err(pattern);
            assert!(found == key && error.to_string().contains("is no media type"), "{error}");
        }
        assert_eq!(AllowedTypes::default().check(), Ok(()));
    }

    #[test]
    fn the_detected_type_decides() {
        let allowed = AllowedTypes::default();
        for (kind, mime_type, may) in [
            (Kind::Image, "image/png", true),
            (Kind::Image, "text/plain", false),
            (Kind::Image, "imagex/png", false),
            (Kind::Pdf, "application/pdf", true),
            (Kind::Pdf, "application/zip", false),
            (Kind::File, "application/octet-stream", true),
            (Kind::Audio, "audio/ogg", true),
            (Kind::Video, "audio/ogg", false),
        ] {
            assert_eq!(allowed.allows(kind, mime_type), may, "{kind:?} {mime_type}");
        }
        for (bytes, sound) in [(0, false), (1, true), (1 << 30, true), ((1 << 30) + 1, false)] {
            assert_eq!(Limits::check_bytes(bytes).is_ok(), sound, "{bytes}");
        }
    }
}
