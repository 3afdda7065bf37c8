//! `cofferdam policy check`: whether a folder of policies is sound, each tool loaded as it would be
//! served.

use super::super::Exit;
use super::{FindingFormat, Findings};
use crate::config::Config;
use crate::gateway::{self, GatewayError};
use cofferdam_agent::tools::{LoadFault, Registry};
use cofferdam_policy::{PolicyProblem, PolicySet};
use cofferdam_review::sarif::{self, Level, Rule, SarifFinding};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// What a folder of policies comes to.
#[derive(Default)]
struct CheckedFolder {
    /// Each tool that loads, with its profile and its grants in words.
    tools: Vec<(String, String, String)>,
    /// Each tool that is off, with what turns it on.
    off: Vec<(String, String)>,
    problems: Vec<(Rule, PolicyProblem)>,
    warnings: Vec<(Rule, PolicyProblem)>,
    /// The policies, where they are understood.
    policies: Option<PolicySet>,
}

pub(super) fn run(
    config: &Config,
    dir: Option<&Path>,
    output: Findings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let checked = match gateway::review(config, dir) {
        Ok((policies, registry)) => {
            CheckedFolder { policies: Some(policies), ..CheckedFolder::from_registry(&registry) }
        }
        Err(GatewayError::Policies(found)) => {
            let problems = found.into_iter().map(|problem| (Rule::PolicyInvalid, problem)).collect();
            CheckedFolder { problems, ..CheckedFolder::default() }
        }
        Err(error) => return Err(error.into()),
    };
    match output.format() {
        FindingFormat::Text => checked.tell(out)?,
        FindingFormat::Json => checked.tell_json(out)?,
        // Indented: people look into it when a service refuses it.
        FindingFormat::Sarif => writeln!(out, "{:#}", sarif::log(&checked.findings()))?,
    }
    Ok(if checked.problems.is_empty() { Exit::Done } else { Exit::ProblemFound })
}

impl CheckedFolder {
    fn from_registry(registry: &Registry) -> Self {
        let off = registry.tools_off().map(|(name, why)| (name.to_owned(), why.to_owned())).collect();
        let mut checked = Self { off, ..Self::default() };
        for (name, tool) in registry.iter() {
            match tool {
                Ok(tool) => {
                    let policy = &tool.policy;
                    let named = policy.warnings(&tool.description.arguments);
                    checked.warnings.extend(named.into_iter().map(|w| (Rule::ArgumentNamedLikePath, w)));
                    checked
                        .warnings
                        .extend(tool.stub_warnings().into_iter().map(|w| (Rule::ImportRefuses, w)));
                    checked.tools.push((name.to_owned(), policy.profile.clone(), policy.grants.describe()));
                }
                Err(why) => {
                    let rule = rule_of(why.fault);
                    checked.problems.extend(why.problems.iter().map(|problem| (rule, problem.clone())));
                }
            }
        }
        checked
    }

    fn tell(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for (name, profile, grants) in &self.tools {
            writeln!(out, "{name}: profile {profile}: {grants}")?;
        }
        for (name, why) in &self.off {
            writeln!(out, "{name}: off: {why}")?;
        }
        for (_, problem) in &self.problems {
            writeln!(out, "problem: {problem}")?;
        }
        for (_, warning) in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        match self.problems.len() {
            0 => writeln!(out, "policies ok: {} tools", self.tools.len()),
            n => writeln!(out, "{n} problem{}", if n == 1 { "" } else { "s" }),
        }
    }

    fn tell_json(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let tools = self
            .tools
            .iter()
            .map(|(name, profile, grants)| json!({ "name": name, "profile": profile, "grants": grants }));
        let off = self.off.iter().map(|(name, why)| json!({ "name": name, "why": why }));
        let listed =
            |found: &[(Rule, PolicyProblem)]| found.iter().map(|(_, p)| json!(p)).collect::<Vec<_>>();
        let told = json!({
            "ok": self.problems.is_empty(), "tools": tools.collect::<Vec<_>>(), "off": off.collect::<Vec<_>>(),
            "problems": listed(&self.problems), "warnings": listed(&self.warnings),
        });
        writeln!(out, "{told}")
    }

    fn findings(&self) -> Vec<SarifFinding> {
        let of =
            |level: Level| move |(rule, problem): &(Rule, PolicyProblem)| self.finding(*rule, level, problem);
        let off = self.off.iter().map(|(name, why)| {
            let file = self.policies.as_ref().and_then(|set| set.get(name)).map(|policy| policy.file.clone());
            let message = format!("{name} is off: {why}");
            SarifFinding {
                rule: Rule::ToolOff,
                level: Level::Note,
                message,
                file: file.unwrap_or_default(),
                line: None,
            }
        });
        let problems = self.problems.iter().map(of(Level::Error));
        problems.chain(self.warnings.iter().map(of(Level::Warning))).chain(off).collect()
    }

    /// What lies in a component is shown at the line that names it.
    fn finding(&self, rule: Rule, level: Level, problem: &PolicyProblem) -> SarifFinding {
        let policy =
            self.policies.iter().flat_map(PolicySet::iter).find(|policy| policy.file == problem.file);
        let line = problem.line.or_else(|| Some(policy?.origins.component.line));
        SarifFinding { rule, level, message: problem.problem.clone(), file: problem.file.clone(), line }
    }
}

fn rule_of(fault: LoadFault) -> Rule {
    match fault {
        LoadFault::Missing => Rule::ComponentMissing,
        LoadFault::Mismatch => Rule::ComponentMismatch,
        LoadFault::NotGranted => Rule::ImportsNotGranted,
        LoadFault::Refused => Rule::ComponentRefused,
        LoadFault::Misnamed => Rule::ComponentMisnamed,
        LoadFault::Unfit => Rule::ArgumentsUnfit,
        LoadFault::Schema => Rule::SchemaUnusable,
    }
}
