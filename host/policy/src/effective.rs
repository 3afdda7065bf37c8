//! The effective policy of one tool, and holding it against the tool's schema.

use super::approval::Approvals;
use super::classes::{ArgumentClass, Imports, Safety};
use super::command::CommandPolicy;
use super::complete::Completion;
use super::component::ComponentSource;
use super::function::FunctionPolicy;
use super::origin::Origins;
use super::schema;
use super::source::PolicyProblem;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use cofferdam_core::limits::Limits;
use cofferdam_core::text::is_deceptive;
use cofferdam_core::tool::ToolName;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The effective policy of one tool: its own file and its profile, combined and checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolPolicy {
    /// The tool.
    pub tool: ToolName,
    /// The profile's name.
    pub profile: String,
    /// Where the component comes from.
    pub component: ComponentSource,
    /// What the tool may do to the world.
    pub safety: Safety,
    /// What becomes of imports that the profile does not grant.
    pub imports: Imports,
    /// What of the component is called.
    #[serde(skip_serializing_if = "EntryPolicy::is_tool")]
    pub entry: EntryPolicy,
    /// Why the tool is allowed at all.
    pub why: String,
    /// Mounts and interfaces within reach.
    pub grants: Grants,
    /// Class of each argument, by its place: `path`, `paths[]`, `edits[].new_text`.
    pub arguments: BTreeMap<String, ArgumentClass>,
    /// What is added to arguments before they are judged, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub completions: BTreeMap<String, Completion>,
    /// When a person must agree first.
    #[serde(skip_serializing_if = "Approvals::is_empty")]
    pub approval: Approvals,
    /// The limits of one call.
    pub limits: Limits,
    /// SHA-256 over the SHA-256s of profile file and tool file, lower-case hex.
    pub sha256: String,
    /// The tool's policy file as it was given.
    pub file: String,
    /// The line of `[arguments]`.
    #[serde(skip)]
    pub arguments_line: usize,
    #[serde(skip)]
    pub(super) argument_lines: BTreeMap<String, usize>,
    /// Where everything else of it is written.
    #[serde(skip)]
    pub origins: Origins,
}

/// What of its component a policy has called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryPolicy {
    /// `cofferdam:tool/tool`.
    Tool,
    /// `wasi:cli/run`, as `[command]` says.
    Command(Box<CommandPolicy>),
    /// A function, as `[function]` says.
    Function(FunctionPolicy),
}

impl EntryPolicy {
    /// What the component must export.
    pub fn point(&self) -> EntryPoint {
        match self {
            Self::Tool => EntryPoint::Tool,
            Self::Command(_) => EntryPoint::Command,
            Self::Function(function) => EntryPoint::Function(function.export.clone()),
        }
    }

    fn is_tool(&self) -> bool {
        matches!(self, Self::Tool)
    }
}

impl ToolPolicy {
    /// The class of the argument at a place such as `path` or `edits[].new_text`.
    pub fn class(&self, at: &str) -> Option<ArgumentClass> {
        self.arguments.get(at).copied()
    }

    /// The class of an argument, with what is filled into it, as a policy file writes it.
    pub fn spell_argument(&self, at: &str, class: ArgumentClass) -> String {
        let spelled = class.spell();
        match self.completions.get(at) {
            Some(completion) => format!("{}, {} }}", spelled.trim_end_matches(" }"), completion.spell()),
            None => spelled,
        }
    }

    /// Whether something within the argument at this place has a class of its own.
    pub fn has_class_within(&self, at: &str) -> bool {
        ['.', '['].into_iter().any(|sign| {
            let within = format!("{at}{sign}");
            let first = (Bound::Included(&within), Bound::Unbounded);
            self.arguments.range::<String, _>(first).next().is_some_and(|(key, _)| key.starts_with(&within))
        })
    }

    /// The places of the items of the list at `at`, by their index: one of its own where the policy
    /// names the item by that, as it does the fields of a tuple, else that of any item.
    pub fn item_places(&self, at: &str) -> impl Fn(usize) -> String {
        let first = (Bound::Included(format!("{at}[0")), Bound::Unbounded);
        let named = |key: &String| key.strip_prefix(at)?.strip_prefix('[')?.chars().next();
        let next = self.arguments.range::<String, _>(first).next();
        let by_index = next.and_then(|(key, _)| named(key)).is_some_and(|c| c.is_ascii_digit());
        move |index| {
            let own = format!("{at}[{index}]");
            let first = (Bound::Included(&own), Bound::Unbounded);
            let is_named = || {
                self.arguments.range::<String, _>(first).next().is_some_and(|(key, _)| key.starts_with(&own))
            };
            if by_index && is_named() { own } else { format!("{at}[]") }
        }
    }

