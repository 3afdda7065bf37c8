//! What a response becomes, as one line a part.

use super::*;
use crate::outbound::{MediaKind, units};
use cofferdam_store::PartKind;

const CHANNEL_LIMITS: ChannelLimits = ChannelLimits {
    text_units_max: 20,
    caption_units_max: 5,
    first_text_carries_files: false,
    group_max: 3,
    file_bytes_max: 1000,
    photo_bytes_max: 100,
    message_bytes_max: 1500,
    shown: &[
        ("image/jpeg", MediaKind::Photo),
        ("video/mp4", MediaKind::Video),
        ("image/gif", MediaKind::Animation),
        ("audio/mpeg", MediaKind::Audio),
        ("audio/ogg", MediaKind::Voice),
    ],
    length: units,
};

/// Files written `name=type:bytes`.
fn files(list: &[&str]) -> Vec<OutgoingAttachment> {
    let file = |text: &&str| {
        let (name, rest) = text.split_once('=').expect("a name");
        let (mime_type, bytes) = rest.split_once(':').expect("a type");
        OutgoingAttachment {
            sha256: "ab".into(),
            name: name.into(),
            mime_type: mime_type.into(),
            bytes: bytes.parse().expect("a number"),
        }
    };
    list.iter().map(file).collect()
}

fn line(part: &NewPart) -> String {
    if part.kind != PartKind::Attachment {
        return format!("{}: {}", part.kind.as_str(), part.body);
    }
    let bundle = FileBundle::read(&part.body).expect("a bundle");
    let files = bundle.files.iter().map(|shown| format!("{} as {:?}", shown.file.name, shown.media));
    let files = files.collect::<Vec<_>>().join(", ");
    match (bundle.caption, bundle.refused) {
        (Some(caption), None) => format!("files: {files} with {caption}"),
        (None, None) => format!("files: {files}"),
        (caption, Some(_)) => format!("refused: {files}{}", caption.unwrap_or_default()),
    }
}

fn check_opening(text: &str, list: &[&str], stand_in: Option<PlaceholderRef>, expected: &[&str]) {
    let text = Some(text.to_owned());
    let response = OutgoingResponse { text, attachments: files(list), ..OutgoingResponse::default() };
    let parts: Vec<_> = plan(response, &CHANNEL_LIMITS, stand_in).iter().map(line).collect();
    assert_eq!(parts, expected);
}

fn check(text: &str, list: &[&str], expected: &[&str]) {
    check_opening(text, list, None, expected);
}

#[test]
fn text_comes_before_voice_before_attachments() {
    let response = OutgoingResponse {
        text: Some("hi".into()),
        voice: Some("spoken".into()),
        attachments: files(&["a=text/plain:1"]),
        ..OutgoingResponse::default()
    };
    let parts: Vec<_> = plan(response, &CHANNEL_LIMITS, None).iter().map(line).collect();
    let voice = r#"voice: {"text":"spoken","is_shown":true}"#;
    assert_eq!(parts, ["text: hi", voice, "files: a as Document"]);
}

#[test]
fn a_short_text_goes_with_the_first_files_and_a_long_one_before_them() {
    check("hello", &["a=image/jpeg:1", "b=video/mp4:1"], &["files: a as Photo, b as Video with hello"]);
    check(
        "hello",
        &["a=image/jpeg:1", "b=text/csv:1"],
        &["files: a as Photo with hello", "files: b as Document"],
    );
    check("hello!", &["a=image/jpeg:1"], &["text: hello!", "files: a as Photo"]);
    // Two units each.
    check("🙂🙂", &["a=image/jpeg:1"], &["files: a as Photo with 🙂🙂"]);
    check("🙂🙂🙂", &["a=image/jpeg:1"], &["text: 🙂🙂🙂", "files: a as Photo"]);
    check("", &["a=image/jpeg:1"], &["files: a as Photo"]);
    check(" \n ", &["a=image/jpeg:1"], &["files: a as Photo"]);
    check("\u{200b}", &["a=image/jpeg:1"], &["files: a as Photo"]);
}

#[test]
fn nothing_hangs_on_a_message_that_stands_already() {
    let standing = |text: &str, expected: &[&str]| {
        check_opening(text, &["a=image/jpeg:1"], Some(PlaceholderRef::Edit(1)), expected);
    };
    standing("hi", &["text: hi", "files: a as Photo"]);
    standing("", &["files: a as Photo"]);
}

