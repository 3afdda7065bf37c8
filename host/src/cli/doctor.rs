//! `cofferdam doctor`: the whole installation at a glance, measured; each problem with what mends
//! it.
//!
//! It leaves no folder behind: tools are compiled into the cache that there is, or for the moment,
//! and filesystems are tried in a folder of its own. It takes no lock of a `serve` beside it, which
//! notices nothing.

mod chain;
mod database;
mod filesystem;
mod finding;
mod isolation;
mod kernel;
mod leftovers;
mod network;
mod people;
mod places;
mod secrets;
mod serving;
mod voice;
mod words;

use super::{Exit, Output};
use crate::config::{Config, Setting};
use crate::gateway::{self, GatewayError};
use cofferdam_agent::tools::Registry;
use cofferdam_core::secret::redact;
use cofferdam_warden::sandbox::SandboxError;
use database::Database;
pub(super) use finding::shell;
use finding::{DoctorFinding, Severity};
use isolation::Isolation;
use kernel::Kernel;
use leftovers::Leftovers;
use network::NetworkReport;
use people::PeopleReport;
pub(super) use places::free;
use places::{FolderOwners, FolderReport};
use serde::Serialize;
use serving::ServeReport;
use std::io::Write;
use std::path::PathBuf;
use voice::VoiceReport;

/// What `--json` prints. The shape is stable: keys are added, never changed.
#[derive(Serialize)]
struct Diagnosis {
    /// Whether no finding is a problem.
    ok: bool,
    findings: Vec<DoctorFinding>,
    isolation: Isolation,
    kernel: Kernel,
    configuration: Configuration,
    places: Vec<FolderReport>,
    tenants: FolderOwners,
    people: PeopleReport,
    tools: Vec<ToolReport>,
    audit: serde_json::Value,
    /// None when there is none yet.
    database: Option<Database>,
    leftovers: Leftovers,
    network: NetworkReport,
    voice: VoiceReport,
    serve: ServeReport,
}

#[derive(Serialize)]
struct Configuration {
    file: Option<String>,
    keys: Vec<Setting>,
    /// Whether a reload reads another file in its place, too; none without a file.
    may_be_replaced: Option<bool>,
}

#[derive(Serialize)]
struct ToolReport {
    name: String,
    available: bool,
}

/// Looks at everything; contacts nobody if `offline`.
pub(super) fn run(config: &Config, offline: bool, output: Output) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    // Answered while the rest is looked at.
    let asked = network::ask(config, offline, &mut findings);
    // Before anything is made.
    let places = places::look(config, &mut findings);
    let tenants = places::tenants(places::MEASURING_MAX, config, &mut findings);
    let leftovers = leftovers::look(config, offline, &mut findings);
    let people = people::look(config, &mut findings);
    let chain = chain::begin(config);
    let isolation = isolation::look(config, &mut findings)?;
    let kernel = kernel::look(&isolation, &mut findings);
    let (tools, registry) = tools(config, &mut findings);
    let audit = chain::end(chain, chain::CHAIN_TIME_MAX, &mut findings);
    let database = database::look(config, &mut findings);
    let network = network::await_answers(asked, config, &mut findings);
    secrets::look(config, registry.as_ref(), &mut findings);
    let voice = voice::look(config, &mut findings);
    let serve = serving::look(config, registry.as_ref(), &mut findings);
    let diagnosis = Diagnosis {
        ok: findings.iter().all(|finding| finding.weight == Severity::Notice),
        findings,
        isolation,
        kernel,
        configuration: Configuration {
            file: config.file.as_ref().map(|file| file.display().to_string()),
            keys: config.settings.clone(),
            may_be_replaced: config.file.as_ref().map(|file| {
                let home = std::env::var_os("HOME").map(PathBuf::from);
                gateway::own_folder(config, file, home.as_deref()).is_some()
            }),
        },
        places,
        tenants,
        people,
        tools,
        audit,
        database,
        leftovers,
        network,
        voice,
        serve,
    };
    let mut out = super::stdout();
    let told = match output.json {
        true => serde_json::to_string(&diagnosis)? + "\n",
        false => words::format_diagnosis(&diagnosis),
    };
    // The one who wrote a token or key where none belongs is not to pass it on with the diagnosis.
    out.write_all(redact(&told).as_bytes())?;
    Ok(if diagnosis.ok { Exit::Done } else { Exit::ProblemFound })
}

/// Each tool, loaded as it would be served.
fn tools(config: &Config, findings: &mut Vec<DoctorFinding>) -> (Vec<ToolReport>, Option<Registry>) {
    let mut problem = |what: String, mend| findings.push(DoctorFinding::problem("tools", what, mend));
    const CHECK: &str = "cofferdam policy check";
    match gateway::try_tools(config) {
        Ok(registry) => {
            let tools = registry.iter().map(|(name, tool)| {
                if let Err(why) = tool {
                    problem(format!("{name} is unavailable: {why}"), CHECK.to_owned());
                }
                ToolReport { name: name.to_owned(), available: tool.is_ok() }
            });
            (tools.collect(), Some(registry))
        }
        Err(error) => {
            let mend = match &error {
                GatewayError::Sandbox(SandboxError::Engine(_)) => "see the message".to_owned(),
                GatewayError::Sandbox(SandboxError::Cache(_)) => mend_cache(config),
                _ => CHECK.to_owned(),
            };
            problem(error.to_string(), mend);
            (Vec::new(), None)
        }
    }
}

/// What is no folder is in the way of the cache. Of one that is not this account's alone the
/// message tells the command.
fn mend_cache(config: &Config) -> String {
    let cache = config.state_dir.join("cache");
    if cache.is_dir() {
        return "see the message".to_owned();
    }
    let cache = shell(&cache);
    format!("mv {cache} {cache}.damaged")
}
