//! The body of a Messages request. Users and models take turns, so results and what the user says
//! besides are one message, the results first.

use crate::llm::messages::{Block, Call, Message, Outcome, Prompt, Tool};
use crate::llm::parts::{Encoded, Part, Shape};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct Said<'a> {
    role: Role,
    content: Vec<Piece<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    Document { source: Source<'a> },
    ToolUse { id: Cow<'a, str>, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: Cow<'a, str>, content: &'a str, is_error: bool },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: Encoded<'a> },
    Url { url: &'a str },
}

#[derive(Serialize)]
struct Offered<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

/// The body.
pub(super) fn body(prompt: &Prompt<'_>) -> Vec<u8> {
    let mut messages: Vec<Said<'_>> = Vec::new();
    let mut ids = Ids::default();
    for message in &prompt.messages {
        let (role, pieces) = ids.pieces(message);
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(pieces),
            _ => messages.push(Said { role, content: pieces }),
        }
    }
    let body = Body {
        model: prompt.model,
        max_tokens: prompt.max_output_tokens,
        system: Some(prompt.instructions).filter(|text| !text.trim().is_empty()),
        messages,
        tools: prompt.tools.iter().map(offered).collect(),
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
    fn pieces(&mut self, message: &'a Message<'a>) -> (Role, Vec<Piece<'a>>) {
        match message {
            Message::User(blocks) => (Role::User, blocks.iter().map(block).collect()),
            Message::Results(outcomes) => {
                let outcomes = self.newest.drain(..).zip(outcomes);
                (Role::User, outcomes.map(|(id, outcome)| tool_result(id, outcome)).collect())
            }
            Message::Assistant { text, calls } => {
                self.newest = calls.iter().map(|call| self.take(call.id)).collect();
                let text = text.map(|text| Piece::Text { text });
                let calls = self.newest.iter().cloned().zip(calls).map(|(id, call)| tool_use(id, call));
                (Role::Assistant, text.into_iter().chain(calls).collect())
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

fn block<'a>(block: &'a Block<'a>) -> Piece<'a> {
    match block {
        Block::Text(text) => Piece::Text { text },
        Block::Part(part) => part_piece(part),
    }
}

fn part_piece(part: &Part) -> Piece<'_> {
    let source = match part.url() {
        Some(url) => Source::Url { url },
        None => Source::Base64 { media_type: &part.mime_type, data: part.base64() },
    };
    match part.shape {
        Shape::Image => Piece::Image { source },
        Shape::Document => Piece::Document { source },
    }
}

fn tool_use<'a>(id: Cow<'a, str>, call: &'a Call<'a>) -> Piece<'a> {
    Piece::ToolUse { id, name: &call.tool, input: &call.arguments }
}

fn tool_result<'a>(id: Cow<'a, str>, outcome: &'a Outcome<'a>) -> Piece<'a> {
    Piece::ToolResult { tool_use_id: id, content: outcome.shown, is_error: outcome.failed }
}

/// An id in the alphabet that this API accepts.
fn wire_id(id: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(plain) {
        return id.into();
    }
    id.chars().map(|c| if plain(c) { c } else { '_' }).collect::<String>().into()
}

fn offered<'a>(tool: &'a Tool<'a>) -> Offered<'a> {
    Offered { name: tool.name, description: tool.summary, input_schema: &tool.arguments }
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
