//! Answers that never come, and bodies that trickle: a network that neither works nor fails. All of
//! it at once, in topics of their own, because waiting is all that there is to it.

use super::world::{ANN, PATIENCE, World, save};
use std::time::{Duration, Instant};
use support::samples;
use support::telegram::{Fault, Incoming, Media, Target};

/// How long requests and downloads may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silence_is_given_up_and_a_trickle_is_waited_for() -> anyhow::Result<()> {
    let world = World::running().await?;
    let bytes = samples::jpeg(400_000);
    let file = |topic: i64, id: &str| {
        let message = Incoming::private(ANN).thread(topic).document(Media::with_content(id, bytes.clone()));
        message.caption(&save(0, &format!("/shared/{id}")))
    };
    let in_topic = |topic: i64| Target::method("sendMessage").with("message_thread_id", topic);
    for (target, fault) in [
        ("getUpdates".into(), Fault::stall()),
        (Target::download_of("head"), Fault::stall()),
        (Target::download_of("body"), Fault::stall_after(300_000)),
        (Target::method("getFile").with("file_id", "asked"), Fault::stall()),
        // Longer than clients of this API often wait for a whole answer.
        (Target::download_of("trickle"), Fault::drip(20_000, Duration::from_secs(1))),
        (in_topic(5), Fault::stall()),
        (in_topic(6), Fault::stall().after_effect()),
    ] {
        world.server.fault(target, 1, fault);
    }
    let started = Instant::now();
    let mut asked = world.server.push_all([
        file(1, "head"),
        file(2, "body"),
        file(3, "asked"),
        file(4, "trickle"),
        Incoming::private(ANN).thread(5).text("hello"),
        Incoming::private(ANN).thread(6).text("hello"),
    ]);
    world.server.wait_for_requests(PATIENCE, "getUpdates", 2).await?;
    asked.push(world.server.push(Incoming::private(ANN).thread(7).text("behind the poll that hangs")));
    for question in &asked {
        let answer = world.answer(question).await?;
        assert!(
            question.message["document"].is_null() || answer.text.contains(r#""saved":true"#),
            "{answer:?}"
        );
    }
    assert!(
        started.elapsed() > SILENCE_MAX && started.elapsed() < 3 * SILENCE_MAX,
        "{:?}",
        started.elapsed()
    );
    for id in ["head", "body", "asked", "trickle"] {
        assert!(world.saved(&format!("/shared/{id}")) == bytes, "{id}");
    }
    // The message whose acknowledgement never came is sent again.
    world.server.wait_for_requests(PATIENCE, in_topic(6), 2).await?;
    world.server.wait_for_messages(PATIENCE, 8).await?;
    world.end(8)
}
