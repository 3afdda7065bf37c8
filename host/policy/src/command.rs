//! `[command]` of a tool's policy: a WASI command as a tool, described by the policy alone, and the
//! arguments that one call of it is run with.
//!
//! There is no shell: an element of `argv` is whole, and nothing in a value is looked for but a
//! leading `-` and NUL, which are refused.

mod argv;
mod table;

pub(super) use table::CommandTable;

use super::judge::Denial;
use cofferdam_core::entry::{CommandCall, CommandOutput, ErrRule, StdoutFormat};
use cofferdam_core::host_call::Disposition;
use cofferdam_core::tool::ToolName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A command as a policy has it, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandPolicy {
    /// The tool.
    pub tool: ToolName,
    /// What it does, in a sentence.
    pub summary: String,
    /// What the command is run with.
    pub argv: Vec<Element>,
    /// The argument that is its standard input; none where that is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// What its standard output is.
    pub stdout: StdoutFormat,
    /// What it means that it fails.
    pub err: ErrRule,
    /// JSON Schema of the arguments.
    pub schema: Value,
    /// What of its scratch folder is published.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<CommandOutputRule>,
}

/// A file of the scratch folder, or a folder with a name that ends in `/`, and where it goes: one
/// line of `[outputs]`, `"out.txt" = { to = "path", replace = "overwrite" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandOutputRule {
    /// Its name below the scratch folder: the key of its line.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The argument that is its path.
    pub to: String,
    /// The argument that says whether a file that is there is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace: Option<String>,
}

/// An element of `argv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "no element of argv; write a text, { flag = \"-i\", if = \"ARG\" }, { option = \"--glob\", from = \"ARG\" }, \
                 { from = \"ARG\" } or { each = \"ARG\" }"
)]
pub enum Element {
    /// This text.
    Literal(String),
    /// `{ flag = "-i", if = "ignore_case" }`: the flag where the argument is true.
    Flag {
        /// The flag.
        flag: String,
        /// The argument.
        #[serde(rename = "if")]
        when: String,
    },
    /// `{ option = "--glob", from = "glob" }`: `--glob=VALUE`; a short one is two elements.
    Option {
        /// The option.
        option: String,
        /// The argument.
        from: String,
    },
    /// `{ from = "pattern" }`: the argument.
    From {
        /// The argument.
        from: String,
    },
    /// `{ each = "paths" }`: each item of the argument.
    Each {
        /// The argument.
        each: String,
    },
}

impl CommandOutputRule {
    /// Where it goes under these arguments; none where they name no path for it.
    fn resolve(&self, arguments: &Map<String, Value>) -> Option<CommandOutput> {
        let path = arguments.get(&self.to)?.as_str()?.to_owned();
        let replaces = self.replace.as_ref().and_then(|name| arguments.get(name)) == Some(&Value::Bool(true));
        let disposition = if replaces { Disposition::Replace } else { Disposition::CreateNew };
        Some(CommandOutput { name: self.name.clone(), path, disposition })
    }
}

impl CommandPolicy {
    /// What the command is run with for these arguments, which fit the schema.
    ///
    /// # Errors
    /// `invalid_arguments`, naming the argument: one that the command would take for an option,
    /// with NUL, or a whole number that may have been rounded.
    pub fn call(&self, arguments: &Value) -> Result<CommandCall, Denial> {
        let none = Map::new();
        let arguments = arguments.as_object().unwrap_or(&none);
        let argv = argv::argv(&self.argv, arguments)?;
        let stdin = match self.stdin.as_ref().and_then(|name| Some((name, arguments.get(name)?))) {
            Some((name, value)) => argv::text(name, value)?,
            None => None,
        };
        Ok(CommandCall {
            argv,
            stdin,
            stdout: self.stdout,
            err: self.err,
            outputs: self.outputs.iter().filter_map(|output| output.resolve(arguments)).collect(),
        })
    }

    /// JSON Schema of the result.
    pub fn result_schema(&self) -> Value {
        let object = |properties: Value| json!({ "type": "object", "additionalProperties": false, "properties": properties });
        match self.stdout {
            StdoutFormat::Text => {
                object(json!({ "stdout": { "type": "string" }, "stdout_base64": { "type": "string" } }))
            }
            StdoutFormat::Json => json!({ "type": "object" }),
            StdoutFormat::JsonLines => object(json!({ "lines": { "type": "array" } })),
        }
    }
}
