//! Chat Completions on streams written after its published format, and the request as it is
//! published.

use super::LimitField;
use crate::llm::dialect::Dialect;
use crate::llm::events::REST_MAX;
use crate::llm::failure::AttemptFailure;
use crate::llm::splitter::EVENT_BYTES_MAX;
use crate::llm::tests::{body_of, cut_is_never_whole, heard, heard_from, reply};
use crate::server::Address;
use crate::turn::{Stop, TokenUsage};
use bytes::Bytes;
use cofferdam_core::secret::Secret;
use futures_util::stream::{StreamExt, iter, pending, unfold};
use serde_json::json;
use tokio::time::timeout;

const DIALECT: Dialect = Dialect::Chat(LimitField::MaxTokens);

/// A stream of these chunks.
fn stream(chunks: &[&str]) -> String {
    chunks.iter().map(|data| format!("data: {data}\n\n")).collect()
}

#[tokio::test]
async fn text_arrives_in_pieces_with_its_cost() {
    let reply = reply(DIALECT, include_str!("streams/text.sse")).await;
    assert_eq!(reply.text.as_deref(), Some("Grüße! Ich habe alles gesehen. 📎"));
    assert_eq!(reply.usage, TokenUsage { input_tokens: 93, output_tokens: 11 });
    assert_eq!((reply.stop, reply.tool_calls.len()), (Stop::Done, 0));
}

