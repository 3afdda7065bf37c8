//! Checking a whole log: every record of every file, in bounded memory, without changing anything.
//!
//! It refuses to say more than the files can show: a chain alone cannot show that its tail was cut
//! or that all of it was written anew. A head kept elsewhere can, and so can a signed one.

use super::chain::{BadRecord, BrokenRecord, Chain, RecordFault};
use super::files::{LogFiles, LogSelection};
use super::lines::LineEnd;
use super::{AuditError, Head, ToldHeads, open};
use cofferdam_core::audit::{AuditEvent, Record};
use cofferdam_core::text::one_line;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow::{Break, Continue};
use std::path::PathBuf;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verification {
    /// Every record is what it must be.
    Sound(Report),
    /// The first record that is not.
    Bad {
        /// The file it is in.
        file: PathBuf,
        /// Where, and what is wrong.
        record: BadRecord,
    },
}

/// What a sound log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many records.
    pub records: u64,
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// What the first record continues, where the first file is not the beginning of a log: nothing
    /// proves that it was there.
    pub continues: Option<Head>,
    /// Records that continue after a line torn by a crash.
    pub recovered: u64,
    /// Intents that no outcome names: publications under way, or cut off by a crash.
    pub intents_open: u64,
    /// Heads that were to be there, from before the first record here: not checked.
    pub unchecked: u64,
    /// The line that the last file ends with, where a crash tore it.
    pub torn: Option<TornEnd>,
    /// The last record, to keep elsewhere.
    pub head: Head,
    /// How far other nodes' chains were at most by the records of this one, by node.
    pub others: BTreeMap<String, Head>,
}

/// A line at the end of a sound log that a crash tore; the next append records that and goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TornEnd {
    /// The line, from 1.
    pub line: u64,
    /// How many bytes of it there are.
    pub bytes: u64,
}

/// A head that the chain must still contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The head.
    pub head: Head,
    /// Who says so.
    pub by: Witness,
}

/// Who says that a head was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The person who kept it elsewhere.
    Person,
    /// A signed statement.
    Statement {
        /// Its line, from 1.
        line: u64,
    },
    /// Another node, in its own chain.
    Node(String),
    /// The node itself, in the database that nodes share.
    Database,
}

impl Kept {
    /// Names the head; `at` says where it was, if that is not where the reader looks.
    pub fn describe(&self, at: Option<u64>) -> String {
        let (who, line) = match &self.by {
            Witness::Person => ("the head kept elsewhere".to_owned(), None),
            Witness::Statement { line } => ("the signed head".to_owned(), Some(format!("statement {line}"))),
            Witness::Node(node) => (format!("the head that node {} has recorded", one_line(node, 64)), None),
            Witness::Database => ("the head in the database".to_owned(), None),
        };
        let at = at.map(|seq| format!("seq {seq}"));
        let besides: Vec<_> = line.into_iter().chain(at).collect();
        if besides.is_empty() { who } else { format!("{who} ({})", besides.join(", ")) }
    }
}

/// What the log shows, and whether it still holds the heads that it must: those that are kept, and
/// those that other chains hold, each of which is read beside it.
///
/// Reads what is there when it starts; appends and rotations go on meanwhile. Needs memory for a
/// few lines and the heads. The head of a sound log is on the disk when this returns.
///
/// # Errors
/// [`AuditError`] when a file cannot be read, of the other chains too, or the disk does not confirm
/// the head; a bad record is not an error.
pub fn verify(
    source: LogSelection<'_>,
    kept: &[Kept],
    told: Vec<ToldHeads>,
) -> Result<Verification, AuditError> {
    let mut expected = ExpectedHeads::new(kept, told);
    let files = LogFiles::select(source)?;
    let mut chain = Chain::new(source);
    let mut report = Report {
        records: 0,
        files: (0..files.len()).map(|index| files.path(index).to_owned()).collect(),
        continues: None,
        recovered: 0,
        intents_open: 0,
        unchecked: 0,
        torn: None,
        head: Head::genesis(),
        others: BTreeMap::new(),
    };
    let bad =
        |BrokenRecord { file, record }| Ok(Verification::Bad { file: files.path(file).to_owned(), record });
    let mut last = None;
    for index in 0..files.len() {
        if index > 0 {
            chain.next_file();
        }
        let part = files.open(index)?;
        let mut lines = part.lines(0);
        let mut last_end = LineEnd::Newline;
        while let Some(line) = lines.next()? {
            last_end = line.end;
            match chain.follow(&line, &part.file)? {
                Break(broken) => return bad(broken),
                Continue(None) => {}
                Continue(Some(record)) => {
                    report.count(&record, &chain);
                    if let Some(fault) = expected.find_contradiction(&chain.head)? {
                        return bad(chain.current_fault(fault));
                    }
                }
            }
        }
        let whole = files.is_rotated(index) || index + 1 < files.len();
        let broken = match whole {
            true => chain.close_rotated(last_end),
            false => chain.close_last(last_end, part.end),
        };
        if let Some(broken) = broken {
            return bad(broken);
        }
        if let Some(torn) = &chain.torn {
            report.torn = Some(TornEnd { line: torn.line, bytes: part.end - torn.start });
        }
        last = Some(part.file);
    }
    if let Some(fault) = expected.missing_fault()? {
        return bad(chain.cut(fault));
    }
    if !expected.late.is_empty() {
        return verify(source, &expected.late, Vec::new());
    }
    // A rotation synchronizes first, so this file is all that the disk may lack.
    if let Some(file) = last {
        open::confirm_read(&file)?;
    }
    (report.continues, report.head, report.unchecked) = (chain.continues, chain.head, expected.unchecked);
    Ok(Verification::Sound(report))
}

