//! What people type as commands: `/tool key=value …` or `/tool {json}` is one tool call, `/help`
//! lists them. A provider of its own where there is no model, and beside one for such messages.
//!
//! It makes the gateway a file drop that audits everything, and testable from end to end.

use crate::turn::{
    Deltas, HistoryEntry, Provider, ProviderError, StepReply, StepRequest, ToolCall, ToolSpec,
};
use async_trait::async_trait;
use cofferdam_core::arguments::{BadArguments, from_pairs};
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::command::{TypedCommand, split_command};
use cofferdam_core::text::{about, escape_deceptive, one_line};
use cofferdam_core::tool::wire_name;
use serde_json::Value;
use std::collections::HashSet;

/// Answers commands, where there is no model and beside one.
#[derive(Debug)]
pub struct Commands {
    /// Characters of its listings.
    listing_chars_max: usize,
}

/// A listing is at most this many characters, so that it stays one message on every channel.
const LISTING_CHARS_MAX: usize = 1500;

impl Commands {
    /// With so much room for what others add to a listing.
    pub fn with_reserved(chars: usize) -> Self {
        Self { listing_chars_max: LISTING_CHARS_MAX.saturating_sub(chars) }
    }

    fn decide(&self, conversation: &[HistoryEntry], tools: &[ToolSpec]) -> StepReply {
        match conversation.last() {
            Some(HistoryEntry::ToolResult { result: Ok(value), .. }) => say(value.to_string()),
            Some(HistoryEntry::ToolResult { result: Err(error), .. }) => say(error.to_string()),
            Some(HistoryEntry::User { text, attachments, .. }) => match split_command(text) {
                Some(command) => self.run(command, tools),
                None if attachments.is_empty() => {
                    say("I run commands, not conversations. /help lists them.".into())
                }
                None => say(listing(&attachments.infos())),
            },
            // Nothing in a task is a command.
            Some(
                HistoryEntry::Task { .. }
                | HistoryEntry::Assistant { .. }
                | HistoryEntry::Steer { .. }
                | HistoryEntry::Summary { .. },
            )
            | None => StepReply::default(),
        }
    }

    fn run(&self, command: TypedCommand<'_>, tools: &[ToolSpec]) -> StepReply {
        let (name, rest) = (command.name, command.arguments());
        match command.word() {
            Some("help") if !rest.is_empty() => return say(explain_tool(rest, tools)),
            Some("help" | "start") => return say(self.help(tools)),
            Some("steer") => return say(NOTHING_TO_STEER.into()),
            // Answered before there is a turn, where this gateway speaks.
            Some("voice") => {}
            Some(word) => {
                return say(format!("/{word} is a message of its own: send it with nothing after it."));
            }
            None => {}
        }
        let known = tools.iter().find(|tool| tool.name == wire_name(name));
        let needs_more = |tool: &&ToolSpec| rest.is_empty() && required(tool).next().is_some();
        if let Some(tool) = known.filter(needs_more) {
            return say(usage(tool));
        }
        let arguments = match known {
            _ if rest.starts_with('{') => Ok(rest.to_owned()),
            Some(tool) => parse_arguments(&tool.arguments, rest).map(|arguments| arguments.to_string()),
            None => Ok("{}".to_owned()),
        };
        let call = ToolCall { id: "0".into(), tool: one_line(name, 80), arguments };
        StepReply { tool_calls: vec![call], ..StepReply::default() }
    }

    /// Every tool with its summary; where that is too long for one message, without, and at last
    /// the names alone.
    fn help(&self, tools: &[ToolSpec]) -> String {
        let with_how = |mut lines: Vec<String>| {
            lines.extend(HOW.map(str::to_owned));
            lines
        };
        let told = |tool: &ToolSpec| [synopsis(tool), format!("    {}", escape_deceptive(&tool.summary))];
        let whole = with_how(tools.iter().flat_map(told).collect());
        let synopses = with_how(tools.iter().map(synopsis).collect());
        let names = with_how(tools.iter().map(|tool| format!("/{}", tool.name)).collect());
        let fits = |lines: &Vec<String>| chars(lines) <= self.listing_chars_max;
        let lines = [whole, synopses].into_iter().find(fits).unwrap_or(names);
        fit_lines(lines, self.listing_chars_max)
    }
}

