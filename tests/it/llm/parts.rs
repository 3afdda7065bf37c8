//! Attachments that a model is shown: those that the operator accepts and that fit; the others are
//! told of.

use super::world::World;
use serde_json::json;
use support::llm::{Call, Dialect, RequestRecord, Turn};
use support::samples;

/// Beginnings of the samples in base64.
const JPEG: &str = "/9j/4AAQSkZJRg";
const PDF: &str = "JVBERi0xLjQK";

fn shown(request: &RequestRecord) -> (bool, bool) {
    (request.text().contains(JPEG), request.text().contains(PDF))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_accepted_is_shown_and_the_rest_is_told_and_saveable() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let default = if dialect == Dialect::Chat { (false, false) } else { (true, true) };
        // What decides is the same for all; each has its own parts.
        let settings = [
            ("", default),
            ("accepts = []\n", (false, false)),
            ("accepts = [\"image/*\"]\n", (true, false)),
            ("accepts = [\"application/pdf\", \"image/png\"]\n", (false, true)),
        ];
        let tried = if dialect == Dialect::Chat { 4 } else { 1 };
        for (more, expected) in settings.into_iter().take(tried) {
            let mut world = World::with(dialect, more).await?;
            let (photo, pdf) = (
                world.home.file("holiday.jpg", &samples::jpeg(10)),
                world.home.file("a.pdf", &samples::pdf()),
            );
            let note = world.home.file("note.txt", b"a note that is only text");
            let save = |index: u32| {
                Call::new("attachment_save", json!({ "index": index, "path": format!("/shared/{index}") }))
            };
            world.llm.script([Turn::calls([save(0), save(1), save(2)]), Turn::say("ok")]);
            let flags = ["--attach", &*photo, "--attach", &*pdf, "--attach", &*note];
            assert!(world.chat(&flags, "look\n").ends_with("ok\n"));
            for request in world.llm.requests() {
                assert_eq!(shown(&request), expected, "{dialect:?} {more:?}");
                let text = request.text();
                assert!(text.contains("User sent 3 attachments: [0] image/jpeg"), "{text}");
                assert!(
                    !text.contains("holiday.jpg") && !text.contains("note.txt"),
                    "no sender's names: {text}"
                );
            }
            for index in 0..3 {
                assert!(
                    world.home.host(&format!("/shared/{index}")).exists(),
                    "{index} is saved all the same"
                );
            }
            world.end(2);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_too_large_to_be_shown_is_told() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Anthropic).await?;
    let (large, small) = (
        world.home.file("large.jpg", &samples::jpeg(16 << 20)),
        world.home.file("small.jpg", &samples::jpeg(1 << 20)),
    );
    world.llm.script([Turn::say("ok")]);
    assert!(world.chat(&["--attach", &large, "--attach", &small], "look\n").ends_with("ok\n"));
    let request = world.llm.requests().remove(0);
    assert_eq!(request.text().matches(JPEG).count(), 1, "the small one");
    assert!(request.text().contains("User sent 2 attachments: "));
    assert!(request.bytes < 2 << 20, "{} bytes", request.bytes);
    world.end(1);
    Ok(())
}

/// Refuses, as servers do, a picture that is too large, one of any kind, a request for its size,
/// and one for its length; the first is Anthropic's own.
fn refusals() -> [Turn; 4] {
    let error =
        |kind: &str, message: &str| json!({ "error": { "type": kind, "message": message } }).to_string();
    let large =
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes";
    [
        Turn::refusal(400, &error("invalid_request_error", large)),
        Turn::refusal(500, &error("server_error", "image input is not supported")),
        Turn::status(413),
        Turn::refusal(400, &error("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum")),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_server_refuses_to_look_at_is_told_and_saveable() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let tried = if dialect == Dialect::Anthropic { 4 } else { 1 };
        for refusal in refusals().into_iter().take(tried) {
            let mut world = World::with(dialect, "accepts = [\"image/*\"]\n").await?;
            let photo = world.home.file("a.jpg", &samples::jpeg(10));
            let save = Call::new("attachment_save", json!({ "index": 0, "path": "/shared/a" }));
            let what = format!("{dialect:?} {refusal:?}");
            world.llm.script([refusal, Turn::calls([save]), Turn::say("ok")]);
            assert!(world.chat(&["--attach", &photo], "save it\n").ends_with("ok\n"), "{what}");
            let requests = world.llm.requests();
            let shown: Vec<_> = requests.iter().map(|request| shown(request).0).collect();
            assert_eq!(shown, [true, false, false], "asked again without it, once for the turn: {what}");
            assert!(!requests[0].text().contains("could be shown"), "{what}");
            for request in &requests[1..] {
                let text = request.text();
                assert!(text.contains("User sent 1 attachment: [0] image/jpeg"), "{what}: {text}");
                assert!(text.contains("None of it could be shown to you"), "{what}: {text}");
            }
            assert!(world.home.host("/shared/a").exists(), "{what}");
            world.end(3);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_refused_though_nothing_is_shown_is_not_asked_again() -> anyhow::Result<()> {
    let mut world = World::with(Dialect::Anthropic, "accepts = []\n").await?;
    let photo = world.home.file("a.jpg", &samples::jpeg(10));
    let [refusal, ..] = refusals();
    world.llm.script([refusal]);
    let said = world.chat(&["--attach", &photo], "look\n");
    assert!(said.starts_with("The model's server refuses this request; "), "{said}");
    // Refused with and without: the person is told, and nothing goes on for ever.
    let [refusal, ..] = refusals();
    std::fs::write(
        world.home.config_file(),
        std::fs::read_to_string(world.home.config_file())?.replace("accepts = []", "accepts = [\"image/*\"]"),
    )?;
    world.llm.script([refusal.clone(), refusal]);
    let said = world.chat(&["--attach", &photo], "look\n");
    assert!(said.starts_with("The model's server refuses this request; "), "{said}");
    world.end(3);
    Ok(())
}
