//! `cofferdam tool test`: an author's cases, each a call in the real sandbox with a workspace of
//! its own. Nothing passes in silence: no cases, a component older than its sources, a case that is
//! not understood, and a file of the workspace or of the reply that a case does not mention are
//! each told.

use super::super::serve::cancelled_by_signals;
use super::super::{Exit, Output, call, runtime, spell_path, tell};
use super::case::read_all;
use super::places::{TrialFolders, workspace_from_flags};
use super::printed;
use crate::config::{Config, SecretSource};
use crate::gateway::Gateway;
use crate::gateway::candidate::Candidate;
use anyhow::{Context, bail};
use cofferdam_core::capability::MOUNTS;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::escape_deceptive_json;
use cofferdam_core::tool::{ErrorCode, ToolAnswer};
use cofferdam_policy::ToolPolicy;
use cofferdam_review::tool::{Case, CaseContent, ExpectedFile, WorkspaceFiles, differences};
use cofferdam_warden::files::open_regular;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A case is a JSON file: { \"arguments\": {…}, \"expect\": { \"result\": {…} } }; docs/writing-a-tool.md has it \
                  all.\nExit codes: 0 all passed; 1 a case failed, or the tool does not load; 2 usage, no cases among it.\n\
                  Example: cofferdam tool test"
)]
pub(in crate::cli) struct Arguments {
    /// The folder of a tool in Rust, or a component
    #[arg(value_name = "DIR|FILE.wasm", default_value = ".")]
    path: PathBuf,
    /// Where the cases are [default: cases in the tool's folder]
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// A folder of policies, or one tool's policy file [default: policies in the tool's folder; to
    /// a component that is named nothing is granted]
    #[arg(long, value_name = "P")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    if workspace_from_flags().is_some() {
        bail!("each case has a workspace of its own; put its files under \"workspace\" of the case");
    }
    let (file, folder) = match arguments.path.is_dir() {
        true => (build_crate(&arguments.path)?, arguments.path.as_path()),
        false => (arguments.path.clone(), Path::new(".")),
    };
    let cases = read_all(&arguments.cases.clone().unwrap_or_else(|| folder.join("cases")))?;
    let beside = Some(folder.join("policies")).filter(|dir| arguments.path.is_dir() && dir.is_dir());
    let chosen = arguments.policy.clone().or(beside);
    let Some(candidate) = super::candidate(config, &file)? else { return Ok(Exit::ToolFailed) };
    let policy = match candidate.policy(chosen.as_deref()) {
        Ok(policy) => policy,
        Err(problems) => return report_unloadable(&problems, arguments),
    };
    let problems = candidate.problems(&policy);
    if !problems.is_empty() {
        return report_unloadable(&problems, arguments);
    }
    let config = withhold_network(config, arguments, &policy);
    // One for all cases: a signal between two calls ends no call, and the process no more.
    let signals = runtime()?;
    let stop = signals.block_on(async { cancelled_by_signals() })?;
    let mut ran = Vec::new();
    for case in &cases {
        if stop.is_cancelled() {
            let left = cases.len() - ran.len();
            tell(&format!("stopped by a signal; {left} of {} cases were not run", cases.len()));
            break;
        }
        let told = run_case(&config, &candidate, &policy, case, &stop)
            .with_context(|| format!("{} cannot be run", spell_path(&case.file)))?;
        if !arguments.output.json {
            tell_one(case, &told)?;
        }
        ran.push((case, told));
    }
    let failed = ran.iter().filter(|(_, told)| !told.is_empty()).count();
    let passed = ran.len() - failed;
    let is_passed = passed == cases.len();
    let mut out = crate::cli::stdout();
    if arguments.output.json {
        let cases: Vec<Value> = ran
            .iter()
            .map(|(case, told)| {
                let file = case.file.display().to_string();
                json!({ "name": case.name, "file": file, "passed": told.is_empty(), "differences": told })
            })
            .collect();
        let said = json!({ "ok": is_passed, "passed": passed, "failed": failed, "cases": cases });
        writeln!(out, "{}", escape_deceptive_json(&said.to_string()))?;
    } else {
        writeln!(out, "{passed} passed, {failed} failed")?;
    }
    Ok(if is_passed { Exit::Done } else { Exit::ToolFailed })
}

/// The configuration that cases run with. A policy that nobody named came with the tool, perhaps
/// from a stranger, and gets no secret and no private host of the person who tests it.
fn withhold_network(config: &Config, arguments: &Arguments, policy: &ToolPolicy) -> Config {
    let mut config = config.clone();
    if arguments.policy.is_some() {
        return config;
    }
    let network = policy.grants.network.as_ref();
    let secrets = network.into_iter().flat_map(|network| network.headers.values());
    config.network.secrets = secrets.map(|name| (name.clone(), SecretSource::Withheld)).collect();
    let mut hosts = std::mem::take(&mut config.network.private_hosts).into_iter();
    let asks_host = network.is_some_and(|network| hosts.any(|host| network.allows(host.host(), host.port())));
    if asks_host || !config.network.secrets.is_empty() {
        tell(
            "the policy came with the tool and gets no secret and no host of [network] allowed_private_hosts, \
             so what needs one is refused; read the policy, then give it those of your configuration: \
             --policy FILE",
        );
    }
    config
}

