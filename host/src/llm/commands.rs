//! The provider without a model: `/tool key=value …` or `/tool {json}` is one tool call.
//!
//! It makes the gateway a file drop that audits everything, and testable from end to end.

use crate::turn::{
    Conversation, Deltas, Entry, Memory, Provider, ProviderError, Reply, Request, ToolCall, ToolSpec,
};
use async_trait::async_trait;
use cofferdam_core::arguments::{BadArguments, from_pairs};
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::text::{about, one_line};
use cofferdam_core::tool::wire_name;
use serde_json::Value;

/// Answers commands.
#[derive(Debug, Default)]
pub struct Commands;

/// A listing is at most this many characters, so that it stays one message on every channel.
const LISTING_CHARS_MAX: usize = 1500;

#[async_trait]
impl Provider for Commands {
    async fn respond(&self, request: Request<'_>, _: &mut dyn Deltas) -> Result<Reply, ProviderError> {
        Ok(decide(request.conversation, request.tools))
    }

    fn memory(&self) -> Memory {
        Memory::None
    }
}

fn decide(conversation: &Conversation, tools: &[ToolSpec]) -> Reply {
    match conversation.entries.last() {
        Some(Entry::ToolResult { result: Ok(value), .. }) => say(value.to_string()),
        Some(Entry::ToolResult { result: Err(error), .. }) => say(error.to_string()),
        Some(Entry::User { text, attachments, .. }) => match text.trim().strip_prefix('/') {
            Some(command) => run(command, tools),
            None if attachments.is_empty() => {
                say("I run commands, not conversations. /help lists them.".into())
            }
            None => say(listing(&attachments.infos())),
        },
        Some(Entry::Assistant { .. } | Entry::Steer { .. } | Entry::Summary { .. }) | None => {
            Reply::default()
        }
    }
}

fn say(text: String) -> Reply {
    Reply { text: Some(text), ..Reply::default() }
}

fn run(command: &str, tools: &[ToolSpec]) -> Reply {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let (name, rest) = (word.split('@').next().unwrap_or(word), rest.trim());
    if name == "help" || name == "start" {
        return say(help(tools));
    }
    let known = tools.iter().find(|t| t.name == wire_name(name));
    if let (Some(tool), "") = (known, rest) {
        return say(usage(tool));
    }
    let arguments = if rest.starts_with('{') || known.is_none() {
        Ok(if rest.starts_with('{') { rest.to_owned() } else { "{}".into() })
    } else {
        let schema = known.map_or(&Value::Null, |t| &t.arguments);
        match words(rest) {
            Some(words) => from_pairs(schema, &words).map(|arguments| arguments.to_string()),
            None => Err(BadArguments::OpenQuote),
        }
    };
    let call = ToolCall { id: "0".into(), tool: one_line(name, 80), arguments };
    Reply { tool_calls: vec![call], ..Reply::default() }
}

/// Words as a shell splits them, but without its comments: nothing that was typed is dropped.
fn words(text: &str) -> Option<Vec<String>> {
    // A `#` means nothing else to the splitting, so a character that is not there keeps its place.
    let stand_in = ('\u{E000}'..='\u{F8FF}').find(|c| !text.contains(*c))?;
    let words = shlex::split(&text.replace('#', &String::from(stand_in)))?;
    Some(words.into_iter().map(|word| word.replace(stand_in, "#")).collect())
}

