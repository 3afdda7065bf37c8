//! The events of a Messages stream: content blocks that start, grow and stop, pings between them,
//! and errors in the middle.

use crate::llm::answer::ModelAnswer;
use crate::llm::dialect::{StreamState, json};
use crate::llm::failure::AttemptFailure;
use crate::turn::Stop;
use serde_json::Value;

/// Takes the data of one event.
pub(in crate::llm) fn hear(data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure> {
    let event = json(data)?;
    let index = event["index"].as_u64().unwrap_or(0);
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => usage(&event["message"]["usage"], answer),
        "content_block_start" => start(index, &event["content_block"], answer)?,
        "content_block_delta" => match event["delta"]["type"].as_str() {
            Some("text_delta") => answer.say(event["delta"]["text"].as_str().unwrap_or_default())?,
            Some("input_json_delta") => {
                answer.argue(index, event["delta"]["partial_json"].as_str().unwrap_or_default())?;
            }
            Some("thinking_delta") => answer.think(event["delta"]["thinking"].as_str().unwrap_or_default()),
            // Signatures, citations: nobody reads them here.
            _ => {}
        },
        "message_delta" => {
            usage(&event["usage"], answer);
            answer.stop = match event["delta"]["stop_reason"].as_str() {
                Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
                Some("refusal") => Stop::Declined,
                _ => answer.stop,
            };
        }
        "message_stop" => return Ok(StreamState::End),
        "error" => return Err(AttemptFailure::from_stream_error(&event["error"])),
        // Pings, the ends of blocks, and what is added to the API later.
        _ => {}
    }
    Ok(StreamState::More)
}

fn start(index: u64, block: &Value, answer: &mut ModelAnswer) -> Result<(), AttemptFailure> {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => answer.say(text("text")),
        "tool_use" => {
            answer.begin_call(index, text("id"), text("name"))?;
            // Empty here where the arguments come in pieces; some proxies send them at once.
            let whole = block["input"].as_object().filter(|input| !input.is_empty());
            whole.map_or(Ok(()), |input| answer.argue(index, &Value::Object(input.clone()).to_string()))
        }
        _ => Ok(()),
    }
}

/// Input read from a cache and written to one counts as read; later events repeat the sums.
fn usage(usage: &Value, answer: &mut ModelAnswer) {
    let read = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    let input: u64 = read.iter().filter_map(|name| usage[*name].as_u64()).fold(0, u64::saturating_add);
    answer.usage.input_tokens = answer.usage.input_tokens.max(input);
    let output = usage["output_tokens"].as_u64().unwrap_or(0);
    answer.usage.output_tokens = answer.usage.output_tokens.max(output);
}
