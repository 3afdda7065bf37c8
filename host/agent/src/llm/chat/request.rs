//! The body of a Chat Completions request.

use super::LimitField;
use crate::llm::messages::{Block, Call, Message, Prompt, Tool};
use crate::llm::parts::{Encoded, Part, Shape};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Made<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// A single text is a string: some servers know nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Encoded<'a>,
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'a str,
    file_data: Encoded<'a>,
}

#[derive(Serialize)]
struct Made<'a> {
    id: &'a str,
    r#type: &'static str,
    function: MadeFunction<'a>,
}

#[derive(Serialize)]
struct MadeFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Offered<'a> {
    r#type: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// The body.
pub(super) fn body(prompt: &Prompt<'_>, limit: LimitField) -> Vec<u8> {
    let system = Some(prompt.instructions).filter(|text| !text.trim().is_empty());
    let mut messages: Vec<_> = system.into_iter().map(|content| Said::System { content }).collect();
    messages.extend(prompt.messages.iter().flat_map(said));
    let tokens = |field| (limit == field).then_some(prompt.max_output_tokens);
    let body = Body {
        model: prompt.model,
        messages,
        tools: prompt.tools.iter().map(offered).collect(),
        max_tokens: tokens(LimitField::MaxTokens),
        max_completion_tokens: tokens(LimitField::MaxCompletionTokens),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).expect("plain data")
}

fn said<'a>(message: &'a Message<'a>) -> Vec<Said<'a>> {
    match message {
        Message::User(blocks) => vec![Said::User { content: content(blocks) }],
        Message::Assistant { text, calls } => {
            vec![Said::Assistant { content: *text, tool_calls: calls.iter().map(made).collect() }]
        }
        Message::Results(outcomes) => outcomes
            .iter()
            .map(|outcome| Said::Tool { tool_call_id: outcome.call, content: outcome.shown })
            .collect(),
    }
}

fn content<'a>(blocks: &'a [Block<'a>]) -> Content<'a> {
    if let [Block::Text(text)] = blocks {
        return Content::Text(text);
    }
    let piece = |block: &'a Block<'a>| match block {
        Block::Text(text) => Piece::Text { text },
        Block::Part(part) => part_piece(part),
    };
    Content::Blocks(blocks.iter().map(piece).collect())
}

fn part_piece(part: &Part) -> Piece<'_> {
    match part.shape {
        Shape::Image => Piece::ImageUrl { image_url: ImageUrl { url: part.data_url() } },
        Shape::Document => Piece::File { file: File { filename: &part.name, file_data: part.data_url() } },
    }
}

fn made<'a>(call: &'a Call<'a>) -> Made<'a> {
    let function = MadeFunction { name: &call.tool, arguments: call.arguments.to_string() };
    Made { id: call.id, r#type: "function", function }
}

fn offered<'a>(tool: &'a Tool<'a>) -> Offered<'a> {
    let function =
        OfferedFunction { name: tool.name, description: tool.summary, parameters: &tool.arguments };
    Offered { r#type: "function", function }
}
