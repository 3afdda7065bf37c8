//! `cofferdam policy check`: whether a folder of policies is sound, each tool loaded as it would be
//! served.

use super::super::{Exit, Output};
use crate::config::Config;
use crate::gateway::{self, GatewayError};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub(super) fn run(
    config: &Config,
    dir: Option<&Path>,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (mut tools, mut problems, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut off: Vec<(String, String)> = Vec::new();
    match gateway::look(config, dir) {
        Ok(registry) => {
            off = registry.off().map(|(name, why)| (name.to_owned(), why.to_owned())).collect();
            for (name, tool) in registry.iter() {
                match tool {
                    Ok(tool) => {
                        let policy = &tool.policy;
                        warnings.extend(tool.warnings());
                        tools.push((name.to_owned(), policy.profile.clone(), policy.grants.in_words()));
                    }
                    Err(why) => problems.extend(why.problems()),
                }
            }
        }
        Err(GatewayError::Policies(found)) => problems = found,
        Err(error) => return Err(error.into()),
    }
    if output.json {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, profile, grants)| json!({ "name": name, "profile": profile, "grants": grants }))
            .collect();
        let ok = problems.is_empty();
        let off: Vec<_> = off.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
        writeln!(
            out,
            "{}",
            json!({ "ok": ok, "tools": tools, "off": off, "problems": problems, "warnings": warnings })
        )?;
    } else {
        for (name, profile, grants) in &tools {
            writeln!(out, "{name}: profile {profile}: {grants}")?;
        }
        for (name, why) in &off {
            writeln!(out, "{name}: off: {why}")?;
        }
        for problem in &problems {
            writeln!(out, "problem: {problem}")?;
        }
        for warning in &warnings {
            writeln!(out, "warning: {warning}")?;
        }
        match problems.len() {
            0 => writeln!(out, "policies ok: {} tools", tools.len())?,
            n => writeln!(out, "{n} problem{}", if n == 1 { "" } else { "s" })?,
        }
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::ProblemFound })
}
