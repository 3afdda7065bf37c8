//! What the dialects' tests share: answers put together from streams of events, and one
//! conversation that has everything in it. The other files test the way to a server.
//!
//! What real servers sent is in `recorded/`. The streams in `*/streams/*.sse` follow the published
//! formats of the APIs, event by event, and `thinks_*.sse` what servers have been seen to send
//! beyond those; texts, ids and numbers are made up.

mod asking;
mod garbled;
mod recorded;

use super::answer::{COUNTED_TOKENS_MAX, ModelAnswer};
use super::chat::LimitField;
use super::dialect::{Dialect, StreamState};
use super::events::Events;
use super::failure::AttemptFailure;
use super::http::{AnswerListener, hear_answer};
use super::messages::{Prompt, messages, tools};
use super::parts::{PromptPart, PromptParts};
use crate::turn::{Delta, HistoryEntry, StepReply, StepRequest, TokenUsage, ToolCall, ToolSpec};
use bytes::Bytes;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::attachments::Attachments;
use futures_util::stream::{BoxStream, StreamExt, iter};
use serde_json::{Value, json};

/// What a dialect makes of a recorded stream, and of its texts piece by piece. The bytes arrive in
/// pieces of `size`, which cut lines and characters in two.
pub(super) async fn heard(
    dialect: Dialect,
    recorded: &(impl AsRef<[u8]> + ?Sized),
    size: usize,
) -> Result<(StepReply, Vec<String>), AttemptFailure> {
    let pieces: Vec<_> = recorded.as_ref().chunks(size).map(|p| Ok(Bytes::copy_from_slice(p))).collect();
    heard_from(dialect, iter(pieces).boxed()).await
}

/// The same of a body that comes in these pieces.
pub(super) async fn heard_from(
    dialect: Dialect,
    pieces: BoxStream<'static, Result<Bytes, AttemptFailure>>,
) -> Result<(StepReply, Vec<String>), AttemptFailure> {
    let (mut answer, mut texts) = (ModelAnswer::default(), Vec::new());
    let mut take = |delta| {
        if let Delta::Text(text) = delta {
            texts.push(text);
        }
    };
    let mut telling = AnswerListener::new(&mut take);
    hear_answer(dialect, Events::from_pieces(pieces), &mut answer, &mut telling).await?;
    drop(telling);
    Ok((answer.into_reply(), texts))
}

/// The reply that a recorded stream gives, however its bytes are cut.
pub(super) async fn reply(dialect: Dialect, recorded: &str) -> StepReply {
    let (reply, texts) = heard(dialect, recorded, recorded.len()).await.expect("a whole answer");
    assert_eq!(
        texts.concat().trim(),
        reply.text.clone().unwrap_or_default().trim(),
        "all of it was handed on"
    );
    for size in [1, 7, 64] {
        let (again, _) = heard(dialect, recorded, size).await.expect("a whole answer");
        assert_eq!(again, reply, "in pieces of {size} bytes");
    }
    reply
}

/// That a recorded stream which ends anywhere before its end is never taken for whole.
pub(super) async fn cut_is_never_whole(dialect: Dialect, recorded: &str, end: &str) {
    let whole = recorded.find(end).expect("its end");
    let mut cuts = 0;
    for (at, _) in recorded.match_indices("\n\n").filter(|(at, _)| *at < whole) {
        let cut = heard(dialect, &recorded[..at + 2], 64).await;
        assert_eq!(cut.err(), Some(AttemptFailure::Cut), "cut at {at}");
        cuts += 1;
    }
    assert!(cuts > 2, "{cuts} cuts: nothing was tried");
}

