//! A turn that somebody stops: nothing of it goes on, and the answer says what had been done.

use super::*;

#[tokio::test]
async fn stopping_drops_the_provider() {
    let world = World::new([Act::Call(vec![call("WRITE")]), Act::Hang]);
    let cancel = CancellationToken::new();
    let (said, ()) = tokio::join!(world.run(turn("t", "go"), &cancel), async {
        world.script.hangs.notified().await;
        assert_eq!(*world.script.dropped.lock().expect("a count"), 0);
        cancel.cancel();
    });
    assert_eq!(said, "Cancelled: 1 tool call had been made. Write /retry to go on from here.");
    assert_eq!(*world.script.dropped.lock().expect("a count"), 1);
    assert_eq!(world.kept().await, "u:go a:WRITE r");
}

#[tokio::test]
async fn stopping_cancels_the_tool_and_asks_the_provider_no_more() {
    let world = World::new([Act::Call(vec![call("WRITE"), call("WAIT"), call("WRITE")])]);
    let cancel = CancellationToken::new();
    let (said, ()) = tokio::join!(world.run(turn("t", "go"), &cancel), async {
        world.tools.waits.notified().await;
        cancel.cancel();
    });
    let made = "Cancelled: 1 tool call had been made. WAIT was cut off: the call was cancelled.";
    assert_eq!(said, format!("{made} Write /retry to go on from here."));
    assert_eq!(world.kept().await, "u:go a:WRITE+WAIT+WRITE r");
    assert_eq!(world.script.asked().len(), 1);
    world.then([Act::Say("again")]);
    assert_eq!(world.ask("t2", "/retry").await, "again");
    assert_eq!(world.script.asked()[1], "u:go a:WRITE+WAIT+WRITE r x:cancelled x:cancelled");
}

/// It may have sent something, of which it tells.
#[tokio::test]
async fn of_a_call_that_was_cut_off_nobody_is_told_that_nothing_had_been_done() {
    let world = World::new([Act::Call(vec![call("WAIT")])]);
    let cancel = CancellationToken::new();
    let (said, ()) = tokio::join!(world.run(turn("t", "go"), &cancel), async {
        world.tools.waits.notified().await;
        cancel.cancel();
    });
    assert_eq!(said, "Cancelled: WAIT was cut off: the call was cancelled. Write /retry to go on from here.");
}

#[tokio::test]
async fn a_call_that_a_stop_cuts_off_runs_again_when_the_turn_does() {
    let world = World::new([Act::Call(vec![call("WRITE"), call("WAIT")])]);
    for _ in 0..2 {
        let cancel = CancellationToken::new();
        tokio::join!(world.run(turn("t", "go"), &cancel), async {
            world.tools.waits.notified().await;
            cancel.cancel();
        });
    }
    assert_eq!(world.tools.done(), ["t/0 WRITE", "t/1 WAIT", "t/1 WAIT"]);
    assert_eq!(world.script.asked().len(), 1);
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_it_begins_asks_nobody() {
    let world = World::new([]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let said = world.run(turn("t", "go"), &cancel).await;
    assert!(said.starts_with("Cancelled: nothing had been done yet."), "{said}");
    assert!(world.script.asked().is_empty());
}

#[tokio::test]
async fn what_had_come_until_a_stop_is_paid_for() {
    let begin =
        |input_tokens, output_tokens| Act::Begin(Delta::Spent(TokenUsage { input_tokens, output_tokens }));
    // 100 tokens are read, by an estimate.
    for (act, tokens) in [(begin(0, 10), 110), (begin(90, 10), 100), (begin(90, 0), 90), (Act::Hang, 0)] {
        let world = World::new([act]);
        let cancel = CancellationToken::new();
        tokio::join!(world.run(turn("t", &"q".repeat(400 - FRAME.len())), &cancel), async {
            world.script.hangs.notified().await;
            cancel.cancel();
        });
        assert_eq!(world.history.load_usage(&ann()).await.expect("known").tokens, tokens);
    }
}
