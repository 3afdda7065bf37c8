//! Chunks of Chat Completions.

use serde_json::{Value, json};

use super::{data, id, interleaved, pieces};
use crate::llm::script::{Answer, Stop};

pub(super) fn events(answer: &Answer, number: usize) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        data(
            &json!({ "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_761_000_000,
                      "model": "test-model", "choices": choices, "usage": usage }),
        )
    };
    let delta = |delta: Value, reason: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]), Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces(&answer.text, answer.text_pieces) {
        events.push(delta(json!({ "content": piece }), Value::Null));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let mut begun =
            json!({ "index": index, "type": "function", "function": { "name": call.tool, "arguments": "" } });
        let id = id(call, "call", number, index);
        if !id.is_empty() {
            begun["id"] = id.into();
        }
        events.push(delta(json!({ "tool_calls": [begun] }), Value::Null));
    }
    for (index, piece) in interleaved(&answer.calls) {
        let more = json!({ "index": index, "function": { "arguments": piece } });
        events.push(delta(json!({ "tool_calls": [more] }), Value::Null));
    }
    let reason = match answer.stop {
        Stop::Length => "length",
        Stop::Declined => "content_filter",
        Stop::Done if answer.calls.is_empty() => "stop",
        Stop::Done => "tool_calls",
    };
    events.push(delta(json!({}), reason.into()));
    let (input, output) = answer.usage;
    let usage =
        json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    events.push(chunk(json!([]), usage));
    events.push("data: [DONE]\n\n".to_owned());
    events
}
