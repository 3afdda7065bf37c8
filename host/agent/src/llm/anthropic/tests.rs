//! Messages on streams written after its published format, and the request as it is published.

use super::Ids;
use crate::llm::dialect::Dialect;
use crate::llm::tests::{body_of, cut_is_never_whole, heard, reply};
use crate::turn::{Stop, TokenUsage};
use cofferdam_core::secret::Secret;
use serde_json::json;

const DIALECT: Dialect = Dialect::Anthropic;

#[tokio::test]
async fn text_arrives_in_pieces_with_its_cost() {
    let reply = reply(DIALECT, include_str!("streams/text.sse")).await;
    assert_eq!(reply.text.as_deref(), Some("Grüße! Alles gesehen. 📎"));
    assert_eq!(reply.usage, TokenUsage { input_tokens: 472 + 100 + 8, output_tokens: 15 });
    assert_eq!((reply.stop, reply.tool_calls.len()), (Stop::Done, 0));
}

#[tokio::test]
async fn text_and_parallel_calls_are_kept_together() {
    let reply = reply(DIALECT, include_str!("streams/calls.sse")).await;
    assert_eq!(reply.text.as_deref(), Some("Ich speichere beide."));
    let calls: Vec<_> = reply.tool_calls.iter().map(|c| (c.id.as_str(), c.tool.as_str())).collect();
    assert_eq!(
        calls,
        [("toolu_01A", "attachment_save"), ("toolu_01B", "file_list"), ("toolu_01C", "file_read")]
    );
    let arguments: Vec<_> = reply.tool_calls.iter().map(|c| c.arguments.clone().expect("text")).collect();
    assert_eq!(arguments[0], r#"{"index": 0, "path": "/shared/Müller – 写真.jpg"}"#);
    assert_eq!(arguments[1..], ["{}", r#"{"path":"/shared/at once"}"#]);
}

#[tokio::test]
async fn why_it_stopped_is_told() {
    for (reason, stop) in [
        ("end_turn", Stop::Done),
        ("tool_use", Stop::Done),
        ("max_tokens", Stop::Length),
        ("refusal", Stop::Declined),
    ] {
        let recorded = format!(
            "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\n\
             event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let (reply, _) = heard(DIALECT, &recorded, 64).await.expect("whole");
        assert_eq!(reply.stop, stop, "{reason}");
    }
}

#[tokio::test]
async fn what_is_cut_or_broken_is_never_whole() {
    for recorded in [include_str!("streams/text.sse"), include_str!("streams/calls.sse")] {
        cut_is_never_whole(DIALECT, recorded, "event: message_stop").await;
    }
}

#[test]
fn a_request_is_as_published() {
    let body = body_of(super::body);
    let expected = json!({
        "model": "m-1",
        "max_tokens": 77,
        "system": "Be kind.",
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": body["messages"][0]["content"][0]["text"] },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } },
                { "type": "document",
                  "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBERg==" } },
                { "type": "text", "text": "look" },
                { "type": "text", "text": "User sent 2 attachments: …" },
            ] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "c1", "name": "file_read", "input": { "path": "/shared/ä" } },
                { "type": "tool_use", "id": "c_2", "name": "no_such", "input": { "not_an_object": "{" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "{\"content\":\"x\"}", "is_error": false },
                { "type": "tool_result", "tool_use_id": "c_2", "content": "unknown_tool: no", "is_error": true },
            ] },
            { "role": "assistant", "content": [{ "type": "text", "text": "Done." }] },
            { "role": "user", "content": [{ "type": "text", "text": "thanks" }] },
        ],
        "tools": [{ "name": "file_read", "description": "Reads a file.",
                    "input_schema": { "type": "object", "properties": { "path": { "type": "string" } } } }],
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn the_key_and_the_version_are_headers() {
    let headers = Dialect::Anthropic.headers(Some(&Secret::new("sk-ant-1")));
    assert_eq!(
        (&headers["x-api-key"], &headers["anthropic-version"]),
        (&"sk-ant-1".parse().expect("fit"), &"2023-06-01".parse().expect("fit"))
    );
    assert!(!format!("{headers:?}").contains("sk-ant-1"), "it does not print");
}

#[test]
fn ids_are_in_the_alphabet_and_none_comes_twice() {
    let mut ids = Ids::default();
    let taken: Vec<_> = ["x", "x.y", "x_y", "x", "x_y_2"].into_iter().map(|id| ids.take(id)).collect();
    assert_eq!(taken, ["x", "x_y", "x_y_2", "x_2", "x_y_2_2"]);
}