/// How commands are written.
const HOW: [&str; 3] = [
    "/help TOOL explains a tool; a /tool alone runs where nothing is required.",
    "Quote text with spaces: path=\"/shared/my photo.jpg\".",
    "Send a file with a command as its caption, or reply to a file with a command.",
];

/// To `/steer` where nobody can speak to a turn that runs.
const NOTHING_TO_STEER: &str = "Nothing is running here that /steer could add to: send the text alone.";

#[async_trait]
impl Provider for Commands {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        _: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        Ok(self.decide(request.conversation, request.tools))
    }

    fn has_memory(&self) -> bool {
        false
    }
}

fn say(text: String) -> StepReply {
    StepReply { text: Some(text), ..StepReply::default() }
}

/// What `/help NAME` says.
fn explain_tool(name: &str, tools: &[ToolSpec]) -> String {
    let name = name.strip_prefix('/').unwrap_or(name);
    match tools.iter().find(|tool| tool.name == wire_name(name)) {
        Some(tool) => usage(tool),
        None => format!("There is no tool {:?} here; /help lists what there is.", one_line(name, 80)),
    }
}

/// Words as a shell splits them, but without its comments: nothing that was typed is dropped.
fn words(text: &str) -> Option<Vec<String>> {
    // A `#` means nothing else to the splitting, so a character that is not there keeps its place.
    let stand_in = ('\u{E000}'..='\u{F8FF}').find(|c| !text.contains(*c))?;
    let words = shlex::split(&text.replace('#', &String::from(stand_in)))?;
    Some(words.into_iter().map(|word| word.replace(stand_in, "#")).collect())
}

/// What follows a command as `key=value …`, typed by its schema.
///
/// # Errors
/// [`BadArguments`].
pub fn parse_arguments(schema: &Value, text: &str) -> Result<Value, BadArguments> {
    from_pairs(schema, &words(text).ok_or(BadArguments::OpenQuote)?)
}

/// The arguments that cannot be left out.
fn required(tool: &ToolSpec) -> impl Iterator<Item = &str> {
    tool.arguments["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Each argument as it is typed: `path=TEXT`, optional ones in brackets.
fn synopsis(tool: &ToolSpec) -> String {
    // Asked once for each argument, of which a schema may have thousands.
    let required: HashSet<&str> = required(tool).collect();
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
        let word = format!("{}={kind}", escape_deceptive(name));
        words.push(if required.contains(name.as_str()) { word } else { format!("[{word}]") });
    }
    words.join(" ")
}

fn usage(tool: &ToolSpec) -> String {
    let mut lines = vec![synopsis(tool), format!("    {}", escape_deceptive(&tool.summary))];
    for (name, schema) in tool.arguments["properties"].as_object().into_iter().flatten() {
        let what = one_line(schema["description"].as_str().unwrap_or(""), 300);
        lines.push(format!("{}: {what}", escape_deceptive(name)));
    }
    fit_lines(lines, LISTING_CHARS_MAX)
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
    fit_lines(lines, LISTING_CHARS_MAX)
}

/// Characters of lines, each with its end.
fn chars(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count() + 1).sum()
}

