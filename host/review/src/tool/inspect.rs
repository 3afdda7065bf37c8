//! What a component is, what it wants, what it takes, and whether it loads under a policy: for
//! people and in JSON.

use cofferdam_core::text::{escape_deceptive, escape_deceptive_json, one_line};
use cofferdam_core::tool::Description;
use cofferdam_policy::schema::{Leaf, leaves};
use cofferdam_policy::{ArgumentClass, ToolPolicy};
use cofferdam_warden::sandbox::imports::{Import, Interfaces, Needs};
use cofferdam_warden::sandbox::{Binary, ExportedFunction};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// What there is to tell of a component.
#[derive(Debug)]
pub struct Inspected<'a> {
    /// Where it was read from.
    pub file: &'a Path,
    /// The component.
    pub binary: &'a Binary,
    /// What it imports and exports.
    pub interfaces: &'a Interfaces,
    /// What it says of itself, if it does.
    pub description: Option<&'a Description>,
    /// The policy that it is held against.
    pub policy: Option<&'a ToolPolicy>,
    /// The folder or file that the policy is from; without one nothing is granted.
    pub chosen: Option<&'a Path>,
    /// Why it does not load under the policy.
    pub problems: &'a [String],
    /// What it could be, in words.
    pub could_be: &'a [String],
    /// The functions that it exports, where these are what it is.
    pub functions: &'a [ExportedFunction],
    /// Tools with the text of a policy to begin with, told where none was chosen.
    pub skeletons: &'a [(String, String)],
}

impl Inspected<'_> {
    /// As JSON for programs.
    pub fn json(&self) -> Value {
        let Self { file, binary, interfaces, description: described, .. } = self;
        let beyond: Vec<_> = interfaces
            .beyond_baseline()
            .iter()
            .map(|Import { name, needs }| json!({ "name": name, "needs": needs.to_string() }))
            .collect();
        let class = |class: Option<ArgumentClass>| class.map(|class| class.spell());
        let texts = self.texts().into_iter().map(|(at, of)| json!({ "argument": at, "class": class(of) }));
        json!({
            "file": file.display().to_string(), "sha256": binary.sha256(), "bytes": binary.size(),
            "exports": interfaces.exports, "imports": interfaces.imports, "imports_beyond_baseline": beyond,
            "name": described.map(|d| d.name.as_str()), "summary": described.map(|d| d.summary.as_str()),
            "arguments": described.map(|d| &d.arguments), "result": described.map(|d| &d.result),
            "texts": texts.collect::<Vec<_>>(),
            "policy": self.chosen.map(|path| path.display().to_string()),
            "could_be": self.could_be, "functions": self.functions.iter().map(function).collect::<Vec<_>>(),
            "skeletons": self.skeletons.iter().map(|(tool, text)| json!({ "tool": tool, "text": text }))
                .collect::<Vec<_>>(),
            "loads": self.problems.is_empty(), "problems": self.problems,
        })
    }

    /// As rows for people.
    pub fn text(&self) -> String {
        let Self { file, binary, interfaces, description, .. } = self;
        let mut text = String::new();
        // Names, summaries and schemas are a stranger's words.
        let mut row = |name: &str, said: &str| {
            let _ = writeln!(text, "{name:<10}{}", escape_deceptive(said));
        };
        if let Some(described) = description {
            row("tool", &format!("{}: {}", described.name, described.summary));
        }
        row("file", &file.display().to_string());
        row("sha256", binary.sha256());
        row("size", &format!("{} bytes", binary.size()));
        for said in self.could_be {
            row("could be", said);
        }
        row("exports", &list_names(&interfaces.exports));
        let beyond = interfaces.beyond_baseline();
        if beyond.is_empty() {
            row("imports", "nothing beyond the baseline");
        }
        for Import { name, needs } in &beyond {
            match needs {
                Needs::Unknown => row("imports", &format!("{name} (refuses when it is called: {needs})")),
                _ => row("imports", &format!("{name} (refuses unless the profile has: {needs})")),
            }
        }
        for (at, class) in self.texts() {
            let class =
                class.map_or_else(|| "not classified".into(), |class| format!("is {}", class.spell()));
            row("text", &format!("{} {class}", one_line(&at, 200)));
        }
        if let Some(described) = description {
            row("arguments", &escape_deceptive_json(&described.arguments.to_string()));
            row("result", &escape_deceptive_json(&described.result.to_string()));
        }
        for ExportedFunction { export, schemas } in self.functions {
            match schemas {
                Ok((arguments, _)) => {
                    row("function", &format!("{export} {}", escape_deceptive_json(arguments)))
                }
                Err(why) => row("function", &format!("{export} {why}")),
            }
        }
        let under = self.chosen.map_or_else(|| "nothing granted".into(), |p| p.display().to_string());
        match self.problems {
            [] => row("verdict", &format!("loads under {under}")),
            problems => {
                row("verdict", &format!("does not load under {under}:"));
                problems.iter().for_each(|problem| row("", problem));
            }
        }
        for (tool, skeleton) in self.skeletons {
            let _ = write!(text, "\nA policy that grants nothing, for tools/{tool}.toml:\n\n");
            text.push_str(skeleton);
        }
        text
    }

    /// Every argument that can hold text, with its class under the policy that was chosen.
    fn texts(&self) -> Vec<(String, Option<ArgumentClass>)> {
        let Some(described) = self.description else { return Vec::new() };
        let found = leaves(&described.arguments).unwrap_or_default();
        let texts = found.into_iter().filter(|(_, leaf)| *leaf == Leaf::MayBeText).map(|(at, _)| at);
        let policy = self.policy.filter(|_| self.chosen.is_some());
        texts.map(|at| (at.clone(), policy.and_then(|policy| policy.class(&at)))).collect()
    }
}

fn function(function: &ExportedFunction) -> Value {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    match &function.schemas {
        Ok((arguments, result)) => {
            json!({ "export": function.export, "arguments": schema(arguments), "result": schema(result) })
        }
        Err(why) => json!({ "export": function.export, "refused": why }),
    }
}

fn list_names(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}
