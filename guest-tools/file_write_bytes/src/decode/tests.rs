//! What is decoded, what is refused, and at which offset.

use super::*;

fn decoded(text: &str) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    decode(text, "/shared/a", &mut bytes).map(|()| bytes)
}

#[test]
fn bytes_come_back_at_every_length_around_a_piece() {
    for length in [0, 1, 2, 3, 4, PIECE / 4 * 3 - 1, PIECE / 4 * 3, PIECE / 4 * 3 + 1, 3 * PIECE + 2] {
        let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
        assert_eq!(decoded(&STANDARD.encode(&bytes)).unwrap(), bytes, "{length}");
    }
}

#[test]
fn a_refusal_names_the_offset() {
    let piece = "A".repeat(PIECE);
    let check = |text: String, parts: &[&str]| {
        let refused = decoded(&text).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArguments);
        for part in parts {
            assert!(refused.message.contains(part), "{part:?} in {}", refused.message);
        }
    };
    check("QUJD\nQUJD".into(), &["white space", "offset 4"]);
    check(" QUJD".into(), &["white space", "offset 0"]);
    check("QU_D".into(), &["URL-safe", "offset 2"]);
    check("QUé".into(), &["'é'", "offset 2"]);
    check("QQ==QUJD".into(), &["padding", "offset 2"]);
    check("Q===".into(), &["padding", "offset 1"]);
    check("QUI".into(), &["cut short", "3 characters"]);
    check("QUJDQ".into(), &["cut short", "5 characters"]);
    check("QUJD\n".into(), &["white space", "offset 4"]);
    check("QUJD\nQU==\n".into(), &["white space", "offset 4"]);
    check("QR==".into(), &["bits over", "offset 1"]);
    check(format!("{piece}QU D"), &["white space", &format!("offset {}", PIECE + 2)]);
    check(format!("{}={}", "A".repeat(PIECE - 1), "QUJD"), &["padding", &format!("offset {}", PIECE - 1)]);
}

#[test]
fn the_limit_is_one_of_decoded_bytes() {
    let fits = STANDARD.encode(vec![0; DECODED_BYTES_MAX]);
    assert!(check_length(&fits).is_ok());
    let over = STANDARD.encode(vec![0; DECODED_BYTES_MAX + 1]);
    assert_eq!(check_length(&over).unwrap_err().code, ErrorCode::TooLarge);
}
