//! What Chat Completions takes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{arguments, data_url, ensure, image_url, known, list, name, object, positive, text, tool};

pub(super) fn check(body: &Map<String, Value>) -> Result<(), String> {
    let fields =
        ["model", "messages", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens"];
    known(body, &fields)?;
    let limits = ["max_tokens", "max_completion_tokens"].iter().filter_map(|name| body.get(*name));
    for limit in limits {
        positive(limit, "the limit of tokens")?;
    }
    let mut names = BTreeSet::new();
    if let Some(tools) = body.get("tools") {
        for offered in list(Some(tools), "tools")? {
            known(object(offered)?, &["type", "function"])?;
            ensure(offered["type"] == "function", || "a tool is no function".into())?;
            let function = &offered["function"];
            known(object(function)?, &["name", "description", "parameters"])?;
            text(&function["description"], "the description")?;
            tool(&mut names, &function["name"], &function["parameters"])?;
        }
    }
    messages(list(body.get("messages"), "messages")?)
}

fn messages(messages: &[Value]) -> Result<(), String> {
    // Calls that wait for their results, in order.
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        ensure(role == "tool" || open.is_empty(), || format!("message {at}: {open:?} have no results"))?;
        match role {
            "system" => {
                ensure(at == 0, || format!("message {at}: a system message in the middle"))?;
                known(object(message)?, &["role", "content"])?;
                text(&message["content"], "the system message")?;
            }
            "user" => user(message)?,
            "assistant" => open = assistant(message)?,
            "tool" => {
                known(object(message)?, &["role", "tool_call_id", "content"])?;
                let id = text(&message["tool_call_id"], "tool_call_id")?;
                ensure(open.first() == Some(&id), || format!("message {at} answers {id}, not {open:?}"))?;
                open.remove(0);
                text(&message["content"], "a result")?;
            }
            other => return Err(format!("message {at} has the role {other:?}")),
        }
    }
    ensure(open.is_empty(), || format!("{open:?} have no results"))?;
    let last = messages.last().map_or(&Value::Null, |message| &message["role"]);
    ensure(last == "user" || last == "tool", || format!("the last message is of {last}"))
}

fn user(message: &Value) -> Result<(), String> {
    known(object(message)?, &["role", "content"])?;
    if message["content"].is_string() {
        return text(&message["content"], "a user's message").map(|_| ());
    }
    for part in list(message.get("content"), "a user's message")? {
        match part["type"].as_str() {
            Some("text") => drop(text(&part["text"], "a text")?),
            Some("image_url") => image_url(&part["image_url"]["url"])?,
            Some("file") => {
                text(&part["file"]["filename"], "a file's name")?;
                data_url(&part["file"]["file_data"])?;
            }
            other => return Err(format!("a part of the type {other:?}")),
        }
    }
    Ok(())
}

/// The ids of its calls.
fn assistant(message: &Value) -> Result<Vec<&str>, String> {
    known(object(message)?, &["role", "content", "tool_calls"])?;
    let Some(calls) = message.get("tool_calls") else {
        return text(&message["content"], "a model's message").map(|_| Vec::new());
    };
    ensure(message["content"].is_null() || message["content"].is_string(), || "content is no text".into())?;
    let mut ids = Vec::new();
    for call in list(Some(calls), "tool_calls")? {
        known(object(call)?, &["id", "type", "function"])?;
        ensure(call["type"] == "function", || "a call of no function".into())?;
        name(&call["function"]["name"])?;
        arguments(&call["function"]["arguments"])?;
        let id = text(&call["id"], "a call's id")?;
        ensure(!ids.contains(&id), || format!("two calls have the id {id}"))?;
        ids.push(id);
    }
    Ok(ids)
}
