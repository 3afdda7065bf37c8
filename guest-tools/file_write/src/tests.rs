//! What is refused before any file is looked at.

use super::*;

#[test]
fn append_and_overwrite_exclude_each_other() {
    let refused = check("text", true, true).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
    assert!(refused.message.contains("not both"), "{}", refused.message);
    for (overwrite, append) in [(false, false), (true, false), (false, true)] {
        assert!(check("text", overwrite, append).is_ok());
    }
}

#[test]
fn the_limit_is_one_of_bytes() {
    assert!(check(&"é".repeat(CONTENT_BYTES_MAX / 2), false, false).is_ok());
    let refused = check(&format!("{}.", "é".repeat(CONTENT_BYTES_MAX / 2)), false, false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
    assert!(refused.message.contains("append=true"), "{}", refused.message);
}
