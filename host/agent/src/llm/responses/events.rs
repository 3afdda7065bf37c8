//! The events of a Responses stream. An item is known by its place in the output; servers that
//! leave the places out send one item after the other. The id that a call is answered by is its
//! `call_id`, which is not the item's id.

use crate::llm::answer::ModelAnswer;
use crate::llm::dialect::{StreamState, json};
use crate::llm::failure::AttemptFailure;
use crate::turn::Stop;
use serde_json::Value;

/// Takes the data of one event, of an answer of at most so many tokens.
pub(in crate::llm) fn hear(
    data: &str,
    max_output_tokens: u32,
    answer: &mut ModelAnswer,
) -> Result<StreamState, AttemptFailure> {
    if data.trim() == "[DONE]" {
        return Ok(StreamState::More);
    }
    let event = json(data)?;
    let place = event["output_index"].as_u64().unwrap_or(0);
    let delta = event["delta"].as_str().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "response.output_item.added" => add(place, &event["item"], answer)?,
        "response.output_text.delta" => answer.say(delta)?,
        // An empty one refuses nothing.
        "response.refusal.delta" if !delta.is_empty() => {
            answer.stop = Stop::Declined;
            answer.say(delta)?;
        }
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => answer.think(delta),
        "response.function_call_arguments.delta" => answer.argue(place, delta)?,
        // The whole once more, which counts if a piece of it was lost.
        "response.function_call_arguments.done" => {
            if let Some(whole) = event["arguments"].as_str() {
                answer.argue_whole(place, whole)?;
            }
        }
        "response.completed" => {
            let heard = end(&event["response"], answer);
            // llama.cpp calls an answer complete that was cut off at its limit.
            if answer.usage.output_tokens >= u64::from(max_output_tokens) {
                answer.stop = Stop::Length;
            }
            return Ok(heard);
        }
        "response.incomplete" => {
            answer.stop = match event["response"]["incomplete_details"]["reason"].as_str() {
                Some("content_filter") => Stop::Declined,
                _ => Stop::Length,
            };
            return Ok(end(&event["response"], answer));
        }
        "response.failed" => return Err(AttemptFailure::from_stream_error(&event["response"]["error"])),
        // As it is published, and as it is sent.
        "error" if event["error"].is_object() => {
            return Err(AttemptFailure::from_stream_error(&event["error"]));
        }
        "error" => return Err(AttemptFailure::from_stream_error(&event)),
        _ => {}
    }
    Ok(StreamState::More)
}

fn end(response: &Value, answer: &mut ModelAnswer) -> StreamState {
    answer.usage.input_tokens = response["usage"]["input_tokens"].as_u64().unwrap_or(0);
    answer.usage.output_tokens = response["usage"]["output_tokens"].as_u64().unwrap_or(0);
    StreamState::End
}

fn add(place: u64, item: &Value, answer: &mut ModelAnswer) -> Result<(), AttemptFailure> {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match text("type") {
        "message" => {
            answer.begin_paragraph();
            Ok(())
        }
        "function_call" => {
            answer.begin_call(place, text("call_id"), text("name"))?;
            answer.argue(place, text("arguments"))
        }
        _ => Ok(()),
    }
}
