//! The body of a Responses request. Items have no ids of their own here: the server, which stores
//! nothing, would look for them in vain.

use crate::llm::messages::{Block, Prompt, PromptMessage};
use crate::llm::parts::{Encoded, PartShape};
use crate::turn::ToolSpec;
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

/// The body.
pub(in crate::llm) fn body(prompt: &Prompt<'_>) -> Vec<u8> {
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
    match part.shape {
        PartShape::Image => ContentPart::InputImage { image_url: part.data_url() },
        PartShape::Document => ContentPart::InputFile { filename: &part.name, file_data: part.data_url() },
    }
}

fn to_tool(ToolSpec { name, summary, arguments }: &ToolSpec) -> Value {
    // Strict schemas know no optional arguments.
    json!({ "type": "function", "name": name, "description": summary, "parameters": arguments, "strict": false })
}
