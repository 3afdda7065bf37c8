//! What OpenAI's Responses takes, without anything stored.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{arguments, data_url, ensure, image_url, known, list, name, object, positive, text, tool};

pub(super) fn check(body: &Map<String, Value>) -> Result<(), String> {
    known(body, &["model", "input", "instructions", "tools", "stream", "store", "max_output_tokens"])?;
    ensure(body.get("store") == Some(&Value::Bool(false)), || "it lets the server store it".into())?;
    if let Some(limit) = body.get("max_output_tokens") {
        positive(limit, "max_output_tokens")?;
    }
    if let Some(instructions) = body.get("instructions") {
        text(instructions, "instructions")?;
    }
    let mut names = BTreeSet::new();
    if let Some(tools) = body.get("tools") {
        for offered in list(Some(tools), "tools")? {
            known(object(offered)?, &["type", "name", "description", "parameters", "strict"])?;
            ensure(offered["type"] == "function", || "a tool is no function".into())?;
            // By default schemas are strict, and then every argument is required.
            ensure(offered["strict"] == Value::Bool(false), || "strict is not false".into())?;
            text(&offered["description"], "the description")?;
            tool(&mut names, &offered["name"], &offered["parameters"])?;
        }
    }
    items(list(body.get("input"), "input")?)
}

fn items(items: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("message") => {
                ensure(open.is_empty(), || format!("item {at}: {open:?} have no results"))?;
                message(item)?;
            }
            Some("function_call") => {
                known(object(item)?, &["type", "call_id", "name", "arguments"])?;
                name(&item["name"])?;
                arguments(&item["arguments"])?;
                let id = text(&item["call_id"], "call_id")?;
                ensure(!open.contains(&id), || format!("two calls have the id {id}"))?;
                open.push(id);
            }
            Some("function_call_output") => {
                known(object(item)?, &["type", "call_id", "output"])?;
                let id = text(&item["call_id"], "call_id")?;
                ensure(open.first() == Some(&id), || format!("item {at} answers {id}, not {open:?}"))?;
                open.remove(0);
                text(&item["output"], "a result")?;
            }
            other => return Err(format!("item {at} has the type {other:?}")),
        }
    }
    ensure(open.is_empty(), || format!("{open:?} have no results"))?;
    ensure(items.last().is_some_and(|item| item["role"] != "assistant"), || {
        "the last item is the model's".into()
    })
}

fn message(item: &Value) -> Result<(), String> {
    known(object(item)?, &["type", "role", "content"])?;
    let role = item["role"].as_str().unwrap_or_default();
    for part in list(item.get("content"), "a message")? {
        match (role, part["type"].as_str()) {
            ("user", Some("input_text")) | ("assistant", Some("output_text")) => {
                text(&part["text"], "a text")?;
            }
            ("user", Some("input_image")) => image_url(&part["image_url"])?,
            ("user", Some("input_file")) => {
                text(&part["filename"], "a file's name")?;
                data_url(&part["file_data"])?;
            }
            other => return Err(format!("a part of {other:?}")),
        }
    }
    Ok(())
}