#[test]
fn groups_keep_the_order_and_mix_no_kinds() {
    check(
        "",
        &["a=image/jpeg:1", "b=image/jpeg:1", "c=text/csv:1", "d=text/csv:1", "e=image/jpeg:1"],
        &["files: a as Photo, b as Photo", "files: c as Document, d as Document", "files: e as Photo"],
    );
    check(
        "",
        &[
            "a=audio/mpeg:1",
            "b=audio/mpeg:1",
            "c=audio/ogg:1",
            "d=audio/ogg:1",
            "e=image/gif:1",
            "f=image/gif:1",
        ],
        &[
            "files: a as Audio, b as Audio",
            "files: c as Voice",
            "files: d as Voice",
            "files: e as Animation",
            "files: f as Animation",
        ],
    );
    let four = ["a=x/y:1", "b=x/y:1", "c=x/y:1", "d=x/y:1"];
    check("", &four, &["files: a as Document, b as Document, c as Document", "files: d as Document"]);
    check(
        "",
        &["a=x/y:900", "b=x/y:600", "c=x/y:1"],
        &["files: a as Document, b as Document", "files: c as Document"],
    );
}

#[test]
fn a_large_picture_is_a_document_and_so_is_a_page() {
    check("", &["a=image/jpeg:101"], &["files: a as Document"]);
    check("", &["a=image/svg+xml:1", "b=text/html:1"], &["files: a as Document, b as Document"]);
}

#[test]
fn what_the_channel_never_takes_is_told_in_the_text() {
    let response = OutgoingResponse {
        text: Some("hi".into()),
        attachments: files(&["a=x/y:1001", "b=x/y:1000"]),
        ..OutgoingResponse::default()
    };
    let channel_limits = ChannelLimits { text_units_max: 200, ..CHANNEL_LIMITS };
    let parts: Vec<_> = plan(response, &channel_limits, None).iter().map(line).collect();
    let told = "text: hi\na (~1KB) is too large to be sent here; files may have ~1KB.";
    assert_eq!(parts, [told, "files: b as Document", "refused: a as Document"]);
}

#[test]
fn an_answer_is_never_silence() {
    let empty = format!("text: {EMPTY}");
    check("", &[], &[&empty]);
    check(" \n ", &[], &[&empty]);
    check("\u{200b} \u{feff}\u{2060}", &[], &[&empty]);
    let two = OutgoingResponse::text("a\n\n\n\n\n\nb");
    let channel_limits = ChannelLimits { text_units_max: 2, ..CHANNEL_LIMITS };
    let parts: Vec<_> = plan(two, &channel_limits, None).iter().map(line).collect();
    assert_eq!(parts, ["text: a\n", "text: \nb"]);
}

#[test]
fn a_very_long_answer_says_how_much_is_missing() {
    let channel_limits = ChannelLimits { text_units_max: 4, ..CHANNEL_LIMITS };
    let planned = |text: String| plan(OutgoingResponse::text(text), &channel_limits, None);
    let parts = planned("x".repeat(100));
    assert_eq!(parts.len(), MESSAGES_MAX);
    assert_eq!(parts[19].body, "… The answer is too long: 24 more characters are not shown.");
    assert_eq!(planned("x".repeat(80)).len(), MESSAGES_MAX);
}

#[test]
fn markdown_is_styled_from_where_it_begins_and_nothing_else_is() {
    let planned = |text: &str, markdown_from, channel_limits: &ChannelLimits| -> Vec<_> {
        let text = Some(text.to_owned());
        let response = OutgoingResponse { text, markdown_from, ..OutgoingResponse::default() };
        plan(response, channel_limits, None).iter().map(line).collect()
    };
    assert_eq!(planned("**b**", None, &CHANNEL_LIMITS), ["text: **b**"]);
    assert_eq!(planned("plain", Some(0), &CHANNEL_LIMITS), ["text: plain"]);
    assert_eq!(
        planned("*n*\n**b**", Some(4), &CHANNEL_LIMITS),
        [r#"rich: {"text":"*n*\nb","spans":[{"start":4,"end":5,"style":"bold"}]}"#]
    );
    assert_eq!(planned("[a]: b", Some(0), &CHANNEL_LIMITS), ["text: [a]: b"], "never an empty answer");
    let channel_limits = ChannelLimits { text_units_max: 4, ..CHANNEL_LIMITS };
    let pre = r#""style":{"pre":{"language":"x"}}}]}"#;
    assert_eq!(
        planned("```x\naaa\nbb\n```\n", Some(0), &channel_limits),
        [
            format!(r#"rich: {{"text":"aaa\n","spans":[{{"start":0,"end":4,{pre}"#),
            format!(r#"rich: {{"text":"bb","spans":[{{"start":0,"end":2,{pre}"#),
        ]
    );
}

#[test]
fn a_caption_keeps_its_styles() {
    let response = OutgoingResponse {
        text: Some("*hi*".into()),
        markdown_from: Some(0),
        attachments: files(&["a=image/jpeg:1"]),
        ..OutgoingResponse::default()
    };
    let bundle = FileBundle::read(&plan(response, &CHANNEL_LIMITS, None)[0].body).expect("a bundle");
    assert_eq!(bundle.words().expect("a caption"), markdown("*hi*"));
}