/// Whole lines up to the limit; what does not fit is counted.
fn fit_lines(lines: Vec<String>, chars_max: usize) -> String {
    // Room for the line that says how many were left out.
    const TAIL_CHARS: usize = 40;
    let (mut text, mut chars, count) = (String::new(), 0, lines.len());
    let room = if self::chars(&lines) <= chars_max { chars_max } else { chars_max - TAIL_CHARS };
    for (n, line) in lines.into_iter().enumerate() {
        let more = line.chars().count() + 1;
        if chars + more > room {
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
    use crate::turn::words::HELP_CHARS_MAX;
    use cofferdam_core::tool::{ErrorCode, ToolError};
    use cofferdam_warden::attachments::Attachment;
    use serde_json::json;

    fn result(result: Result<Value, ToolError>) -> HistoryEntry {
        HistoryEntry::ToolResult { call: "0".into(), tool: "x".into(), result, shown: String::new() }
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

    fn user(text: &str, attachments: Vec<AttachmentInfo>) -> Vec<HistoryEntry> {
        let attachments: Vec<_> =
            attachments.into_iter().map(|info| Attachment { info, blob: None }).collect();
        let attachments = attachments.into();
        vec![HistoryEntry::User { text: text.into(), attachments, addendum: None }]
    }

    fn decide(conversation: &[HistoryEntry], tools: &[ToolSpec]) -> StepReply {
        Commands::with_reserved(0).decide(conversation, tools)
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
            assert_eq!(reply, StepReply { tool_calls: vec![call], ..StepReply::default() }, "{text}");
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
    fn a_tool_alone_runs_where_nothing_is_required() {
        let list = |required: Value| ToolSpec {
            name: "file_list".into(),
            summary: "Lists.".into(),
            arguments: json!({ "required": required, "properties": { "path": { "type": "string" } } }),
        };
        for optional in [json!([]), Value::Null] {
            for text in ["/file_list", " /file_list@our_bot \n"] {
                let reply = decide(&user(text, vec![]), &[list(optional.clone())]);
                let (arguments, tool) = (Ok("{}".into()), "file_list".into());
                let call = ToolCall { id: "0".into(), tool, arguments };
                assert_eq!(reply, StepReply { tool_calls: vec![call], ..StepReply::default() }, "{text}");
            }
        }
        let reply = decide(&user("/file_list", vec![]), &[list(json!(["path"]))]);
        assert_eq!(reply.text.as_deref(), Some("/file_list path=TEXT\n    Lists.\npath: "));
    }

    #[test]
    fn help_explains_a_tool_and_the_words_stand_alone() {
        let usage = told("/attachment_save");
        for text in ["/help attachment_save", "/HELP /attachment_save", "/help attachment.save"] {
            assert_eq!(told(text), usage, "{text}");
        }
        for (text, said) in [
            ("/help nosuch", "There is no tool \"nosuch\" here; /help lists what there is."),
            ("/New page", "/new is a message of its own: send it with nothing after it."),
            ("/steer left", NOTHING_TO_STEER),
        ] {
            assert_eq!(told(text), said, "{text}");
        }
        assert_eq!((told("/HELP"), told("/Start payload")), (told("/help"), told("/help")));
    }

    /// Compared each with each, so many would take minutes.
    #[test]
    fn a_tool_with_many_arguments_is_explained_at_once() {
        let names: Vec<String> = (0..200_000).map(|n| format!("argument_{n}")).collect();
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
        let tool = ToolSpec {
            name: "many".into(),
            summary: "Takes much.".into(),
            arguments: json!({ "required": names[1..], "properties": properties }),
        };
        let synopsis = synopsis(&tool);
        assert!(synopsis.starts_with("/many [argument_0=TEXT] argument_1=TEXT "), "{synopsis:.80}");
        assert!(synopsis.ends_with(" argument_199999=TEXT"));
        assert!(
            Commands::with_reserved(0).help(&[tool]).starts_with("/many\n"),
            "its name alone fits a message"
        );
    }

    #[test]
    fn help_names_what_it_cannot_explain_in_one_message() {
        let many: Vec<ToolSpec> =
            (10..60).map(|n| ToolSpec { name: format!("foreign_tool_{n}"), ..tools().remove(0) }).collect();
        for (commands, chars_max) in [
            (Commands::with_reserved(0), LISTING_CHARS_MAX),
            (Commands::with_reserved(HELP_CHARS_MAX), LISTING_CHARS_MAX - HELP_CHARS_MAX),
        ] {
            let help = commands.help(&many);
            assert!(help.chars().count() <= chars_max, "{help}");
            assert!(help.starts_with("/foreign_tool_10\n/foreign_tool_11\n"), "{help}");
            assert!(help.ends_with(HOW[2]), "{help}");
        }
        let most: Vec<ToolSpec> = many.iter().cycle().take(500).cloned().collect();
        assert!(Commands::with_reserved(0).help(&most).chars().count() <= LISTING_CHARS_MAX);
    }

    #[test]
    fn results_are_told_as_they_are() {
        let mut conversation = user("/x", vec![]);
        conversation.push(result(Ok(json!({ "saved": true }))));
        assert_eq!(decide(&conversation, &[]).text.as_deref(), Some(r#"{"saved":true}"#));
        let error = ToolError::new(ErrorCode::AlreadyExists, "there is a file");
        conversation.push(result(Err(error)));
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
