//! OpenAI's Responses: `POST {base_url}/responses`. Nothing is stored there: each request holds the
//! whole conversation as items. They have no ids of their own here: the server, which stores
//! nothing, would look for them in vain.
//!
//! In the stream an item is known by its place in the output; servers that leave the places out
//! send one item after the other. The id that a call is answered by is its `call_id`, which is not
//! the item's id.

#[cfg(test)]
mod tests;

use super::answer::ModelAnswer;
use super::dialect::{self, StreamState};
use super::failure::AttemptFailure;
use super::messages::{Block, Prompt, PromptMessage};
use super::parts::Encoded;
use crate::turn::{Stop, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    max_output_tokens: u32,
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message { role: &'static str, content: Vec<ContentPart<'a>> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: Encoded<'a> },
    InputFile { filename: &'a str, file_data: Encoded<'a> },
}

pub(super) fn body(prompt: &Prompt<'_>) -> Vec<u8> {
    let body = RequestBody {
        model: prompt.model,
        instructions: Some(prompt.instructions).filter(|text| !text.trim().is_empty()),
        input: prompt.messages.iter().flat_map(items).collect(),
        tools: prompt.tools.iter().map(to_tool).collect(),
        max_output_tokens: prompt.max_output_tokens,
        store: false,
        stream: true,
    };
    serde_json::to_vec(&body).expect("plain data")
}

fn items<'a>(message: &'a PromptMessage<'a>) -> Vec<InputItem<'a>> {
    match message {
        PromptMessage::User(blocks) => {
            vec![InputItem::Message { role: "user", content: blocks.iter().map(block).collect() }]
        }
        PromptMessage::Assistant { text, calls } => {
            let said = text.map(|text| InputItem::Message {
                role: "assistant",
                content: vec![ContentPart::OutputText { text }],
            });
            let calls = calls.iter().map(|call| InputItem::FunctionCall {
                call_id: call.id,
                name: &call.tool,
                arguments: call.arguments.to_string(),
            });
            said.into_iter().chain(calls).collect()
        }
        PromptMessage::Results(outcomes) => outcomes
            .iter()
            .map(|outcome| InputItem::FunctionCallOutput { call_id: outcome.call, output: outcome.shown })
            .collect(),
    }
}

fn block<'a>(block: &'a Block<'a>) -> ContentPart<'a> {
    let part = match block {
        Block::Text(text) => return ContentPart::InputText { text },
        Block::Part(part) => part,
    };
    match part.is_image() {
        true => ContentPart::InputImage { image_url: part.data_url() },
        false => ContentPart::InputFile { filename: &part.name, file_data: part.data_url() },
    }
}

fn to_tool(ToolSpec { name, summary, arguments }: &ToolSpec) -> Value {
    // Strict schemas know no optional arguments.
    json!({ "type": "function", "name": name, "description": summary, "parameters": arguments, "strict": false })
}

/// Takes the data of one event, of an answer of at most so many tokens.
pub(super) fn hear(
    data: &str,
    max_output_tokens: u32,
    answer: &mut ModelAnswer,
) -> Result<StreamState, AttemptFailure> {
    if data.trim() == "[DONE]" {
        return Ok(StreamState::More);
    }
    let event = dialect::json(data)?;
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
