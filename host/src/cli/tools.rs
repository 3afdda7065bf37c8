//! `cofferdam tools`: what can be called, and what each tool is granted.

use super::{Exit, Output};
use crate::config::Config;
use crate::gateway;
use cofferdam_core::capability::Grants;
use cofferdam_core::text::{escape_deceptive, escape_deceptive_json};
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn run(config: &Config, output: Output) -> anyhow::Result<Exit> {
    let registry = gateway::look(config)?;
    let mut out = super::stdout();
    if output.json {
        let tools: Vec<_> = registry
            .iter()
            .map(|(name, tool)| match tool {
                Ok(tool) => json!({
                    "name": name, "available": true, "summary": tool.description.summary,
                    "profile": tool.policy.profile, "safety": tool.policy.safety, "grants": grants_json(&tool.policy.grants),
                    "limits": tool.policy.limits, "why": tool.policy.why,
                    "component_sha256": tool.component.sha256(), "policy_sha256": tool.policy.sha256,
                    "arguments": tool.description.arguments, "result": tool.description.result }),
                Err(why) => json!({ "name": name, "available": false, "why": why.to_string() }),
            })
            .collect();
        writeln!(out, "{}", escape_deceptive_json(&json!(tools).to_string()))?;
        return Ok(Exit::Done);
    }
    for (name, tool) in registry.iter() {
        match tool {
            Ok(tool) => {
                let (policy, limits) = (&tool.policy, &tool.policy.limits);
                writeln!(out, "{name}  {}", escape_deceptive(&tool.description.summary))?;
                writeln!(out, "    profile {}: {}", policy.profile, policy.grants.describe())?;
                writeln!(
                    out,
                    "    limits: memory {}, deadline {}, written {}",
                    limits.memory, limits.deadline, limits.written_bytes
                )?;
                writeln!(out, "    component {}", &tool.component.sha256()[..12])?;
            }
            Err(why) => writeln!(out, "{name}  UNAVAILABLE: {}", escape_deceptive(&why.to_string()))?,
        }
    }
    Ok(Exit::Done)
}

/// The grants as JSON, without what is not granted at all.
fn grants_json(grants: &Grants) -> Value {
    let mut shown = json!(grants);
    if let Value::Object(shown) = &mut shown {
        shown.retain(|_, grant| !grant.is_null());
    }
    shown
}
