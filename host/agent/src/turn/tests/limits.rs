//! Every limit of a turn, and of a person's day, tripped.

use super::*;
use crate::tools::Journal;
use crate::turn::instructions::SUMMARIZE_NOW;
use cofferdam_core::audit::sha256_hex;
use cofferdam_store::WhoseTurn;

/// Steps without end.
fn for_ever(tool: &'static str) -> impl Iterator<Item = Act> {
    (0..100).map(move |n| Act::Call(vec![(tool, format!("{{\"n\":{n}}}"))]))
}

#[tokio::test]
async fn rounds_calls_and_tokens_of_a_turn_are_bounded() {
    let check = async |limit: fn(&mut Config), said: &str, calls: usize| {
        let world = World::new(for_ever("read")).limited(limit);
        assert_eq!(world.ask("t", "go").await, said);
        assert_eq!(world.tools.done().len(), calls, "{said}");
        // The request is answered: there is nothing to go on with.
        assert!(world.kept().await.ends_with(&format!("a:{said}")), "{}", world.kept().await);
    };
    check(|limits| limits.rounds = 3, "The turn took more than 3 rounds and was stopped.", 3).await;
    check(|limits| limits.calls = 2, "The turn asked for more than 2 tool calls and was stopped.", 2).await;
    check(|limits| limits.tokens = 25, "The turn used more than 25 tokens and was stopped.", 3).await;
}

#[tokio::test]
async fn the_calls_beyond_the_limit_are_answered_all_the_same() {
    let step = vec![call("WRITE"), call("read"), call("WRITE")];
    let world = World::new([Act::Call(step)]).limited(|limits| limits.calls = 1);
    world.ask("t", "go").await;
    assert_eq!(world.tools.done(), ["t/0 WRITE"]);
    assert!(world.kept().await.starts_with("u:go a:WRITE+read+WRITE r x:cancelled x:cancelled a:The turn"));
}

