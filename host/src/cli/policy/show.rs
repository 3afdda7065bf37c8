//! `cofferdam policy show`: the effective policy of each tool, every part with the line that says
//! so.

use super::super::{Exit, Output};
use crate::config::Config;
use crate::gateway;
use anyhow::bail;
use cofferdam_core::capability::ScratchGrant;
use cofferdam_core::text::{escape_deceptive_json, one_line};
use cofferdam_policy::{ComponentSource, PolicySet, SourceLocation, ToolPolicy, spell_word};
use cofferdam_review::report::describe_entry;
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn run(
    config: &Config,
    policies: &PolicySet,
    tool: Option<&str>,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let shown: Vec<_> = match tool {
        None => policies.iter().collect(),
        Some(name) => match policies.get(name) {
            Some(policy) => vec![policy],
            None => {
                let known: Vec<_> = policies.iter().map(|policy| policy.tool.as_str()).collect();
                bail!("no tool {:?} has a policy; there is {}", one_line(name, 80), known.join(", "));
            }
        },
    };
    if output.json {
        let tools: Vec<_> = shown.iter().map(|policy| as_json(config, policy)).collect();
        writeln!(out, "{}", json!({ "policies_sha256": policies.sha256(), "tools": tools }))?;
        return Ok(Exit::Done);
    }
    for policy in shown {
        write_rows(&rows(config, policy), out)?;
    }
    writeln!(out, "policies sha256 {}", policies.sha256())?;
    Ok(Exit::Done)
}

/// SHA-256 of the component that the policy names; none for a builtin that this binary lacks, and
/// for what was not fetched yet.
pub(super) fn component_sha256(config: &Config, policy: &ToolPolicy) -> Option<String> {
    match &policy.component {
        ComponentSource::Builtin => {
            Some(gateway::component_bytes(config, policy, None).ok()?.sha256().to_owned())
        }
        ComponentSource::File { sha256, .. } => Some(sha256.clone()),
        ComponentSource::Fetched { oci, .. } => {
            Some(gateway::open_fetched(config).component_digest(oci).ok()?.hex().to_owned())
        }
    }
}

/// Why there is no SHA-256 to show.
pub(super) fn unknown_sha256(policy: &ToolPolicy) -> String {
    match policy.component {
        ComponentSource::Fetched { .. } => "unknown: it was not fetched yet".to_owned(),
        _ => "unknown: this binary has none".to_owned(),
    }
}

/// Which file sets a limit: `tool`, `profile` or `default`.
pub(super) fn owner(policy: &ToolPolicy, place: Option<&SourceLocation>) -> &'static str {
    match place {
        None => "default",
        Some(place) if *place.file == *policy.file => "tool",
        Some(_) => "profile",
    }
}

fn as_json(config: &Config, policy: &ToolPolicy) -> Value {
    let at = &policy.origins;
    let mounts = policy.grants.mounts.iter().zip(&at.access);
    let interfaces = policy.grants.interfaces.iter().zip(&at.interfaces);
    let limit = |name: &str, shown: &str| {
        let place = at.limits.get(name);
        json!({ "name": name, "value": shown, "from": owner(policy, place), "at": place })
    };
    let argument = |place: &String| {
        let class = policy.class(place);
        let line = policy.argument_line(place).unwrap_or(policy.arguments_line);
        let completion = policy.completions.get(place);
        json!({ "name": place, "class": class, "completion": completion, "at": { "file": policy.file, "line": line } })
    };
    json!({
        "tool": policy.tool,
        "why": { "text": policy.why, "at": at.why },
        "safety": { "value": policy.safety, "at": at.safety },
        "component": { "source": policy.component.describe(), "sha256": component_sha256(config, policy), "at": at.component },
        "entry": policy.entry,
        "imports": policy.imports,
        "profile": { "name": policy.profile, "at": at.profile, "why": { "text": at.profile_why, "at": at.profile_why_at } },
        "mounts": mounts
            .map(|(mount, at)| json!({ "guest": mount.guest, "access": mount.access, "at": at }))
            .collect::<Vec<_>>(),
        "interfaces": interfaces.map(|(name, at)| json!({ "name": name, "at": at })).collect::<Vec<_>>(),
        "scratch": policy.grants.scratch,
        "network": policy.grants.network.as_ref().zip(at.network.as_ref()).map(|(network, at)| json!({
            "hosts": network.hosts, "methods": network.methods, "bytes": network.bytes, "headers": network.headers,
            "at": at.whole,
        })),
        "approval": policy.approval
            .iter()
            .map(|(about, rule)| json!({ "about": about, "when": rule.when, "at": rule.at }))
            .collect::<Vec<_>>(),
        "arguments": policy.arguments.keys().map(argument).collect::<Vec<_>>(),
        "limits": policy.limits.rows().iter().map(|row| limit(row.name, &row.shown)).collect::<Vec<_>>(),
        "policy_sha256": policy.sha256,
    })
}