#[tokio::test]
async fn parallel_calls_grow_side_by_side() {
    let reply = reply(DIALECT, include_str!("streams/calls.sse")).await;
    assert_eq!(reply.text.as_deref(), Some("Ich speichere beide."));
    let calls: Vec<_> = reply.tool_calls.iter().map(|c| (c.id.as_str(), c.tool.as_str())).collect();
    assert_eq!(calls, [("call_9pw1", "attachment_save"), ("call_Kx2a", "attachment_save")]);
    let arguments: Vec<_> = reply.tool_calls.iter().map(|c| c.arguments.clone().expect("text")).collect();
    assert_eq!(arguments[0], r#"{"index":0,"path":"/shared/Fotos/Müller – 写真.jpg"}"#);
    assert_eq!(arguments[1], r#"{"index":1,"path":"/tmp/b.pdf"}"#);
}

#[tokio::test]
async fn a_server_that_counts_every_call_as_0_is_understood() {
    let reply = reply(DIALECT, include_str!("streams/index_0.sse")).await;
    let calls: Vec<_> = reply.tool_calls.iter().map(|c| (c.id.as_str(), c.arguments.clone())).collect();
    assert_eq!(calls, [("call_a", Ok(r#"{"path":"/shared/a"}"#.into())), ("call_b", Ok("{}".into()))]);
}

#[tokio::test]
async fn what_a_model_thinks_is_not_what_it_says() {
    for (recorded, text, calls, usage) in [
        (include_str!("streams/thinks_in_parts.sse"), "Es sind 391 Dateien.", 0, (28, 139)),
        (include_str!("streams/thinks_beside.sse"), "Ich lese es.", 1, (10, 42)),
    ] {
        let reply = reply(DIALECT, recorded).await;
        assert_eq!(reply.text.as_deref(), Some(text));
        assert_eq!((reply.tool_calls.len(), reply.stop), (calls, Stop::Done));
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), usage);
    }
}

#[tokio::test]
async fn calls_without_index_or_id_are_told_apart() {
    let recorded = [
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"n\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"b","arguments":{"n":2}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":5,"function":{"name":"c"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let calls = heard(DIALECT, &stream(&recorded), 64).await.expect("whole").0.tool_calls;
    let told: Vec<_> = calls.iter().map(|c| (c.tool.as_str(), c.arguments.clone().expect("text"))).collect();
    assert_eq!(told, [("a", "{\"n\":1}".into()), ("b", "{\"n\":2}".into()), ("c", "{}".into())]);
    assert!(!calls[2].id.is_empty());
}

#[tokio::test]
async fn a_call_without_index_goes_on_where_its_id_is_repeated() {
    let recorded = [
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"n\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"b","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let calls = heard(DIALECT, &stream(&recorded), 64).await.expect("whole").0.tool_calls;
    let told: Vec<_> = calls.iter().map(|c| (c.id.as_str(), c.arguments.clone().expect("text"))).collect();
    assert_eq!(told, [("x", "{\"n\":1}".into()), ("y", "{}".into())]);
}

#[tokio::test]
async fn the_highest_index_is_one_like_others() {
    let recorded = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":18446744073709551615,"id":"x","function":{"name":"a"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"b"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let calls = heard(DIALECT, &stream(&recorded), 64).await.expect("whole").0.tool_calls;
    assert_eq!(calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn why_it_stopped_is_told() {
    for (reason, stop) in [
        ("stop", Stop::Done),
        ("tool_calls", Stop::Done),
        ("length", Stop::Length),
        ("content_filter", Stop::Declined),
    ] {
        let recorded = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
        );
        let (reply, _) = heard(DIALECT, &recorded, 64).await.expect("whole");
        assert_eq!(reply.stop, stop, "{reason}");
    }
    let refusal = "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (reply, _) = heard(DIALECT, refusal, 64).await.expect("whole");
    assert_eq!((reply.text.as_deref(), reply.stop), (Some("No."), Stop::Declined));
}

#[tokio::test]
async fn an_empty_refusal_refuses_nothing() {
    let recorded = [
        r#"{"choices":[{"delta":{"content":"Yes.","refusal":""}}]}"#,
        r#"{"choices":[{"delta":{"refusal":"","tool_calls":[{"index":0,"id":"x","function":{"name":"a"}}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"","refusal":""},"finish_reason":"tool_calls"}]}"#,
    ];
    let (reply, _) = heard(DIALECT, &stream(&recorded), 64).await.expect("whole");
    assert_eq!((reply.text.as_deref(), reply.stop), (Some("Yes."), Stop::Done));
    assert_eq!(reply.tool_calls.len(), 1);
}

#[tokio::test]
async fn what_is_cut_or_broken_is_never_whole() {
    for recorded in [include_str!("streams/text.sse"), include_str!("streams/calls.sse")] {
        cut_is_never_whole(DIALECT, recorded, "\"finish_reason\":\"").await;
    }
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let error = format!("{begun}data: {{\"error\":{{\"code\":502,\"message\":\"upstream\"}}}}\n\n");
    assert!(matches!(heard(DIALECT, &error, 64).await, Err(AttemptFailure::Busy { .. })));
    let proxy = format!("{begun}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"error\"}}]}}\n\n");
    assert_eq!(heard(DIALECT, &proxy, 64).await.err(), Some(AttemptFailure::Cut));
    let garbage = format!("{begun}data: {{\"choices\n\n");
    assert!(matches!(heard(DIALECT, &garbage, 64).await, Err(AttemptFailure::Unreadable(_))));
    // Servers that send every field give no reason until they have one.
    let begun = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":""}]}"#;
    assert_eq!(heard(DIALECT, &stream(&[begun]), 64).await.err(), Some(AttemptFailure::Cut));
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    assert!(heard(DIALECT, &stream(&[begun, end]), 64).await.is_ok());
}

#[tokio::test]
async fn an_error_that_is_the_chunk_itself_is_no_empty_answer() {
    let ended = async |chunk: &str| heard(DIALECT, &stream(&[chunk, "[DONE]"]), 64).await.err();
    let busy = AttemptFailure::Busy { said: "internalservererror upstream".into(), after: None };
    let error = r#"{"object":"error","message":"upstream","type":"InternalServerError"}"#;
    assert_eq!(ended(error).await, Some(busy));
    let long = r#"{"object":"error","message":"maximum context length is 9","code":400}"#;
    let told = ended(long).await;
    assert!(matches!(told, Some(AttemptFailure::TooLong(_))), "{told:?}");
    assert_eq!(ended(r#"{"object":"chat.completion.chunk","choices":[]}"#).await, None);
}

/// A connection may break, hang or bring anything after the end; an error is one all the same.
#[tokio::test]
async fn a_whole_answer_outlives_its_connection() {
    let whole = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    let whole = || iter([Ok(Bytes::from(stream(&[whole])))]);
    let endless = || iter([Ok(Bytes::from("x".repeat(EVENT_BYTES_MAX + 1)))]);
    let broken = || iter([Err(AttemptFailure::Cut)]);
    for (what, pieces) in [
        ("it ends", whole().boxed()),
        ("it breaks", whole().chain(broken()).boxed()),
        ("it hangs", whole().chain(pending()).boxed()),
        ("it sends no JSON", whole().chain(iter([Ok(Bytes::from("data: {\n\n"))])).boxed()),
        ("it sends too much", whole().chain(endless()).boxed()),
    ] {
        let (reply, _) = heard_from(DIALECT, pieces).await.expect(what);
        assert_eq!((reply.text.as_deref(), reply.stop), (Some("x"), Stop::Done), "{what}");
    }
    let usage = Bytes::from(stream(&[r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}"#]));
    let (reply, _) =
        heard_from(DIALECT, whole().chain(iter([Ok(usage)])).chain(broken()).boxed()).await.expect("whole");
    assert_eq!(reply.usage, TokenUsage { input_tokens: 7, output_tokens: 5 });
    let error = Bytes::from(stream(&[r#"{"error":{"code":502,"message":"upstream"}}"#]));
    let failure = heard_from(DIALECT, whole().chain(iter([Ok(error)])).boxed()).await.err();
    assert!(matches!(failure, Some(AttemptFailure::Busy { .. })), "{failure:?}");
}

#[tokio::test]
async fn a_server_that_sends_on_and_on_holds_no_whole_answer_back() {
    let whole = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    let more = Bytes::from(stream(&[r#"{"choices":[]}"#]));
    // Each comes within the time that all of them have.
    let drips = unfold(more, |more| async move {
        tokio::time::sleep(REST_MAX / 4).await;
        Some((Ok(more.clone()), more))
    });
    let pieces = iter([Ok(Bytes::from(stream(&[whole])))]).chain(drips).boxed();
    let heard = timeout(3 * REST_MAX, heard_from(DIALECT, pieces)).await.expect("it ends");
    assert_eq!(heard.expect("whole").0.text.as_deref(), Some("x"));
}

#[test]
fn a_request_is_as_published() {
    let body = body_of(|prompt| super::body(prompt, LimitField::MaxTokens));
    let expected = json!({
        "model": "m-1",
        "messages": [
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": [
                { "type": "text", "text": body["messages"][1]["content"][0]["text"] },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } },
                { "type": "file", "file": { "filename": "attachment-0.pdf",
                                            "file_data": "data:application/pdf;base64,JVBERg==" } },
                { "type": "text", "text": "look" },
                { "type": "text", "text": "User sent 2 attachments: …" },
            ] },
            { "role": "assistant", "content": "I look.", "tool_calls": [
                { "id": "c1", "type": "function",
                  "function": { "name": "file_read", "arguments": "{\"path\":\"/shared/ä\"}" } },
                { "id": "c.2", "type": "function",
                  "function": { "name": "no_such", "arguments": "{\"not_an_object\":\"{\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "{\"content\":\"x\"}" },
            { "role": "tool", "tool_call_id": "c.2", "content": "unknown_tool: no" },
            { "role": "assistant", "content": "Done." },
            { "role": "user", "content": "thanks" },
        ],
        "tools": [{ "type": "function", "function": { "name": "file_read", "description": "Reads a file.",
            "parameters": { "type": "object", "properties": { "path": { "type": "string" } } } } }],
        "max_tokens": 77,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(body, expected);
    let summary = body["messages"][1]["content"][0]["text"].as_str().expect("text");
    assert!(summary.ends_with("They met.") && summary.contains("sums up"), "{summary}");
    let newer = body_of(|prompt| super::body(prompt, LimitField::MaxCompletionTokens));
    assert_eq!((&newer["max_completion_tokens"], &newer["max_tokens"]), (&json!(77), &json!(null)));
}

#[test]
fn the_key_is_a_bearers_and_openai_is_known() {
    let address = |text: &str| Address::parse(text).expect("an address");
    assert_eq!(LimitField::at(&address("https://api.openai.com/v1")), LimitField::MaxCompletionTokens);
    let limit = LimitField::at(&address("http://127.0.0.1:11434/v1"));
    assert_eq!(limit, LimitField::MaxTokens);
    let ollama = Dialect::Chat(limit);
    assert!(ollama.headers(None).is_empty());
    let headers = ollama.headers(Some(&Secret::new("sk-1")));
    assert_eq!(headers["authorization"], "Bearer sk-1");
    assert!(!format!("{headers:?}").contains("sk-1"), "it does not print");
}
