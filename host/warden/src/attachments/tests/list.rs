//! The way to the bytes is the index, and every wrong one is told apart.

use super::*;

fn refused(list: &Attachments, index: u32) -> (ErrorCode, String) {
    let error = list.get(index).unwrap_err();
    (error.code, error.message)
}

#[test]
fn wrong_indices_say_what_is_right() {
    let (_dir, store) = store();
    assert_eq!(refused(&Attachments::default(), 0).0, ErrorCode::NoAttachments);

    let mut intake = Intake::new(&store, &Config::default());
    intake.read(DeclaredFile::default(), &mut &b"hello"[..]);
    let one = intake.finish();
    let (code, message) = refused(&one, 1);
    assert_eq!(code, ErrorCode::IndexOutOfRange);
    assert_eq!(message, "there is no attachment 1: this message came with 1 attachment, index 0");

    let mut intake = Intake::new(&store, &Config::default());
    intake.read(DeclaredFile::default(), &mut &b"hello"[..]);
    intake.refuse(DeclaredFile { size: Some(9), ..DeclaredFile::default() }, "the server\nsaid no");
    let two = intake.finish();
    for index in [2, u32::MAX] {
        let (code, message) = refused(&two, index);
        assert_eq!(code, ErrorCode::IndexOutOfRange);
        assert!(message.ends_with("this message came with 2 attachments, index 0 to 1"), "{message}");
    }
    let (code, message) = refused(&two, 1);
    assert_eq!(code, ErrorCode::AttachmentUnavailable);
    assert_eq!(message, "attachment 1 is unavailable: the server said no");
    assert_eq!(two.get(0).unwrap().1.len(), 5);
    assert_eq!(two.infos()[1].size, 9);
}

#[test]
fn lists_share_what_they_hold_and_show_counts_alone() {
    let (_dir, store) = store();
    let mut intake = Intake::new(&store, &Config::default());
    let name = Some("secret-name.txt".to_owned());
    intake.read(DeclaredFile { name: name.clone(), ..DeclaredFile::default() }, &mut &b"secret bytes"[..]);
    intake.refuse(DeclaredFile { name, ..DeclaredFile::default() }, "gone");
    let list = intake.finish();
    let clone = list.clone();
    assert!(std::ptr::eq(list.iter().as_slice(), clone.iter().as_slice()));
    assert_eq!(format!("{clone:?}"), "Attachments(2, 1 available)");
    assert!(!format!("{:?}", clone.iter().collect::<Vec<_>>()).contains("secret"));
}