#[tokio::test]
async fn a_step_has_so_many_calls_and_the_model_is_told_of_those_left_out() {
    for tool in ["read", "fail"] {
        let many = (0..40).map(|n| (tool, format!("{{\"n\":{n}}}"))).collect();
        let world = World::new([Act::Call(many), Act::Say("done")]);
        assert_eq!(world.ask("t", "go").await, "done");
        assert_eq!(world.tools.done().len(), super::super::rounds::STEP_CALLS_MAX);
        let kept = world.history.load(&session(), &TurnId::new("")).await.expect("kept");
        let told = kept
            .iter()
            .filter(|kept| format!("{kept:?}").contains("8 further calls of this step were not run"));
        assert_eq!(told.count(), 1, "{tool}");
    }
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_stopped_and_can_be_retried() {
    for (act, calls) in [(Act::Hang, 0), (Act::Call(vec![call("wait")]), 1)] {
        let world = World::new([act]).limited(|limits| {
            limits.deadline = cofferdam_core::limits::TimeSpan(std::time::Duration::from_millis(20))
        });
        let said = world.ask("t", "go").await;
        assert_eq!(said, "The turn took longer than 20ms and was stopped. Write /retry to go on from here.");
        assert_eq!(world.tools.done().len(), calls);
        world.then([Act::Say("now")]);
        assert_eq!(world.ask("t2", "/retry").await, "now");
    }
}

#[tokio::test]
async fn a_day_has_so_many_tokens_for_each_person() {
    let world =
        World::new([Act::Say("one"), Act::Say("two")]).limited(|limits| limits.user_tokens_per_day = 20);
    assert_eq!(world.ask("1", "a").await, "one");
    assert_eq!(world.ask("2", "b").await, "two");
    let said = "Today's budget of 20 tokens is used up; it starts anew at 00:00 UTC. Write /retry to go on from here.";
    assert_eq!(world.ask("3", "c").await, said);
    let ben = Caller { sender: "2".into(), ..ann() };
    world.then([Act::Say("for ben")]);
    let asked = TurnInput { caller: ben, ..turn("4", "d") };
    assert_eq!(world.run(asked, &CancellationToken::new()).await, "for ben");
}

#[tokio::test]
async fn what_a_server_does_not_count_is_estimated() {
    let uncounted = |text: &str| Act::Reply(StepReply { text: Some(text.into()), ..StepReply::default() });
    let question = "q".repeat(400);
    let world = World::new([uncounted("one"), uncounted(&"a".repeat(40))])
        .limited(|limits| limits.user_tokens_per_day = 300);
    // 100 tokens are read, then 200 with the conversation so far; 10 are written.
    assert_eq!(world.ask("1", &question).await, "one");
    assert_eq!(world.ask("2", &question).await.len(), 40);
    assert!(world.ask("3", "more").await.starts_with("Today's budget of 300 tokens is used up"));
    let read = || Act::Reply(StepReply { tool_calls: calls(&[call("read")]), ..StepReply::default() });
    let world = World::new([read(), read()]).limited(|limits| limits.tokens = 150);
    assert_eq!(world.ask("1", &question).await, "The turn used more than 150 tokens and was stopped.");
    assert_eq!(world.tools.done().len(), 2);
}

#[tokio::test]
async fn an_answer_that_broke_off_is_paid_for() {
    let half = || {
        let usage = TokenUsage { input_tokens: 0, output_tokens: 5 };
        Act::Fail(ProviderError::BrokeOff { said: "It broke off.".into(), usage })
    };
    let world = World::new([half(), half()]).limited(|limits| limits.user_tokens_per_day = 200);
    // 100 tokens are read each time, by an estimate.
    assert_eq!(world.ask("1", &"q".repeat(400 - FRAME.len())).await, "It broke off.");
    assert_eq!(world.ask("2", "/retry").await, "It broke off.");
    assert!(world.ask("3", "/retry").await.starts_with("Today's budget of 200 tokens is used up"));
    assert_eq!(world.script.asked().len(), 2);
    assert_eq!(world.history.load_usage(&ann()).await.expect("known").tokens, 210);
    // A summary is no way around either, and the turn goes on without it.
    let world = World::new([Act::Say("one"), half(), Act::Say("two")]);
    assert_eq!(world.ask("1", &"q".repeat(400 - FRAME.len())).await, "one");
    let world = world.limited(|limits| limits.history_tokens = 80);
    assert_eq!(world.ask("2", "go on").await, "two");
    let summary = (400 + "one".len() + SUMMARIZE_NOW.len()) as u64 / 4 + 5;
    assert_eq!(world.history.load_usage(&ann()).await.expect("known").tokens, 10 + summary + 10);
}

#[tokio::test]
async fn a_day_has_so_many_written_bytes_and_reading_goes_on() {
    let (_dir, store) = store();
    store.attempt(&TurnId::new("before"), &ann()).await.expect("noted");
    store.record("before/0", "h", &json!({}).into(), 1000).expect("recorded");
    let step = vec![call("WRITE"), call("read")];
    let mut world = World::new([Act::Call(step), Act::Say("done")]);
    world.limits.user_written_bytes_per_day = cofferdam_core::limits::ByteSize(1000);
    world.history = History::durable(store);
    assert_eq!(world.ask("t", "go").await, "done");
    assert_eq!(world.tools.done(), ["t/1 read"]);
    assert_eq!(*world.tools.refused.lock().expect("refused"), [ErrorCode::QuotaExceeded]);
    let kept = world.history.load(&session(), &TurnId::new("")).await.expect("kept");
    let told = "today's budget of 1000 B written bytes is used up; it starts anew at 00:00 UTC";
    assert!(format!("{kept:?}").contains(told), "{kept:?}");
}

/// A crash came between what it was charged for and its result.
#[tokio::test]
async fn a_call_that_was_charged_runs_again_on_a_day_that_is_used_up() {
    let (_dir, store) = store();
    store.attempt(&TurnId::new("before"), &ann()).await.expect("noted");
    store.record("before/0", "h", &json!({}).into(), 1000).expect("recorded");
    let charged = call("WRITE");
    store.record("t/0", &sha256_hex(charged.1.as_bytes()), &json!({}).into(), 0).expect("recorded");
    let other = ("WRITE", "{\"n\":1}".to_owned());
    let mut world = World::new([Act::Call(vec![charged, other]), Act::Say("done")]);
    world.limits.user_written_bytes_per_day = cofferdam_core::limits::ByteSize(1000);
    world.history = History::durable(store);
    assert_eq!(world.ask("t", "go").await, "done");
    assert_eq!(world.tools.done(), ["t/0 WRITE"]);
    assert_eq!(*world.tools.refused.lock().expect("refused"), [ErrorCode::QuotaExceeded], "the other one");
}

#[tokio::test]
async fn a_summary_and_a_step_that_is_kept_twice_are_charged_once() {
    for history in [History::transient(store().1), History::durable(store().1)] {
        let whose = WhoseTurn { session: session(), turn: TurnId::new("t"), caller: ann() };
        let step = HistoryEntry::Assistant { text: Some("x".into()), tool_calls: Vec::new() };
        for _ in 0..2 {
            history
                .append(&whose, 0, &step, &EntryExtras { tokens: 10, ..EntryExtras::default() })
                .await
                .expect("kept");
        }
        let summary = HistoryEntry::Summary { text: "s".into() };
        history.summarize(&whose, &TurnId::new("nobody"), &summary, 5).await.expect("nothing to do");
        assert_eq!(history.load_usage(&ann()).await.expect("known").tokens, 10);
    }
}
