//! Chat Completions: `POST {base_url}/chat/completions`, as OpenAI describes it and Ollama, vLLM,
//! llama.cpp, OpenRouter and others speak it.
//!
//! In its stream a call is known by its index; some servers give every call the index 0 and a new
//! id, some leave the index out, some repeat the id or the name. The last chunk may hold usage and
//! no choice.

#[cfg(test)]
mod tests;

use super::answer::ModelAnswer;
use super::dialect::{self, StreamState};
use super::failure::AttemptFailure;
use super::messages::{Block, Prompt, PromptCall, PromptMessage};
use super::parts::Encoded;
use crate::server::Address;
use crate::turn::{Stop, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

/// How the limit of output tokens is written: OpenAI's newer models refuse the old name, and many
/// other servers know no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitField {
    /// As the server at this address reads it.
    pub(super) fn at(address: &Address) -> Self {
        let openai = address.url.host_str() == Some("api.openai.com");
        if openai { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }
}

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    messages: Vec<RequestMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    stream_options: Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum RequestMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: MessageContent<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Value>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// A single text is a string: some servers know nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent<'a> {
    Text(&'a str),
    Blocks(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: FilePart<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Encoded<'a>,
}

#[derive(Serialize)]
struct FilePart<'a> {
    filename: &'a str,
    file_data: Encoded<'a>,
}

pub(super) fn body(prompt: &Prompt<'_>, limit: LimitField) -> Vec<u8> {
    let system = Some(prompt.instructions).filter(|text| !text.trim().is_empty());
    let mut messages: Vec<_> = system.into_iter().map(|content| RequestMessage::System { content }).collect();
    messages.extend(prompt.messages.iter().flat_map(to_messages));
    let tokens = |field| (limit == field).then_some(prompt.max_output_tokens);
    let body = RequestBody {
        model: prompt.model,
        messages,
        tools: prompt.tools.iter().map(to_tool).collect(),
        max_tokens: tokens(LimitField::MaxTokens),
        max_completion_tokens: tokens(LimitField::MaxCompletionTokens),
        stream: true,
        stream_options: json!({ "include_usage": true }),
    };
    serde_json::to_vec(&body).expect("plain data")
}

fn to_messages<'a>(message: &'a PromptMessage<'a>) -> Vec<RequestMessage<'a>> {
    match message {
        PromptMessage::User(blocks) => vec![RequestMessage::User { content: content(blocks) }],
        PromptMessage::Assistant { text, calls } => {
            vec![RequestMessage::Assistant {
                content: *text,
                tool_calls: calls.iter().map(to_call).collect(),
            }]
        }
        PromptMessage::Results(outcomes) => outcomes
            .iter()
            .map(|outcome| RequestMessage::Tool { tool_call_id: outcome.call, content: outcome.shown })
            .collect(),
    }
}

fn content<'a>(blocks: &'a [Block<'a>]) -> MessageContent<'a> {
    if let [Block::Text(text)] = blocks {
        return MessageContent::Text(text);
    }
    MessageContent::Blocks(blocks.iter().map(block).collect())
}

fn block<'a>(block: &'a Block<'a>) -> ContentPart<'a> {
    let part = match block {
        Block::Text(text) => return ContentPart::Text { text },
        Block::Part(part) => part,
    };
    match part.is_image() {
        true => ContentPart::ImageUrl { image_url: ImageUrl { url: part.data_url() } },
        false => ContentPart::File { file: FilePart { filename: &part.name, file_data: part.data_url() } },
    }
}

fn to_call(call: &PromptCall<'_>) -> Value {
    let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn to_tool(ToolSpec { name, summary, arguments }: &ToolSpec) -> Value {
    let function = json!({ "name": name, "description": summary, "parameters": arguments });
    json!({ "type": "function", "function": function })
}

/// Takes the data of one chunk.
pub(super) fn hear(data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure> {
    if data.trim() == "[DONE]" {
        return Ok(StreamState::End);
    }
    let chunk = dialect::json(data)?;
    let error = match &chunk["error"] {
        // Some servers send it as the chunk itself.
        Value::Null if chunk["object"] == "error" => &chunk,
        error => error,
    };
    if !error.is_null() {
        return Err(AttemptFailure::from_stream_error(error));
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
