//! Application commands: one for each tool and `help`, made from the tools' schemas; and what
//! somebody who uses one has said with it. Pure.

use super::wire::Command;
use cofferdam_chat::setup::{MenuEntry, MenuTool};
use serde_json::{Map, Value, json};

/// Discord takes no longer names; a tool beyond it can still be typed.
pub(super) const NAME_CHARS_MAX: usize = 32;
/// Discord takes no longer descriptions.
const DESCRIPTION_CHARS_MAX: usize = 100;
/// Discord takes no more options.
const OPTIONS_MAX: usize = 25;
/// Discord takes no more commands.
pub(super) const COMMANDS_MAX: usize = 100;

/// The option that a file is given by.
const FILE: &str = "file";

/// The commands of these tools, as they are set; and the names of those that no command can be made
/// of.
pub(super) fn commands(menu: &[MenuEntry]) -> (Vec<Value>, Vec<String>) {
    let help = json!({ "type": 1, "name": "help", "description": "List the tools, or explain one",
        "options": [option(3, "tool", "The tool to explain", false)] });
    let (mut commands, mut left_out) = (vec![help], Vec::new());
    for entry in menu {
        let Some(tool) = entry.tool.as_ref().filter(|_| entry.name != "help") else { continue };
        match options(tool).filter(|_| is_name(&entry.name) && commands.len() < COMMANDS_MAX) {
            Some(options) => commands.push(json!({ "type": 1, "name": entry.name,
                "description": fit_description(&entry.summary, &entry.name), "options": options })),
            None => left_out.push(entry.name.clone()),
        }
    }
    (commands, left_out)
}

/// Whether what Discord has is what is set. It tells more of each than was set.
pub(super) fn is_current(found: &Value, wanted: &[Value]) -> bool {
    let Some(found) = found.as_array().filter(|found| found.len() == wanted.len()) else { return false };
    wanted.iter().all(|wanted| found.iter().any(|found| is_same(found, wanted)))
}

fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (found, Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| match &found[key] {
            // What is false or empty, Discord need not tell.
            Value::Null => wanted == &Value::Bool(false) || wanted.as_array().is_some_and(Vec::is_empty),
            found => is_same(found, wanted),
        }),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(found, wanted)| is_same(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}