/// The heads that are still to come.
struct ExpectedHeads<'k> {
    /// By their `seq`.
    heads: BTreeMap<u64, Vec<&'k Kept>>,
    /// Each in the order of the chain that holds them: as a rule, that of this one.
    told: Vec<ToldHeads>,
    /// Told after one that lies behind them, as when the chain was cut or the database put back:
    /// this reading is past them.
    late: Vec<Kept>,
    unchecked: u64,
}

impl<'k> ExpectedHeads<'k> {
    fn new(kept: &'k [Kept], told: Vec<ToldHeads>) -> Self {
        let mut heads: BTreeMap<u64, Vec<&Kept>> = BTreeMap::new();
        // The head of an empty log is in every log.
        for kept in kept.iter().filter(|kept| kept.head.seq > 0) {
            heads.entry(kept.head.seq).or_default().push(kept);
        }
        Self { heads, told, late: Vec::new(), unchecked: 0 }
    }

    /// What the record that was just followed says against a head.
    fn find_contradiction(&mut self, head: &Head) -> Result<Option<RecordFault>, AuditError> {
        while let Some(entry) = self.heads.first_entry().filter(|entry| *entry.key() <= head.seq) {
            let (seq, kept) = entry.remove_entry();
            if seq < head.seq {
                self.unchecked += kept.len() as u64;
            } else if let Some(other) = kept.iter().find(|kept| kept.head != *head) {
                return Ok(Some(other_head(other)));
            }
        }
        for told in &mut self.told {
            while let Some(kept) = told.next_up_to(head.seq)? {
                if kept.head.seq < head.seq {
                    self.late.push(kept);
                } else if kept.head != *head {
                    return Ok(Some(other_head(&kept)));
                }
            }
        }
        Ok(None)
    }

    /// What the end of the chain says against the first head that did not come.
    fn missing_fault(&mut self) -> Result<Option<RecordFault>, AuditError> {
        let mut missing = self.heads.values().flatten().next().map(|kept| (*kept).clone());
        for told in &mut self.told {
            if missing.is_none() {
                missing = told.next_up_to(u64::MAX)?;
            }
        }
        Ok(missing.map(|kept| RecordFault::CutTail(kept.describe(Some(kept.head.seq)))))
    }
}

fn other_head(kept: &Kept) -> RecordFault {
    RecordFault::OtherHead(kept.describe(None))
}

impl Report {
    /// Counted, not listed: a chain of any content is checked in the same memory.
    fn count(&mut self, record: &Record, chain: &Chain) {
        self.records += 1;
        let before = chain.continues.as_ref().map_or(0, |head| head.seq);
        match &record.event {
            AuditEvent::Intent(_) => self.intents_open += 1,
            AuditEvent::Outcome(outcome) if outcome.intent.is_some_and(|seq| seq > before) => {
                self.intents_open = self.intents_open.saturating_sub(1);
            }
            AuditEvent::Outcome(_)
            | AuditEvent::Approval(_)
            | AuditEvent::Access { .. }
            | AuditEvent::Message(_)
            | AuditEvent::Reload(_)
            | AuditEvent::Network(_)
            | AuditEvent::Workflow(_) => {}
            AuditEvent::Heads { heads } => {
                for (node, head) in heads {
                    let Ok(head) = head.parse::<Head>() else { continue };
                    let furthest = self.others.entry(node.clone()).or_insert_with(Head::genesis);
                    if head.seq > furthest.seq {
                        *furthest = head;
                    }
                }
            }
            AuditEvent::Recovered(_) => self.recovered += 1,
        }
    }
}
