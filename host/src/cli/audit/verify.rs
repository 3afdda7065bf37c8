//! `audit verify`: checks the chain and the signed heads.

use crate::cli::{Exit, Output};
use anyhow::bail;
use cofferdam_core::text::one_line;
use cofferdam_review::audit::{describe_bad, format_sound, format_sound_json, statements};
use cofferdam_warden::audit::sign::{self, PublicKey, SIGNATURES};
use cofferdam_warden::audit::{
    self, AuditError, ChainPlace, Head, Kept, LogSelection, Report, ToldHeads, Verification, Witness,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const EXAMPLE: &str = "\
Examples:
  cofferdam audit verify
  cofferdam audit verify --head 42:9f86d081…  (all 64 digits, as printed by an earlier check)
  cofferdam audit verify /mnt/copy --public-key key.pem.pub
  cofferdam audit verify audit-00000000000000000001.jsonl";

#[derive(Debug, Default, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The folder of a log, or files of one in their order [default: the logs in the state folder]
    #[arg(value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// A head kept elsewhere, which the chain must still contain: finds a cut tail
    #[arg(long, value_name = "SEQ:SHA256")]
    head: Option<Head>,
    /// Whose signed heads the chain must still contain: a PEM file, or 32 bytes as base64 or hex
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
    /// The signed heads [default: audit.signatures.jsonl beside the log]
    #[arg(long, value_name = "FILE", requires = "public_key")]
    signatures: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// A chain that was checked: what is told of it, and its report where it is sound.
struct CheckedChain {
    text: String,
    json: Value,
    report: Option<Report>,
}

/// Checks every chain of a state folder: what is told of them as JSON, and whether all are sound.
pub(super) fn check(state_dir: &Path, told: &BTreeMap<String, Head>) -> anyhow::Result<(Value, bool)> {
    let whole = Arguments { output: Output { json: true }, ..Arguments::default() };
    Ok(to_json(check_all(state_dir, &whole, told)?))
}

/// Checks what is named, or all chains of the state folder; `told` are the heads that its nodes have
/// left in the database.
pub(super) fn run(
    state_dir: &Path,
    arguments: &Arguments,
    told: &BTreeMap<String, Head>,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let checked = match &arguments.files[..] {
        [] => check_all(state_dir, arguments, told)?,
        // A copy may be older than what is told.
        [folder] if folder.is_dir() => check_all(folder, arguments, &BTreeMap::new())?,
        files => vec![check_log(LogSelection::Files(files), arguments, Vec::new(), Vec::new())?],
    };
    let is_sound = checked.iter().all(|chain| chain.report.is_some());
    if arguments.output.json {
        writeln!(out, "{}", to_json(checked).0)?;
    } else {
        for chain in checked {
            writeln!(out, "{}", chain.text)?;
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::ProblemFound })
}

/// One chain as itself, several as a list.
fn to_json(mut checked: Vec<CheckedChain>) -> (Value, bool) {
    let is_sound = checked.iter().all(|chain| chain.report.is_some());
    match checked.len() {
        1 => (checked.remove(0).json, is_sound),
        _ => {
            let chains: Vec<_> = checked.into_iter().map(|chain| chain.json).collect();
            (json!({ "ok": is_sound, "chains": chains }), is_sound)
        }
    }
}

/// The chains of a folder, each by itself and by what is told of it.
fn check_all(
    folder: &Path,
    arguments: &Arguments,
    told: &BTreeMap<String, Head>,
) -> anyhow::Result<Vec<CheckedChain>> {
    let chains = ChainPlace::find_all(folder)?;
    if told.is_empty() && chains.iter().all(|chain| chain.node.is_none()) {
        let log = ChainPlace::new(folder, None).active;
        return Ok(vec![check_log(LogSelection::Log(&log), arguments, Vec::new(), Vec::new())?]);
    }
    if arguments.head.is_some() || arguments.signatures.is_some() {
        let folder = folder.display();
        bail!("--head and --signatures are of one chain; name its folder, such as {folder}/node-NAME");
    }
    let mut heads: BTreeMap<String, Vec<Kept>> = BTreeMap::new();
    let mut keep = |node: &str, head: &Head, by: Witness| {
        heads.entry(node.to_owned()).or_default().push(Kept { head: head.clone(), by });
    };
    told.iter().for_each(|(node, head)| keep(node, head, Witness::Database));
    let mut checked = Vec::new();
    for chain in &chains {
        let found = check_log(LogSelection::Log(&chain.active), arguments, Vec::new(), Vec::new())?;
        if let (Some(report), Some(node)) = (&found.report, &chain.node) {
            report.others.iter().for_each(|(other, head)| keep(other, head, Witness::Node(node.clone())));
        }
        checked.push(found);
    }
    for (chain, found) in chains.iter().zip(&mut checked) {
        let kept = chain.node.as_ref().and_then(|node| heads.remove(node)).unwrap_or_default();
        let is_told_of = !kept.is_empty();
        let is_checked = found.report.is_some() && is_told_of;
        if let Some(node) = chain.node.as_ref().filter(|_| is_checked) {
            // Not the furthest alone: the chain may have been cut, and have grown past it since.
            let told = kept.iter().filter_map(|kept| match &kept.by {
                Witness::Node(by) => Some(ToldHeads::open(folder, by, node)),
                _ => None,
            });
            let told = told.collect::<Result<Vec<_>, _>>()?;
            *found = check_log(LogSelection::Log(&chain.active), arguments, kept, told)?;
        }
        let whose = chain
            .node
            .as_deref()
            .map_or("of no node".to_owned(), |node| format!("node {}", one_line(node, 64)));
        found.text = format!("{whose}: {}", found.text);
        if found.report.is_some() && is_told_of {
            found.text.push_str("\nIt holds every head of it that nodes have told.");
        }
        found.json["node"] = json!(chain.node);
    }
    // Somebody may have taken a whole one away. Nothing tells who did that on purpose: what the
    // others have recorded stays.
    for (node, kept) in heads.iter().filter_map(|(node, kept)| Some((node, kept.first()?))) {
        let what = format!("it is gone, with all up to {}", kept.describe(Some(kept.head.seq)));
        checked.push(CheckedChain {
            text: format!("node {}: audit BAD: {what}", one_line(node, 64)),
            json: json!({ "ok": false, "what": what, "node": node }),
            report: None,
        });
    }
    Ok(checked)
}

/// Checks one chain, against these heads, what others have recorded, and those that are asked for.
fn check_log(
    log: LogSelection<'_>,
    arguments: &Arguments,
    mut kept: Vec<Kept>,
    told: Vec<ToldHeads>,
) -> anyhow::Result<CheckedChain> {
    let mut signed = None;
    if let Some(key) = &arguments.public_key {
        let of_log = match log {
            LogSelection::Log(active) => active,
            LogSelection::Files(files) => files.first().map_or(Path::new(""), PathBuf::as_path),
        };
        let beside = of_log.with_file_name(SIGNATURES);
        let file = arguments.signatures.as_deref().unwrap_or(&beside);
        let lines = match sign::read(file, &PublicKey::parse(key)?) {
            // Anyone who cuts the log can delete it too; one that is named is to be there.
            Err(AuditError::Open { source, .. })
                if arguments.signatures.is_none() && source.kind() == io::ErrorKind::NotFound =>
            {
                Vec::new()
            }
            lines => lines?,
        };
        match statements(file, lines) {
            Ok(found) => {
                kept.extend((1..).zip(&found.statements).map(|(line, statement)| Kept {
                    head: statement.head(),
                    by: Witness::Statement { line },
                }));
                signed = Some(found);
            }
            Err((text, json)) => return Ok(CheckedChain { text, json, report: None }),
        }
    }
    kept.extend(arguments.head.clone().map(|head| Kept { head, by: Witness::Person }));
    Ok(match audit::verify(log, &kept, told)? {
        Verification::Sound(report) => CheckedChain {
            text: format_sound(&report, arguments.head.as_ref(), signed.as_ref()),
            json: format_sound_json(&report, signed.as_ref()),
            report: Some(report),
        },
        Verification::Bad { file, record } => {
            let (text, json) = describe_bad(&file, &record);
            CheckedChain { text, json, report: None }
        }
    })
}
