//! What is in force in a confined gateway and in its workers: this program confines itself, again and again,
//! and tries everything of the tables.

use super::{Finding, Weight};
use crate::config::Config;
use crate::confine::trial::{Expected, Outcome, Scene, table};
use crate::confine::{Confined, Mode, Report};
use anyhow::Context;
use serde::Serialize;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Serialize)]
pub(super) struct Isolation {
    mode: Mode,
    require: bool,
    /// What is in force in each kind of process, in the order of [`KINDS`].
    pub(super) reports: Vec<Report>,
    attempts: Vec<Attempt>,
}

/// One try in a process of its own.
#[derive(Serialize)]
struct Attempt {
    who: Confined,
    attempt: &'static str,
    expected: Expected,
    /// None when the process did not come as far as trying.
    outcome: Option<Outcome>,
    ok: bool,
}

const KINDS: [(Confined, &str); 3] = [
    (Confined::Gateway, "gateway"),
    (Confined::CallWorker, "call-worker"),
    (Confined::CompileWorker, "compile-worker"),
];

pub(super) fn look(config: &Config, findings: &mut Vec<Finding>) -> anyhow::Result<Isolation> {
    let (mode, require) = (config.isolation.mode, config.isolation.require);
    let weight = if require { Weight::Problem } else { Weight::Notice };
    let mut found = Isolation { mode, require, reports: Vec::new(), attempts: Vec::new() };
    let mut finding = |weight, what: String, mend: &str| {
        findings.push(Finding { section: "isolation", weight, what, mend: mend.to_owned() });
    };
    if mode == Mode::InProcess {
        finding(weight, "guests run in the gateway's own process".into(), "[isolation] mode = \"processes\"");
    }
    for (who, word) in KINDS {
        let mut report = None;
        for trial in table(who) {
            let scene = tempfile::tempdir().context("cannot make a folder to try things in")?;
            Scene::prepare(scene.path()).context("cannot make files to try things on")?;
            let (told, outcome, said) = attempt(word, trial.name, scene.path())?;
            if told.is_none() && report.is_none() {
                finding(Weight::Problem, format!("{who}: cannot be confined: {said}"), "see the message");
                break;
            }
            report = report.or(told);
            let ok = outcome.is_some_and(|outcome| outcome.is(trial.expected));
            let (attempt, expected) = (trial.name, trial.expected);
            found.attempts.push(Attempt { who, attempt, expected, outcome, ok });
        }
        let missing = report.as_ref().map(Report::missing).unwrap_or_default();
        for missing in &missing {
            finding(weight, format!("{who}: {missing}"), "boot or allow what it names");
        }
        for Attempt { attempt, expected, outcome, .. } in
            found.attempts.iter().filter(|attempt| attempt.who == who && !attempt.ok)
        {
            // With a mechanism missing, what it would have refused is no surprise.
            let weight = if missing.is_empty() { Weight::Problem } else { weight };
            let what = format!("{who}: {attempt}: {outcome:?} instead of {expected:?}");
            finding(weight, what, "report this with the output of cofferdam doctor --json");
        }
        found.reports.extend(report);
    }
    Ok(found)
}

/// Runs one trial: what was in force, what became of it, and what the process said.
fn attempt(
    who: &str,
    trial: &str,
    scene: &Path,
) -> anyhow::Result<(Option<Report>, Option<Outcome>, String)> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["confine-check", who, trial, "--scene"]).arg(scene).stdin(Stdio::null());
    let output = command.output().context("cannot start this program again")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let report = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let told = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let outcome = match output.status.signal() {
        Some(signal) if report.is_some() => Some(Outcome::Killed(signal)),
        _ => told,
    };
    Ok((report, outcome, String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

impl Isolation {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        let mode = match self.mode {
            Mode::Processes => "processes",
            Mode::InProcess => "in-process",
        };
        let required = if self.require { "required" } else { "not required" };
        line(format!("isolation: {mode}, {required}"));
        for report in &self.reports {
            line(format!("  {report}"));
            let of_it = || self.attempts.iter().filter(|attempt| attempt.who == report.who);
            let as_expected = |expected| of_it().filter(|a| a.ok && a.expected == expected).count();
            let (refused, done) = (as_expected(Expected::Refused), as_expected(Expected::Done));
            let wrong = of_it().count() - refused - done;
            line(format!("    tried: {refused} refused, {done} allowed, {wrong} not as they should be"));
        }
    }
}
