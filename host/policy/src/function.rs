//! `[function]` of a tool's policy: a function that a component exports as a tool. Its types make
//! the schema when it is loaded; what it is for says the policy.

use super::source::{CheckedPart, PolicySource};
use cofferdam_core::tool::ToolName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Spanned;

/// A function as a policy has it, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionPolicy {
    /// The tool.
    pub tool: ToolName,
    /// The function: `read-file`, or `acme:demo/math@1.2.0#paint`.
    pub export: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// A sentence for each of some arguments, by their names in snake case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub describe: BTreeMap<String, String>,
}

/// The table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FunctionTable {
    export: Spanned<String>,
    summary: Spanned<String>,
    #[serde(default)]
    describe: BTreeMap<String, String>,
}

impl FunctionTable {
    /// The function, or all that is wrong with it.
    pub(super) fn check(self, source: &PolicySource<'_>, tool: ToolName) -> CheckedPart<FunctionPolicy> {
        let mut problems = Vec::new();
        if self.summary.get_ref().trim().is_empty() {
            let said = "[function] summary is empty; say in one sentence what it does";
            problems.push(source.problem_at(self.summary.span().start, said));
        }
        let name = self.export.get_ref();
        let is_whole = match name.split_once('#') {
            None => !name.is_empty() && !name.contains(['/', ':', '@']),
            Some((interface, function)) => !interface.is_empty() && !function.is_empty(),
        };
        if !is_whole {
            let said = "[function] export names no function; write e.g. \"read-file\" or \"acme:demo/math@1.2.0#paint\"";
            problems.push(source.problem_at(self.export.span().start, said));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let (export, summary) = (self.export.into_inner(), self.summary.into_inner());
        Ok(FunctionPolicy { tool, export, summary, describe: self.describe })
    }
}
