//! What is decoded, what is refused, and at which offset.

use super::*;

fn decoded(text: &str) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let take = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    decode("the_argument", text, take).map(|()| bytes)
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
        assert!(refused.message.starts_with("the_argument "), "{}", refused.message);
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
fn the_length_is_known_before_anything_is_decoded() {
    for length in [0, 1, 2, 3, 4, 1000] {
        assert_eq!(decoded_len(&STANDARD.encode(vec![7; length])), length);
    }
    // What is none must not look shorter than it could be.
    assert_eq!(decoded_len("===="), 1);
    assert_eq!(decoded_len("="), 0);
}

#[test]
fn whoever_takes_it_ends_it() {
    let mut pieces = 0;
    let stopped = decode("a", &STANDARD.encode(vec![0; 3 * PIECE]), |_| {
        pieces += 1;
        Err(ToolError::new(ErrorCode::NoSpace, "full"))
    });
    assert_eq!((stopped.unwrap_err().code, pieces), (ErrorCode::NoSpace, 1));
}
