//! The body of a Chat Completions request.

use super::LimitField;
use crate::llm::messages::{Block, Prompt, PromptCall, PromptMessage};
use crate::llm::parts::{Encoded, PartShape, PromptPart};
use crate::turn::ToolSpec;
use serde::Serialize;
use serde_json::{Value, json};

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

/// The body.
pub(in crate::llm) fn body(prompt: &Prompt<'_>, limit: LimitField) -> Vec<u8> {
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
    let piece = |block: &'a Block<'a>| match block {
        Block::Text(text) => ContentPart::Text { text },
        Block::Part(part) => part_piece(part),
    };
    MessageContent::Blocks(blocks.iter().map(piece).collect())
}

fn part_piece(part: &PromptPart) -> ContentPart<'_> {
    match part.shape {
        PartShape::Image => ContentPart::ImageUrl { image_url: ImageUrl { url: part.data_url() } },
        PartShape::Document => {
            ContentPart::File { file: FilePart { filename: &part.name, file_data: part.data_url() } }
        }
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