/// The options of a tool, required ones first; `None` where one that is required cannot be given.
fn options(tool: &MenuTool) -> Option<Vec<Value>> {
    let mut options: Vec<(bool, Value)> = Vec::new();
    for (name, schema) in tool.arguments["properties"].as_object().into_iter().flatten() {
        let required =
            tool.arguments["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let lower = name.to_lowercase();
        let taken = options.iter().any(|(_, option)| option["name"] == lower);
        if !is_name(&lower) || taken {
            if required {
                return None;
            }
            continue;
        }
        let described = fit_description(schema["description"].as_str().unwrap_or_default(), &lower);
        options.push((required, option(kind(schema), &lower, &described, required)));
    }
    options.sort_by_key(|(required, _)| !required);
    if options.iter().filter(|(required, _)| *required).count() > OPTIONS_MAX {
        return None;
    }
    if tool.takes_files && !options.iter().any(|(_, option)| option["name"] == FILE) {
        options.truncate(OPTIONS_MAX - 1);
        options.push((false, option(11, FILE, "A file for this call", false)));
        // A required one after it would be refused.
        options.sort_by_key(|(required, _)| !required);
    }
    options.truncate(OPTIONS_MAX);
    Some(options.into_iter().map(|(_, option)| option).collect())
}

fn option(kind: u8, name: &str, description: &str, required: bool) -> Value {
    json!({ "type": kind, "name": name, "description": description, "required": required })
}

/// Discord's type of an argument.
fn kind(schema: &Value) -> u8 {
    let of = |name: &str| match name {
        "integer" => 4,
        "boolean" => 5,
        "number" => 10,
        // A string, or JSON in one.
        _ => 3,
    };
    match &schema["type"] {
        Value::String(name) => of(name),
        // One that may be left out as null.
        Value::Array(names) => {
            let mut others = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            match (others.next(), others.next()) {
                (Some(name), None) => of(name),
                _ => 3,
            }
        }
        _ => 3,
    }
}

/// Whether an argument is said as it is, and not as JSON.
fn is_plain_text(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "string",
        Value::Array(names) => names.iter().all(|name| name == "string" || name == "null"),
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c == '-' || c == '_' || (c.is_alphanumeric() && !c.is_uppercase());
    (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(fits)
}

/// A description that Discord takes.
fn fit_description(text: &str, instead: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if text.is_empty() { instead.to_owned() } else { text };
    if text.chars().count() <= DESCRIPTION_CHARS_MAX {
        return text;
    }
    let cut: String = text.chars().take(DESCRIPTION_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

/// What a command says, as it would be typed.
pub(super) fn text(command: &Command, menu: &[MenuEntry]) -> String {
    let Command { name, options, .. } = command;
    if name == "help" {
        let about = options.iter().find(|(name, _)| name == "tool").and_then(|(_, value)| value.as_str());
        let about = about.map(|about| about.trim().trim_start_matches('/')).unwrap_or_default();
        return format!("/help {about}").trim_end().to_owned();
    }
    let tool = menu.iter().find(|entry| entry.name == *name).and_then(|entry| entry.tool.as_ref());
    let properties = tool.and_then(|tool| tool.arguments["properties"].as_object());
    let mut arguments = Map::new();
    for (option, value) in options {
        let property = properties.and_then(|all| all.iter().find(|(name, _)| name.to_lowercase() == *option));
        let (name, value) = match (property, value) {
            (Some((name, schema)), Value::String(said)) if !is_plain_text(schema) => {
                // What is no JSON is refused by the tool's schema, in its words.
                (name.clone(), serde_json::from_str(said).unwrap_or_else(|_| value.clone()))
            }
            (Some((name, _)), value) => (name.clone(), value.clone()),
            (None, value) => (option.clone(), value.clone()),
        };
        arguments.insert(name, value);
    }
    if arguments.is_empty() { format!("/{name}") } else { format!("/{name} {}", Value::Object(arguments)) }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Interaction;
    use super::*;

    fn entry(name: &str, arguments: Value, takes_files: bool) -> MenuEntry {
        let tool = MenuTool { profile: "p".into(), arguments, takes_files };
        MenuEntry { name: name.into(), summary: "Does it.".into(), tool: Some(tool) }
    }

    fn save() -> MenuEntry {
        let arguments = json!({ "properties": {
            "overwrite": { "type": "boolean" }, "index": { "type": "integer", "description": " Which\none " },
            "downloadDir": { "type": ["string", "null"] }, "n": { "type": "number" },
            "edits": { "type": "array" }, "path": { "type": "string" } }, "required": ["path", "index"] });
        entry("save", arguments, true)
    }

    #[test]
    fn a_command_is_made_from_the_schema() {
        let (commands, left_out) = commands(&[save()]);
        assert_eq!((commands.len(), left_out.len(), &commands[0]["name"]), (2, 0, &json!("help")));
        let options: Vec<_> = commands[1]["options"]
            .as_array()
            .expect("options")
            .iter()
            .map(|option| {
                format!(
                    "{} {} {}",
                    option["name"].as_str().expect("a name"),
                    option["type"],
                    option["required"]
                )
            })
            .collect();
        let expected = [
            "index 4 true",
            "path 3 true",
            "overwrite 5 false",
            "downloaddir 3 false",
            "n 10 false",
            "edits 3 false",
            "file 11 false",
        ];
        assert_eq!(options, expected);
        assert_eq!(commands[1]["options"][0]["description"], "Which one");
    }

    #[test]
    fn what_discord_would_refuse_is_left_out() {
        let long = "x".repeat(NAME_CHARS_MAX + 1);
        let odd = json!({ "properties": { "a b": { "type": "string" } } });
        let needed = json!({ "properties": { "a b": { "type": "string" } }, "required": ["a b"] });
        let many: Map<String, Value> =
            (0..40).map(|n| (format!("a{n}"), json!({ "type": "string" }))).collect();
        let menu = [
            entry(&long, json!({}), false),
            entry("Up", json!({}), false),
            entry("odd", odd, false),
            entry("needed", needed, false),
            entry("many", json!({ "properties": many }), true),
        ];
        let (made, left_out) = commands(&menu);
        let names: Vec<_> = made.iter().map(|command| command["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["help", "odd", "many"]);
        assert_eq!(left_out, [long, "Up".into(), "needed".into()]);
        assert_eq!(made[2]["options"].as_array().map(Vec::len), Some(OPTIONS_MAX));
        let word = MenuEntry { tool: None, ..entry("new", json!({}), false) };
        let crowd: Vec<_> =
            (0..150).map(|n| entry(&format!("t{n}"), json!({}), false)).chain([word]).collect();
        let (made, left_out) = commands(&crowd);
        assert_eq!((made.len(), left_out.len()), (COMMANDS_MAX, 51), "a word is no tool");
        assert_eq!(fit_description(&"é".repeat(200), "x").chars().count(), DESCRIPTION_CHARS_MAX);
    }

    #[test]
    fn commands_are_the_same_whatever_discord_tells_besides() {
        let (wanted, _) = commands(&[save()]);
        let mut found = Value::Array(wanted.clone());
        found[0]["id"] = "5".into();
        found[1]["options"][2].as_object_mut().expect("an option").remove("required");
        assert!(is_current(&found, &wanted));
        found[1]["options"][0]["type"] = 3.into();
        assert!(!is_current(&found, &wanted));
        assert!(!is_current(&json!([]), &wanted) && !is_current(&Value::Null, &wanted));
    }

    #[test]
    fn what_is_said_with_a_command_is_what_would_be_typed() {
        let said = |name: &str, options: &[(&str, Value)]| {
            let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            let interaction = Interaction { id: 1, application: 1, token: "t".into(), acknowledged: false };
            text(&Command { interaction, name: name.into(), options }, &[save()])
        };
        assert_eq!(said("help", &[]), "/help");
        assert_eq!(said("help", &[("tool", json!("/save"))]), "/help save");
        assert_eq!(
            said("save", &[("path", json!("1")), ("index", json!(0)), ("downloaddir", json!("/x"))]),
            r#"/save {"path":"1","index":0,"downloadDir":"/x"}"#
        );
        assert_eq!(said("save", &[("edits", json!("[1]"))]), r#"/save {"edits":[1]}"#);
        assert_eq!(said("save", &[("edits", json!("no json"))]), r#"/save {"edits":"no json"}"#);
        assert_eq!(said("gone", &[("a", json!(1))]), r#"/gone {"a":1}"#);
    }
}
