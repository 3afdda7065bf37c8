//! Anthropic's Messages: `POST {base_url}/v1/messages`.
//!
//! In a request users and models take turns, so results and what the user says besides are one
//! message, the results first. The stream is content blocks that start, grow and stop, pings
//! between them, and errors in the middle.

#[cfg(test)]
mod tests;

use super::answer::ModelAnswer;
use super::dialect::{self, StreamState, secret_header};
use super::failure::AttemptFailure;
use super::messages::{Block, CallResult, Prompt, PromptCall, PromptMessage};
use super::parts::Encoded;
use crate::turn::{Stop, ToolSpec};
use cofferdam_core::secret::Secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The version of the API that requests and events are of.
const VERSION: &str = "2023-06-01";

/// The version, and the key in a header of its own.
pub(super) fn headers(key: Option<&Secret>) -> HeaderMap {
    let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
    let key = key.map(|key| (HeaderName::from_static("x-api-key"), secret_header(key.reveal())));
    [version].into_iter().chain(key).collect()
}

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<RequestMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    stream: bool,
}

#[derive(Serialize)]
struct RequestMessage<'a> {
    role: &'static str,
    content: Vec<ContentBlock<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock<'a> {
    Text { text: &'a str },
    Image { source: BlockSource<'a> },
    Document { source: BlockSource<'a> },
    ToolUse { id: Cow<'a, str>, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: Cow<'a, str>, content: &'a str, is_error: bool },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockSource<'a> {
    Base64 { media_type: &'a str, data: Encoded<'a> },
    Url { url: &'a str },
}

pub(super) fn body(prompt: &Prompt<'_>) -> Vec<u8> {
    let mut messages: Vec<RequestMessage<'_>> = Vec::new();
    let mut ids = Ids::default();
    for message in &prompt.messages {
        let (role, pieces) = ids.pieces(message);
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(pieces),
            _ => messages.push(RequestMessage { role, content: pieces }),
        }
    }
    let body = RequestBody {
        model: prompt.model,
        max_tokens: prompt.max_output_tokens,
        system: Some(prompt.instructions).filter(|text| !text.trim().is_empty()),
        messages,
        tools: prompt.tools.iter().map(to_tool).collect(),
        stream: true,
    };
    serde_json::to_vec(&body).expect("plain data")
}

/// The ids of a conversation's calls as this API takes them: in its alphabet, and none twice,
/// though a conversation may have begun with another server, or have one that begins to count anew
/// in each answer.
#[derive(Default)]
struct Ids<'a> {
    taken: BTreeSet<Cow<'a, str>>,
    /// Those of the newest calls, which wait for their results.
    newest: Vec<Cow<'a, str>>,
}

impl<'a> Ids<'a> {
    fn pieces(&mut self, message: &'a PromptMessage<'a>) -> (&'static str, Vec<ContentBlock<'a>>) {
        match message {
            PromptMessage::User(blocks) => ("user", blocks.iter().map(block).collect()),
            PromptMessage::Results(outcomes) => {
                let result = |(tool_use_id, outcome): (_, &'a CallResult<'a>)| ContentBlock::ToolResult {
                    tool_use_id,
                    content: outcome.shown,
                    is_error: outcome.failed,
                };
                ("user", self.newest.drain(..).zip(outcomes).map(result).collect())
            }
            PromptMessage::Assistant { text, calls } => {
                self.newest = calls.iter().map(|call| self.take(call.id)).collect();
                let text = text.map(|text| ContentBlock::Text { text });
                let tool_use = |(id, call): (_, &'a PromptCall<'a>)| ContentBlock::ToolUse {
                    id,
                    name: &call.tool,
                    input: &call.arguments,
                };
                let calls = self.newest.iter().cloned().zip(calls).map(tool_use);
                ("assistant", text.into_iter().chain(calls).collect())
            }
        }
    }

    fn take(&mut self, id: &'a str) -> Cow<'a, str> {
        let plain = wire_id(id);
        let mut free = plain.clone();
        for n in 2.. {
            if self.taken.insert(free.clone()) {
                break;
            }
            free = format!("{plain}_{n}").into();
        }
        free
    }
}

fn block<'a>(block: &'a Block<'a>) -> ContentBlock<'a> {
    let part = match block {
        Block::Text(text) => return ContentBlock::Text { text },
        Block::Part(part) => part,
    };
    let source = match part.url() {
        Some(url) => BlockSource::Url { url },
        None => BlockSource::Base64 { media_type: &part.mime_type, data: part.base64() },
    };
    if part.is_image() { ContentBlock::Image { source } } else { ContentBlock::Document { source } }
}

/// An id in the alphabet that this API accepts.
fn wire_id(id: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(plain) {
        return id.into();
    }
    id.chars().map(|c| if plain(c) { c } else { '_' }).collect::<String>().into()
}

fn to_tool(ToolSpec { name, summary, arguments }: &ToolSpec) -> Value {
    json!({ "name": name, "description": summary, "input_schema": arguments })
}

/// Takes the data of one event.
pub(super) fn hear(data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure> {
    let event = dialect::json(data)?;
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
