//! `cofferdam policy report`: one page for a reviewer. The same policies and components give the
//! same page, byte for byte: it tells no time and no machine.

use super::super::Exit;
use super::show;
use crate::config::Config;
use crate::gateway::{self, GatewayError};
use anyhow::Context;
use cofferdam_agent::tools::RegisteredTool;
use cofferdam_policy::{SourceLocation, ToolPolicy, spell_word};
use cofferdam_review::report::{
    self, ReportPage, ReportTable, Section, approvals, arguments as told, grants, limits,
};
use cofferdam_warden::sandbox::Binary;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// A folder with profiles/ and tools/ [default: the configured one, else the embedded policies]
    dir: Option<PathBuf>,
    /// How the page is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ReportFormat::Html)]
    format: ReportFormat,
    /// Writes the same tables as JSON instead
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The file to write, replaced if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    Html,
    Markdown,
}

pub(super) fn run(config: &Config, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let page = page(config, arguments)?;
    let text = match arguments.format {
        _ if arguments.json => format!("{}\n", serde_json::to_string(&page)?),
        ReportFormat::Html => report::html(&page),
        ReportFormat::Markdown => report::markdown(&page),
    };
    match &arguments.output {
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?
        }
        None => out.write_all(text.as_bytes())?,
    }
    Ok(if page.problems.is_empty() { Exit::Done } else { Exit::ProblemFound })
}

fn page(config: &Config, arguments: &Arguments) -> anyhow::Result<ReportPage> {
    let dir = arguments.dir.as_deref().or(config.policies_dir.as_deref());
    let (policies, registry) = match gateway::review(config, dir) {
        Ok(found) => found,
        Err(GatewayError::Policies(problems)) => return Ok(ReportPage { problems, ..ReportPage::default() }),
        Err(error) => return Err(error.into()),
    };
    let mut page = ReportPage { policies_sha256: Some(policies.sha256()), ..ReportPage::default() };
    for (name, loaded) in registry.iter() {
        if let Err(why) = loaded {
            page.problems.extend(why.problems.iter().cloned());
        }
        if let Some(policy) = policies.get(name) {
            page.tools.push(section(config, policy, loaded.as_ref().ok().map(|tool| &**tool), dir));
        }
    }
    // One that is off says nothing of itself, and its grants are to be reviewed all the same.
    for policy in registry.tools_off().filter_map(|(name, _)| policies.get(name)) {
        page.tools.push(section(config, policy, None, dir));
    }
    page.tools.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(page)
}

fn section(
    config: &Config,
    policy: &ToolPolicy,
    tool: Option<&RegisteredTool>,
    dir: Option<&Path>,
) -> Section {
    Section {
        name: policy.tool.to_string(),
        why: policy.why.clone(),
        summary: tool.map(|tool| tool.description.summary.clone()),
        tables: [facts(config, policy, dir), grants(policy), told(policy)]
            .into_iter()
            .chain(approvals(policy))
            .chain([limits(policy)])
            .collect(),
    }
}

fn facts(config: &Config, policy: &ToolPolicy, dir: Option<&Path>) -> ReportTable {
    // A component that does not load is described too, as long as it is the one that is pinned.
    let binary = gateway::component_bytes(config, policy, dir).ok();
    let of_binary = |said: &dyn Fn(&Binary) -> Option<String>| {
        binary.as_ref().and_then(said).unwrap_or_else(|| "unknown: it cannot be read as pinned".to_owned())
    };
    let size = of_binary(&|binary| Some(format!("{} bytes", binary.size())));
    let imports = of_binary(&|binary| {
        let imports = binary.imports_beyond_baseline().ok()?;
        let names: Vec<_> = imports.into_iter().map(|import| import.name).collect();
        Some(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    });
    let sha256 = show::component_sha256(config, policy).unwrap_or_else(|| show::unknown_sha256(policy));
    let row = |name: &str, value: String, at: &SourceLocation| vec![name.to_owned(), value, at.to_string()];
    let (at, component) = (&policy.origins, &policy.origins.component);
    let mut rows = vec![
        row("safety", spell_word(&policy.safety), &at.safety),
        row("profile", policy.profile.clone(), &at.profile),
        row("why of the profile", at.profile_why.clone(), &at.profile_why_at),
        row("component", policy.component.describe(), component),
        row("component sha256", sha256, component),
        row("component size", size, component),
        row("imports beyond the baseline", imports, component),
        vec!["policy_sha256".to_owned(), policy.sha256.clone(), policy.file.clone()],
    ];
    if let Some(entry) = report::describe_entry(policy) {
        rows.insert(rows.len() - 1, row("entry", entry, component));
    }
    ReportTable { title: "What it is", head: &["", "", "said in"], rows }
}
