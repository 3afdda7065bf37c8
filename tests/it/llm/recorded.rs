//! What a real server sent to other questions, replayed to the real program: its calls run, and
//! their results go back. `host/agent/src/llm/recorded/README.md` says which server.

use super::world::World;
use support::llm::{Dialect, Turn};
use support::samples;

/// An answer that `llama-server` gave.
macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!("../../../host/agent/src/llm/recorded/llama-server/", $file))
    };
}

fn replayed(body: &str) -> Turn {
    Turn::plain("text/event-stream", body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_of_a_real_server_run_and_its_text_is_the_reply() -> anyhow::Result<()> {
    for (dialect, calls, text) in [
        (Dialect::Chat, recorded!("chat-calls.sse"), recorded!("chat-text.sse")),
        (Dialect::Anthropic, recorded!("anthropic-calls.sse"), recorded!("anthropic-text.sse")),
        (Dialect::Responses, recorded!("responses-calls.sse"), recorded!("responses-text.sse")),
    ] {
        let mut world = World::of(dialect).await?;
        std::fs::create_dir_all(world.home.host("/shared"))?;
        std::fs::write(world.home.host("/shared/b"), "nine o'clock")?;
        world.llm.script([replayed(calls), replayed(text)]);
        let said = world.chat(&[], "What is in /shared, and what does b say?\n");
        assert!(said.ends_with("Repeat exactly: Grüße aus Köln 📎\n"), "{dialect:?}: {said}");
        let results = world.llm.requests()[1].results();
        assert_eq!(results.len(), 2, "{dialect:?}: {results:?}");
        assert!(results[0].contains("\"name\":\"b\""), "{dialect:?}: the list: {results:?}");
        assert!(results[1].contains("nine o'clock"), "{dialect:?}: the file: {results:?}");
        world.end(2);
    }
    Ok(())
}

/// The server says that with status 500, which is tried again otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_that_sees_no_images_is_told_from_a_busy_one() -> anyhow::Result<()> {
    let mut world = World::with(Dialect::Chat, "accepts = [\"image/*\"]\n").await?;
    let photo = world.home.file("photo.jpg", &samples::jpeg(10));
    world.llm.script([Turn::refusal(500, recorded!("image.json")), Turn::say("Now I answer.")]);
    let said = world.chat(&["--attach", &photo], "What is this?\n");
    assert!(said.ends_with("Now I answer.\n"), "{said}");
    let [shown, told] = &world.llm.requests()[..] else { panic!("it was asked again as if it were busy") };
    assert!(shown.text().contains("image_url") && !told.text().contains("image_url"));
    assert!(told.text().contains("could be shown to you"), "{}", told.text());
    assert!(world.log().contains("take its kind out of [provider] accepts"), "{}", world.log());
    world.end(2);
    Ok(())
}

/// The server says that the answer is complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_that_the_limit_of_tokens_cut_off_is_told_from_a_wrong_one() -> anyhow::Result<()> {
    let mut world = World::with(Dialect::Responses, "max_output_tokens = 21\n").await?;
    world.llm.script([
        replayed(recorded!("responses-call-length.sse")),
        replayed(recorded!("responses-text.sse")),
    ]);
    world.chat(&[], "What is in /shared?\n");
    let results = world.llm.requests()[1].results();
    let cut = "the arguments were cut off at the limit of the model's output";
    assert!(results.len() == 1 && results[0].contains(cut), "{results:?}");
    assert!(world.home.audit().iter().any(|record| record.to_string().contains(cut)), "the audit says so");
    world.end(2);
    Ok(())
}
