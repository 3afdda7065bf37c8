//! `cofferdam audit replay`: an audited call made again, in a workspace that is removed afterwards,
//! and what came of it compared with its record. Nothing of the gateway is written.

mod inputs;
mod recorded;
mod run;

use crate::cli::{Exit, Output};
use crate::config::Config;
use anyhow::{Context, bail};
use cofferdam_core::audit::CallOutcome;
use cofferdam_core::limits::Limits;
use cofferdam_review::audit::{differences, outcome_word, rebuild};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub(super) const EXAMPLE: &str = "\
The policies and components are those of now; the files are copies of those at the paths of the call, or \
of --files. The audit holds contents as digests: --argument gives them, and they are checked.
Exit codes: 0 the same; 1 something differs; 2 it cannot be made again, and why.
Example: cofferdam audit replay 42 --argument content=@note.txt";

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The seq of a record, or the id of a call
    record: String,
    /// The content of an argument that the audit holds as a digest; repeat for several
    #[arg(long = "argument", value_name = "NAME=@FILE")]
    given: Vec<String>,
    /// All arguments as the call was given them, checked against the record
    #[arg(long, value_name = "@FILE", conflicts_with = "given")]
    args: Option<String>,
    /// A copy of the workspace as it was, with shared/, tmp/ and vault/ [default: the files of now]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// A file that came with the call; repeat for several, in their order
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Let the call ask the network anew, under its profile
    #[arg(long)]
    network: bool,
    /// The folder of a log, or one file of it [default: the log in the state folder]
    #[arg(long, value_name = "FILE|DIR")]
    log: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(
    config: &Config,
    active: &Path,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let cannot =
        || format!("record {} cannot be replayed", cofferdam_core::text::one_line(&arguments.record, 200));
    let (seq, recorded) = recorded::find(active, arguments).with_context(cannot)?;
    let (now, remarks) = replay(config, &recorded, arguments).with_context(cannot)?;
    let told = differences(&recorded, &now);
    if arguments.output.json {
        let line = json!({
            "record": seq, "call": recorded.facts.call.as_str(), "tool": recorded.facts.tool, "same": told.is_empty(),
            "recorded": outcome_word(&recorded), "now": outcome_word(&now), "differences": told, "remarks": remarks,
        });
        writeln!(out, "{line}")?;
    } else {
        for remark in &remarks {
            writeln!(out, "remark: {remark}")?;
        }
        for difference in &told {
            writeln!(out, "differs: {difference}")?;
        }
        if told.is_empty() {
            let files = recorded.files.len();
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            writeln!(out, "same: {}, {files}", outcome_word(&recorded))?;
        }
    }
    Ok(if told.is_empty() { Exit::Done } else { Exit::ToolFailed })
}

/// The call made again, and what a reader must know of the comparison.
fn replay(
    config: &Config,
    recorded: &CallOutcome,
    arguments: &Arguments,
) -> anyhow::Result<(CallOutcome, Vec<String>)> {
    let facts = &recorded.facts;
    let policy = recorded::replayable(config, recorded, arguments.network)?;
    let mut remarks = recorded::changes(config, &policy, facts)?;
    let text = text(recorded, arguments, &mut remarks)?;
    if recorded.reconciled {
        remarks
            .push("the gateway stopped during the call; its record was made of what lay on the disk".into());
    }
    let now = run::run(config, recorded, (arguments, &policy), text, &mut remarks)?;
    Ok((now, remarks))
}

/// The arguments as JSON text, as far as record and reader have them.
fn text(recorded: &CallOutcome, arguments: &Arguments, remarks: &mut Vec<String>) -> anyhow::Result<String> {
    let facts = &recorded.facts;
    if let Some(all) = &arguments.args {
        let bytes = read(all)?;
        if cofferdam_core::audit::sha256_hex(&bytes) != facts.arguments_sha256 {
            bail!(
                "{all} does not have the sha256 of the arguments that the record has: {}",
                facts.arguments_sha256
            );
        }
        return String::from_utf8(bytes).with_context(|| format!("{all} is not UTF-8 text"));
    }
    let mut given = BTreeMap::new();
    for argument in &arguments.given {
        let Some((name, file)) = argument.split_once('=') else {
            bail!("--argument {argument:?} names no file; write --argument NAME=@FILE");
        };
        if given.insert(name.to_owned(), read(file)?).is_some() {
            bail!("--argument {name} is given twice; give it once");
        }
    }
    let (rebuilt, is_exact) = rebuild(&facts.arguments, &facts.arguments_sha256, given)?;
    if !is_exact {
        let said = "the arguments are spelled as the audit lists them, with what the policy fills in; the text of the call was \
                    another";
        remarks.push(said.into());
    }
    Ok(rebuilt.to_string())
}

/// The bytes of `@FILE`, not more than any tool takes.
fn read(named: &str) -> anyhow::Result<Vec<u8>> {
    let Some(file) = named.strip_prefix('@') else {
        bail!("{named:?} is no file; write @FILE");
    };
    let opened = std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?;
    let (limit, mut bytes) = (Limits::CEILING.arguments.0, Vec::new());
    opened.take(limit + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {file}"))?;
    if bytes.len() as u64 > limit {
        bail!("{file} is larger than any arguments, {limit} bytes");
    }
    Ok(bytes)
}