/// Each argument as it is typed: `path=TEXT`, optional ones in brackets.
fn synopsis(tool: &ToolSpec) -> String {
    let required: Vec<&str> =
        tool.arguments["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut words = vec![format!("/{}", tool.name)];
    for (name, schema) in tool.arguments["properties"].as_object().into_iter().flatten() {
        // One that may be left out is often `["string", "null"]`.
        let kinds = [&schema["type"]].into_iter().chain(schema["type"].as_array().into_iter().flatten());
        let kind = match kinds.filter_map(Value::as_str).find(|kind| *kind != "null") {
            Some("integer" | "number") => "N",
            Some("boolean") => "true|false",
            Some("string") => "TEXT",
            _ => "JSON",
        };
        let word = format!("{name}={kind}");
        words.push(if required.contains(&name.as_str()) { word } else { format!("[{word}]") });
    }
    words.join(" ")
}

/// Every tool with its summary; where that is too long for one message, without.
fn help(tools: &[ToolSpec]) -> String {
    let how = [
        "A /tool alone explains its arguments. Quote text with spaces: path=\"/shared/my photo.jpg\".",
        "Send a file with a command as its caption, or reply to a file with a command.",
    ];
    let with_how = |mut lines: Vec<String>| {
        lines.extend(how.map(str::to_owned));
        lines
    };
    let told = |tool: &ToolSpec| [synopsis(tool), format!("    {}", tool.summary)];
    let whole = with_how(tools.iter().flat_map(told).collect());
    let chars = whole.iter().map(|line| line.chars().count() + 1).sum::<usize>();
    if chars <= LISTING_CHARS_MAX {
        return bounded(whole);
    }
    bounded(with_how(tools.iter().map(synopsis).collect()))
}

fn usage(tool: &ToolSpec) -> String {
    let mut lines = vec![synopsis(tool), format!("    {}", tool.summary)];
    for (name, schema) in tool.arguments["properties"].as_object().into_iter().flatten() {
        let what = one_line(schema["description"].as_str().unwrap_or(""), 300);
        lines.push(format!("{name}: {what}"));
    }
    bounded(lines)
}

/// What came and can be saved; what cannot is told by the turn itself.
fn listing(attachments: &[AttachmentInfo]) -> String {
    let available: Vec<_> = attachments.iter().filter(|a| a.unavailable.is_none()).collect();
    let count = match attachments.len() {
        1 => "1 file came".to_owned(),
        n => format!("{n} files came"),
    };
    let Some(first) = available.first() else { return format!("{count}; there is nothing to save.") };
    let mut lines = vec![format!("{count}:")];
    for a in &available {
        let name = a.name.as_deref().map(|n| format!(" {}", one_line(n, 80))).unwrap_or_default();
        lines.push(format!("[{}]{name} {} ({})", a.index, a.mime_type, about(a.size)));
    }
    let save = format!("/attachment_save index={} path=/shared/NAME", first.index);
    lines.push(format!("To save one, reply to the message with: {save}"));
    bounded(lines)
}

/// Whole lines up to the limit; what does not fit is counted.
fn bounded(lines: Vec<String>) -> String {
    // Room for the line that says how many were left out.
    const TAIL_CHARS: usize = 40;
    let (mut text, mut chars, count) = (String::new(), 0, lines.len());
    for (n, line) in lines.into_iter().enumerate() {
        let more = line.chars().count() + 1;
        if chars + more > LISTING_CHARS_MAX - TAIL_CHARS {
            text.push_str(&format!("… {} more lines", count - n));
            return text;
        }
        chars += more;
        text.push_str(&line);
        text.push('\n');
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachments::Attachment;
    use cofferdam_core::tool::{ErrorCode, ToolError};
    use serde_json::json;

    fn result(result: Result<Value, ToolError>) -> Entry {
        Entry::ToolResult { call: "0".into(), tool: "x".into(), result, shown: String::new() }
    }

    fn tools() -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "attachment_save".into(),
            summary: "Saves one attachment.".into(),
            arguments: json!({ "type": "object", "required": ["index", "path"], "properties": {
                "index": { "type": "integer", "description": "Which one, from 0." },
                "path": { "type": "string", "description": "Where to." },
                "overwrite": { "type": "boolean", "description": "Replace." } } }),
        }]
    }

    fn user(text: &str, attachments: Vec<AttachmentInfo>) -> Conversation {
        let attachments: Vec<_> =
            attachments.into_iter().map(|info| Attachment { info, blob: None }).collect();
        let attachments = attachments.into();
        Conversation { entries: vec![Entry::User { text: text.into(), attachments, addendum: None }] }
    }

    fn told(text: &str) -> String {
        decide(&user(text, vec![]), &tools()).text.expect("text")
    }

    #[test]
    fn commands_become_one_call() {
        for (text, arguments) in [
            ("/attachment_save index=0 path=/shared/a.jpg", r#"{"index":0,"path":"/shared/a.jpg"}"#),
            (
                "/attachment_save@my_bot index=0 path='/shared/a b.jpg'",
                r#"{"index":0,"path":"/shared/a b.jpg"}"#,
            ),
            ("  /attachment_save\nindex=0\npath=\"/shared/x\" ", r#"{"index":0,"path":"/shared/x"}"#),
            (r#"/attachment_save {"index":0,"index":1}"#, r#"{"index":0,"index":1}"#),
        ] {
            let reply = decide(&user(text, vec![]), &tools());
            let arguments = Ok(arguments.into());
            let call = ToolCall { id: "0".into(), tool: "attachment_save".into(), arguments };
            assert_eq!(reply, Reply { tool_calls: vec![call], ..Reply::default() }, "{text}");
        }
        assert_eq!(decide(&user("/nope x", vec![]), &tools()).tool_calls[0].tool, "nope");
    }

    #[test]
    fn what_cannot_be_called_is_explained() {
        let refused = |text: &str| {
            let call = decide(&user(text, vec![]), &tools()).tool_calls.pop().expect("a call, for the audit");
            call.arguments.expect_err("no arguments").to_string()
        };
        assert_eq!(
            refused("/attachment_save index"),
            "\"index\" is not key=value; write e.g. path=/shared/photo.jpg"
        );
        assert_eq!(
            refused("/attachment_save index=0 path=/shared/photo #1.jpg"),
            "\"#1.jpg\" is not key=value; write e.g. path=/shared/photo.jpg"
        );
        assert_eq!(
            refused("/attachment_save path='a"),
            "a quote is not closed; write path=\"/shared/my photo.jpg\""
        );
        assert_eq!(told("hello"), "I run commands, not conversations. /help lists them.");
        assert_eq!(
            told("/attachment_save"),
            "/attachment_save index=N path=TEXT [overwrite=true|false]\n    Saves one attachment.\n\
             index: Which one, from 0.\npath: Where to.\noverwrite: Replace."
        );
        assert_eq!(told("/start"), told("/help"));
        assert!(told("/help").starts_with("/attachment_save index=N path=TEXT [overwrite=true|false]\n"));
    }

    #[test]
    fn results_are_told_as_they_are() {
        let mut conversation = user("/x", vec![]);
        conversation.entries.push(result(Ok(json!({ "saved": true }))));
        assert_eq!(decide(&conversation, &[]).text.as_deref(), Some(r#"{"saved":true}"#));
        let error = ToolError::new(ErrorCode::AlreadyExists, "there is a file");
        conversation.entries.push(result(Err(error)));
        assert_eq!(decide(&conversation, &[]).text.as_deref(), Some("already_exists: there is a file"));
    }

    #[test]
    fn listings_are_bounded() {
        let file = |index| AttachmentInfo {
            index,
            name: Some("n".repeat(100)),
            mime_type: "image/jpeg".into(),
            declared_mime_type: None,
            size: 1,
            sha256: String::new(),
            unavailable: (index == 0).then(|| "too large".into()),
            source: None,
        };
        let text = decide(&user("", (0..100).map(file).collect()), &[]).text.expect("text");
        assert!(text.chars().count() <= LISTING_CHARS_MAX, "{}", text.chars().count());
        assert!(text.ends_with("more lines"), "{text}");
        let two = decide(&user("look", (0..2).map(file).collect()), &[]).text.expect("text");
        assert!(
            two.ends_with("reply to the message with: /attachment_save index=1 path=/shared/NAME"),
            "{two}"
        );
    }
}
