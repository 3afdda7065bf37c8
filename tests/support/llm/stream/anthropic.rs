//! Events of Anthropic's Messages.

use serde_json::{Value, json};

use super::{id, named, pieces};
use crate::llm::script::{Answer, Stop};

pub(super) fn events(answer: &Answer, number: usize) -> Vec<String> {
    let event = |value: Value| {
        let name = value["type"].as_str().unwrap_or_default().to_owned();
        named(&name, &value)
    };
    let (input, output) = answer.usage;
    let message = json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant", "content": [],
                          "model": "test-model", "stop_reason": null, "stop_sequence": null,
                          "usage": { "input_tokens": input, "output_tokens": 1 } });
    let mut events = vec![event(json!({ "type": "message_start", "message": message }))];
    let mut index = 0;
    if !answer.text.is_empty() {
        let block = json!({ "type": "text", "text": "" });
        events.push(event(json!({ "type": "content_block_start", "index": index, "content_block": block })));
        events.push(event(json!({ "type": "ping" })));
        for piece in pieces(&answer.text, answer.text_pieces) {
            let delta = json!({ "type": "text_delta", "text": piece });
            events.push(event(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(event(json!({ "type": "content_block_stop", "index": index })));
        index += 1;
    }
    for (place, call) in answer.calls.iter().enumerate() {
        let id = id(call, "toolu", number, place);
        let block = json!({ "type": "tool_use", "id": id, "name": call.tool, "input": {} });
        events.push(event(json!({ "type": "content_block_start", "index": index, "content_block": block })));
        for piece in pieces(&call.arguments, call.pieces) {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            events.push(event(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(event(json!({ "type": "content_block_stop", "index": index })));
        index += 1;
    }
    let reason = match answer.stop {
        Stop::Length => "max_tokens",
        Stop::Declined => "refusal",
        Stop::Done if answer.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(event(
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": output } }),
    ));
    events.push(event(json!({ "type": "message_stop" })));
    events
}