    /// The line of the tool's file that classifies the argument at this place.
    pub fn argument_line(&self, at: &str) -> Option<usize> {
        self.argument_lines.get(at).copied()
    }

    /// Holds the policy against the schema of the arguments: every place that can hold a string is
    /// classified, every classified place exists, and a path class sits on a string.
    ///
    /// # Errors
    /// One problem a place, each with the tool and the line to add or remove.
    pub fn check_schema(&self, arguments: &Value) -> Result<(), Vec<PolicyProblem>> {
        let problem =
            |line, problem: String| PolicyProblem { file: self.file.clone(), line: Some(line), problem };
        let leaves = schema::leaves(arguments).map_err(|what| {
            vec![problem(
                self.arguments_line,
                format!("{}: the schema of its arguments cannot be judged: {what}", self.tool),
            )]
        })?;
        let mut problems = Vec::new();
        for (at, leaf) in &leaves {
            let any = any_item(at);
            let is_covered = self.arguments.contains_key(at)
                || (!leaves.contains_key(&any) && self.arguments.contains_key(&any));
            if *leaf == schema::Leaf::MayBeText && !is_covered {
                let key = toml_key(at);
                problems.push(problem(
                    self.arguments_line,
                    format!("{}: argument {at:?} can hold text and is not classified; add to [arguments]: {key} = \"value\", \
                             {key} = \"content\" or {key} = {{ path = \"read\" }}", self.tool),
                ));
            }
        }
        for (at, class) in &self.arguments {
            let line = self.argument_lines.get(at).copied().unwrap_or(self.arguments_line);
            // A tuple may be classified as a list, whose items are all alike.
            let alike = || leaves.iter().filter(|(leaf, _)| any_item(leaf) == *at).map(|(_, leaf)| leaf);
            let leaf = leaves.get(at).or_else(|| alike().find(|leaf| **leaf == schema::Leaf::MayBeText));
            match leaf.or_else(|| alike().next()) {
                None => problems
                    .push(problem(line, format!("{} has no argument {at:?}; remove the line", self.tool))),
                Some(schema::Leaf::NeverText)
                    if matches!(class, ArgumentClass::Path(_) | ArgumentClass::Url(_)) =>
                {
                    let what = if matches!(class, ArgumentClass::Url(_)) { "an address" } else { "a path" };
                    problems.push(problem(
                        line,
                        format!(
                            "{}: argument {at:?} can never be {what}; write {} = \"value\" or remove the line",
                            self.tool,
                            toml_key(at)
                        ),
                    ))
                }
                Some(_) => {}
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// What loads and may still be a mistake: arguments that are named or described like a path,
    /// hold text, and are classified as a value or content, so that nothing judges them.
    pub fn warnings(&self, arguments: &Value) -> Vec<PolicyProblem> {
        let Ok(leaves) = schema::leaves(arguments) else { return Vec::new() };
        let texts = leaves.iter().filter(|(_, leaf)| **leaf == schema::Leaf::MayBeText).map(|(at, _)| at);
        let warning = |at: &String| {
            let class = self.class(at);
            let class =
                class.filter(|class| matches!(class, ArgumentClass::Value | ArgumentClass::Content))?;
            let how = if is_named_like_a_path(at) {
                "named like a path"
            } else if is_described_as_path(at, arguments) {
                "described as a path"
            } else {
                return None;
            };
            let problem = format!(
                "{}: argument {at:?} is {how} and classified {}, so no mount is judged for it; if it is \
                 a path of the workspace, write {} = {{ path = \"read\" }}, \"write\" or \"write-below\"",
                self.tool,
                class.spell(),
                toml_key(at)
            );
            let line = Some(self.argument_line(at).unwrap_or(self.arguments_line));
            Some(PolicyProblem { file: self.file.clone(), line, problem })
        };
        texts.filter_map(warning).collect()
    }
}

/// The list that a place is an item of: `urls` for `urls[0]` and for `urls[]`.
pub(super) fn find_list(at: &str) -> Option<&str> {
    let (list, index) = at.strip_suffix(']')?.rsplit_once('[')?;
    index.bytes().all(|b| b.is_ascii_digit()).then_some(list)
}

/// A place without the indexes of tuples: `pairs[][0]` becomes `pairs[][]`.
fn any_item(at: &str) -> String {
    let mut any = String::with_capacity(at.len());
    for (n, part) in at.split('[').enumerate() {
        if n > 0 {
            any.push('[');
        }
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        any.push_str(if n > 0 && part[digits..].starts_with(']') { &part[digits..] } else { part });
    }
    any
}

/// Whether the last word of a place's last name (`paths[]`, `edits[].targetDir`, `out-file`) is one
/// that paths have.
fn is_named_like_a_path(at: &str) -> bool {
    const WORDS: &str = "path paths filepath filepaths file files dir dirs directory directories folder folders src source \
        sources dst dest destination destinations target targets";
    let name = at.rsplit('.').next().unwrap_or(at);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let separator = name.rfind(['_', '-', ' ']).map_or(0, |end| end + 1);
    let word = &name[separator..];
    // `targetDir` ends in a word of its own; `PATH` is one.
    let small = |c: char| c.is_lowercase();
    let hump = word.rfind(char::is_uppercase).filter(|hump| *hump > 0 && word.contains(small)).unwrap_or(0);
    WORDS.split_whitespace().any(|known| word[hump..].eq_ignore_ascii_case(known))
}

/// Whether the arguments' schema says of `from` or `to` that it is a path. By their names alone
/// they may as well be dates, people or languages.
fn is_described_as_path(at: &str, arguments: &Value) -> bool {
    let described = || arguments.get("properties")?.get(at)?.get("description")?.as_str();
    let is_path = |word: &str| ["path", "paths"].iter().any(|path| word.eq_ignore_ascii_case(path));
    matches!(at, "from" | "to")
        && described().is_some_and(|text| text.split(|c: char| !c.is_alphanumeric()).any(is_path))
}

/// The place of an argument as a key of `[arguments]`.
pub fn toml_key(at: &str) -> String {
    let bare = !at.is_empty() && at.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare {
        return at.to_owned();
    }
    // JSON's escapes are TOML's, too; it leaves as they are what a reader would not see.
    let shown = |c: char| match c {
        c if is_deceptive(c) => format!("\\U{:08X}", u32::from(c)),
        c => c.to_string(),
    };
    Value::from(at).to_string().chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_described_as_path, is_named_like_a_path, toml_key};
    use serde_json::json;

    #[test]
    fn the_key_that_is_to_be_written_is_read_as_the_place() {
        for (at, key) in [
            ("out-file", "out-file"),
            ("", r#""""#),
            ("edits[].path", r#""edits[].path""#),
            ("a\u{202e}b", r#""a\U0000202Eb""#),
        ] {
            assert_eq!(toml_key(at), key);
        }
        for at in ["", "a.b", "é", "\"", "\\", "\n", "\u{1}", "\u{7f}", "\u{200b}", "\u{e0041}"] {
            let line = format!("{} = 1\n", toml_key(at));
            let read: toml::Table = toml::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert!(read.contains_key(at), "{line}");
        }
    }

    #[test]
    fn ends_of_a_copy_are_told_from_those_of_a_time() {
        for (name, description, is_path) in [
            ("from", "The full path of the file.", true),
            ("to", "Paths, such as /shared/a.", true),
            ("to", "The first day, such as 2026-01-31.", false),
            ("to", "Who gets it, beside the pathologist.", false),
            ("at", "A path.", false),
        ] {
            let schema = json!({ "properties": { name: { "description": description } } });
            assert_eq!(is_described_as_path(name, &schema), is_path, "{name}: {description}");
        }
        assert!(!is_described_as_path("from", &json!({ "properties": { "from": true } })));
    }

    #[test]
    fn names_of_paths_are_told_from_others() {
        for name in [
            "path",
            "PATH",
            "paths[]",
            "file",
            "files[]",
            "dir",
            "out_dir",
            "targetDir",
            "out-file",
            "src",
            "dest",
            "folder",
            "edits[].path",
            "a[].b.destination",
            "target",
            "inputFile",
            "file path",
            "sourcePath[]",
        ] {
            assert!(is_named_like_a_path(name), "{name}");
        }
        for name in [
            "",
            "[]",
            "name",
            "filename",
            "file_name",
            "path.name",
            "profile",
            "direction",
            "targetLanguage",
            "x",
        ] {
            assert!(!is_named_like_a_path(name), "{name}");
        }
    }
}
