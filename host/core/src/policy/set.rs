//! All policies of a gateway, read together: a tool's policy means nothing without its profile.

use super::effective::ToolPolicy;
use super::file::{ProfileFile, ToolFile};
use super::source::{PolicyProblem, Source};
use crate::tool::ToolName;
use std::collections::BTreeMap;

/// All policies of a gateway, by tool.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    tools: BTreeMap<ToolName, ToolPolicy>,
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
        for (name, text) in files {
            let source = Source { name, text };
            if name.starts_with("profiles/") {
                match source.parse::<ProfileFile>().and_then(|file| file.check(&source)) {
                    Ok(profile) => {
                        if profiles.insert(profile.name.clone(), profile).is_some() {
                            problems.push(source.at(0, "this profile is defined twice; keep one file"));
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
                problems.push(source.at(0, "not a policy; move it to profiles/ or tools/"));
            }
        }
        let mut set = Self::default();
        for (source, file) in tools {
            match file.combine(&source, &profiles) {
                Ok(policy) => {
                    if set.tools.contains_key(&policy.tool) {
                        problems.push(
                            source.at(0, &format!("tool {} has two policies; keep one file", policy.tool)),
                        );
                    }
                    set.tools.insert(policy.tool.clone(), policy);
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() && set.tools.is_empty() {
            problems.push(PolicyProblem {
                file: "tools/".into(),
                line: 1,
                problem: "no tool has a policy; add tools/<tool>.toml and profiles/<profile>.toml".into(),
            });
        }
        if problems.is_empty() { Ok(set) } else { Err(problems) }
    }

    /// The policy of a tool.
    pub fn get(&self, tool: &str) -> Option<&ToolPolicy> {
        self.tools.values().find(|p| p.tool.as_str() == tool)
    }

    /// All policies, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ToolPolicy> {
        self.tools.values()
    }
}
