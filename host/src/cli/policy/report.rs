//! `cofferdam policy report`: one page for a reviewer. The same policies and components give the same page,
//! byte for byte: it tells no time and no machine.

use super::super::Exit;
use super::show;
use crate::config::Config;
use crate::gateway::{self, GatewayError};
use crate::tools::Loaded;
use anyhow::Context;
use cofferdam_policy::approval::{Rule, When};
use cofferdam_policy::{ArgumentClass, PathUse, Place, PolicyProblem, Spelled, ToolPolicy};
use cofferdam_warden::sandbox::Binary;
use cofferdam_warden::sandbox::imports::imports_beyond_baseline;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

mod html;
mod markdown;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// A folder with profiles/ and tools/ [default: the configured one, else the embedded policies]
    dir: Option<PathBuf>,
    /// How the page is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Writes the same tables as JSON instead
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The file to write, replaced if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Html,
    Markdown,
}

/// Everything on the page, as plain text; each format escapes it in its own way.
#[derive(Default, Serialize)]
struct Page {
    /// None when the policies do not load.
    policies_sha256: Option<String>,
    problems: Vec<PolicyProblem>,
    tools: Vec<Section>,
}

/// One tool: titled tables of rows of equal length.
#[derive(Serialize)]
struct Section {
    name: String,
    why: String,
    summary: Option<String>,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    title: &'static str,
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

pub(super) fn run(config: &Config, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let page = page(config, arguments)?;
    let text = match arguments.format {
        _ if arguments.json => format!("{}\n", serde_json::to_string(&page)?),
        Format::Html => html::page(&page),
        Format::Markdown => markdown::page(&page),
    };
    match &arguments.output {
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?
        }
        None => out.write_all(text.as_bytes())?,
    }
    Ok(if page.problems.is_empty() { Exit::Done } else { Exit::ProblemFound })
}

fn page(config: &Config, arguments: &Arguments) -> anyhow::Result<Page> {
    let dir = arguments.dir.as_deref().or(config.policies_dir.as_deref());
    let (policies, registry) = match gateway::review(config, dir) {
        Ok(found) => found,
        Err(GatewayError::Policies(problems)) => return Ok(Page { problems, ..Page::default() }),
        Err(error) => return Err(error.into()),
    };
    let mut page = Page { policies_sha256: Some(policies.sha256()), ..Page::default() };
    for (name, loaded) in registry.iter() {
        if let Err(why) = loaded {
            page.problems.extend(why.problems());
        }
        if let Some(policy) = policies.get(name) {
            page.tools.push(section(policy, loaded, dir));
        }
    }
    Ok(page)
}

fn section(policy: &ToolPolicy, loaded: &Loaded, dir: Option<&Path>) -> Section {
    let tool = loaded.as_ref().ok().map(|tool| &**tool);
    Section {
        name: policy.tool.to_string(),
        why: policy.why.clone(),
        summary: tool.map(|tool| tool.description.summary.clone()),
        tables: [facts(policy, dir), grants(policy), arguments(policy)]
            .into_iter()
            .chain(approvals(policy))
            .chain([limits(policy)])
            .collect(),
    }
}

