//! What is in force in a confined gateway and in its workers: this program confines itself, as
//! often as a try ends it, and tries everything of the tables.

use super::finding::{DoctorFinding, Severity};
use crate::config::Config;
use anyhow::Context;
use cofferdam_confine::trial::{ExpectedResult, Trial, TrialFolder, TrialResult, table};
use cofferdam_confine::{ConfinementMode, Report};
use cofferdam_warden::sandbox::workers::{WORKER_BYTES, WORKER_SHA256};
use serde::Serialize;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

#[derive(Serialize)]
pub(super) struct Isolation {
    require: bool,
    worker: WorkerProgram,
    /// What is in force in each kind of process, in the order of [`KINDS`].
    pub(super) reports: Vec<Report>,
    attempts: Vec<TrialAttempt>,
}

/// The program that guests run in, as it is embedded in this one.
#[derive(Serialize)]
struct WorkerProgram {
    sha256: &'static str,
    bytes: usize,
}

/// One try.
#[derive(Serialize)]
struct TrialAttempt {
    who: ConfinementMode,
    attempt: &'static str,
    expected: ExpectedResult,
    /// None when the process ended over it without a signal.
    outcome: Option<TrialResult>,
    ok: bool,
}

const KINDS: [(ConfinementMode, &str); 3] = [
    (ConfinementMode::Gateway, "gateway"),
    (ConfinementMode::CallWorker, "call-worker"),
    (ConfinementMode::CompileWorker, "compile-worker"),
];

pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> anyhow::Result<Isolation> {
    let require = config.isolation.require;
    let weight = if require { Severity::Problem } else { Severity::Notice };
    let worker = WorkerProgram { sha256: WORKER_SHA256, bytes: WORKER_BYTES };
    let mut found = Isolation { require, worker, reports: Vec::new(), attempts: Vec::new() };
    let mut finding = |weight, what: String, mend: &str| {
        findings.push(DoctorFinding { section: "isolation", weight, what, mend: mend.to_owned() });
    };
    // Side by side: nearly all of it is starting processes, one for each try that ends one.
    let tried = std::thread::scope(|scope| {
        let threads = KINDS.map(|(who, word)| scope.spawn(move || ProcessKind::try_process(who, word)));
        threads.map(|thread| thread.join().expect("trying does not panic"))
    });
    for kind in tried {
        let ProcessKind { who, report, attempts, refused } = kind?;
        if let Some(said) = refused {
            finding(Severity::Problem, format!("{who}: cannot be confined: {said}"), "see the message");
        }
        let missing = report.as_ref().map(Report::missing_controls).unwrap_or_default();
        for missing in &missing {
            finding(weight, format!("{who}: {missing}"), "boot or allow what it names");
        }
        for TrialAttempt { attempt, expected, outcome, .. } in attempts.iter().filter(|attempt| !attempt.ok) {
            // With a mechanism missing, what it would have refused is no surprise.
            let weight = if missing.is_empty() { Severity::Problem } else { weight };
            let what = format!("{who}: {attempt}: {outcome:?} instead of {expected:?}");
            finding(weight, what, "report this with the output of cofferdam doctor --json");
        }
        found.reports.extend(report);
        found.attempts.extend(attempts);
    }
    Ok(found)
}

/// What one kind of process came to.
struct ProcessKind {
    who: ConfinementMode,
    report: Option<Report>,
    attempts: Vec<TrialAttempt>,
    /// What was said by a process that could not be confined.
    refused: Option<String>,
}

impl ProcessKind {
    fn try_process(who: ConfinementMode, word: &str) -> anyhow::Result<Self> {
        let trials = table(who);
        let mut found = Self { who, report: None, attempts: Vec::new(), refused: None };
        while let Some(rest) = trials.get(found.attempts.len()..).filter(|rest| !rest.is_empty()) {
            let tried = attempt(word, rest)?;
            let Some(told) = tried.report else {
                found.refused = Some(tried.said);
                break;
            };
            found.report = found.report.or(Some(told));
            for (trial, outcome) in rest.iter().zip(tried.outcomes) {
                let ok = outcome.is_some_and(|outcome| outcome.is(trial.expected));
                let (attempt, expected) = (trial.name, trial.expected);
                found.attempts.push(TrialAttempt { who, attempt, expected, outcome, ok });
            }
        }
        Ok(found)
    }
}

/// How far one process came.
struct TrialReport {
    /// None when it could not be confined.
    report: Option<Report>,
    /// Of the first trials, at least one; the last is what ended the process, when something did.
    outcomes: Vec<Option<TrialResult>>,
    /// What it said on standard error.
    said: String,
}

/// Runs trials in a process, as far as they let it come.
fn attempt(who: &str, trials: &[Trial]) -> anyhow::Result<TrialReport> {
    let scene = tempfile::tempdir().context("cannot make a folder to try things in")?;
    TrialFolder::prepare(scene.path()).context("cannot make files to try things on")?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["confine-check", who, "--scene"]).arg(scene.path());
    command.args(trials.iter().map(|trial| trial.name)).stdin(Stdio::null());
    let output = command.output().context("cannot start this program again")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let report = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let mut outcomes: Vec<_> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    if outcomes.len() < trials.len() {
        outcomes.push(output.status.signal().map(TrialResult::Killed));
    }
    Ok(TrialReport { report, outcomes, said: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}

impl Isolation {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        let required = if self.require { "required" } else { "not required" };
        line(format!("isolation: {required}"));
        let WorkerProgram { sha256, bytes } = self.worker;
        line(format!("  guests run in a program of its own, {} KiB, sha256 {sha256}", bytes / 1024));
        for report in &self.reports {
            line(format!("  {report}"));
            let of_it = || self.attempts.iter().filter(|attempt| attempt.who == report.who);
            let as_expected = |expected| of_it().filter(|a| a.ok && a.expected == expected).count();
            let (refused, done) = (as_expected(ExpectedResult::Refused), as_expected(ExpectedResult::Done));
            let wrong = of_it().count() - refused - done;
            line(format!("    tried: {refused} refused, {done} allowed, {wrong} not as they should be"));
        }
    }
}
