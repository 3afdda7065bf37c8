//! What attachments of workflows may be: by type, as their bytes tell, how large, and from where
//! they are downloaded.

use cofferdam_core::attachment::matches_type;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::text::one_line;
use cofferdam_egress::HostPort;
use cofferdam_workflow::attachment::Kind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes of one attachment when the configuration says nothing.
const BYTES_DEFAULT: u64 = 10_000_000;
/// No larger limit is taken.
const BYTES_CEILING: u64 = 1 << 30;
/// Of one download when the configuration says nothing, and the least and most that is taken.
const TIMEOUT_DEFAULT: TimeSpan = TimeSpan::seconds(30);
const TIMEOUT_LEAST: TimeSpan = TimeSpan(Duration::from_millis(1));
const TIMEOUT_CEILING: TimeSpan = TimeSpan::seconds(600);
/// Redirects of one download when the configuration says nothing, and the most that is taken.
const REDIRECTS_DEFAULT: u32 = 3;
const REDIRECTS_CEILING: u32 = 20;

/// Limits on attachments of workflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// Bytes of one, local files included.
    pub max_bytes: u64,
    /// What each type may be.
    pub allowed: AllowedTypes,
    /// One download, from its first look-up to its last byte.
    pub download_timeout: TimeSpan,
    /// Redirects that one download follows.
    pub max_redirects: u32,
    /// All downloads that a run has at once.
    pub temp_dir_quota_bytes: Option<u64>,
    /// Hosts that may be private, and plain http.
    pub private_hosts: Vec<HostPort>,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        Self {
            max_bytes: BYTES_DEFAULT,
            allowed: AllowedTypes::default(),
            download_timeout: TIMEOUT_DEFAULT,
            max_redirects: REDIRECTS_DEFAULT,
            temp_dir_quota_bytes: None,
            private_hosts: Vec::new(),
        }
    }
}

/// Patterns of media types, by type of attachment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
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

impl AllowedTypes {
    /// Refuses what is no pattern.
    ///
    /// # Errors
    /// The key, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        for kind in [Kind::Image, Kind::Audio, Kind::Video, Kind::Pdf, Kind::File] {
            let key = kind.name();
            for pattern in self.patterns(kind) {
                let is_any = key == "file" && pattern == "*/*";
                if !is_any && !is_pattern(pattern) {
                    let any = if key == "file" { " or \"*/*\"" } else { "" };
                    let said = format!(
                        "{:?} is no media type; write \"a/b\", \"a/*\"{any}, in small letters",
                        one_line(pattern, 80)
                    );
                    return Err((key, said));
                }
            }
        }
        Ok(())
    }

    /// The patterns of a type.
    pub fn patterns(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::Image => &self.image,
            Kind::Audio => &self.audio,
            Kind::Video => &self.video,
            Kind::Pdf => &self.pdf,
            Kind::File | Kind::Url => &self.file,
        }
    }

    /// Whether a file of this detected type may be attached as this.
    pub fn is_allowed(&self, kind: Kind, mime_type: &str) -> bool {
        self.patterns(kind).iter().any(|pattern| pattern == "*/*" || matches_type(pattern, mime_type))
    }
}

impl AttachmentLimits {
    /// Refuses what is no limit.
    ///
    /// # Errors
    /// The key below `[attachments]`, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let refuse = |key: &str, why: String| Err((key.to_owned(), format!("{key} = {why}")));
        let (bytes, timeout, redirects) = (self.max_bytes, self.download_timeout, self.max_redirects);
        if !(1..=BYTES_CEILING).contains(&bytes) {
            return refuse("max_download_size_bytes", format!("{bytes} is not from 1 to {BYTES_CEILING}"));
        }
        if timeout < TIMEOUT_LEAST || timeout > TIMEOUT_CEILING {
            return refuse("download_timeout", format!("\"{timeout}\" is not from 1ms to {TIMEOUT_CEILING}"));
        }
        if redirects > REDIRECTS_CEILING {
            return refuse("max_redirects", format!("{redirects} is not from 0 to {REDIRECTS_CEILING}"));
        }
        if let Some(quota) = self.temp_dir_quota_bytes.filter(|quota| *quota < bytes) {
            let why = format!("{quota} is less than max_download_size_bytes = {bytes}");
            return refuse("temp_dir_quota_bytes", why);
        }
        let refused =
            |(kind, said): (&str, String)| (format!("allowed_mime_types.{kind}"), format!("{kind}: {said}"));
        self.allowed.check().map_err(refused)
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
            assert!(found == key && error.contains("is no media type"), "{error}");
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
            assert_eq!(allowed.is_allowed(kind, mime_type), may, "{kind:?} {mime_type}");
        }
        let limits = |bytes, ms, redirects, quota| AttachmentLimits {
            max_bytes: bytes,
            download_timeout: TimeSpan(Duration::from_millis(ms)),
            max_redirects: redirects,
            temp_dir_quota_bytes: quota,
            ..AttachmentLimits::default()
        };
        for (limits, key) in [
            (limits(0, 1, 0, None), "max_download_size_bytes"),
            (limits(1, 1, 0, Some(1)), ""),
            (limits(1 << 30, 600_000, 20, None), ""),
            (limits((1 << 30) + 1, 1, 0, None), "max_download_size_bytes"),
            (limits(1, 0, 0, None), "download_timeout"),
            (limits(1, 600_001, 0, None), "download_timeout"),
            (limits(1, 1, 21, None), "max_redirects"),
            (limits(2, 1, 0, Some(1)), "temp_dir_quota_bytes"),
        ] {
            let refused = limits.check().err().map(|(key, _)| key).unwrap_or_default();
            assert_eq!(refused, key, "{limits:?}");
        }
    }
}
