//! `cofferdam policy diff`: what a new folder of policies allows beyond an old one. Loads no
//! component: what is compared is what the policies say.

use super::super::{Exit, Output};
use crate::gateway;
use cofferdam_policy::PolicyProblem;
use cofferdam_review::diff::{diff, widens};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub(super) fn run(old: &Path, new: &Path, output: Output, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (old, new) = match (gateway::load_policies(Some(old)), gateway::load_policies(Some(new))) {
        (Ok(old), Ok(new)) => (old, new),
        (was, is) => {
            let (was, is) = (was.err().unwrap_or_default(), is.err().unwrap_or_default());
            return refuse(&[("old", old, was), ("new", new, is)], output, out);
        }
    };
    let changes = diff(&old, &new);
    let widens = widens(&changes);
    if output.json {
        writeln!(out, "{}", json!({ "widens": widens, "changes": changes }))?;
    } else {
        for change in &changes {
            writeln!(out, "{change}")?;
        }
        if changes.is_empty() {
            writeln!(out, "no difference in what is allowed")?;
        }
    }
    Ok(if widens { Exit::ProblemFound } else { Exit::Done })
}

/// Tells what is wrong with the folders that do not load; nothing is compared then.
fn refuse(
    sides: &[(&str, &Path, Vec<PolicyProblem>)],
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut listed = Vec::new();
    for (side, dir, problems) in sides {
        for problem in problems {
            super::super::tell(&format!("{side} policies: {}/{problem}", dir.display()));
            listed.push(json!({ "side": side, "file": problem.file, "line": problem.line, "problem": problem.problem }));
        }
    }
    if output.json {
        writeln!(out, "{}", json!({ "problems": listed }))?;
    }
    Ok(Exit::Usage)
}
