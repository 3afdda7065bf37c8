//! What real servers sent, cut at awkward places; `recorded/README.md` says which servers, and what
//! they were asked.

use super::{cut_is_never_whole, heard, reply};
use crate::llm::chat::LimitField;
use crate::llm::dialect::Dialect;
use crate::llm::failure::AttemptFailure;
use crate::turn::{Stop, TokenUsage};

/// An answer that a server gave.
macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!("../recorded/", $file))
    };
}

/// The texts of the answers, and the calls by tool and arguments.
const GREETING: (&str, &[(&str, &str)]) = ("Repeat exactly: Grüße aus Köln 📎", &[]);
const BEGINNING: (&str, &[(&str, &str)]) = ("Repeat exactly: Gr", &[]);
const CALL: (&str, &[(&str, &str)]) = ("", &[("file_list", r#"{"path": "/shared"}"#)]);
const CALLS: (&str, &[(&str, &str)]) =
    ("I look.\n", &[("file_list", r#"{"path": "/shared"}"#), ("file_read", r#"{"path": "/shared/b"}"#)]);

const CHAT: Dialect = Dialect::Chat(LimitField::MaxTokens);

fn responses(max_output_tokens: u32) -> Dialect {
    Dialect::Responses { max_output_tokens }
}

/// That the answer is this one, with what was read and written, and that it is whole at `end` and
/// not before.
async fn check(
    dialect: Dialect,
    recorded: &str,
    (text, calls): (&str, &[(&str, &str)]),
    (stop, input_tokens, output_tokens): (Stop, u64, u64),
    end: &str,
) {
    let reply = reply(dialect, recorded).await;
    assert_eq!(reply.text.as_deref().unwrap_or_default(), text);
    let made: Vec<_> = reply.tool_calls.iter().map(|call| (&*call.tool, call.arguments.clone())).collect();
    let expected: Vec<_> = calls.iter().map(|&(tool, arguments)| (tool, Ok(arguments.into()))).collect();
    assert_eq!(made, expected);
    assert!(reply.tool_calls.iter().all(|call| !call.id.is_empty()));
    assert_eq!((reply.stop, reply.usage), (stop, TokenUsage { input_tokens, output_tokens }));
    cut_is_never_whole(dialect, recorded, end).await;
}

#[tokio::test]
async fn llama_server_is_understood_over_each_api() {
    let (done, cut) = ((Stop::Done, 24, 16), (Stop::Length, 24, 4));
    let called = (Stop::Done, 374, 68);
    let end = "\"finish_reason\":\"";
    check(CHAT, recorded!("llama-server/chat-text.sse"), GREETING, done, end).await;
    check(CHAT, recorded!("llama-server/chat-length.sse"), BEGINNING, cut, end).await;
    check(CHAT, recorded!("llama-server/chat-calls.sse"), CALLS, called, end).await;
    let end = "event: message_stop";
    check(Dialect::Anthropic, recorded!("llama-server/anthropic-text.sse"), GREETING, done, end).await;
    check(Dialect::Anthropic, recorded!("llama-server/anthropic-length.sse"), BEGINNING, cut, end).await;
    check(Dialect::Anthropic, recorded!("llama-server/anthropic-calls.sse"), CALLS, called, end).await;
    let end = "event: response.completed";
    check(responses(40), recorded!("llama-server/responses-text.sse"), GREETING, done, end).await;
    // It says that this one is complete.
    check(responses(4), recorded!("llama-server/responses-length.sse"), BEGINNING, cut, end).await;
    check(responses(90), recorded!("llama-server/responses-calls.sse"), CALLS, called, end).await;
}

#[tokio::test]
async fn a_server_that_reads_for_long_gives_signs_of_life() {
    let nothing = (Stop::Done, 2210, 1);
    let recorded = recorded!("llama-server/chat-ping.sse");
    assert!(recorded.starts_with(":\n\n:\n\n:\n\ndata: "));
    check(CHAT, recorded, ("", &[]), nothing, "\"finish_reason\":\"").await;
}

#[tokio::test]
async fn a_proxy_is_understood_over_each_api() {
    let called = (Stop::Done, 315, 31);
    check(CHAT, recorded!("litellm/chat-call.sse"), CALL, called, "\"finish_reason\":\"").await;
    check(Dialect::Anthropic, recorded!("litellm/anthropic-call.sse"), CALL, called, "event: message_stop")
        .await;
    check(
        responses(60),
        recorded!("litellm/responses-call.sse"),
        CALL,
        called,
        r#"data: {"type":"response.completed"#,
    )
    .await;
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_no_whole_answer() {
    let killed: [(Dialect, &str); 4] = [
        (CHAT, recorded!("llama-server/chat-killed.sse")),
        (CHAT, recorded!("litellm/chat-killed.sse")),
        (Dialect::Anthropic, recorded!("litellm/anthropic-killed.sse")),
        (responses(60), recorded!("litellm/responses-killed.sse")),
    ];
    for (n, (dialect, recorded)) in killed.into_iter().enumerate() {
        for size in [1, 7, 64] {
            let failure = heard(dialect, recorded, size).await.expect_err("it broke off");
            // The proxy says what became of the server behind it.
            let told = if n == 0 { "the stream ended before" } else { "busy: " };
            assert!(failure.to_string().starts_with(told) && failure.may_pass(), "{n}: {failure}");
            assert!(n == 0 || failure.to_string().contains("payload is not completed"), "{n}: {failure}");
        }
    }
}

#[test]
fn refusals_are_sorted_by_what_helps() {
    for body in [
        recorded!("llama-server/too-long.json"),
        recorded!("litellm/chat-too-long.json"),
        recorded!("litellm/anthropic-too-long.json"),
        recorded!("litellm/responses-too-long.json"),
    ] {
        let failure = AttemptFailure::from_status(400, body, None);
        assert!(matches!(failure, AttemptFailure::TooLong(_)), "{failure}");
        let error = serde_json::from_str::<serde_json::Value>(body).expect("JSON")["error"].clone();
        let failure = AttemptFailure::from_stream_error(&error);
        assert!(matches!(failure, AttemptFailure::TooLong(_)), "in a stream: {failure}");
    }
    for (status, body) in [
        (500, recorded!("llama-server/image.json")),
        (400, recorded!("llama-server/chat-pdf.json")),
        (400, recorded!("llama-server/responses-pdf.json")),
    ] {
        let failure = AttemptFailure::from_status(status, body, None);
        assert!(matches!(failure, AttemptFailure::Blind(_)) && !failure.may_pass(), "{failure}");
    }
    let bad = AttemptFailure::from_status(400, recorded!("llama-server/bad.json"), None);
    assert!(
        matches!(&bad, AttemptFailure::Refused(said) if said.contains("Expected 'messages' to be an array")),
        "{bad}"
    );
}
