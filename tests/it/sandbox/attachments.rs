//! `turn-attachments`: what a guest learns of them, and the bytes as it reads them.

use super::{answered, hostile, refused};
use serde_json::json;
use support::{guests::sha256, home::Home, samples};

#[test]
fn a_turn_without_attachments_has_none() {
    let home = hostile();
    assert_eq!(answered(&home, &["behaviour=attachments"])["attachments"], json!([]));
    refused(&home, &["behaviour=read_attachment", "bytes=0"], "no_attachments", "");
    refused(&home, &["behaviour=open_attachments", "bytes=1"], "no_attachments", "");
    refused(&home, &["behaviour=append_attachment", "path=/shared/a"], "no_attachments", "");
    assert!(!home.host("/shared/a").exists());
}

#[test]
fn they_come_in_order_with_what_the_host_found() {
    let home = hostile();
    let (photo, text) = (samples::jpeg(1000), b"plain words".as_slice());
    let (first, second) = (home.file("a photo.txt", &photo), home.file("words", text));
    let said = answered(&home, &["behaviour=attachments", "--attach", &first, "--attach", &second]);
    assert_eq!(
        said["attachments"],
        json!([
            { "index": 0, "name": "a photo.txt", "mime_type": "image/jpeg", "size": photo.len(),
              "sha256": sha256(&photo), "unavailable": null },
            { "index": 1, "name": "words", "mime_type": "text/plain", "size": text.len(),
              "sha256": sha256(text), "unavailable": null },
        ])
    );
    let past = ["behaviour=read_attachment", "bytes=2", "--attach", &first, "--attach", &second];
    refused(&home, &past, "index_out_of_range", "2 attachments");
    let far = ["behaviour=read_attachment", "bytes=4294967295", "--attach", &first];
    refused(&home, &far, "index_out_of_range", "1 attachment");
}

#[test]
fn their_bytes_arrive_whole_from_memory_and_from_disk() {
    let home = hostile();
    for padding in [0, 100_000, 9 << 20] {
        let bytes = samples::jpeg(padding);
        let file = home.file("photo.jpg", &bytes);
        let said = answered(&home, &["behaviour=read_attachment", "bytes=0", "--attach", &file]);
        assert_eq!(
            (&said["bytes"], &said["sha256"]),
            (&bytes.len().into(), &sha256(&bytes).into()),
            "{padding}"
        );
        let save = ["behaviour=append_attachment", "path=/shared/a", "bytes=2", "--attach", &file];
        let twice = bytes.repeat(2);
        assert_eq!(answered(&home, &save)["sha256"], sha256(&twice), "{padding}");
        assert!(std::fs::read(home.host("/shared/a")).expect("published") == twice, "{padding}");
    }
}

#[test]
fn one_read_gives_a_piece_however_much_is_asked_for() {
    let home = hostile();
    for (size, most) in [(5, 5), (9 << 20, 1 << 20)] {
        let file = home.file("much", &vec![b'x'; size]);
        let said = answered(&home, &["behaviour=read_too_much", "--attach", &file]);
        let bytes = said["bytes"].as_u64().expect("bytes");
        assert!(bytes >= 1 && bytes <= most, "{said}");
    }
}

#[test]
fn an_attachment_over_the_limit_keeps_its_place() {
    let home = hostile().config("[attachments]\nmax_bytes = \"1 KiB\"\n");
    let (large, small) = (home.file("large", &[b'x'; 2000]), home.file("small", b"small"));
    let both = ["--attach", large.as_str(), "--attach", small.as_str()];
    let said = answered(&home, &[&["behaviour=attachments"], both.as_slice()].concat());
    let reason = &said["attachments"][0]["unavailable"];
    assert!(reason.as_str().is_some_and(|why| !why.is_empty()), "{said}");
    assert_eq!((&said["attachments"][0]["size"], &said["attachments"][0]["sha256"]), (&json!(0), &json!("")));
    assert_eq!(said["attachments"][1]["unavailable"], json!(null));
    let read = |home: &Home, index: &str| {
        let arguments = [&["behaviour=read_attachment", index], both.as_slice()].concat();
        home.call(&[&["hostile"], arguments.as_slice()].concat())
    };
    assert_eq!(read(&home, "bytes=0").error(), "attachment_unavailable");
    assert_eq!(read(&home, "bytes=1").json()["bytes"], 5);
}
