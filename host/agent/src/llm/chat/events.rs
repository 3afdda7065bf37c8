//! The chunks of a Chat Completions stream. A call is known by its index; some servers give every
//! call the index 0 and a new id, some leave the index out, some repeat the id or the name. The
//! last chunk may hold usage and no choice.

use crate::llm::answer::ModelAnswer;
use crate::llm::dialect::{StreamState, json};
use crate::llm::failure::AttemptFailure;
use crate::turn::Stop;
use serde_json::Value;

/// Takes the data of one chunk.
pub(in crate::llm) fn hear(data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure> {
    if data.trim() == "[DONE]" {
        return Ok(StreamState::End);
    }
    let chunk = json(data)?;
    if !chunk["error"].is_null() {
        return Err(AttemptFailure::from_stream_error(&chunk["error"]));
    }
    if let Some(tokens) = chunk["usage"]["prompt_tokens"].as_u64() {
        answer.usage.input_tokens = tokens;
    }
    if let Some(tokens) = chunk["usage"]["completion_tokens"].as_u64() {
        answer.usage.output_tokens = tokens;
    }
    let choice = &chunk["choices"][0];
    let delta = &choice["delta"];
    // The same under the one name or the other; some servers send both.
    let thought = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str());
    answer.think(thought.unwrap_or_default());
    say(&delta["content"], answer)?;
    // Some servers send every field, empty where it says nothing.
    if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
        answer.stop = Stop::Declined;
        answer.say(text)?;
    }
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        hear_call(call, answer)?;
    }
    match choice["finish_reason"].as_str() {
        None | Some("") => return Ok(StreamState::More),
        Some("length") => answer.stop = Stop::Length,
        Some("content_filter") => answer.stop = Stop::Declined,
        // A proxy whose own server broke off.
        Some("error") => return Err(AttemptFailure::Cut),
        Some(_) => {}
    }
    // Usage may follow. Some servers close here, without a `[DONE]`.
    Ok(StreamState::Whole)
}

/// Servers whose model thinks first send parts, of which thoughts are one kind, and texts where it
/// is one again.
fn say(content: &Value, answer: &mut ModelAnswer) -> Result<(), AttemptFailure> {
    match content {
        Value::String(text) => answer.say(text),
        Value::Array(parts) => {
            let thoughts = parts.iter().flat_map(|part| part["thinking"].as_array().into_iter().flatten());
            thoughts.filter_map(|thought| thought["text"].as_str()).for_each(|text| answer.think(text));
            let texts = parts.iter().filter(|part| part["type"] == "text");
            texts.filter_map(|part| part["text"].as_str()).try_for_each(|text| answer.say(text))
        }
        _ => Ok(()),
    }
}

fn hear_call(call: &Value, answer: &mut ModelAnswer) -> Result<(), AttemptFailure> {
    let id = call["id"].as_str().unwrap_or_default();
    let name = call["function"]["name"].as_str().unwrap_or_default();
    let index = match (call["index"].as_u64(), answer.newest_call()) {
        (Some(index), _) => index,
        (None, None) => 0,
        // Without an index the id of another call begins the next one, and all else goes on with
        // the newest.
        (None, Some(newest)) if id.is_empty() || answer.call_at(newest) == Some(id) => newest,
        (None, Some(newest)) => newest.wrapping_add(1),
    };
    let begins = match answer.call_at(index) {
        None => true,
        Some(known) => !id.is_empty() && !known.is_empty() && id != known,
    };
    if begins {
        answer.begin_call(index, id, name)?;
    }
    match &call["function"]["arguments"] {
        Value::String(fragment) => answer.argue(index, fragment),
        // Some servers send the arguments as the object itself.
        Value::Object(whole) => answer.argue(index, &Value::Object(whole.clone()).to_string()),
        _ => Ok(()),
    }
}
