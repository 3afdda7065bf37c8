//! Events of OpenAI's Responses.

use serde_json::{Value, json};

use super::{id, interleaved, named, pieces};
use crate::llm::script::{Answer, Stop};

pub(super) fn events(answer: &Answer, number: usize) -> Vec<String> {
    let mut events = Events::default();
    let response =
        |status: &str| json!({ "id": format!("resp_{number}"), "object": "response", "status": status });
    events.push("response.created", json!({ "response": response("in_progress") }));
    let mut place = 0;
    if !answer.text.is_empty() {
        let item = format!("msg_{number}");
        let message = |content: Value| json!({ "id": item, "type": "message", "role": "assistant", "content": content });
        events
            .push("response.output_item.added", json!({ "output_index": place, "item": message(json!([])) }));
        for piece in pieces(&answer.text, answer.text_pieces) {
            let delta = json!({ "item_id": item, "output_index": place, "content_index": 0, "delta": piece });
            events.push("response.output_text.delta", delta);
        }
        let whole = json!([{ "type": "output_text", "text": answer.text, "annotations": [] }]);
        events.push("response.output_item.done", json!({ "output_index": place, "item": message(whole) }));
        place += 1;
    }
    let item = |index: usize, arguments: &str| {
        let call = &answer.calls[index];
        json!({ "id": format!("fc_{number}_{index}"), "type": "function_call", "arguments": arguments,
                "call_id": id(call, "call", number, index), "name": call.tool })
    };
    for index in 0..answer.calls.len() {
        events.push(
            "response.output_item.added",
            json!({ "output_index": place + index, "item": item(index, "") }),
        );
    }
    for (index, piece) in interleaved(&answer.calls) {
        let delta = json!({ "item_id": format!("fc_{number}_{index}"), "output_index": place + index, "delta": piece });
        events.push("response.function_call_arguments.delta", delta);
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let done = json!({ "output_index": place + index, "arguments": call.arguments });
        events.push("response.function_call_arguments.done", done);
        let done = json!({ "output_index": place + index, "item": item(index, &call.arguments) });
        events.push("response.output_item.done", done);
    }
    let (input, output) = answer.usage;
    let (name, reason) = match answer.stop {
        Stop::Done => ("completed", Value::Null),
        Stop::Length => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Stop::Declined => ("incomplete", json!({ "reason": "content_filter" })),
    };
    let mut last = response(name);
    last["incomplete_details"] = reason;
    last["usage"] = json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output });
    events.push(&format!("response.{name}"), json!({ "response": last }));
    events.all
}

/// Events with their numbers.
#[derive(Default)]
struct Events {
    all: Vec<String>,
}

impl Events {
    fn push(&mut self, name: &str, mut value: Value) {
        value["type"] = name.into();
        value["sequence_number"] = self.all.len().into();
        self.all.push(named(name, &value));
    }
}
