//! A request as any model understands it, whatever its API: the task, and who said what.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use support::llm::{Dialect, RequestRecord};

/// What a model was shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Its task.
    pub(super) task: String,
    pub(super) said: Vec<Said>,
}

/// A turn of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// Of the person, and of the gateway about what came with it: text by text.
    Person(Vec<String>),
    /// Of the model: how many calls it made.
    Model(usize),
    /// What the calls came to.
    Results(Vec<String>),
}

impl Seen {
    /// # Errors
    /// When the request has anything that no such conversation has.
    pub(super) fn of(request: &RequestRecord) -> Result<Self> {
        let mut seen = Self::default();
        match request.dialect.context("it is no request to a model")? {
            Dialect::Chat => request.messages().iter().try_for_each(|message| seen.chat(message))?,
            Dialect::Anthropic => {
                seen.task = text(&request.body["system"])?;
                request.messages().iter().try_for_each(|message| seen.blocks(message))?;
            }
            Dialect::Responses => {
                seen.task = text(&request.body["instructions"])?;
                request.messages().iter().try_for_each(|item| seen.item(item))?;
            }
        }
        Ok(seen)
    }

    fn chat(&mut self, message: &Value) -> Result<()> {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("system") => {
                ensure!(self.task.is_empty() && self.said.is_empty(), "a task in the middle: {message}");
                self.task = text(content)?;
            }
            Some("user") if content.is_string() => self.person(text(content)?),
            Some("user") => texts(content, &["text"])?.into_iter().for_each(|text| self.person(text)),
            Some("assistant") => {
                self.said.push(Said::Model(message["tool_calls"].as_array().map_or(0, Vec::len)))
            }
            Some("tool") => self.result(text(content)?),
            other => bail!("a message of {other:?}"),
        }
        Ok(())
    }

    fn blocks(&mut self, message: &Value) -> Result<()> {
        let blocks = message["content"].as_array().context("blocks")?;
        let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        if message["role"] == "assistant" {
            self.said.push(Said::Model(of("tool_use").count()));
            return Ok(());
        }
        ensure!(message["role"] == "user", "a message of {}", message["role"]);
        for block in of("tool_result") {
            self.result(text(&block["content"])?);
        }
        for block in of("text") {
            self.person(text(&block["text"])?);
        }
        Ok(())
    }

    fn item(&mut self, item: &Value) -> Result<()> {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message"), Some("user")) => {
                texts(&item["content"], &["input_text"])?.into_iter().for_each(|text| self.person(text));
            }
            (Some("message"), Some("assistant")) => self.said.push(Said::Model(0)),
            (Some("function_call"), _) => match self.said.last_mut() {
                Some(Said::Model(calls)) => *calls += 1,
                _ => self.said.push(Said::Model(1)),
            },
            (Some("function_call_output"), _) => self.result(text(&item["output"])?),
            other => bail!("an item of {other:?}"),
        }
        Ok(())
    }

    fn person(&mut self, text: String) {
        let text = untimed(text);
        match self.said.last_mut() {
            Some(Said::Person(texts)) => texts.push(text),
            _ => self.said.push(Said::Person(vec![text])),
        }
    }

    fn result(&mut self, text: String) {
        match self.said.last_mut() {
            Some(Said::Results(texts)) => texts.push(text),
            _ => self.said.push(Said::Results(vec![text])),
        }
    }
}

/// A message without its time, which is never the same; where the line about it says nothing else,
/// without that.
fn untimed(text: String) -> String {
    let Some((line, words)) = text.split_once('\n') else { return text };
    let Ok(Value::Object(mut about)) = serde_json::from_str::<Value>(line) else { return text };
    if about.remove("time").is_none() {
        return text;
    }
    match about.len() {
        1 => words.to_owned(),
        _ => format!("{}\n{words}", Value::Object(about)),
    }
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} is no text"))?.to_owned())
}

/// The texts of parts, all of which must be of these kinds.
fn texts(parts: &Value, kinds: &[&str]) -> Result<Vec<String>> {
    let parts = parts.as_array().context("parts")?;
    let known = |part: &Value| part["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
    ensure!(parts.iter().all(known), "parts of other kinds: {parts:?}");
    parts.iter().map(|part| text(&part["text"])).collect()
}

/// What a model is shown of a call: one line, one object, which says whose words these are.
///
/// # Errors
/// When it is anything else.
pub(super) fn framed(shown: &str, tool: &str) -> Result<Value> {
    ensure!(!shown.contains(['\n', '\r']), "more than a line: {shown:?}");
    let frame: Value = serde_json::from_str(shown).with_context(|| format!("not one JSON value: {shown}"))?;
    // No key comes twice, and nothing hides behind it.
    let again = frame.to_string();
    ensure!(again.as_str() == shown, "read in two ways: {shown}");
    let known = ["tool", "untrusted", "result", "error", "cut", "total_bytes", "head", "path", "note"];
    let keys: Vec<&str> = frame.as_object().context("an object")?.keys().map(String::as_str).collect();
    ensure!(keys.iter().all(|key| known.contains(key)), "{keys:?} of {shown}");
    let says = keys.iter().filter(|key| ["result", "error", "head"].contains(key)).count();
    ensure!(says == 1, "one outcome: {shown}");
    ensure!((&frame["tool"], &frame["untrusted"]) == (&json!(tool), &json!(true)), "whose words: {shown}");
    Ok(frame)
}
