//! What Anthropic's Messages takes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{base64, ensure, image_url, known, list, name, object, positive, text, tool};

pub(super) fn check(body: &Map<String, Value>, version: Option<&str>) -> Result<(), String> {
    ensure(version == Some("2023-06-01"), || format!("anthropic-version is {version:?}"))?;
    known(body, &["model", "messages", "tools", "stream", "system", "max_tokens"])?;
    positive(body.get("max_tokens").unwrap_or(&Value::Null), "max_tokens")?;
    if let Some(system) = body.get("system") {
        text(system, "system")?;
    }
    let mut names = BTreeSet::new();
    if let Some(tools) = body.get("tools") {
        for offered in list(Some(tools), "tools")? {
            known(object(offered)?, &["name", "description", "input_schema"])?;
            text(&offered["description"], "the description")?;
            tool(&mut names, &offered["name"], &offered["input_schema"])?;
        }
    }
    messages(list(body.get("messages"), "messages")?)
}

fn messages(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut all: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        known(object(message)?, &["role", "content"])?;
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        ensure(message["role"] == expected, || format!("message {at} is of {}", message["role"]))?;
        let blocks = list(message.get("content"), "a message")?;
        if expected == "user" {
            user(blocks, &mut open).map_err(|problem| format!("message {at}: {problem}"))?;
        } else {
            open = assistant(blocks)?;
            for id in &open {
                ensure(all.insert(id), || format!("message {at}: the id {id} is taken"))?;
            }
        }
    }
    ensure(messages.len() % 2 == 1, || "the last message is the model's".into())
}

fn user<'v>(blocks: &'v [Value], open: &mut Vec<&'v str>) -> Result<(), String> {
    let mut others = false;
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => {
                ensure(!others, || "a result after something else".into())?;
                known(object(block)?, &["type", "tool_use_id", "content", "is_error"])?;
                let id = text(&block["tool_use_id"], "tool_use_id")?;
                ensure(open.first() == Some(&id), || format!("a result of {id}, not of {open:?}"))?;
                open.remove(0);
                text(&block["content"], "a result")?;
                ensure(block["is_error"].is_boolean(), || "is_error".into())?;
                continue;
            }
            Some("text") => drop(text(&block["text"], "a text")?),
            Some("image" | "document") => {
                let source = &block["source"];
                if block["type"] == "image" && source["type"] == "url" {
                    known(object(source)?, &["type", "url"])?;
                    image_url(&source["url"])?;
                    others = true;
                    continue;
                }
                ensure(source["type"] == "base64", || "a source of another type".into())?;
                base64(text(&source["media_type"], "media_type")?, text(&source["data"], "data")?)?;
            }
            other => return Err(format!("a block of the type {other:?}")),
        }
        others = true;
    }
    ensure(open.is_empty(), || format!("{open:?} have no results in the next message"))
}

fn assistant(blocks: &[Value]) -> Result<Vec<&str>, String> {
    let mut ids = Vec::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => drop(text(&block["text"], "a text")?),
            Some("tool_use") => {
                known(object(block)?, &["type", "id", "name", "input"])?;
                name(&block["name"])?;
                object(&block["input"])?;
                let id = text(&block["id"], "a call's id")?;
                let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
                ensure(id.bytes().all(plain), || format!("the id {id}"))?;
                ids.push(id);
            }
            other => return Err(format!("a block of the type {other:?}")),
        }
    }
    Ok(ids)
}
