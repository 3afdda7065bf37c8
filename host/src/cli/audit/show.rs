//! `audit show`: records as lines, for people or as they are on disk, those that match alone.

use crate::cli::{Exit, Output};
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_review::audit::{Filter, PathPattern, entry_json, entry_text, parse_period};
use cofferdam_warden::audit::{
    AuditError, ChainPlace, Entries, EntryRange, FILE_NAME, LogEntry, LogSelection, read_entries,
};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLE: &str = "\
Conditions are joined by AND; --last counts what matches. Times: RFC 3339, a date (UTC), or 2h for two \
hours ago. Verdict and code are those of outcomes. Of several nodes each line begins with the node. JSON is the log's own lines, byte for byte.
Examples:
  cofferdam audit show --last 5
  cofferdam audit show --since 2h --verdict deny
  cofferdam audit show --path '/shared/reports/**' --sender 123456789 --all --json";

#[derive(Debug, Default, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The folder of a log, or one file of it [default: the logs in the state folder]
    #[arg(value_name = "FILE|DIR")]
    file: Option<PathBuf>,
    /// How many records, counted from the newest
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    last: u64,
    /// All records
    #[arg(long)]
    all: bool,
    /// Not older than this
    #[arg(long, value_name = "TIME", value_parser = period)]
    since: Option<Range<Timestamp>>,
    /// Not newer than this; a date includes its day
    #[arg(long, value_name = "TIME", value_parser = period)]
    until: Option<Range<Timestamp>>,
    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Calls for this sender, by the channel's id
    #[arg(long, value_name = "ID")]
    sender: Option<String>,
    /// Calls from this channel: telegram, discord, terminal, cli, mcp
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Calls of this session, e.g. telegram-99:7/0
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Outcomes that the judge permitted or denied: permit | deny
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    verdict: Option<VerdictKind>,
    /// Outcomes with this error code
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<ErrorCode>,
    /// Calls that changed this path or had it as an argument: a path with all below it, or a
    /// pattern with ?, * and **
    #[arg(long, value_name = "PATH", value_parser = PathPattern::parse)]
    path: Option<PathPattern>,
    /// The call of this id
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// The newest records of every kind.
    pub(super) fn newest(last: u64, output: Output) -> Self {
        Self { last, output, ..Self::default() }
    }

    fn filter(&self) -> Filter {
        Filter {
            since: self.since.as_ref().map(|period| period.start),
            before: self.until.as_ref().map(|period| period.end),
            tool: self.tool.clone(),
            sender: self.sender.clone(),
            channel: self.channel.clone(),
            session: self.session.clone(),
            verdict: self.verdict,
            code: self.code,
            call: self.call.clone(),
            path: self.path.clone(),
        }
    }
}

fn period(text: &str) -> Result<Range<Timestamp>, String> {
    parse_period(text, Timestamp::now())
}

fn verdict(text: &str) -> Result<VerdictKind, String> {
    serde_json::from_value(text.into()).map_err(|_| "write permit or deny".to_owned())
}

fn code(text: &str) -> Result<ErrorCode, String> {
    let known = || ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
    let found = ErrorCode::ALL.iter().find(|code| code.as_str() == text).copied();
    found.ok_or_else(|| format!("write one of {}", known()))
}

/// The entries of one chain, of which one is read ahead.
struct ChainEntries {
    node: Option<String>,
    next: Option<Result<LogEntry, AuditError>>,
    entries: Entries,
}

impl ChainEntries {
    /// When the next one was written; what tells no time is shown at once.
    fn time(&self) -> String {
        match &self.next {
            Some(Ok(LogEntry::Record { record, .. })) => record.time.clone(),
            _ => String::new(),
        }
    }
}

pub(super) fn run(
    state_dir: &Path,
    arguments: &Arguments,
    out: &mut dyn Write,
    notices: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let span = if arguments.all { EntryRange::All } else { EntryRange::Last(arguments.last) };
    let folder = arguments.file.as_deref().unwrap_or(state_dir);
    let mut places = if folder.is_dir() { ChainPlace::find_all(folder)? } else { Vec::new() };
    let of_nodes = places.iter().any(|chain| chain.node.is_some());
    if !of_nodes {
        places = vec![ChainPlace { node: None, active: folder.join(FILE_NAME) }];
    }
    let mut chains = Vec::new();
    for ChainPlace { node, active } in places {
        let log = match &arguments.file {
            Some(file) if !file.is_dir() => LogSelection::Files(std::slice::from_ref(file)),
            _ => LogSelection::Log(&active),
        };
        let mut entries = read_entries(log, span, arguments.filter().to_predicate())?;
        chains.push(ChainEntries { node, next: entries.next(), entries });
    }
    let mut shown = 0_u64;
    // Of each node the last ones are found, and of those the last are shown.
    let mut last = VecDeque::new();
    while let Some(chain) = chains.iter_mut().filter(|chain| chain.next.is_some()).min_by_key(|c| c.time()) {
        let Some(entry) = std::mem::replace(&mut chain.next, chain.entries.next()) else { continue };
        let entry = entry?;
        let text = match (arguments.output.json, of_nodes) {
            (true, _) => entry_json(&entry),
            (false, false) => entry_text(&entry),
            (false, true) => {
                let node = one_line(chain.node.as_deref().unwrap_or("-"), 64);
                format!("{node:<8} {}", entry_text(&entry))
            }
        };
        shown += 1;
        match span {
            EntryRange::Last(most) if of_nodes => {
                last.push_back(text);
                if last.len() as u64 > most {
                    last.pop_front();
                }
            }
            _ => writeln!(out, "{text}")?,
        }
    }
    for text in last {
        writeln!(out, "{text}")?;
    }
    // Nobody may be reading them, which changes nothing.
    if shown == 0 && span != EntryRange::Last(0) {
        let _ = writeln!(notices, "cofferdam: no record matches");
    }
    let passed: u64 = chains.iter().map(|chain| chain.entries.unreadable()).sum();
    if passed > 0 {
        let _ = writeln!(notices, "cofferdam: {passed} lines are no records; see `cofferdam audit verify`");
    }
    Ok(Exit::Done)
}
