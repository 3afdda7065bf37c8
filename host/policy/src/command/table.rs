//! `[command]` as it is written, and what is wrong with it.

use super::{CommandPolicy, Element};
use crate::source::{CheckedPart, PolicySource};
use cofferdam_core::entry::{ErrRule, StdoutFormat};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolName;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

/// The table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandTable {
    summary: Spanned<String>,
    argv: Spanned<Vec<Spanned<Element>>>,
    stdin: Option<Spanned<FromArgument>>,
    #[serde(default)]
    stdout: StdoutFormat,
    #[serde(default)]
    err: ErrRule,
    #[serde(default)]
    schema: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FromArgument {
    from: String,
}

impl CommandTable {
    /// The command, or all that is wrong with it.
    pub(crate) fn check(self, source: &PolicySource<'_>, tool: ToolName) -> CheckedPart<CommandPolicy> {
        let mut problems = Vec::new();
        let mut problem =
            |at: usize, said: String| problems.push(source.problem_at(at, &format!("[command] {said}")));
        if self.summary.get_ref().trim().is_empty() {
            problem(self.summary.span().start, "summary is empty; say in one sentence what it does".into());
        }
        let schema = schema(&self.schema).unwrap_or_else(|said| {
            problem(self.summary.span().start, said);
            Value::Null
        });
        let arguments = &schema["properties"];
        let elements = self.argv.get_ref();
        if !matches!(elements.first().map(Spanned::get_ref), Some(Element::Literal(_))) {
            let said = "argv does not begin with a text; the first element is the command's own name";
            problem(self.argv.span().start, said.into());
        }
        for element in elements {
            if let Some(said) = element_problem(element.get_ref(), arguments) {
                problem(element.span().start, said);
            }
        }
        if let Some(stdin) = &self.stdin
            && let Err(said) = check_argument_type(arguments, &stdin.get_ref().from, &["string"])
        {
            problem(stdin.span().start, format!("stdin: {said}"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(CommandPolicy {
            tool,
            summary: self.summary.into_inner(),
            argv: self.argv.into_inner().into_iter().map(Spanned::into_inner).collect(),
            stdin: self.stdin.map(|stdin| stdin.into_inner().from),
            stdout: self.stdout,
            err: self.err,
            schema,
            outputs: Vec::new(),
        })
    }
}

/// `[command.schema.NAME]` as the schema of all arguments: each is required unless it says
/// `optional = true`.
fn schema(tables: &toml::Table) -> Result<Value, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, table) in tables {
        let shown = one_line(name, 80);
        let wrong = |said: &str| format!("schema.{shown} {said}");
        let toml::Value::Table(table) = table else {
            return Err(wrong("is no table; write [command.schema.NAME] and below it type = \"string\""));
        };
        let mut table = table.clone();
        match table.remove("optional") {
            None | Some(toml::Value::Boolean(false)) => required.push(name.clone()),
            Some(toml::Value::Boolean(true)) => {}
            Some(_) => return Err(wrong("has an optional that is neither true nor false")),
        }
        let property = serde_json::to_value(table).map_err(|e| wrong(&e.to_string()))?;
        properties.insert(name.clone(), property);
    }
    Ok(
        json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required }),
    )
}

/// What is wrong with an element beside these arguments, if anything.
fn element_problem(element: &Element, arguments: &Value) -> Option<String> {
    const SCALARS: [&str; 4] = ["string", "integer", "number", "boolean"];
    match element {
        Element::Literal(text) => text.contains('\0').then(|| "argv has a NUL character".to_owned()),
        Element::Flag { flag, when } => {
            let said = format!("flag {flag:?} does not begin with \"-\"; write e.g. \"-i\"");
            if !flag.starts_with('-') || flag.contains('\0') {
                return Some(said);
            }
            check_argument_type(arguments, when, &["boolean"]).err()
        }
        Element::Option { option, from } => {
            let named = option.trim_start_matches('-');
            if !option.starts_with('-') || named.is_empty() || option.contains(['=', '\0']) {
                return Some(format!("option {option:?} is no name of one; write e.g. \"--glob\" or \"-g\""));
            }
            check_argument_type(arguments, from, &SCALARS).err()
        }
        Element::From { from } => check_argument_type(arguments, from, &SCALARS).err(),
        Element::Each { each } => check_argument_type(arguments, each, &["array"]).err(),
    }
}

/// Refuses an argument that does not exist, or that its schema lets be something else.
fn check_argument_type(arguments: &Value, name: &str, types: &[&str]) -> Result<(), String> {
    let shown = one_line(name, 80);
    let Some(property) = arguments.get(name) else {
        return Err(format!("there is no argument {shown:?}; describe it under [command.schema.{shown}]"));
    };
    let written: Vec<&str> = match &property["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    // What is null counts as absent.
    let fits = |kind: &&str| types.contains(kind) || *kind == "null";
    if written.is_empty() || !written.iter().all(fits) {
        let types = types.join("\" or \"");
        return Err(format!(
            "argument {shown:?} stands where its type must be \"{types}\"; say so in its schema"
        ));
    }
    Ok(())
}
