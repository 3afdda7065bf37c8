//! `audit show`: records as lines, for people or as they are on disk, those that match alone.

use super::{Named, line};
use crate::cli::{Exit, Output};
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::tool::ErrorCode;
use cofferdam_review::audit::{self, Filter, PathPattern, TimeBound, entry_json, entry_text};
use cofferdam_warden::audit::EntryRange;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLE: &str = "\
Conditions are joined by AND; --last counts what matches. Times: RFC 3339, a date (UTC), or 2h for two \
hours ago. Verdict and code are those of outcomes. JSON is the log's own lines, byte for byte.
Examples:
  cofferdam audit show --last 5
  cofferdam audit show --since 2h --verdict deny
  cofferdam audit show --path '/shared/reports/**' --sender 123456789 --all --json";

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The folder of a log, or one file of it [default: the log in the state folder]
    #[arg(value_name = "FILE|DIR")]
    file: Option<PathBuf>,
    /// How many records, counted from the newest
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    last: u64,
    /// All records
    #[arg(long)]
    all: bool,
    /// Not older than this
    #[arg(long, value_name = "TIME", value_parser = TimeBound::parse)]
    since: Option<TimeBound>,
    /// Not newer than this; a date includes its day
    #[arg(long, value_name = "TIME", value_parser = TimeBound::parse)]
    until: Option<TimeBound>,
    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Calls for this sender, by the channel's id
    #[arg(long, value_name = "ID")]
    sender: Option<String>,
    /// Calls from this channel: telegram, terminal, cli
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
        Self {
            file: None,
            last,
            all: false,
            since: None,
            until: None,
            tool: None,
            sender: None,
            channel: None,
            session: None,
            verdict: None,
            code: None,
            path: None,
            call: None,
            output,
        }
    }

    fn filter(&self) -> Filter {
        let now = jiff::Timestamp::now();
        Filter {
            since: self.since.map(|when| when.start(now)),
            before: self.until.map(|when| when.end(now)),
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

fn verdict(text: &str) -> Result<VerdictKind, String> {
    match text {
        "permit" => Ok(VerdictKind::Permit),
        "deny" => Ok(VerdictKind::Deny),
        _ => Err("write permit or deny".to_owned()),
    }
}

fn code(text: &str) -> Result<ErrorCode, String> {
    let known = || ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
    let found = ErrorCode::ALL.iter().find(|code| code.as_str() == text).copied();
    found.ok_or_else(|| format!("write one of {}", known()))
}

pub(super) fn run(
    active: &Path,
    arguments: &Arguments,
    out: &mut dyn Write,
    notices: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let named = Named::new(active, arguments.file.as_slice());
    let span = if arguments.all { EntryRange::All } else { EntryRange::Last(arguments.last) };
    let mut entries = audit::show(named.source(), span, arguments.filter())?;
    let mut shown = 0_u64;
    for entry in entries.by_ref() {
        let entry = entry?;
        line(out, if arguments.output.json { entry_json(&entry) } else { entry_text(&entry) })?;
        shown += 1;
    }
    // Nobody may be reading them, which changes nothing.
    if shown == 0 && span != EntryRange::Last(0) {
        let _ = writeln!(notices, "cofferdam: no record matches");
    }
    if entries.unreadable() > 0 {
        let passed = entries.unreadable();
        let _ = writeln!(notices, "cofferdam: {passed} lines are no records; see `cofferdam audit verify`");
    }
    Ok(Exit::Done)
}
