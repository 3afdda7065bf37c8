//! `cofferdam tool run`: one call of a component, with everything that a call goes through. The
//! result is on stdout as `call` prints it; the audit's records of it are on stderr.

use super::super::{Exit, Output, audit, call, tell};
use super::places::{TrialFolders, workspace_from_flags};
use super::printed;
use crate::config::Config;
use crate::gateway::audit_file;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::{ToolPolicy, toml_key};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --workspace the files are in a temporary folder; without --state the audit is. A gateway's own \
                  are never used.\nExample: cofferdam tool run target/wasm32-wasip2/release/hello.wasm name=Ada"
)]
pub(in crate::cli) struct Arguments {
    /// The component
    file: PathBuf,
    #[command(flatten)]
    arguments: call::TypedArguments,
    /// A file that comes with the call, as if a person had sent it; repeat for several
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// A folder of policies, or one tool's policy file [default: nothing is granted]
    #[arg(long, value_name = "P")]
    policy: Option<PathBuf>,
    /// Where audit and attachments are kept [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Show the audit's records as JSON, for programs
    #[arg(long)]
    json: bool,
}

/// What to write for a tool that failed because nothing is granted; it may have failed for another
/// reason.
fn explain_grant(policy: &ToolPolicy) -> String {
    let tool = &policy.tool;
    let argument = policy.arguments.keys().next().map_or_else(|| "path".into(), |at| toml_key(at));
    format!(
        "if {tool} needs files, write in its profile: mounts = [ {{ guest = \"/shared\", access = \"read-only\" }} ], \
         and under [arguments] of tools/{tool}.toml for a path: {argument} = {{ path = \"read\" }}; then give --policy"
    )
}

/// Whether it may have failed because nothing is granted: a crash, or arguments that it does not
/// take, say nothing of that.
fn may_lack_a_grant(error: &ToolError) -> bool {
    use ErrorCode::{Cancelled, InvalidArguments, OutOfMemory, TimedOut, Trapped};
    !matches!(error.code, Trapped | OutOfMemory | TimedOut | Cancelled | InvalidArguments)
}

pub(super) fn run(config: &Config, arguments: Arguments) -> anyhow::Result<Exit> {
    let Some(candidate) = super::candidate(config, &arguments.file)? else { return Ok(Exit::ToolFailed) };
    let policy = match candidate.policy(arguments.policy.as_deref()) {
        Ok(policy) => policy,
        Err(problems) => {
            let refused = ToolError::new(ErrorCode::ToolUnavailable, problems.join("; "));
            return call::print(Err(refused));
        }
    };
    let workspace = workspace_from_flags();
    match &workspace {
        Some(dir) => tell(&format!("workspace: {}", dir.display())),
        None => tell("workspace: a temporary folder, removed at the end; --workspace DIR keeps one"),
    }
    if arguments.policy.is_none() {
        tell(
            "policy: nothing is granted, no mount and no interface; --policy P takes a folder or a tool's file",
        );
    }
    let places = TrialFolders::new(config, workspace.as_deref(), arguments.state.as_deref())?;
    let gateway = candidate.gateway(&places.config, &policy)?;
    let before = gateway.warden.audit().head().seq;
    let name = policy.tool.to_string();
    let attachments = call::attach(&gateway, &places.config, &arguments.attach)?;
    let text = arguments.arguments.text(gateway.toolbox.registry(), &name)?;
    let (result, last) = printed::run_call(&gateway, call::request(name, text, attachments))?;
    if !last.is_empty() {
        tell(&format!("it printed last:\n    {}", last.join("\n    ")));
    }
    if arguments.policy.is_none() && result.as_ref().is_err_and(may_lack_a_grant) {
        tell(&explain_grant(&policy));
    }
    let exit = call::print(result)?;
    let records = gateway.warden.audit().head().seq.saturating_sub(before);
    let output = Output { json: arguments.json };
    let shown = audit::newest(&audit_file(&places.config), records, output, &mut std::io::stderr());
    if let Err(error) = shown {
        tell(&format!("cannot show the audit: {error}"));
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_brings_no_advice_about_mounts() {
        for (code, advised) in [
            (ErrorCode::NotFound, true),
            (ErrorCode::PathDenied, true),
            (ErrorCode::ToolUnavailable, true),
            (ErrorCode::Trapped, false),
            (ErrorCode::OutOfMemory, false),
            (ErrorCode::TimedOut, false),
            (ErrorCode::InvalidArguments, false),
        ] {
            assert_eq!(may_lack_a_grant(&ToolError::new(code, "")), advised, "{code}");
        }
    }
}
