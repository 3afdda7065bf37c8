//! The checks themselves: each request that a real API refuses is refused here, in whatever it
//! differs from a sound one.

use serde_json::{Value, json};

use super::check;
use super::dialect::Dialect;
use super::journal::RequestRecord;

fn problem(dialect: Dialect, body: Value) -> Option<String> {
    let headers = [("content-type", "application/json"), ("anthropic-version", "2023-06-01")];
    let record = RequestRecord {
        number: 0,
        connection: 1,
        dialect: Some(dialect),
        target: String::new(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        bytes: 0,
        body,
        violation: None,
    };
    check::request(dialect, &record).err()
}

/// A sound request with calls, results, a part and a tool.
fn sound(dialect: Dialect) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    match dialect {
        Dialect::Chat => json!({
            "model": "m", "stream": true, "max_tokens": 1,
            "messages": [
                { "role": "system", "content": "s" },
                { "role": "user", "content": [
                    { "type": "text", "text": "x" },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,eA==" } } ] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "t", "arguments": "{}" } },
                    { "id": "b", "type": "function", "function": { "name": "t", "arguments": "{}" } } ] },
                { "role": "tool", "tool_call_id": "a", "content": "1" },
                { "role": "tool", "tool_call_id": "b", "content": "2" },
            ],
            "tools": [{ "type": "function", "function": { "name": "t", "description": "d", "parameters": schema } }],
        }),
        Dialect::Anthropic => json!({
            "model": "m", "stream": true, "max_tokens": 1, "system": "s",
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "x" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "eA==" } } ] },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "a", "name": "t", "input": {} },
                    { "type": "tool_use", "id": "b", "name": "t", "input": {} } ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "b", "content": "2", "is_error": true } ] },
            ],
            "tools": [{ "name": "t", "description": "d", "input_schema": schema }],
        }),
        Dialect::Responses => json!({
            "model": "m", "stream": true, "store": false, "max_output_tokens": 1, "instructions": "s",
            "input": [
                { "type": "message", "role": "user", "content": [
                    { "type": "input_text", "text": "x" },
                    { "type": "input_image", "image_url": "data:image/png;base64,eA==" } ] },
                { "type": "function_call", "call_id": "a", "name": "t", "arguments": "{}" },
                { "type": "function_call", "call_id": "b", "name": "t", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "a", "output": "1" },
                { "type": "function_call_output", "call_id": "b", "output": "2" },
            ],
            "tools": [{ "type": "function", "name": "t", "description": "d", "parameters": schema, "strict": false }],
        }),
    }
}

/// Where in the sound request something else stands, and what.
type Change = (&'static str, Value);

fn changes(dialect: Dialect) -> Vec<Change> {
    let mut all = vec![
        ("/model", json!("")),
        ("/stream", json!(false)),
        ("/tools", json!([])),
        ("/tools/0/strictness", json!(1)),
    ];
    all.extend(match dialect {
        Dialect::Chat => vec![
            ("/temperature", json!(1)),
            ("/max_tokens", json!(0)),
            ("/messages", json!([])),
            ("/messages/0/role", json!("developer")),
            ("/messages/0/content", json!(" ")),
            ("/messages/1/role", json!("system")),
            ("/messages/1/content", json!("")),
            ("/messages/1/content/1/image_url/url", json!("file:///etc/passwd")),
            ("/messages/1/content/1/image_url/url", json!("data:image/png;base64,?")),
            ("/messages/2/tool_calls/0/function/name", json!("a.b")),
            ("/messages/2/tool_calls/0/function/arguments", json!("{")),
            ("/messages/2/tool_calls/1/id", json!("a")),
            ("/messages/3/tool_call_id", json!("b")),
            ("/messages/4/role", json!("user")),
            ("/messages/4/content", json!("")),
            ("/tools/0/function/name", json!("x".repeat(65))),
            ("/tools/0/function/parameters/$schema", json!("x")),
            ("/tools/0/function/parameters/properties", json!(null)),
        ],
        Dialect::Anthropic => vec![
            ("/store", json!(false)),
            ("/max_tokens", json!(null)),
            ("/system", json!("")),
            ("/messages/0/role", json!("assistant")),
            ("/messages/0/content", json!("text")),
            ("/messages/0/content/0/text", json!(" \n")),
            ("/messages/0/content/1/source/media_type", json!("text/html")),
            ("/messages/1/content/0/id", json!("a.b")),
            ("/messages/1/content/0/input", json!("{}")),
            ("/messages/2/content/0/tool_use_id", json!("b")),
            ("/messages/2/content/1", json!({ "type": "text", "text": "x" })),
            ("/messages/2/content/0", json!({ "type": "text", "text": "x" })),
            ("/messages/2/content/1/content", json!("")),
            ("/tools/0/input_schema/type", json!("string")),
        ],
        Dialect::Responses => vec![
            ("/max_tokens", json!(1)),
            ("/store", json!(true)),
            ("/instructions", json!("")),
            ("/input/0/content/0/type", json!("output_text")),
            ("/input/0/content/1/image_url", json!({ "url": "data:image/png;base64,eA==" })),
            ("/input/1/id", json!("fc_1")),
            ("/input/1/arguments", json!({})),
            ("/input/2/call_id", json!("a")),
            ("/input/3/call_id", json!("z")),
            ("/input/4", json!({ "type": "reasoning" })),
            ("/tools/0/strict", json!(true)),
        ],
    });
    all
}

#[test]
fn whatever_a_real_api_refuses_is_refused() {
    for dialect in Dialect::ALL {
        assert_eq!(problem(dialect, sound(dialect)), None, "{dialect:?}");
        for (place, value) in changes(dialect) {
            let mut body = sound(dialect);
            let (parent, field) = place.rsplit_once('/').expect("a place");
            let parent = body.pointer_mut(parent).unwrap_or_else(|| panic!("{place} is nowhere"));
            match field.parse::<usize>() {
                Ok(index) if parent.is_array() => parent[index] = value.clone(),
                _ => parent[field] = value.clone(),
            }
            assert!(problem(dialect, body).is_some(), "{dialect:?}: {place} = {value} is accepted");
        }
    }
}
