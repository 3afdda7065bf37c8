//! `cofferdam policy diff`: what a new folder of policies allows beyond an old one. Loads no
//! component: what is compared is what the policies say.

use super::super::Exit;
use super::{FindingFormat, Findings};
use crate::gateway;
use cofferdam_policy::{PolicyProblem, PolicySet};
use cofferdam_review::diff::{Change, Direction, diff, widens};
use cofferdam_review::sarif::{self, Level, Rule, SarifFinding};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub(super) fn run(old: &Path, new: &Path, output: Findings, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (old, new) = match (gateway::load_policies(Some(old)), gateway::load_policies(Some(new))) {
        (Ok(old), Ok(new)) => (old, new),
        (was, is) => {
            let (was, is) = (was.err().unwrap_or_default(), is.err().unwrap_or_default());
            return refuse(&[("old", old, was), ("new", new, is)], output, out);
        }
    };
    let changes = diff(&old, &new);
    let widens = widens(&changes);
    match output.format() {
        FindingFormat::Json => writeln!(out, "{}", json!({ "widens": widens, "changes": changes }))?,
        FindingFormat::Sarif => {
            let findings: Vec<_> = changes.iter().map(|change| finding(change, &old, &new)).collect();
            writeln!(out, "{:#}", sarif::log(&findings))?;
        }
        FindingFormat::Text => {
            for change in &changes {
                writeln!(out, "{change}")?;
            }
            if changes.is_empty() {
                writeln!(out, "no difference in what is allowed")?;
            }
        }
    }
    Ok(if widens { Exit::ProblemFound } else { Exit::Done })
}

/// What widens is an error: the command exits with a problem because of it. It is shown in the new
/// folder where that says it, else where the old one did.
fn finding(change: &Change, old: &PolicySet, new: &PolicySet) -> SarifFinding {
    let level = match change.direction {
        Direction::Widens => Level::Error,
        Direction::Narrows | Direction::Neutral => Level::Note,
    };
    let tool = change.tool.as_str();
    let place = new.get(tool).or_else(|| old.get(tool)).map(|policy| change.subject.place(policy));
    let (file, line) = place.unwrap_or_default();
    SarifFinding {
        rule: Rule::for_difference(&change.subject),
        level,
        message: change.to_string(),
        file,
        line,
    }
}

/// Tells what is wrong with the folders that do not load; nothing is compared then.
fn refuse(
    sides: &[(&str, &Path, Vec<PolicyProblem>)],
    output: Findings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (mut listed, mut findings) = (Vec::new(), Vec::new());
    for (side, dir, problems) in sides {
        for problem in problems {
            super::super::tell(&format!("{side} policies: {}/{problem}", dir.display()));
            let PolicyProblem { file, line, problem } = problem;
            listed.push(json!({ "side": side, "file": file, "line": line, "problem": problem }));
            let message = format!("{side} policies: {problem}");
            let (rule, level) = (Rule::PolicyInvalid, Level::Error);
            findings.push(SarifFinding { rule, level, message, file: file.clone(), line: *line });
        }
    }
    match output.format() {
        FindingFormat::Text => {}
        FindingFormat::Json => writeln!(out, "{}", json!({ "problems": listed }))?,
        FindingFormat::Sarif => writeln!(out, "{:#}", sarif::log(&findings))?,
    }
    Ok(Exit::Usage)
}
