//! Long conversations are shortened, and never torn.

use super::*;

/// A conversation of three turns with calls.
async fn long(acts: impl IntoIterator<Item = Act>) -> World {
    let world = World::new([]);
    for id in ["1", "2", "3"] {
        world.then([Act::Call(vec![("read", format!("\"{}\"", "x".repeat(400)))]), Act::Say("ok")]);
        world.ask(id, id).await;
    }
    world.then(acts);
    world.script.asked.lock().expect("asked").clear();
    world
}

#[tokio::test]
async fn what_is_old_is_summarized_by_whole_turns() {
    let world = long([Act::Say("they read things"), Act::Say("done")]).await;
    // About 220 tokens a turn.
    let world = world.limited(|limits| limits.history_tokens = 600);
    assert_eq!(world.ask("4", "go").await, "done");
    assert_eq!(
        world.script.asked(),
        [
            "u:1 a:read r a:ok u:2 a:read r a:ok u:Summarize the conversation above as you were told.",
            "s:they read things u:3 a:read r a:ok u:go",
        ]
    );
    assert_eq!(world.kept().await, "s:they read things u:3 a:read r a:ok u:go a:done");
    world.then([Act::Say("again")]);
    world.ask("5", "more").await;
    assert_eq!(world.script.asked()[2], "s:they read things u:3 a:read r a:ok u:go a:done u:more");
}

#[tokio::test]
async fn what_cannot_be_summarized_is_left_out() {
    let world = long([Act::Fail(ProviderError::Unavailable("asleep".into())), Act::Say("done")]).await;
    let world = world.limited(|limits| limits.history_tokens = 600);
    assert_eq!(world.ask("4", "go").await, "done");
    let left = "s:Older messages of this conversation were left out to keep it short. u:3 a:read r a:ok u:go";
    assert_eq!(world.script.asked()[1], left);
}

#[tokio::test]
async fn a_conversation_that_the_model_finds_too_long_is_shortened_once() {
    let too_long = || Act::Fail(ProviderError::TooLong("Too long for the model; /new starts anew.".into()));
    let world = long([too_long(), Act::Say("things"), Act::Say("done")]).await;
    assert_eq!(world.ask("4", "go").await, "done");
    assert_eq!(world.script.asked()[2], "s:things u:go");
    let world = long([too_long(), Act::Say("things"), too_long()]).await;
    assert_eq!(world.ask("4", "go").await, "Too long for the model; /new starts anew.");
    world.then([too_long()]);
    assert_eq!(
        world.ask("5", "/retry").await,
        "Too long for the model; /new starts anew.",
        "nothing is left to go"
    );
}

#[tokio::test]
async fn a_summary_that_somebody_stops_changes_nothing() {
    let world = long([Act::Hang]).await.limited(|limits| limits.history_tokens = 600);
    let before = world.kept().await;
    let cancel = CancellationToken::new();
    let (said, ()) = tokio::join!(world.run(turn("4", "go"), &cancel), async {
        world.script.hangs.notified().await;
        cancel.cancel();
    });
    assert!(said.starts_with("Cancelled: "), "{said}");
    assert_eq!(world.kept().await, format!("{before} u:go"));
}