fn facts(policy: &ToolPolicy, dir: Option<&Path>) -> Table {
    // A component that does not load is described too, as long as it is the one that is pinned.
    let binary = gateway::component_bytes(policy, dir).ok();
    let of_bytes = |said: &dyn Fn(&[u8]) -> Option<String>| {
        binary
            .as_ref()
            .map(Binary::bytes)
            .and_then(said)
            .unwrap_or_else(|| "unknown: it cannot be read as pinned".to_owned())
    };
    let size = of_bytes(&|bytes| Some(format!("{} bytes", bytes.len())));
    let imports = of_bytes(&|bytes| {
        let imports = imports_beyond_baseline(bytes).ok()?;
        let names: Vec<_> = imports.into_iter().map(|import| import.name).collect();
        Some(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    });
    let sha256 = show::component_sha256(policy).unwrap_or_else(|| "unknown: this binary has none".to_owned());
    let row = |name: &str, value: String, at: &Place| vec![name.to_owned(), value, at.to_string()];
    let (at, component) = (&policy.origins, &policy.origins.component);
    let rows = vec![
        row("safety", policy.safety.spelled(), &at.safety),
        row("profile", policy.profile.clone(), &at.profile),
        row("why of the profile", at.profile_why.clone(), &at.profile_why_at),
        row("component", show::component_source(policy), component),
        row("component sha256", sha256, component),
        row("component size", size, component),
        row("imports beyond the baseline", imports, component),
        vec!["policy_sha256".to_owned(), policy.sha256.clone(), policy.file.clone()],
    ];
    Table { title: "What it is", head: &["", "", "said in"], rows }
}

fn grants(policy: &ToolPolicy) -> Table {
    let (at, grants) = (&policy.origins, &policy.grants);
    let mounts = grants.mounts.iter().zip(&at.access);
    let mounts = mounts.map(|(m, at)| vec![format!("mount {}", m.guest), m.access.spelled(), at.to_string()]);
    let interfaces = grants.interfaces.iter().zip(&at.interfaces);
    let interfaces = interfaces
        .map(|(i, at)| vec![format!("interface {}", i.spelled()), "granted".into(), at.to_string()]);
    Table {
        title: "What is within its reach",
        head: &["grant", "right", "said in"],
        rows: mounts.chain(interfaces).collect(),
    }
}

/// Arguments by what they can do: paths that are written first.
fn arguments(policy: &ToolPolicy) -> Table {
    let order = |class: &ArgumentClass| match class {
        ArgumentClass::Path(PathUse::Write) => 0,
        ArgumentClass::Path(PathUse::WriteBelow) => 1,
        ArgumentClass::Path(PathUse::Read) => 2,
        ArgumentClass::Value => 3,
        ArgumentClass::Content => 4,
    };
    let meaning = |class: &ArgumentClass| match class {
        ArgumentClass::Path(PathUse::Write) => "a path that may be written",
        ArgumentClass::Path(PathUse::WriteBelow) => "a folder below which may be written",
        ArgumentClass::Path(PathUse::Read) => "a path that is read",
        ArgumentClass::Value => "audited as it is",
        ArgumentClass::Content => "audited as length and sha256",
    };
    let mut sorted: Vec<_> = policy.arguments.iter().collect();
    sorted.sort_by_key(|(at, class)| (order(class), at.as_str()));
    let row = |(at, class): (&String, &ArgumentClass)| {
        let line = policy.argument_line(at).unwrap_or(policy.arguments_line);
        vec![at.clone(), class.spelled(), meaning(class).to_owned(), format!("{}:{line}", policy.file)]
    };
    Table {
        title: "What it is told",
        head: &["argument", "class", "meaning", "said in"],
        rows: sorted.into_iter().map(row).collect(),
    }
}

/// Where a person must agree first; no table where there is no rule.
fn approvals(policy: &ToolPolicy) -> Option<Table> {
    let row = |(about, rule): (&str, &Rule)| {
        let meaning = match rule.when {
            When::Never => "an exception: nobody is asked",
            When::FirstTimePerPath => "until this person's path was approved for this tool",
            When::OnOverwrite => "when something is there that could be replaced, changed or removed",
            When::Always => "each time",
        };
        vec![about.to_owned(), rule.when.spelled(), meaning.to_owned(), rule.at.to_string()]
    };
    let rows: Vec<_> = policy.approval.iter().map(row).collect();
    let head = &["about", "asks", "meaning", "said in"];
    (!rows.is_empty()).then_some(Table { title: "Where a person must agree", head, rows })
}

fn limits(policy: &ToolPolicy) -> Table {
    let row = |row: &cofferdam_core::limits::LimitRow| {
        let place =
            policy.origins.limits.get(row.name).map_or_else(|| "default".to_owned(), Place::to_string);
        vec![row.name.to_owned(), row.shown.clone(), place]
    };
    Table {
        title: "How much",
        head: &["limit", "at most", "said in"],
        rows: policy.limits.rows().iter().map(row).collect(),
    }
}
