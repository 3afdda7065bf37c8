//! The body of a Messages request. Users and models take turns, so results and what the user says
//! besides are one message, the results first.

use crate::llm::messages::{Block, CallResult, Prompt, PromptCall, PromptMessage};
use crate::llm::parts::{Encoded, PartShape};
use crate::turn::ToolSpec;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

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

/// The body.
pub(in crate::llm) fn body(prompt: &Prompt<'_>) -> Vec<u8> {
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
    match part.shape {
        PartShape::Image => ContentBlock::Image { source },
        PartShape::Document => ContentBlock::Document { source },
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_the_alphabet_and_none_comes_twice() {
        let mut ids = Ids::default();
        let taken: Vec<_> = ["x", "x.y", "x_y", "x", "x_y_2"].into_iter().map(|id| ids.take(id)).collect();
        assert_eq!(taken, ["x", "x_y", "x_y_2", "x_2", "x_y_2_2"]);
    }
}