/// Lines of text, each with its origin.
fn rows(config: &Config, policy: &ToolPolicy) -> Vec<(String, String)> {
    let at = &policy.origins;
    let text = |text: &str| one_line(text, 400);
    let sha256 = component_sha256(config, policy).unwrap_or_else(|| unknown_sha256(policy));
    let mut rows = vec![
        (policy.tool.to_string(), policy.file.clone()),
        (format!("  why {}", text(&policy.why)), at.why.to_string()),
        (format!("  safety {}", spell_word(&policy.safety)), at.safety.to_string()),
        (format!("  component {} sha256 {sha256}", policy.component.describe()), at.component.to_string()),
        (format!("  profile {}", text(&policy.profile)), at.profile.to_string()),
        (format!("    why {}", text(&at.profile_why)), at.profile_why_at.to_string()),
    ];
    if let Some(entry) = describe_entry(policy) {
        rows.push((format!("  entry {}", escape_deceptive_json(&entry)), at.component.to_string()));
    }
    if policy.component != ComponentSource::Builtin {
        rows.push((format!("  imports {}", spell_word(&policy.imports)), at.component.to_string()));
    }
    for (mount, at) in policy.grants.mounts.iter().zip(&at.access) {
        rows.push((format!("  mount {} {}", mount.guest, mount.access.as_str()), at.to_string()));
    }
    for (interface, at) in policy.grants.interfaces.iter().zip(&at.interfaces) {
        rows.push((format!("  interface {}", interface.as_str()), at.to_string()));
    }
    if let Some(ScratchGrant { guest, bytes, files }) = &policy.grants.scratch {
        let row = format!("  scratch {guest} {bytes}, {files} files");
        rows.push((row, at.profile_why_at.file.to_string()));
    }
    if let (Some(network), Some(at)) = (&policy.grants.network, &at.network) {
        rows.push((format!("  {}", text(&network.describe())), at.whole.to_string()));
        for (header, secret) in &network.headers {
            rows.push((format!("    header {header} from the secret {secret}"), at.whole.to_string()));
        }
    }
    for (place, class) in &policy.arguments {
        let line = policy.argument_line(place).unwrap_or(policy.arguments_line);
        let row = format!("  argument {} = {}", text(place), policy.spell_argument(place, *class));
        rows.push((row, format!("{}:{line}", policy.file)));
    }
    for (about, rule) in policy.approval.iter() {
        rows.push((format!("  approval {} {}", text(about), spell_word(&rule.when)), rule.at.to_string()));
    }
    for row in policy.limits.rows() {
        let place = at.limits.get(row.name).map_or_else(|| "default".to_owned(), SourceLocation::to_string);
        rows.push((format!("  limit {} {}", row.name, row.shown), place));
    }
    rows.push((format!("  policy sha256 {}", policy.sha256), String::new()));
    rows
}

/// The origins in a column of their own, as far as lines are short enough for one.
fn write_rows(rows: &[(String, String)], out: &mut dyn Write) -> std::io::Result<()> {
    const COLUMN: usize = 56;
    for (text, origin) in rows {
        if origin.is_empty() {
            writeln!(out, "{text}")?;
        } else {
            writeln!(out, "{text:COLUMN$}  {origin}")?;
        }
    }
    Ok(())
}
