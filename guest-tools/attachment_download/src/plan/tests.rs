//! Plans for messages that people send, and for some that nobody should.

use super::plan;
use cofferdam_sdk::attachments::AttachmentInfo;
use cofferdam_sdk::recent::RecentAttachment;
use cofferdam_sdk::{ErrorCode, ToolError};

fn attachment(index: u32, sha256: &str, name: Option<&str>, unavailable: Option<&str>) -> RecentAttachment {
    let info = AttachmentInfo {
        index,
        name: name.map(Into::into),
        mime_type: "application/octet-stream".into(),
        size: 3,
        sha256: sha256.into(),
        unavailable: unavailable.map(Into::into),
    };
    RecentAttachment { info, source_url: format!("telegram:file/{index}") }
}

fn paths(attachments: Vec<RecentAttachment>) -> Result<Vec<String>, ToolError> {
    Ok(plan("/shared/d", attachments)?.into_iter().map(|placing| placing.path).collect())
}

#[test]
fn names_are_ten_digits_and_an_extension() {
    let sent = vec![
        attachment(0, "0123456789abcdef", Some("a.TXT"), None),
        attachment(1, "fedcba9876543210", None, None),
    ];
    assert_eq!(paths(sent).expect("a plan"), ["/shared/d/0123456789.txt", "/shared/d/fedcba9876"]);
}

#[test]
fn equal_files_are_one_and_the_first_names_it() {
    let sent = vec![
        attachment(0, "0123456789ab", Some("a.one"), None),
        attachment(1, "ffffffffffff", None, None),
        attachment(2, "0123456789ab", Some("b.two"), None),
    ];
    assert_eq!(paths(sent).expect("a plan"), ["/shared/d/0123456789.one", "/shared/d/ffffffffff"]);
}

#[test]
fn different_files_that_would_share_a_name_are_refused() {
    let sent =
        vec![attachment(0, "0123456789ab", None, None), attachment(1, "0123456789ac", Some("b.x"), None)];
    let refused = paths(sent).expect_err("refused");
    assert_eq!(refused.code, ErrorCode::AlreadyExists);
    assert!(refused.message.starts_with("Attachments 0 and 1 differ"), "{}", refused.message);
}

#[test]
fn all_or_nothing() {
    let sent = vec![
        attachment(0, "0123456789ab", None, None),
        attachment(1, "", Some("big.iso"), Some("too large: the limit is 20 MiB")),
    ];
    let refused = paths(sent).expect_err("refused");
    assert_eq!(refused.code, ErrorCode::AttachmentUnavailable);
    assert_eq!(
        refused.message,
        "Attachment 1 (big.iso) is not available, so nothing was written: too large: the limit is 20 MiB"
    );
    assert_eq!(paths(Vec::new()).expect_err("refused").code, ErrorCode::NoAttachments);
}
