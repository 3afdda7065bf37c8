//! All policies of a gateway, read together: a tool's policy means nothing without its profile.

use super::effective::ToolPolicy;
use super::file::{ProfileFile, ToolFile};
use super::source::{PolicyProblem, PolicySource, check_name};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolName;
use std::collections::BTreeMap;

/// All policies of a gateway, by tool.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    tools: BTreeMap<ToolName, ToolPolicy>,
    /// Kept for those who ask what a change would come to.
    files: BTreeMap<String, String>,
    profiles: Vec<String>,
}

impl PolicySet {
    /// Reads policy files, each given as (name, text); names under `profiles/` are profiles, names
    /// under `tools/` are tools' policies.
    ///
    /// # Errors
    /// Every problem found, so that one round mends all; nothing is usable then.
    pub fn parse<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<PolicyProblem>> {
        let mut problems = Vec::new();
        let mut profiles = BTreeMap::new();
        let mut tools = Vec::new();
        let mut texts = BTreeMap::new();
        for (name, text) in files {
            if let Err(why) = check_name(name) {
                let file = one_line(name, 200);
                problems.push(PolicyProblem { file, line: None, problem: format!("the file's name {why}") });
                continue;
            }
            let source = PolicySource { name, text };
            // Names that are no UTF-8 may be the same text, and one of the files would be in no hash.
            if texts.insert(name.to_owned(), text.to_owned()).is_some() {
                problems.push(source.problem_at(0, "two files have this name; rename one"));
            }
            if name.starts_with("profiles/") {
                match source.parse::<ProfileFile>().and_then(|file| file.check(&source)) {
                    Ok(profile) => {
                        if profiles.insert(profile.name.clone(), profile).is_some() {
                            problems
                                .push(source.problem_at(0, "this profile is defined twice; keep one file"));
                        }
                    }
                    Err(problem) => problems.push(problem),
                }
            } else if name.starts_with("tools/") {
                match source.parse::<ToolFile>() {
                    Ok(file) => tools.push((source, file)),
                    Err(problem) => problems.push(problem),
                }
            } else {
                problems.push(source.problem_at(0, "not a policy; move it to profiles/ or tools/"));
            }
        }
        let known = profiles.keys().cloned().collect();
        let mut set = Self { tools: BTreeMap::new(), files: texts, profiles: known };
        for (source, file) in tools {
            match file.combine(&source, &profiles) {
                Ok(policy) => {
                    let tool = policy.tool.clone();
                    if set.tools.insert(tool.clone(), policy).is_some() {
                        let said = format!("tool {tool} has two policies; keep one file");
                        problems.push(source.problem_at(0, &said));
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() && set.tools.is_empty() {
            problems.push(PolicyProblem {
                file: "tools/".into(),
                line: None,
                problem: "no tool has a policy; add tools/<tool>.toml and profiles/<profile>.toml".into(),
            });
        }
        if problems.is_empty() { Ok(set) } else { Err(problems) }
    }

    /// The policy of a tool.
    pub fn get(&self, tool: &str) -> Option<&ToolPolicy> {
        self.tools.values().find(|p| p.tool.as_str() == tool)
    }

    /// The policies as they would be with another text of one file; none when it is not there or
    /// they would not load.
    pub fn with(&self, file: &str, text: String) -> Option<Self> {
        let mut files = self.files.clone();
        *files.get_mut(file)? = text;
        Self::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).ok()
    }

    /// The text of a policy file.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// The names of all profiles, in order.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().map(String::as_str)
    }

    /// SHA-256 over all files: what `sha256sum profiles/*.toml tools/*.toml | sha256sum` prints in
    /// their folder.
    pub fn sha256(&self) -> String {
        let line = |(name, text): (&String, &String)| format!("{}  {name}\n", sha256_hex(text.as_bytes()));
        sha256_hex(self.files.iter().map(line).collect::<String>().as_bytes())
    }

    /// All policies, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ToolPolicy> {
        self.tools.values()
    }
}
