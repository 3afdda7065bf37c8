//! Commands beside a model: they stand alone, are nothing of the conversation, and the model is not
//! asked.

use super::*;

/// Answers commands by calling the tool that is named.
struct Calling;

#[async_trait]
impl Provider for Calling {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        _: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let said = |text: String| StepReply { text: Some(text), ..StepReply::default() };
        Ok(match request.conversation {
            [HistoryEntry::User { text, .. }] if text.eq_ignore_ascii_case("/help") => said("(tools)".into()),
            [HistoryEntry::User { text, .. }] => {
                let tool = text.trim().trim_start_matches('/').to_owned();
                let call = ToolCall { id: "0".into(), tool, arguments: Ok("{}".into()) };
                StepReply { tool_calls: vec![call], ..StepReply::default() }
            }
            [.., HistoryEntry::ToolResult { result: Ok(result), .. }] => said(result.to_string()),
            [.., HistoryEntry::ToolResult { result: Err(error), .. }] => said(error.to_string()),
            other => panic!("{}", all_shown(other)),
        })
    }

    fn has_memory(&self) -> bool {
        false
    }
}

async fn ask(world: &World, id: &str, text: &str) -> String {
    let runner = world.runner().with_commands(Arc::new(Calling));
    let said = runner.run(turn(id, text), Arc::new(()), &CancellationToken::new()).await;
    said.text.expect("text")
}

#[tokio::test]
async fn a_command_is_run_without_the_model_and_leaves_nothing_in_the_conversation() {
    let world = World::new([]).limited(|limits| limits.user_tokens_per_day = 0);
    assert_eq!(ask(&world, "1", " /read").await, r#"{"of":"{}"}"#);
    assert_eq!(ask(&world, "2", "/nosuch").await, "unknown_tool: no tool \"nosuch\"");
    let help = ask(&world, "3", "/HELP").await;
    assert!(help.starts_with("Write what you want"), "{help}");
    assert_eq!((world.script.asked(), world.kept().await), (Vec::new(), String::new()));
    assert_eq!(world.tools.done(), ["1/0 read", "2/0 nosuch"]);
}

#[tokio::test]
async fn words_that_are_no_command_are_the_models() {
    let texts = ["hello", "/shared/a.txt is mine", "see /read", "/é", "/"];
    let world = World::new(texts.map(|_| Act::Say("yes")));
    for (n, text) in texts.into_iter().enumerate() {
        assert_eq!(ask(&world, &n.to_string(), text).await, "yes", "{text}");
    }
    world.then([Act::Fail(ProviderError::Unavailable("down".into())), Act::Say("again")]);
    assert_eq!(ask(&world, "5", "go").await, "down");
    assert_eq!(ask(&world, "6", "/read").await, r#"{"of":"{}"}"#);
    assert_eq!(ask(&world, "7", "/Retry").await, "again", "what failed is retried whatever was called since");
}

#[tokio::test]
async fn help_says_what_a_model_is_good_for_within_its_bound() {
    for more in [None, Some(super::super::words::STEER_HELP)] {
        let help = super::super::words::help(more);
        assert!(help.chars().count() < super::super::words::HELP_CHARS_MAX, "{help}");
    }
}
