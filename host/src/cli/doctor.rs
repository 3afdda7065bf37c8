//! `cofferdam doctor`: the whole installation at a glance, measured; each problem with what mends it.
//!
//! It changes nothing but what looking needs: tools are compiled into the cache, as by `policy check`.

mod isolation;
mod kernel;
mod places;

use super::{Exit, Output, audit};
use crate::config::{Config, Setting};
use crate::gateway;
use isolation::Isolation;
use kernel::Kernel;
use places::{Place, Tenants};
use serde::Serialize;
use std::io::Write;

/// What `--json` prints. The shape is stable: keys are added, never changed.
#[derive(Serialize)]
struct Diagnosis {
    /// Whether no finding is a problem.
    ok: bool,
    findings: Vec<Finding>,
    isolation: Isolation,
    kernel: Kernel,
    configuration: Configuration,
    places: Vec<Place>,
    tenants: Tenants,
    tools: Vec<Tool>,
    audit: serde_json::Value,
}

/// Something that should be otherwise.
#[derive(Debug, Serialize)]
struct Finding {
    section: &'static str,
    weight: Weight,
    /// What is wrong.
    what: String,
    /// The command or line that mends it.
    mend: String,
}

/// Whether a finding counts for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Weight {
    /// It does: exit 3.
    Problem,
    /// It does not: the operator has accepted it, or nothing is lost by it.
    Notice,
}

#[derive(Serialize)]
struct Configuration {
    file: Option<String>,
    keys: Vec<Setting>,
}

#[derive(Serialize)]
struct Tool {
    name: String,
    available: bool,
}

pub(super) fn run(config: &Config, output: Output) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    // Before anything is made.
    let (places, tenants) = (places::look(config, &mut findings), places::tenants(config));
    let isolation = isolation::look(config, &mut findings)?;
    let kernel = kernel::look(&isolation, &mut findings);
    let tools = tools(config, &mut findings);
    let audit = audit_chain(config, &mut findings);
    let diagnosis = Diagnosis {
        ok: findings.iter().all(|finding| finding.weight == Weight::Notice),
        findings,
        isolation,
        kernel,
        configuration: Configuration {
            file: config.file.as_ref().map(|file| file.display().to_string()),
            keys: config.settings.clone(),
        },
        places,
        tenants,
        tools,
        audit,
    };
    let mut out = std::io::stdout().lock();
    match output.json {
        true => writeln!(out, "{}", serde_json::to_string(&diagnosis)?)?,
        false => write!(out, "{}", in_words(&diagnosis))?,
    }
    Ok(if diagnosis.ok { Exit::Done } else { Exit::ProblemFound })
}

/// Each tool, loaded as it would be served.
fn tools(config: &Config, findings: &mut Vec<Finding>) -> Vec<Tool> {
    let mut problem = |what: String| {
        let mend = "cofferdam policy check".to_owned();
        findings.push(Finding { section: "tools", weight: Weight::Problem, what, mend });
    };
    match gateway::look(config, config.policies_dir.as_deref()) {
        Ok(registry) => {
            let tools = registry.iter().map(|(name, tool)| {
                if let Err(why) = tool {
                    problem(format!("{name} is unavailable: {why}"));
                }
                Tool { name: name.to_owned(), available: tool.is_ok() }
            });
            tools.collect()
        }
        Err(error) => {
            problem(error.to_string());
            Vec::new()
        }
    }
}

/// What `audit verify --json` says, or null when there is no audit yet.
fn audit_chain(config: &Config, findings: &mut Vec<Finding>) -> serde_json::Value {
    let file = gateway::audit_file(config);
    if !file.exists() {
        return serde_json::Value::Null;
    }
    let mut bytes = Vec::new();
    let what = match audit::check(&file, &mut bytes) {
        Ok(Exit::Done) => None,
        Ok(_) => Some("the audit's chain is broken".to_owned()),
        Err(error) => Some(format!("the audit cannot be read: {error}")),
    };
    if let Some(what) = what {
        let mend = "cofferdam audit verify".to_owned();
        findings.push(Finding { section: "audit", weight: Weight::Problem, what, mend });
    }
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn in_words(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    diagnosis.isolation.tell(&mut line);
    diagnosis.kernel.tell(&mut line);
    line(match &diagnosis.configuration.file {
        Some(file) => format!("configuration: {file}"),
        None => "configuration: no file".to_owned(),
    });
    for Setting { key, value, origin } in &diagnosis.configuration.keys {
        let origin = serde_json::to_value(origin).unwrap_or_default();
        let origin = origin.as_str().unwrap_or_default();
        line(format!("  {key} = {}  ({origin})", value.as_deref().unwrap_or("(not set)")));
    }
    line("places:".to_owned());
    for place in &diagnosis.places {
        line(format!("  {place}"));
    }
    line(format!("  {}", diagnosis.tenants));
    let available = diagnosis.tools.iter().filter(|tool| tool.available).count();
    line(format!("tools: {available} of {} available", diagnosis.tools.len()));
    line(match (&diagnosis.audit, diagnosis.audit["head"].as_object()) {
        (serde_json::Value::Null, _) => "audit: none yet".to_owned(),
        (audit, Some(head)) => format!(
            "audit: {} records, head {}:{}",
            audit["records"],
            head.get("seq").unwrap_or(&serde_json::Value::Null),
            head.get("sha256").and_then(|sha256| sha256.as_str()).unwrap_or_default()
        ),
        (_, None) => "audit: BAD".to_owned(),
    });
    for Finding { weight, what, mend, .. } in &diagnosis.findings {
        let word = if *weight == Weight::Problem { "problem" } else { "notice" };
        line(format!("{word}: {what}\n  mend: {mend}"));
    }
    let problems = diagnosis.findings.iter().filter(|finding| finding.weight == Weight::Problem).count();
    line(match problems {
        0 => "all is well".to_owned(),
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    });
    text
}
