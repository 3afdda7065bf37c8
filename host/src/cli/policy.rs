//! `cofferdam policy`: whether a folder of policies is sound, each tool loaded as it would be served.

use super::{Exit, Output};
use crate::config::Config;
use crate::gateway::{self, GatewayError};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Checks policies and the components they pin; exit 3 lists every problem with file and line
    #[command(after_help = "Example: cofferdam policy check policies")]
    Check {
        /// A folder with profiles/ and tools/ [default: the configured one, else the embedded policies]
        dir: Option<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
}

pub(super) fn run(config: &Config, command: Command) -> anyhow::Result<Exit> {
    let Command::Check { dir, output } = command;
    let dir = dir.or_else(|| config.policies_dir.clone());
    let (tools, problems) = match gateway::look(config, dir.as_deref()) {
        Ok(registry) => {
            let mut tools = Vec::new();
            let mut problems = Vec::new();
            for (name, tool) in registry.iter() {
                match tool {
                    Ok(tool) => tools.push((
                        name.to_owned(),
                        tool.policy.profile.clone(),
                        tool.policy.grants.in_words(),
                    )),
                    Err(why) => problems.push(why.to_string()),
                }
            }
            (tools, problems)
        }
        Err(GatewayError::Policies(problems)) => {
            (Vec::new(), problems.iter().map(ToString::to_string).collect())
        }
        Err(error) => return Err(error.into()),
    };
    let mut out = std::io::stdout().lock();
    if output.json {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, profile, grants)| json!({ "name": name, "profile": profile, "grants": grants }))
            .collect();
        writeln!(out, "{}", json!({ "ok": problems.is_empty(), "tools": tools, "problems": problems }))?;
    } else {
        for (name, profile, grants) in &tools {
            writeln!(out, "{name}: profile {profile}: {grants}")?;
        }
        for problem in &problems {
            writeln!(out, "problem: {problem}")?;
        }
        match problems.len() {
            0 => writeln!(out, "policies ok: {} tools", tools.len())?,
            n => writeln!(out, "{n} problem{}", if n == 1 { "" } else { "s" })?,
        }
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::ProblemFound })
}
