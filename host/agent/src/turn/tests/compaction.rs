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
    let text = Some("I cannot help with that.".to_owned());
    let declined = StepReply { text, stop: Stop::Declined, usage: TEN, ..StepReply::default() };
    for act in [Act::Fail(ProviderError::Unavailable("asleep".into())), Act::Reply(declined)] {
        let world = long([act, Act::Say("done")]).await;
        let world = world.limited(|limits| limits.history_tokens = 600);
        assert_eq!(world.ask("4", "go").await, "done");
        let left =
            "s:Older messages of this conversation were left out to keep it short. u:3 a:read r a:ok u:go";
        assert_eq!(world.script.asked()[1], left);
    }
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

/// A step that reads 8000 bytes, which the call names: about 4000 tokens.
fn reads(n: usize) -> Act {
    Act::Call(vec![("read", format!("\"{n}{}\"", "x".repeat(8000)))])
}

#[tokio::test]
async fn of_what_a_long_turn_has_read_the_oldest_is_cut_and_the_newest_is_whole() {
    let acts = [reads(1), reads(2), reads(3), reads(4), Act::Say("done")];
    let world = World::new(acts).limited(|limits| limits.history_tokens = 9000);
    assert_eq!(world.ask("t", "go").await, "done");
    assert_eq!(world.script.shortened(), ["", "-", "--", "ss-", "sss-"]);
    let cut = world.script.shown.lock().expect("shown")[3][0].clone();
    assert!(cut.contains("\"untrusted\":true") && cut.contains("1xxx") && cut.len() < 1500, "{cut}");
    let kept = world.history.load(&session(), &TurnId::new("t")).await.expect("kept");
    let whole = |kept: &&KeptHistory| matches!(&kept.entry, HistoryEntry::ToolResult { shown, .. } if shown.len() > 8000);
    assert_eq!(kept.iter().filter(whole).count(), 4, "what is kept is whole");
    // What the next turn summarizes of it is no longer than a conversation may be.
    world.then([Act::Say("they read"), Act::Say("more")]);
    assert_eq!(world.ask("t2", "go on").await, "more");
    assert!(world.script.shortened()[5].starts_with("ss"), "{:?}", world.script.shortened());
}

#[tokio::test]
async fn a_turn_that_the_model_finds_too_long_is_cut_as_far_as_can_be_and_then_ends() {
    let too_long = || Act::Fail(ProviderError::TooLong("Too long; /new starts anew.".into()));
    let world = World::new([reads(1), reads(2), too_long(), too_long(), Act::Say("done")]);
    assert_eq!(world.ask("t", "go").await, "done");
    assert_eq!(world.script.shortened(), ["", "-", "--", "s-", "ss"]);
    let world = World::new([reads(1), too_long(), too_long()]);
    let said = world.ask("t", "go").await;
    assert!(said.starts_with("The turn was stopped: what its tool calls brought is too long"), "{said}");
    assert_eq!(world.script.shortened(), ["", "-", "s"]);
    assert!(world.ask("t2", "/retry").await.starts_with("There is nothing to retry"));
}