fn report_unloadable(problems: &[String], arguments: &Arguments) -> anyhow::Result<Exit> {
    if arguments.output.json {
        let said = json!({ "ok": false, "passed": 0, "failed": 0, "cases": [], "problems": problems });
        writeln!(crate::cli::stdout(), "{}", escape_deceptive_json(&said.to_string()))?;
    }
    for problem in problems {
        tell(&format!("the tool does not load: {problem}"));
    }
    Ok(Exit::ToolFailed)
}

fn tell_one(case: &Case, told: &[String]) -> anyhow::Result<()> {
    let mut out = crate::cli::stdout();
    if told.is_empty() {
        writeln!(out, "ok    {}", case.name)?;
        return Ok(());
    }
    writeln!(out, "FAIL  {} ({})", case.name, spell_path(&case.file))?;
    for difference in told {
        writeln!(out, "      {difference}")?;
    }
    Ok(())
}

/// Runs a case with a workspace, a state and a gateway of its own. Where a signal cancels its call,
/// `stop` is cancelled as well.
fn run_case(
    config: &Config,
    candidate: &Candidate,
    policy: &ToolPolicy,
    case: &Case,
    stop: &CancellationToken,
) -> anyhow::Result<Vec<String>> {
    let places = TrialFolders::new(config, None, None)?;
    let gateway = candidate.gateway(&places.config, policy)?;
    let root = &places.config.workspace.root;
    for (path, content) in &case.workspace {
        // A fresh folder of ours and a checked path: nothing can lead outside.
        let file = root.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap_or(root))
            .and_then(|()| std::fs::write(&file, &content.0))
            .with_context(|| format!("cannot write {path} of the case's workspace"))?;
    }
    let folder = case.file.parent().unwrap_or(Path::new(""));
    let attached: Vec<_> = case.attachments.iter().map(|file| folder.join(file)).collect();
    let attachments = call::attach(&gateway, &places.config, &attached)?;
    let text = Value::Object(case.arguments.clone()).to_string();
    let request = call::request(policy.tool.to_string(), Ok(text), attachments);
    let (answer, last) = printed::run_call(&gateway, request)?;
    let (result, sent) = match answer {
        Ok(ToolAnswer { result, attachments, .. }) => (Ok(result), sent_files(&gateway, attachments)?),
        Err(error) => {
            // The same signal may not have come to it yet.
            if error.code == ErrorCode::Cancelled {
                stop.cancel();
            }
            (Err(error), Vec::new())
        }
    };
    let mut after = WorkspaceFiles::new();
    for mount in MOUNTS {
        list(&root.join(mount.trim_start_matches('/')), mount, &mut after)
            .with_context(|| format!("cannot read {mount} of the case's workspace"))?;
    }
    let mut told = differences(case, &result, &after, &sent);
    if let (false, Some(_)) = (told.is_empty(), last.first()) {
        told.push(format!("it printed last:\n        {}", last.join("\n        ")));
    }
    Ok(told)
}

/// What would have gone out with the reply.
fn sent_files(gateway: &Gateway, files: Vec<OutgoingAttachment>) -> anyhow::Result<Vec<ExpectedFile>> {
    let read = |OutgoingAttachment { name, sha256, .. }: OutgoingAttachment| {
        let mut bytes = Vec::new();
        gateway
            .warden
            .outgoing()
            .file(&sha256)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .with_context(|| format!("cannot read {name} of the case's reply"))?;
        Ok(ExpectedFile { name, content: CaseContent(bytes) })
    };
    files.into_iter().map(read).collect()
}

/// The files below a folder of a workspace, which holds no links: nothing that runs in it can make
/// one.
fn list(dir: &Path, shown: &str, files: &mut WorkspaceFiles) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = format!("{shown}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &path, files)?;
        } else {
            files.insert(path, std::fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// The component that cargo built from the crate in `dir`, if it is not older than its sources.
fn build_crate(dir: &Path) -> anyhow::Result<PathBuf> {
    const BUILD: &str = "cargo build --release --target wasm32-wasip2";
    let manifest = dir.join("Cargo.toml");
    let text = open_regular(&manifest).and_then(std::io::read_to_string).with_context(|| {
        format!("cannot read {}; give the folder of a tool in Rust, or a .wasm file", manifest.display())
    })?;
    let named = toml::from_str::<toml::Table>(&text).ok();
    let key = |table: &str| Some(named.as_ref()?.get(table)?.get("name")?.as_str()?.replace('-', "_"));
    let name = key("lib")
        .or_else(|| key("package"))
        .with_context(|| format!("{} has no [package] name; give the .wasm file", manifest.display()))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| dir.join("target"), PathBuf::from);
    let file = target.join("wasm32-wasip2/release").join(format!("{name}.wasm"));
    let Ok(made) = std::fs::metadata(&file).and_then(|meta| meta.modified()) else {
        bail!("there is no {}; build the tool first: {BUILD}", spell_path(&file));
    };
    if let Some(newer) = find_newer(made, &[manifest, dir.join("src")]) {
        bail!("{} is older than {}; build the tool again: {BUILD}", spell_path(&file), spell_path(&newer));
    }
    Ok(file)
}

/// A file at or below these paths that was changed after `made`.
fn find_newer(made: SystemTime, paths: &[PathBuf]) -> Option<PathBuf> {
    paths.iter().find_map(|path| match std::fs::read_dir(path) {
        Ok(entries) => find_newer(made, &entries.flatten().map(|e| e.path()).collect::<Vec<_>>()),
        Err(_) => {
            let changed = std::fs::metadata(path).and_then(|meta| meta.modified()).ok()?;
            (changed > made).then(|| path.clone())
        }
    })
}
