//! The call itself, in a workspace and a state that are gone at the end.

use super::Arguments;
use super::inputs::Inputs;
use super::recorded;
use crate::cli::approving::ApproveAll;
use crate::cli::call;
use crate::cli::tool::TrialFolders;
use crate::config::Config;
use crate::gateway::{Gateway, audit_file};
use anyhow::Context;
use cofferdam_agent::tools::{Approver, CallRequest};
use cofferdam_core::audit::{CallOutcome, Effect};
use cofferdam_core::json::parse_strict;
use cofferdam_core::path::GuestPath;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::ToolPolicy;
use cofferdam_policy::rulings::rulings;
use cofferdam_warden::attachments::Attachments;
use cofferdam_warden::publish;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes the call again, with its arguments as JSON text, and tells how it ended.
pub(super) fn run(
    config: &Config,
    recorded: &CallOutcome,
    (arguments, policy): (&Arguments, &ToolPolicy),
    text: String,
    remarks: &mut Vec<String>,
) -> anyhow::Result<CallOutcome> {
    let places = TrialFolders::new(config, None, None)?;
    let root = &places.config.workspace.root;
    let place = publish::FileOwner::from_facts(&recorded.facts);
    let from = |mount: &str| match &arguments.files {
        Some(dir) => dir.join(mount.trim_start_matches('/')),
        None => config.workspace.root.join(place.mount_folder(mount)),
    };
    let paths = judged_paths(&text, policy);
    let effects: &[Effect] = if arguments.files.is_some() { &[] } else { &recorded.files };
    copy_files(effects, &paths, (&from, root), remarks)?;
    let gateway = Gateway::to_replay(&places.config, policy, config)?;
    let attachments = call::attach(&gateway, &places.config, &arguments.attach)?;
    make(&gateway, recorded, text, attachments)?;
    recorded::find_last(&audit_file(&places.config))
}

/// The call, with the names that it had, in no session: the copies are where it looks.
fn make(
    gateway: &Gateway,
    recorded: &CallOutcome,
    text: String,
    attachments: Attachments,
) -> anyhow::Result<()> {
    let facts = &recorded.facts;
    let is_asked = recorded.code != Some(ErrorCode::ApprovalRequired);
    let request = CallRequest {
        id: facts.call.clone(),
        turn: facts.turn.clone(),
        caller: facts.caller.clone(),
        // Somebody agreed then, or nobody was asked.
        approver: is_asked.then(|| Arc::new(ApproveAll) as Arc<dyn Approver>),
        ..call::request(facts.tool.clone(), Ok(text), attachments)
    };
    // Its outcome is read from the audit, as the recorded one was.
    call::run_call(gateway, request).map(drop)
}

/// The paths among the arguments, completed as the policy says. What is denied is not looked at.
fn judged_paths(text: &str, policy: &ToolPolicy) -> BTreeSet<GuestPath> {
    let mut paths = BTreeSet::new();
    // What is no JSON is refused by the call.
    if let Ok(mut arguments) = parse_strict(text) {
        policy.complete(&mut arguments);
        let _ = rulings(&arguments, policy, |_, ruled| {
            paths.extend(ruled.ok().and_then(|ruling| ruling.path));
            Ok(())
        });
    }
    paths
}

/// Copies the files of the call. These effects are what the call itself did to them, and are taken
/// back as far as that is known.
fn copy_files(
    effects: &[Effect],
    paths: &BTreeSet<GuestPath>,
    (from, to): (&dyn Fn(&str) -> PathBuf, &Path),
    remarks: &mut Vec<String>,
) -> anyhow::Result<()> {
    let (mut without, mut moved) = (BTreeSet::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Written(file) => {
                remarks.push(format!(
                    "{} is as if it were not there: what the call found is not known",
                    file.path
                ));
                without.insert(file.path.clone());
            }
            Effect::Moved { path, moved_from, .. } => {
                without.insert(path.clone());
                moved.push((path.clone(), moved_from.clone()));
            }
            Effect::Removed { path, .. } => {
                anyhow::bail!("{path} was removed by the call; give a copy of the files with --files DIR")
            }
            // What the reply gets now says itself whether the file is as it was.
            Effect::Attached { .. } => {}
        }
    }
    let mut inputs = Inputs::new(from, to, without);
    for path in paths {
        inputs.copy(path, path.as_str())?;
    }
    for (path, moved_from) in moved {
        let path = GuestPath::parse(&path).context("the record names no path")?;
        inputs.copy(&path, &moved_from)?;
    }
    if inputs.passed > 0 {
        remarks.push(format!("{} links and other files were not copied", inputs.passed));
    }
    Ok(())
}