/// The body that a dialect makes of one conversation with everything in it.
pub(super) fn body_of(make: impl Fn(&Prompt<'_>) -> Vec<u8>) -> Value {
    let conversation = everything();
    let specs = [ToolSpec {
        name: "file_read".into(),
        summary: "Reads a file.".into(),
        arguments: json!({ "$schema": "x", "type": "object", "properties": { "path": { "type": "string" } } }),
    }];
    let mut parts = PromptParts::default();
    parts.put(1, PromptPart::from_bytes("image/png", b"png"));
    parts.put(1, PromptPart::from_bytes("application/pdf", b"%PDF"));
    let request = StepRequest { instructions: "Be kind.", conversation: &conversation, tools: &specs };
    let prompt = Prompt {
        model: "m-1",
        max_output_tokens: 77,
        instructions: request.instructions,
        messages: messages(request, &parts),
        tools: tools(request.tools),
    };
    serde_json::from_slice(&make(&prompt)).expect("JSON")
}

fn everything() -> Vec<HistoryEntry> {
    let user = |text: &str, addendum: Option<&str>| HistoryEntry::User {
        text: text.into(),
        attachments: Attachments::default(),
        addendum: addendum.map(Into::into),
    };
    let call = |id: &str, tool: &str, arguments: &str| ToolCall {
        id: id.into(),
        tool: tool.into(),
        arguments: Ok(arguments.into()),
    };
    let result = |id: &str, result: Result<Value, ToolError>, shown: &str| HistoryEntry::ToolResult {
        call: id.into(),
        tool: "file_read".into(),
        result,
        shown: shown.into(),
    };
    vec![
        HistoryEntry::Summary { text: "They met.".into() },
        user("look", Some("User sent 2 attachments: …")),
        HistoryEntry::Assistant {
            text: Some("I look.".into()),
            tool_calls: vec![
                call("c1", "file_read", "{\"path\":\"/shared/ä\"}"),
                call("c.2", "no such", "{"),
            ],
        },
        result("c1", Ok(json!({ "content": "x" })), "{\"content\":\"x\"}"),
        result("c.2", Err(ToolError::new(ErrorCode::UnknownTool, "no")), "unknown_tool: no"),
        HistoryEntry::Assistant { text: Some("Done.".into()), tool_calls: Vec::new() },
        user("thanks", None),
    ]
}

#[test]
fn what_a_model_thinks_is_paid_for_in_every_dialect() {
    let chat = Dialect::Chat(LimitField::MaxTokens);
    let responses = Dialect::Responses { max_output_tokens: 1000 };
    let thought = "x".repeat(40);
    let in_parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": thought }] }]);
    for (dialect, event) in [
        (chat, json!({ "choices": [{ "delta": { "reasoning_content": thought, "reasoning": thought } }] })),
        (chat, json!({ "choices": [{ "delta": { "reasoning": thought } }] })),
        (chat, json!({ "choices": [{ "delta": { "content": in_parts } }] })),
        (
            Dialect::Anthropic,
            json!({ "type": "content_block_delta", "delta": { "type": "thinking_delta", "thinking": thought } }),
        ),
        (responses, json!({ "type": "response.reasoning_text.delta", "delta": thought })),
        (responses, json!({ "type": "response.reasoning_summary_text.delta", "delta": thought })),
    ] {
        let mut answer = ModelAnswer::for_request(100);
        dialect.hear(&event.to_string(), &mut answer).expect("an event");
        assert_eq!(answer.cost(), TokenUsage { input_tokens: 100, output_tokens: 10 }, "{event}");
        assert!(!answer.has_begun(), "nobody is shown it: {event}");
    }
    // An event of any kind shows that the request was taken, and an error does not.
    for (event, input_tokens) in [(r#"{"choices":[]}"#, 100), (r#"{"error":{"message":"full"}}"#, 0)] {
        let mut answer = ModelAnswer::for_request(100);
        assert_eq!(chat.hear(event, &mut answer).is_ok(), input_tokens > 0);
        assert_eq!(answer.cost(), TokenUsage { input_tokens, output_tokens: 0 });
    }
}

#[tokio::test]
async fn an_event_without_data_changes_no_answer() {
    for (dialect, recorded) in [
        (Dialect::Chat(LimitField::MaxTokens), include_str!("../chat/streams/text.sse")),
        (Dialect::Anthropic, include_str!("../anthropic/streams/text.sse")),
        (Dialect::Responses { max_output_tokens: 1000 }, include_str!("../responses/streams/text.sse")),
    ] {
        let kept_alive = format!("data:\n\n{}", recorded.replace("\n\n", "\n\ndata: \n\n"));
        assert_eq!(reply(dialect, &kept_alive).await, reply(dialect, recorded).await, "{dialect:?}");
        let mut answer = ModelAnswer::for_request(100);
        assert_eq!(dialect.hear("", &mut answer), Ok(StreamState::More));
        assert_eq!(answer.cost(), TokenUsage::default(), "the request may not have been read");
    }
}

#[test]
fn no_server_counts_more_tokens_than_can_be_added_up() {
    let told = |input: &str, output: &str| {
        let counts = [input, output].map(|name| (name.to_owned(), Value::from(u64::MAX)));
        Value::Object(counts.into_iter().collect())
    };
    let usual = told("input_tokens", "output_tokens");
    for (dialect, event) in [
        (
            Dialect::Chat(LimitField::MaxTokens),
            json!({ "usage": told("prompt_tokens", "completion_tokens") }),
        ),
        (Dialect::Anthropic, json!({ "type": "message_delta", "usage": usual })),
        (
            Dialect::Responses { max_output_tokens: 1000 },
            json!({ "type": "response.completed", "response": { "usage": usual } }),
        ),
    ] {
        let mut answer = ModelAnswer::for_request(100);
        dialect.hear(&event.to_string(), &mut answer).expect("an event");
        let most = TokenUsage { input_tokens: COUNTED_TOKENS_MAX, output_tokens: COUNTED_TOKENS_MAX };
        assert_eq!((answer.cost(), answer.into_reply().usage), (most, most), "{event}");
    }
}
