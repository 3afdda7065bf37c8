//! Responses on streams written after its published format, and the request as it is published.

use crate::llm::dialect::Dialect;
use crate::llm::failure::AttemptFailure;
use crate::llm::tests::{body_of, cut_is_never_whole, heard, reply};
use crate::turn::{Stop, TokenUsage};
use cofferdam_core::secret::Secret;
use serde_json::json;

const DIALECT: Dialect = Dialect::Responses { max_output_tokens: 1000 };

#[tokio::test]
async fn text_arrives_in_pieces_with_its_cost() {
    let reply = reply(DIALECT, include_str!("streams/text.sse")).await;
    assert_eq!(reply.text.as_deref(), Some("Grüße! 📎\n\nDas ist alles."));
    assert_eq!(reply.usage, TokenUsage { input_tokens: 37, output_tokens: 11 });
    assert_eq!((reply.stop, reply.tool_calls.len()), (Stop::Done, 0));
}

#[tokio::test]
async fn calls_are_answered_by_their_call_id() {
    let reply = reply(DIALECT, include_str!("streams/calls.sse")).await;
    let calls: Vec<_> = reply.tool_calls.iter().map(|c| (c.id.as_str(), c.tool.as_str())).collect();
    assert_eq!(calls, [("call_U1", "attachment_save"), ("call_U2", "file_list")]);
    let arguments: Vec<_> = reply.tool_calls.iter().map(|c| c.arguments.clone().expect("text")).collect();
    assert_eq!(arguments, [r#"{"index":0,"path":"/shared/Müller – 写真.jpg"}"#, "{}"]);
    assert_eq!(reply.text, None);
}

#[tokio::test]
async fn why_it_stopped_is_told() {
    for (reason, stop) in [("max_output_tokens", Stop::Length), ("content_filter", Stop::Declined)] {
        let event = json!({ "type": "response.incomplete",
                            "response": { "status": "incomplete", "incomplete_details": { "reason": reason } } });
        let (reply, _) = heard(DIALECT, &format!("data: {event}\n\n"), 64).await.expect("whole");
        assert_eq!(reply.stop, stop, "{reason}");
    }
    for (delta, stop) in [("No.", Stop::Declined), ("", Stop::Done)] {
        let refusal = json!({ "type": "response.refusal.delta", "delta": delta });
        let end = json!({ "type": "response.completed", "response": { "status": "completed" } });
        let (reply, _) =
            heard(DIALECT, &format!("data: {refusal}\n\ndata: {end}\n\n"), 64).await.expect("whole");
        assert_eq!(reply.stop, stop, "{delta:?}");
    }
}

#[tokio::test]
async fn what_is_cut_or_broken_is_never_whole() {
    for recorded in [include_str!("streams/text.sse"), include_str!("streams/calls.sse")] {
        cut_is_never_whole(DIALECT, recorded, "event: response.completed").await;
    }
    let of = |event: serde_json::Value| async move {
        heard(DIALECT, &format!("data: {event}\n\n"), 64).await.err()
    };
    let failed = json!({ "type": "response.failed",
                         "response": { "error": { "code": "server_error", "message": "The server had an error." } } });
    assert!(matches!(of(failed).await, Some(AttemptFailure::Busy { .. })));
    let published =
        json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null });
    assert!(matches!(of(published).await, Some(AttemptFailure::Busy { .. })));
    let sent = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "bad" } });
    assert!(matches!(of(sent).await, Some(AttemptFailure::Refused(_))));
}

#[test]
fn a_request_is_as_published() {
    let body = body_of(super::body);
    let expected = json!({
        "model": "m-1",
        "instructions": "Be kind.",
        "input": [
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": body["input"][0]["content"][0]["text"] },
                { "type": "input_image", "image_url": "data:image/png;base64,cG5n" },
                { "type": "input_file", "filename": "attachment-0.pdf",
                  "file_data": "data:application/pdf;base64,JVBERg==" },
                { "type": "input_text", "text": "look" },
                { "type": "input_text", "text": "User sent 2 attachments: …" },
            ] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
            { "type": "function_call", "call_id": "c1", "name": "file_read",
              "arguments": "{\"path\":\"/shared/ä\"}" },
            { "type": "function_call", "call_id": "c.2", "name": "no_such",
              "arguments": "{\"not_an_object\":\"{\"}" },
            { "type": "function_call_output", "call_id": "c1", "output": "{\"content\":\"x\"}" },
            { "type": "function_call_output", "call_id": "c.2", "output": "unknown_tool: no" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "thanks" }] },
        ],
        "tools": [{ "type": "function", "name": "file_read", "description": "Reads a file.", "strict": false,
                    "parameters": { "type": "object", "properties": { "path": { "type": "string" } } } }],
        "max_output_tokens": 77,
        "store": false,
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn the_key_is_a_bearers() {
    assert_eq!(
        Dialect::Responses { max_output_tokens: 1 }.headers(Some(&Secret::new("sk-1")))["authorization"],
        "Bearer sk-1"
    );
}
