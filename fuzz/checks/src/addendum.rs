//! What a turn tells a model of its attachments, whatever their sender says.
//!
//! The bytes are lines, each an attachment: detected type, size, name, declared type, source and
//! the reason why it is not there, separated by tabs; what is missing or empty is none.

use crate::assert_plain;
use cofferdam_core::attachment::{AttachmentInfo, addendum as told};

/// Two bounded plain lines, in which no word of the sender has a part.
pub fn addendum(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.split('\n').filter(|line| !line.is_empty()).take(64);
    let infos: Vec<AttachmentInfo> = lines.enumerate().map(|(at, line)| info(at as u32, line)).collect();
    for info in &infos {
        shown(info);
    }
    let Some(said) = told(&infos) else {
        assert!(infos.is_empty(), "attachments and no word of them");
        return;
    };
    let lines: Vec<&str> = said.split('\n').collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    lines.iter().for_each(|line| assert_plain(line));
    let bytes_max = 160 + infos.len() * (AttachmentInfo::MIME_BYTES_MAX + 40);
    assert!(said.len() <= bytes_max, "{} bytes for {} attachments", said.len(), infos.len());
    for (at, info) in infos.iter().enumerate() {
        assert!(said.contains(&format!("[{}] ", info.index)), "attachment {at} is not told of: {said:?}");
    }

    // The same without a word of the sender.
    let silent: Vec<_> = infos.iter().map(silenced).collect();
    assert_eq!(told(&silent).as_deref(), Some(said.as_str()), "the sender has a say");
}

fn info(index: u32, line: &str) -> AttachmentInfo {
    let mut fields = line.split('\t');
    let mut next = || fields.next().filter(|field| !field.is_empty()).map(str::to_owned);
    AttachmentInfo {
        index,
        mime_type: next().unwrap_or_default(),
        size: next().and_then(|size| size.parse().ok()).unwrap_or_default(),
        name: next(),
        declared_mime_type: next(),
        source: next(),
        unavailable: next(),
        sha256: String::new(),
    }
}

fn silenced(info: &AttachmentInfo) -> AttachmentInfo {
    AttachmentInfo {
        index: info.index,
        mime_type: info.mime_type.clone(),
        size: info.size,
        unavailable: info.unavailable.as_ref().map(|_| "gone".to_owned()),
        name: None,
        declared_mime_type: None,
        source: None,
        sha256: String::new(),
    }
}

/// A name or type made fit to be shown is bounded and plain, and shown again it is the same.
fn shown(info: &AttachmentInfo) {
    for text in [&info.name, &info.declared_mime_type, &info.source].into_iter().flatten() {
        for bytes_max in [0, 2, 7, AttachmentInfo::MIME_BYTES_MAX, AttachmentInfo::NAME_BYTES_MAX] {
            let Some(once) = AttachmentInfo::sanitize(Some(text), bytes_max) else { continue };
            assert!(once.len() <= bytes_max && !once.trim().is_empty(), "{once:?}");
            assert_plain(&once);
            assert_eq!(AttachmentInfo::sanitize(Some(&once), bytes_max).as_ref(), Some(&once));
        }
    }
}
