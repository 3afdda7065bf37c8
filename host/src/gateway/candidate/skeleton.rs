//! Policies to begin with: each grants nothing, has a blank where only a person knows, and loads as
//! it is.

use cofferdam_core::command::is_word;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::schema::{Leaf, leaves};
use cofferdam_policy::toml_key;
use cofferdam_warden::sandbox::ExportedFunction;
use serde_json::Value;
use std::collections::BTreeSet;

/// What all of them begin with; `file` is the component's.
fn head(tool: &ToolName, file: &str, sha256: &str) -> String {
    let file = Value::from(file);
    format!(
        "schema = 1\ntool = \"{tool}\"\nprofile = \"nothing\"\ncomponent = {{ file = {file}, sha256 = \"{sha256}\" }}\n\
         safety = \"read-only\"\nwhy = \"…\"\n"
    )
}

/// A line for each argument that can hold text.
fn arguments(schema: &Value) -> String {
    let texts = leaves(schema).unwrap_or_default();
    let texts = texts.iter().filter(|(_, leaf)| **leaf == Leaf::MayBeText);
    let lines: String = texts.map(|(at, _)| format!("{} = \"value\"\n", toml_key(at))).collect();
    format!("\n[arguments]\n{lines}")
}

/// That of a tool of the contract with this schema: the tool, and the text of its file.
pub(super) fn for_tool(tool: &ToolName, schema: &Value, sha256: &str) -> (ToolName, String) {
    (tool.clone(), head(tool, &format!("{tool}.wasm"), sha256) + &arguments(schema))
}

/// That of a command.
pub(super) fn for_command(stem: &str, sha256: &str) -> (ToolName, String) {
    let tool = name(stem);
    let text = head(&tool, &format!("{tool}.wasm"), sha256)
        + &format!(
            "\n[command]\nsummary = \"…\"\n\
             # also: {{ flag = \"-i\", if = \"ARG\" }}, {{ option = \"--glob\", from = \"ARG\" }}, {{ from = \"ARG\" }}, \"--\", \
             {{ each = \"ARG\" }}\nargv = [\"{tool}\"]\nstdout = \"text\"\n\
             # [command.schema.ARG]\n# type = \"string\"\n\n[arguments]\n"
        );
    (tool, text)
}

/// Those of functions whose types JSON can hold, one each.
pub(super) fn for_functions(
    functions: &[ExportedFunction],
    stem: &str,
    sha256: &str,
) -> Vec<(ToolName, String)> {
    let component = format!("{}.wasm", name(stem));
    let mut taken = BTreeSet::new();
    let usable = functions.iter().filter_map(|function| Some((function, function.schemas.as_ref().ok()?)));
    let skeletons = usable.map(|(ExportedFunction { export, .. }, (schema, _))| {
        let short = name(export.rsplit('#').next().unwrap_or(export));
        let tool = if taken.insert(short.clone()) { short } else { name(export) };
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let export = Value::from(export.as_str());
        let text = head(&tool, &component, sha256)
            + &format!("\n[function]\nexport = {export}\nsummary = \"…\"\n")
            + &arguments(&schema);
        (tool, text)
    });
    skeletons.collect()
}

/// A tool's name that is near to this text.
fn name(text: &str) -> ToolName {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let text: String = text.chars().map(plain).collect();
    let text = text.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    let parsed = ToolName::parse(&text[..text.len().min(64)]).ok();
    parsed
        .filter(|name| !is_word(name.as_str()))
        .or_else(|| ToolName::parse("my_tool").ok())
        .expect("this is a name")
}
