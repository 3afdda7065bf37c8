//! How a component is entered: as a tool of the contract, as a WASI command, or by one of its
//! functions. Plain data: a policy decides it, the permit carries it, the worker does it.

use crate::host_call::Disposition;
use crate::path::is_below;
use serde::{Deserialize, Serialize};

/// What of a component is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryPoint {
    /// `cofferdam:tool/tool`.
    Tool,
    /// `wasi:cli/run`.
    Command,
    /// An exported function: `read-file`, or `acme:demo/math@1.2.0#paint`.
    Function(String),
}

/// One call of an entry point, with what it needs besides the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryCall {
    /// `cofferdam:tool/tool`, which is given the arguments as they are.
    Tool,
    /// `wasi:cli/run`.
    Command(CommandCall),
    /// An exported function, whose parameters the arguments stand for.
    Function(String),
}

impl EntryCall {
    /// What of the component it calls.
    pub fn point(&self) -> EntryPoint {
        match self {
            Self::Tool => EntryPoint::Tool,
            Self::Command(_) => EntryPoint::Command,
            Self::Function(export) => EntryPoint::Function(export.clone()),
        }
    }
}

/// One run of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCall {
    /// Its arguments, its own name first.
    pub argv: Vec<String>,
    /// What it reads from standard input; none where that is closed.
    pub stdin: Option<String>,
    /// What its standard output is.
    pub stdout: StdoutFormat,
    /// What it means that it fails.
    pub err: ErrRule,
    /// What of its scratch folder is published, in order.
    pub outputs: Vec<CommandOutput>,
}

/// A file of a command's scratch folder that is published, or a folder with all that lies in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its name below the scratch folder; that of a folder ends in `/`.
    pub name: String,
    /// The virtual path that it gets: the judged one of an argument.
    pub path: String,
    /// What becomes of a file that is there.
    pub disposition: Disposition,
}

impl CommandCall {
    /// What may become of a file that is at this path; none where nothing is published there. Where
    /// several outputs may be, none of them replaces what another one must not.
    pub fn disposition(&self, path: &str) -> Option<Disposition> {
        let is_for = |output: &&CommandOutput| match output.name.ends_with('/') {
            true => is_below(path, output.path.trim_end_matches('/')),
            false => output.path == path,
        };
        let all = self.outputs.iter().filter(is_for).map(|output| output.disposition);
        all.reduce(|one, other| if one == other { one } else { Disposition::CreateNew })
    }
}

/// What a command's standard output is, and so what the result of the call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StdoutFormat {
    /// `{"stdout": text}`; bytes that are no UTF-8: `{"stdout_base64": …}`.
    #[default]
    Text,
    /// One JSON object, which is the result.
    Json,
    /// JSON values, one a line: `{"lines": […]}`.
    JsonLines,
}

/// What it means that a command ends with `err`: WASI 0.2 has one bit of status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrRule {
    /// The call fails.
    #[default]
    Failed,
    /// The call succeeds if the command wrote nothing to standard error, as `grep` does that finds
    /// nothing.
    OkIfSilent,
}
