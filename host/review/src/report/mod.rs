//! One page for a reviewer: what each tool is, what is within its reach, what it is told, when a
//! person must agree, and how much. The same policies and components give the same page, byte for
//! byte: it tells no time and no machine.

mod html;
mod markdown;

pub use html::page as html;
pub use markdown::page as markdown;

use cofferdam_policy::approval::{ApprovalCondition, Rule};
use cofferdam_policy::{ArgumentClass, EntryPolicy, PathUse, PolicyProblem, ToolPolicy, spell_word};
use serde::Serialize;

/// Everything on the page, as plain text; each format escapes it in its own way.
#[derive(Debug, Default, Serialize)]
pub struct ReportPage {
    /// SHA-256 of all policies; none when they do not load.
    pub policies_sha256: Option<String>,
    /// What is wrong with them.
    pub problems: Vec<PolicyProblem>,
    /// Each tool that has a policy.
    pub tools: Vec<Section>,
}

/// One tool: titled tables of rows of equal length.
#[derive(Debug, Serialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Why it has its policy.
    pub why: String,
    /// What it says of itself; none when it does not load.
    pub summary: Option<String>,
    /// What its policy says.
    pub tables: Vec<ReportTable>,
}

/// A table.
#[derive(Debug, Serialize)]
pub struct ReportTable {
    /// Above it.
    pub title: &'static str,
    /// Over its columns.
    pub head: &'static [&'static str],
    /// As many cells each as the head has.
    pub rows: Vec<Vec<String>>,
}

/// What of a foreign component is called, and with what: nothing of one that is a tool by itself.
pub fn describe_entry(policy: &ToolPolicy) -> Option<String> {
    (policy.entry != EntryPolicy::Tool).then(|| serde_json::to_string(&policy.entry).unwrap_or_default())
}

/// What is within the reach of a tool.
pub fn grants(policy: &ToolPolicy) -> ReportTable {
    let (at, grants) = (&policy.origins, &policy.grants);
    let mounts = grants.mounts.iter().zip(&at.access);
    let mounts = mounts
        .map(|(m, at)| vec![format!("mount {}", m.guest), m.access.as_str().to_owned(), at.to_string()]);
    let interfaces = grants.interfaces.iter().zip(&at.interfaces);
    let interfaces =
        interfaces.map(|(i, at)| vec![format!("interface {}", i.as_str()), "granted".into(), at.to_string()]);
    let scratch = grants.scratch.iter().map(|scratch| {
        let right = format!("{}, {} files", scratch.bytes, scratch.files);
        vec![format!("scratch {}", scratch.guest), right, at.profile_why_at.file.to_string()]
    });
    let network = grants.network.iter().zip(&at.network).flat_map(|(network, at)| {
        let (hosts, whole) = (at.hosts.to_string(), at.whole.to_string());
        let hosts = network
            .hosts
            .iter()
            .map(move |host| vec![format!("host {host}"), network.methods.join(", "), hosts.clone()]);
        let bytes = vec!["network bytes".to_owned(), format!("{} a call", network.bytes), whole.clone()];
        let headers = network.headers.iter().map(move |(name, secret)| {
            vec![format!("header {name}"), format!("secret {secret}"), whole.clone()]
        });
        hosts.chain([bytes]).chain(headers)
    });
    ReportTable {
        title: "What is within its reach",
        head: &["grant", "right", "said in"],
        rows: mounts.chain(interfaces).chain(scratch).chain(network).collect(),
    }
}

/// Arguments by what they can do: paths that are written first.
pub fn arguments(policy: &ToolPolicy) -> ReportTable {
    // In which order, and what each means.
    let describe = |class: &ArgumentClass| match class {
        ArgumentClass::Path(PathUse::Write) => (0, "a path that may be written"),
        ArgumentClass::Path(PathUse::WriteBelow) => (1, "a folder below which may be written"),
        ArgumentClass::Path(PathUse::Read) => (2, "a path that is read"),
        ArgumentClass::Recipient => (3, "somebody who is written to"),
        ArgumentClass::Url(_) => (4, "an address that is asked"),
        ArgumentClass::Value => (4, "audited as it is"),
        ArgumentClass::Content => (5, "audited as length and sha256"),
    };
    let mut sorted: Vec<_> = policy.arguments.iter().collect();
    sorted.sort_by_key(|(at, class)| (describe(class).0, at.as_str()));
    let row = |(at, class): (&String, &ArgumentClass)| {
        let line = policy.argument_line(at).unwrap_or(policy.arguments_line);
        let (_, meaning) = describe(class);
        let spelled = policy.spell_argument(at, *class);
        vec![at.clone(), spelled, meaning.to_owned(), format!("{}:{line}", policy.file)]
    };
    ReportTable {
        title: "What it is told",
        head: &["argument", "class", "meaning", "said in"],
        rows: sorted.into_iter().map(row).collect(),
    }
}

/// Where a person must agree first; no table where there is no rule.
pub fn approvals(policy: &ToolPolicy) -> Option<ReportTable> {
    let row = |(about, rule): (&str, &Rule)| {
        let meaning = match rule.when {
            ApprovalCondition::Never => "an exception: nobody is asked",
            ApprovalCondition::FirstTimePerPath => "until this person's path was approved for this tool",
            ApprovalCondition::Others => "when it goes to somebody else than the person whom the call is for",
            ApprovalCondition::OnOverwrite => {
                "when something is there that could be replaced, changed or removed"
            }
            ApprovalCondition::Always => "each time",
        };
        vec![about.to_owned(), spell_word(&rule.when), meaning.to_owned(), rule.at.to_string()]
    };
    let rows: Vec<_> = policy.approval.iter().map(row).collect();
    let head = &["about", "asks", "meaning", "said in"];
    (!rows.is_empty()).then_some(ReportTable { title: "Where a person must agree", head, rows })
}

/// How much a tool may have of everything.
pub fn limits(policy: &ToolPolicy) -> ReportTable {
    let row = |row: &cofferdam_core::limits::LimitRow| {
        let place = policy.origins.limits.get(row.name);
        let place = place.map_or_else(|| "default".to_owned(), ToString::to_string);
        vec![row.name.to_owned(), row.shown.clone(), place]
    };
    ReportTable {
        title: "How much",
        head: &["limit", "at most", "said in"],
        rows: policy.limits.rows().iter().map(row).collect(),
    }
}
