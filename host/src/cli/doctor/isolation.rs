//! What is in force in a confined gateway and in its workers: this program, started again, tries
//! everything of the tables.

use super::super::Exit;
use super::finding::{DoctorFinding, Severity};
use crate::config::Config;
use anyhow::Context;
use cofferdam_confine::trial::{ExpectedResult, TrialFolder, TrialResult, table};
use cofferdam_confine::{ConfinementMode, Report};
use cofferdam_policy::spell_word;
use cofferdam_warden::sandbox::workers::{WORKER_BYTES, WORKER_SHA256};
use serde::Serialize;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

#[derive(Serialize)]
pub(super) struct Isolation {
    require: bool,
    /// The program that guests run in, as it is embedded in this one: its `sha256` and `bytes`.
    worker: Value,
    /// What is in force in each kind of process, in the order of [`KINDS`].
    pub(super) reports: Vec<Report>,
    attempts: Vec<TrialAttempt>,
}

#[derive(Serialize)]
struct TrialAttempt {
    who: ConfinementMode,
    attempt: &'static str,
    expected: ExpectedResult,
    /// None when its process became another program, or could not be confined.
    outcome: Option<TrialResult>,
    ok: bool,
}

const KINDS: [ConfinementMode; 3] =
    [ConfinementMode::Gateway, ConfinementMode::CallWorker, ConfinementMode::CompileWorker];

pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> anyhow::Result<Isolation> {
    let require = config.isolation.require;
    let weight = if require { Severity::Problem } else { Severity::Notice };
    let worker = json!({ "sha256": WORKER_SHA256, "bytes": WORKER_BYTES });
    let mut found = Isolation { require, worker, reports: Vec::new(), attempts: Vec::new() };
    let mut finding = |weight, what: String, mend: &str| {
        findings.push(DoctorFinding { section: "isolation", weight, what, mend: mend.to_owned() });
    };
    // Side by side: nearly all of it is making processes, one for each try.
    let tried = std::thread::scope(|scope| {
        let threads = KINDS.map(|who| scope.spawn(move || try_process(who)));
        threads.map(|thread| thread.join().expect("trying does not panic"))
    });
    for (who, tried) in KINDS.into_iter().zip(tried) {
        let (report, attempts, refused) = tried?;
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

/// What one kind of process came to: what is in force, none when it could not be confined; each
/// try; and what was said by one that could not be confined.
fn try_process(who: ConfinementMode) -> anyhow::Result<(Option<Report>, Vec<TrialAttempt>, Option<String>)> {
    let trials = table(who);
    let scene = tempfile::tempdir().context("cannot make a folder to try things in")?;
    TrialFolder::prepare(scene.path()).context("cannot make files to try things on")?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["confine-check", &spell_word(&who), "--scene"]).arg(scene.path());
    command.args(trials.iter().map(|trial| trial.name)).stdin(Stdio::null());
    let output = command.output().context("cannot start this program again")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let report: Option<Report> = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let attempts = trials.iter().filter(|_| report.is_some()).map(|trial| {
        let told = lines.next().and_then(|line| serde_json::from_str::<Option<TrialResult>>(line).ok());
        let outcome = told.flatten();
        let ok = outcome.is_some_and(|outcome| outcome.is(trial.expected));
        TrialAttempt { who, attempt: trial.name, expected: trial.expected, outcome, ok }
    });
    let attempts = attempts.collect();
    let is_refused = report.is_none() || output.status.code() == Some(Exit::Usage as i32);
    let refused = is_refused.then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned());
    Ok((report, attempts, refused))
}

impl Isolation {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        let required = if self.require { "required" } else { "not required" };
        line(format!("isolation: {required}"));
        let kib = WORKER_BYTES / 1024;
        line(format!("  guests run in a program of its own, {kib} KiB, sha256 {WORKER_SHA256}"));
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
