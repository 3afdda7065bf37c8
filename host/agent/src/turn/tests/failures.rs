//! What a provider does wrong: calls that cannot be, calls that fail again and again, steps that
//! are cut off.

use super::*;
use cofferdam_core::arguments::BadArguments;

#[tokio::test]
async fn what_cannot_be_called_is_told_to_the_model() {
    let world = World::new([Act::Call(vec![call("nobody"), call("fail")]), Act::Say("I see")]);
    assert_eq!(world.ask("t", "go").await, "I see");
    assert_eq!(world.script.asked()[1], "u:go a:nobody+fail x:unknown_tool x:not_found");
}

#[tokio::test]
async fn a_call_that_fails_the_same_way_is_told_so_and_then_ends_the_turn() {
    let world = World::new((0..4).map(|_| Act::Call(vec![call("fail")])));
    assert_eq!(
        world.ask("t", "go").await,
        "The turn was stopped: the model asked for the same call of fail again and again, which fails each time \
         (not_found)."
    );
    assert_eq!(world.tools.done(), ["t/0 fail", "t/1 fail"]);
    assert_eq!(*world.tools.refused.lock().expect("refused"), [ErrorCode::NotFound]);
    assert!(world.kept().await.starts_with(
        "u:go a:fail x:not_found a:fail x:not_found a:fail x:not_found a:fail x:cancelled a:The turn"
    ));
}

/// What kept it from working may be mended by then, and who asks again has a reason to.
#[tokio::test]
async fn a_retry_makes_a_call_that_has_failed_twice_before_it() {
    let fails = || Act::Call(vec![call("fail")]);
    let down = Act::Fail(ProviderError::Unavailable("The model is asleep.".into()));
    let world = World::new([fails(), fails(), down]);
    assert_eq!(world.ask("1", "go").await, "The model is asleep.");
    world.then([fails(), Act::Say("done")]);
    assert_eq!(world.ask("2", "/retry").await, "done");
    assert_eq!(world.tools.done(), ["1/0 fail", "1/1 fail", "2/0 fail"]);
    assert!(world.tools.refused.lock().expect("refused").is_empty());
}

#[tokio::test]
async fn the_same_call_written_otherwise_is_the_same() {
    let written =
        [r#"{"a":1,"b":[2]}"#, r#"{ "b": [2], "a": 1 }"#, "{\"b\":[2],\n\"a\":1}", r#"{"a":1, "b":[2]}"#];
    let world = World::new(written.map(|arguments| Act::Call(vec![("fail", arguments.to_owned())])));
    assert!(world.ask("t", "go").await.contains("the same call of fail again and again"));
    assert_eq!(world.tools.done(), ["t/0 fail", "t/1 fail"]);
    // In one step as well: the second and third must know of what came before.
    let step = written[..3].iter().map(|arguments| ("fail", (*arguments).to_owned())).collect();
    let world = World::new([Act::Call(step), Act::Say("ok")]);
    assert_eq!(world.ask("t", "go").await, "ok");
    assert_eq!(world.tools.done().len(), 2);
}

#[tokio::test]
async fn the_same_call_twice_in_one_step_counts_twice() {
    let world = World::new([Act::Call(vec![call("fail"), call("fail"), call("fail")]), Act::Say("ok")]);
    assert_eq!(world.ask("t", "go").await, "ok");
    assert_eq!(world.tools.done().len(), 2);
}

#[tokio::test]
async fn calls_that_may_be_cut_off_are_not_run() {
    let mut tool_calls = calls(&[call("WRITE"), ("WRITE", "{\"path\":\"/shared/a".into())]);
    let step = StepReply { tool_calls: tool_calls.clone(), stop: Stop::Length, ..StepReply::default() };
    let world = World::new([Act::Reply(step), Act::Say("shorter then")]);
    assert_eq!(world.ask("t", "go").await, "shorter then");
    assert_eq!(world.script.asked()[1], "u:go a:WRITE+WRITE r x:invalid_arguments");
    tool_calls[1].arguments = Err(BadArguments::CutOff);
    let kept = world.history.load(&session(), &TurnId::new("")).await.expect("kept");
    let HistoryEntry::Assistant { tool_calls: found, .. } = &kept[1].entry else { panic!("{kept:?}") };
    assert_eq!(*found, tool_calls, "they come back as they were");
}

#[tokio::test]
async fn an_answer_that_is_cut_off_or_declined_says_so() {
    let check = async |text: Option<&str>, stop: Stop, said: &str| {
        let reply = StepReply { text: text.map(Into::into), stop, ..StepReply::default() };
        assert_eq!(World::new([Act::Reply(reply)]).ask("t", "go").await, said);
    };
    let cut = "(The answer was cut off: the model came to the limit of its output.)";
    check(Some("Once upon a \n"), Stop::Length, &format!("Once upon a\n\n{cut}")).await;
    check(None, Stop::Length, cut).await;
    check(Some("No."), Stop::Declined, "No.\n\nThe model declined to go on.").await;
    check(Some(" "), Stop::Declined, "The model declined to go on.").await;
    let reply =
        StepReply { tool_calls: calls(&[call("WRITE")]), stop: Stop::Declined, ..StepReply::default() };
    let world = World::new([Act::Reply(reply)]);
    assert_eq!(world.ask("t", "go").await, "The model declined to go on.");
    assert!(world.tools.done().is_empty());
}

#[tokio::test]
async fn a_provider_that_fails_answers_in_its_own_words() {
    for error in [ProviderError::Unavailable, ProviderError::Refused, ProviderError::TooLong] {
        let world = World::new([Act::Fail(error("The model is asleep.".into()))]);
        assert_eq!(world.ask("t", "go").await, "The model is asleep.");
        assert_eq!(world.kept().await, "u:go", "what was asked is kept, to be retried");
    }
}
