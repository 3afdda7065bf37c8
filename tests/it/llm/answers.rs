//! What a model says and calls, over each API: whole texts, calls that really run, and results that
//! go back.

use super::world::World;
use crate::sandbox::SOON;
use crate::sandbox::chat::Chat;
use serde_json::{Value, json};
use support::llm::{Call, Dialect, Gate, Turn};
use support::samples;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_text_is_the_reply() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        world.llm.script([
            Turn::say("Grüße! 📎 Wie geht's?").in_pieces(6).bytes_at_once(3),
            Turn::say("Zweite Zeile.\nDritte."),
        ]);
        let said = world.chat(&[], "hallo\nund jetzt\n");
        assert_eq!(said, "Grüße! 📎 Wie geht's?\nZweite Zeile.\nDritte.\n", "{dialect:?}");
        let request = &world.llm.requests()[0];
        assert_eq!((request.dialect, request.body["model"].as_str()), (Some(dialect), Some("test-model")));
        assert!(request.text().contains("hallo") && request.text().contains("\"attachment_save\""));
        world.end(2);
    }
    Ok(())
}

/// As the machine has it, in the zone that POSIX spells without a table of zones.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_model_is_told_the_time_of_this_machine() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Chat).await?;
    world.home = std::mem::take(&mut world.home).environment([("TZ", "TST-3:30".to_owned())]);
    world.llm.script([Turn::say("ja")]);
    let before = jiff::Timestamp::now();
    world.chat(&[], "hallo\n");
    let offset = jiff::tz::TimeZone::fixed(jiff::tz::Offset::from_seconds(12_600)?);
    let text = world.llm.requests()[0].text();
    let told = [before, jiff::Timestamp::now()]
        .map(|time| time.to_zoned(offset.clone()).strftime("%A %Y-%m-%d %H:%M +03:30").to_string());
    assert!(told.iter().any(|time| text.contains(time)), "{told:?}: {text}");
    world.end(1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_saves_an_attachment_and_its_result_goes_back() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        let photo = world.home.file("photo.jpg", &samples::jpeg(100));
        let path = "/shared/Fotos/Müller – 写真.jpg";
        world.llm.script([
            Turn::say("Ich speichere es.")
                .and_calls([Call::new("attachment_save", json!({ "index": 0, "path": path })).in_pieces(9)])
                .bytes_at_once(5),
            Turn::say("Gespeichert."),
        ]);
        let said = world.chat(&["--attach", &photo], "bitte speichern\n");
        assert!(said.ends_with("Gespeichert.\n"), "{dialect:?}: {said}");
        assert_eq!(std::fs::read(world.home.host(path)).expect("saved"), samples::jpeg(100));
        let requests = world.llm.requests();
        assert!(requests[0].text().contains("User sent 1 attachment: [0] image/jpeg"), "the addendum");
        let results = requests[1].results();
        assert_eq!(results.len(), 1);
        assert!(results[0].contains("\"saved\":true") && results[0].contains(path), "{results:?}");
        assert!(requests[1].text().contains("Ich speichere es."), "what it said before goes back");
        world.end(2);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn parallel_calls_are_answered_together_and_in_order() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        let write = |name: &str| {
            Call::new("file_write", json!({ "path": format!("/shared/{name}"), "content": name }))
        };
        world.llm.script([
            Turn::calls([write("a").in_pieces(4), write("ö").in_pieces(7), write("c")]),
            Turn::calls([Call::new("file_read", json!({ "path": "/shared/ö" }))]),
            Turn::say("Drei."),
        ]);
        assert!(world.chat(&[], "go\n").ends_with("Drei.\n"));
        let requests = world.llm.requests();
        let paths: Vec<String> = requests[1]
            .results()
            .iter()
            .map(|shown| {
                let shown: Value = serde_json::from_str(shown).expect("JSON");
                shown["result"]["path"].as_str().unwrap_or_default().to_owned()
            })
            .collect();
        assert_eq!(paths, ["/shared/a", "/shared/ö", "/shared/c"], "{dialect:?}");
        assert_eq!(requests[2].results().len(), 4, "earlier rounds are replayed");
        world.end(3);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_model_gets_wrong_comes_back_as_a_result() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        world.llm.script([
            Turn::calls([
                Call::raw("file_read", "{\"path\":"),
                Call::new("no.such tool", json!({})),
                Call::raw("file_read", ""),
                Call::new("file_read", json!({ "path": "/vault/key" })),
            ]),
            Turn::say("I see."),
        ]);
        assert!(world.chat(&[], "go\n").ends_with("I see.\n"), "{dialect:?}");
        let results = world.llm.requests()[1].results();
        for (result, code) in
            results.iter().zip(["invalid_arguments", "unknown_tool", "invalid_arguments", "path_denied"])
        {
            assert!(result.contains(code), "{dialect:?}: {result}");
        }
        assert_eq!(results.len(), 4);
        world.end(2);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_without_an_id_get_one() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Chat).await?;
    let read = || Call::new("file_read", json!({ "path": "/shared/a" }));
    world.llm.script([Turn::calls([read().id(""), read().id(""), read().id("x")]), Turn::say("ok")]);
    assert!(world.chat(&[], "go\n").ends_with("ok\n"));
    assert_eq!(world.llm.requests()[1].results().len(), 3);
    world.end(2);
    Ok(())
}

/// A server may say all before it ends its answer; the connection serves the next question all the
/// same.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_conversation_keeps_its_connection() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let world = World::of(dialect).await?;
        let (ends, never) = (Gate::new(), Gate::new());
        let says = |gate: &Gate| Turn::say("ja").ends_at(gate);
        world.llm.script([says(&ends), says(&ends), says(&never), Turn::say("noch da")]);
        // That the server has sent the end is not yet that the program has read it and keeps the
        // connection.
        let mut chat = Chat::logging(&world.home, "hyper_util=debug");
        let kept = "pooling idle connection";
        assert_eq!(chat.say("eins"), "ja");
        ends.open();
        chat.logs(kept);
        assert_eq!(chat.say("zwei"), "ja");
        chat.logs(kept);
        assert_eq!(chat.say("drei"), "ja");
        // An answer that never ends is left after a while, with its connection.
        world.llm.wait_until_idle(SOON).await?;
        assert_eq!(chat.say("vier"), "noch da");
        chat.end();
        let used = world.llm.requests().iter().map(|request| request.connection).collect::<Vec<_>>();
        assert_eq!(used, [1, 1, 1, 2], "{dialect:?}");
        world.end(4);
    }
    Ok(())
}
