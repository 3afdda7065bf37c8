//! `cofferdam policy explain`: what would become of exactly this call, and why. The call takes the
//! way of a real one up to its permit, which is dropped: nothing runs, and nothing is audited.

use super::super::{Exit, Output, call};
use crate::config::Config;
use crate::gateway;
use cofferdam_agent::tools::{RegisteredTool, Registry};
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::{Denial, PolicyProblem, PolicySet, Reason, ToolPolicy, Verdict};
use cofferdam_review::explain::{Explained, explain};
use cofferdam_review::mend::{self, Remedy, Suggestion};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

mod text;

#[derive(Default)]
struct Explanation<'a> {
    tool: String,
    /// The policy that was asked.
    policy: Option<&'a ToolPolicy>,
    /// None: permitted.
    refusal: Option<ToolError>,
    /// Why a person must approve it, as far as can be told without looking at what is there.
    asks: Vec<Reason>,
    /// Why the tool does not load.
    problems: Vec<PolicyProblem>,
    places: Vec<Explained>,
    /// How the call would have to change; a policy cannot help then.
    change_call: Vec<String>,
    suggestions: Vec<Suggestion>,
}

/// Explains a call under the policies of a folder; without one under the embedded ones.
pub(super) fn run(
    config: &Config,
    typed: &call::TypedCall,
    dir: Option<&Path>,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (policies, registry) = gateway::review(config, dir)?;
    let answer = answer(&policies, &registry, typed)?;
    if output.json {
        writeln!(out, "{}", answer.to_json())?;
    } else {
        text::write(&answer, dir.is_none(), out)?;
    }
    Ok(if answer.refusal.is_none() { Exit::Done } else { Exit::ToolFailed })
}

fn answer<'a>(
    policies: &'a PolicySet,
    registry: &Registry,
    typed: &call::TypedCall,
) -> anyhow::Result<Explanation<'a>> {
    let text = typed.arguments.text(registry, &typed.tool)?;
    let policy = policies.get(&typed.tool);
    let mut answer = Explanation { tool: typed.tool.clone(), policy, ..Explanation::default() };
    let tool = match registry.get(&typed.tool) {
        Ok(tool) => tool,
        Err(error) => {
            let loaded = registry.iter().find(|(name, _)| *name == typed.tool);
            answer.problems = loaded
                .and_then(|(_, tool)| tool.as_ref().err())
                .map_or_else(Vec::new, |e| e.problems.clone());
            answer.refusal = Some(error.clone());
            return Ok(answer);
        }
    };
    match text {
        Ok(text) => answer.judge(policies, tool, &text),
        Err(why) => answer.refuse(ToolError::new(ErrorCode::InvalidArguments, why.to_string())),
    }
    Ok(answer)
}

impl Explanation<'_> {
    fn judge(&mut self, policies: &PolicySet, tool: &RegisteredTool, text: &str) {
        let arguments = match tool.read(text) {
            Ok(arguments) => arguments,
            Err(error) if error.code == ErrorCode::TooLarge => {
                self.suggestions = mend::suggest_for_size(policies, &tool.policy, text.len());
                if self.suggestions.is_empty() {
                    self.change_call.push("no policy may allow that much; send less at once".to_owned());
                }
                self.refusal = Some(error);
                return;
            }
            Err(error) => return self.refuse(error),
        };
        let id = call::one_shot_turn("explain").call(0);
        let verdict = match tool.judge(id, arguments.clone(), &|| None) {
            Ok(verdict) => verdict,
            Err(error) => return self.refuse(error),
        };
        self.places = explain(&tool.policy, &arguments);
        match verdict {
            Verdict::Permit(_) => {}
            Verdict::Ask(pending) => self.asks = pending.reasons().to_vec(),
            Verdict::Deny(denial) => {
                let denials: Vec<Denial> = self
                    .places
                    .iter()
                    .flat_map(|place| &place.denials)
                    .map(|told| told.denial.clone())
                    .collect();
                for denial in &denials {
                    if let Remedy::ChangeCall(how) = mend::remedy(denial)
                        && !self.change_call.contains(&how)
                    {
                        self.change_call.push(how);
                    }
                }
                self.suggestions = mend::suggest_for_call(policies, &tool.policy, &arguments, &denials);
                self.refusal = Some(denial.into());
            }
        }
    }

    fn verdict(&self) -> &'static str {
        match (&self.refusal, self.asks.is_empty()) {
            (Some(_), _) => "deny",
            (None, false) => "ask",
            (None, true) => "permit",
        }
    }

    /// The explanation for programs, which can make `suggestions[].edits[]`.
    fn to_json(&self) -> Value {
        let policy = self.policy;
        json!({
            "tool": self.tool,
            "verdict": self.verdict(),
            "code": self.refusal.as_ref().map(|refusal| refusal.code),
            "reason": self.refusal.as_ref().map(|refusal| &refusal.message),
            "profile": policy.map(|policy| &policy.profile),
            "policy_sha256": policy.map(|policy| &policy.sha256),
            "asks": self.asks,
            "problems": self.problems,
            "arguments": self.places.iter().map(|place| self.argument(place)).collect::<Vec<_>>(),
            "change_call": self.change_call,
            "suggestions": self.suggestions,
        })
    }

    fn argument(&self, place: &Explained) -> Value {
        let rule = self.policy.zip(place.line);
        let mounts = place.mounts.iter();
        json!({
            "name": place.at,
            "class": place.class,
            "values": place.values,
            "rule": rule.map(|(policy, line)| json!({ "file": policy.file, "line": line })),
            "mounts": mounts
                .map(|(guest, (access, at))| json!({ "guest": guest, "access": access, "at": at }))
                .collect::<Vec<_>>(),
            "hosts": place.hosts.iter().map(|(host, at)| json!({ "host": host, "at": at })).collect::<Vec<_>>(),
            "denied": place
                .denials
                .iter()
                .map(|told| json!({ "code": told.denial.code, "reason": told.denial.reason, "at": told.decided_at }))
                .collect::<Vec<_>>(),
        })
    }

    /// A refusal that lies in the call itself.
    fn refuse(&mut self, error: ToolError) {
        let shown = format!(
            "the arguments are not what the tool takes; `cofferdam tools --json` shows the schema of {}",
            self.tool
        );
        self.change_call.push(shown);
        self.refusal = Some(error);
    }
}
